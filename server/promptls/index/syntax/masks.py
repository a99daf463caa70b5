"""Masks: rewriting of the source before it is parsed, for syntax that a grammar does not know.

A mask never changes the length of the text nor its lines, so that offsets stay. Everything is linear in the size of
the text. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from promptls.index.syntax.c_masks import BLANK, MacroName, mask_preprocessor
from promptls.index.syntax.jinja import relations_only
from promptls.languages import Mask, language_named

_SCRIPT_START = re.compile(rb"<script\b([^>]{0,2000})>", re.IGNORECASE)
_SCRIPT_END = re.compile(rb"</script\s*>", re.IGNORECASE)
_DATA_SCRIPT = re.compile(
    rb"\btype\s*=\s*[\"']?(?!module\b|text/(?:javascript|babel|typescript)|application/(?:x-)?javascript)\w",
    re.IGNORECASE,
)
"""Attributes of a script element whose content is data or a template."""

_FRONT_MATTER = re.compile(rb"\A\s*---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_RAZOR_BLOCK = re.compile(rb"@(?:code|functions)\s*\{")
_CSHARP_TOKEN = re.compile(
    rb"@\"(?:[^\"]|\"\")*(?:\"|\Z)|\"(?:[^\"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*|//[^\n]*|/\*.*?(?:\*/|\Z)|@?[{}]", re.DOTALL
)
_SNIPPET = re.compile(rb"\{(?:#snippet\s+\w+\s*\([^\n]{0,300}?\)\s*|/snippet)\}")
"""Beginning or end of a Svelte snippet."""


def scripts_only(data: bytes, with_front_matter: bool = False) -> bytes:
    """Blank everything outside of the script elements of markup, except the heads of snippets and the front matter."""
    front_matter = _FRONT_MATTER.match(data) if with_front_matter else None
    pieces: list[bytes] = []
    position = 0
    if front_matter is not None:
        pieces += _snippets_only(data[: front_matter.start(1)]), front_matter.group(1)
        position = front_matter.end(1)
    while (start := _SCRIPT_START.search(data, position)) is not None:
        end = _SCRIPT_END.search(data, start.end())
        if end is None:
            break
        if _DATA_SCRIPT.search(start.group(1)) is None:
            pieces += _snippets_only(data[position : start.end()]), data[start.end() : end.start()]
        else:
            pieces.append(_snippets_only(data[position : end.start()]))
        position = end.start()
    return b"".join([*pieces, _snippets_only(data[position:])])


def _snippets_only(markup: bytes) -> bytes:
    """Blank markup, and turn each Svelte snippet into a function without content."""
    blank = markup.translate(BLANK)
    if b"{#snippet" not in markup:
        return blank
    functions = bytearray(blank)
    opened: list[tuple[int, int]] = []
    for match in _SNIPPET.finditer(markup):
        start, end = match.span()
        if markup[start + 1 : start + 2] == b"#":
            opened.append((start, end))
        elif opened:
            head, body = opened.pop()
            functions[head:body] = b"function " + markup[head + len("{#snippet") : body - 1] + b"{"
            functions[start : start + 1] = b"}"
    return bytes(functions)


def razor_blocks_only(data: bytes) -> bytes:
    """Blank everything outside of the code blocks of a Razor template, and make each block a class "_".

    The head of the class replaces blanks before the block. The members of a block that begins the file stay at top
    level.
    """
    masked = bytearray(data.translate(BLANK))
    position = 0
    while (match := _RAZOR_BLOCK.search(data, position)) is not None:
        end = _block_end(data, match.end() - 1)
        room = masked.rfind(b"     ", position, match.start())
        if room >= 0:
            masked[room : room + 5], masked[match.start()] = b"class", ord("_")  # an "@" in the text
            masked[match.end() - 1 : end] = data[match.end() - 1 : end]
        else:
            masked[match.end() : max(match.end(), end - 1)] = data[match.end() : max(match.end(), end - 1)]
        position = end
    return bytes(masked)


def _block_end(data: bytes, brace: int) -> int:
    """Return the end of the C# block that a brace opens, the end of the text if it is not closed."""
    depth = 0
    for token in _CSHARP_TOKEN.finditer(data, brace):
        if token.group() in (b"{", b"@{"):
            depth += 1
        elif token.group() == b"}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(data)


_ITEM_MACRO = re.compile(
    rb"^([ \t]*)(?!macro_rules)([\w:]+)!\s?\{[ \t]*\n"
    rb"(?=\s*(?://[^\n]*\s+)*(?:#!?\[|pub\b|fn\b|impl\b|struct\b|enum\b|mod\b|use\b|trait\b|const\b|"
    rb"static\s+(?:ref\s+)?\w+:|type\b|unsafe\s|async\s+fn\b|extern\b|macro_rules\b|if\s+#\[cfg))",
    re.MULTILINE,
)
_STATIC_REF = re.compile(rb"\bstatic\s+(ref)\s+\w+\s*:")
_BIT_SET = re.compile(rb"\b(struct|impl)\s+(\w+)(\s*:\s*[\w:]+)(?=\s*\{)")
_BIT = re.compile(rb"\bconst\s+\w+(\s*=[^;{}]*)(?=;)")
_KERNEL_LAUNCH = re.compile(rb"<<<(?:[^<>;{}]|->|<(?!<)|>(?!>)){1,400}>>>(?=\s{0,80}\()")
"""Configuration of a launch in CUDA and HIP; without it, the launch is a call."""
_FIXED_COLUMNS = re.compile(
    rb"^[^\n\t]{6} (?:(?:IDENTIFICATION|ID|ENVIRONMENT|DATA|PROCEDURE)[ \t]+DIVISION\b|01[ \t])",
    re.MULTILINE | re.IGNORECASE,
)
"""A line of COBOL that begins in column 8, where only the fixed format requires it."""
_COLUMN = rb"(?:[^\n\x80-\xbf][\x80-\xbf]*)"
_OUTER_COLUMNS = re.compile(rb"^((?:(?!\t)%b){6})(%b{1,66})([^\n]*)$" % ((_COLUMN,) * 2), re.MULTILINE)
_FIRST_BRANCH = re.compile(rb"^([ \t]*)if\s+#\[cfg", re.MULTILINE)
_BRANCH = re.compile(
    rb"^([ \t]*)(?:if|\}(?:[ \t]*else)?(?:[ \t]+if)?)(?:\s+#\[cfg[^\n]{0,300}\])?[ \t]*\{?[ \t]*$", re.MULTILINE
)

_REWRITTEN = frozenset((b"bitflags", b"cfg_if", b"lazy_static"))
"""Macros whose items have a syntax of their own."""


def without_item_macros(code: bytes) -> tuple[bytes, Mapping[int, MacroName]]:
    """Blank macro calls that only hold items, and return the names of the definitions that are rewritten.

    Such a call is alone on its line, and a closing brace of the same indentation ends it.
    """
    masked = bytearray(code)
    names: dict[int, MacroName] = {}
    closes: dict[bytes, int] = {}  # by indentation, so that the text is searched once
    rewritten = 0
    for match in _ITEM_MACRO.finditer(code):
        indent, macro = match[1], match[2].rpartition(b":")[2]
        start = match.end()
        if indent not in closes or 0 <= closes[indent] < start - 1:
            closes[indent] = code.find(b"\n" + indent + b"}", start - 1)
        close = closes[indent]
        end = close + len(indent) + 2
        if close < 0 or code[end : end + 1] not in (b"\n", b""):
            continue
        _blank(masked, match.start(), match.end())
        _blank(masked, close + 1, end)
        if macro not in _REWRITTEN or start < rewritten:  # a call in a rewritten call
            continue
        rewritten = close
        if macro == b"lazy_static":
            for static in _STATIC_REF.finditer(code, start, close):
                _blank(masked, *static.span(1))
        elif macro == b"bitflags":
            _rewrite_bit_sets(code, masked, start, close, names)
        elif macro == b"cfg_if":
            _blank_branches(code, masked, start, close)
    return bytes(masked), names


def _blank(masked: bytearray, start: int, end: int) -> None:
    masked[start:end] = masked[start:end].translate(BLANK)


def _rewrite_bit_sets(code: bytes, masked: bytearray, start: int, end: int, names: dict[int, MacroName]) -> None:
    """Turn `struct A: u32 { const B = 1; }` into a trait with a typed constant."""
    for match in _BIT_SET.finditer(code, start, end):
        _blank(masked, *match.span(3))
        if match[1] == b"struct":
            masked[match.start(1) : match.end(1)] = b"trait "
            names[match.start(2)] = MacroName(match[2].decode("utf-8", "replace"), "struct")
    for match in _BIT.finditer(code, start, end):
        value, stop = match.span(1)
        if stop - value >= len(b":u8") and b"\n" not in code[value : value + len(b":u8")]:
            _blank(masked, value, stop)
            masked[value : value + len(b":u8")] = b":u8"


def _blank_branches(code: bytes, masked: bytearray, start: int, end: int) -> None:
    """Blank the conditions of `cfg_if!`: lines of the indentation of the first one that hold nothing else."""
    first = _FIRST_BRANCH.search(code, start, end)
    if first is None:
        return
    for match in _BRANCH.finditer(code, start, end):
        if match[1] == first[1]:
            _blank(masked, *match.span())


_NON_NEWLINE = re.compile(rb"[^\n]")
_VARIANCE = re.compile(
    rb"([<,]\s*(?:/\*[^\n]{0,200}?\*/\s*)?)(in[ ]out|in|out)(?=[ ](?!(?:in|of|as|is|extends|instanceof|satisfies)\b)[A-Za-z_$][\w$]*\s*"
    rb"(?:[,>=]|extends\b))"
)
_ESCAPED_BACKTICK = re.compile(rb"\\[\\`]")
_CALL_SIGNATURE = re.compile(
    rb"\n[ \t]*([ \t])(?=<\s*(?:const[ ])?[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b)"
    rb"|\(\s*(?:\.\.\.)?[A-Za-z_$][\w$]*\??\s*:|\(\)\s*:)"
)
_MAX_LINES_BETWEEN_MEMBERS = 20
"""Comments and blank lines that are skipped between two members of a type."""

_MAX_COMMENT_BYTES = 8_000
"""Longest block comment that is skipped between two members of a type."""

_LINE_COMMENT = re.compile(rb"(?<!\S)//.*\Z")
_MEMBER_END = re.compile(rb"(?:[\w$)\]}'\"`]|[^=]>)\Z")
_INCOMPLETE_END = re.compile(
    rb"\b(?:extends|keyof|typeof|infer|readonly|is|as|return|new|default|case|in|of|instanceof|await|yield|else|throw|"
    rb"delete|async|satisfies)\Z"
)


def with_separated_signatures(data: bytes) -> bytes:
    """Insert the semicolons that the TypeScript grammars need before call signatures, in place of blanks.

    Also blanks the variance of type parameters and escaped backticks, which these grammars cannot parse.
    """
    data = _VARIANCE.sub(lambda match: match[1] + b" " * len(match[2]), data)
    if b"\\`" in data:
        data = _ESCAPED_BACKTICK.sub(lambda match: b"  " if match[0] == b"\\`" else match[0], data)
    masked = bytearray(data)
    for match in _CALL_SIGNATURE.finditer(data):
        end, blank = _member_end(data, match.start()), match.start(1)
        if end > 0:
            masked[end:blank] = _NON_NEWLINE.sub(b" ", data[end:blank])  # a comment would separate them a second time
            masked[blank] = ord(";")
    return bytes(masked)


def _member_end(data: bytes, end: int) -> int:
    """Return the end of the member of a type before a line end, comments skipped; 0 without one."""
    for _ in range(_MAX_LINES_BETWEEN_MEMBERS):
        start = data.rfind(b"\n", 0, end) + 1
        line = data[start:end].rstrip()
        if line.endswith(b"*/"):
            end = data.rfind(b"/*", max(0, end - _MAX_COMMENT_BYTES), end)
        else:
            line = _LINE_COMMENT.sub(b"", line).rstrip()
            if line:
                is_member = _MEMBER_END.search(line) and not _INCOMPLETE_END.search(line)
                return start + len(line) if is_member else 0
            end = start - 1
        if end < 0:
            break
    return 0


_NO_NAMES: Mapping[int, MacroName] = MappingProxyType({})

_EXTENSION_TYPE = re.compile(
    rb"\bextension(\s+type\s+(?:const\s+)?)(\w+(?:\s*<[^<>{}]{0,200}>)?)((?:\.\w+)?\s*\([^()]{0,500}\))"
)
"""Head of a Dart extension type, without what it implements."""
_CONTEXT = re.compile(
    rb"(?<![\w.])context[ \t]*\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,10}\)(?=\s*(?:@\w+\s+)*"
    rb"(?:(?:public|private|protected|internal|inline|suspend|override|abstract|open|final|operator|infix|tailrec|data|"
    rb"sealed|value|external|actual|expect|lateinit|const)\s+)*(?:fun|val|var|class|interface|object|typealias)\b)"
)
"""Context parameters before a declaration of Kotlin, which its grammars do not know."""
_ANNOTATION = rb"@[\w.:]+(?:\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,10}\))?\s{1,200}"
_ANNOTATED = re.compile(
    rb"^"
    + _ANNOTATION
    + rb"((?:"
    + _ANNOTATION
    + rb"){0,20}(?:(?:public|private|protected|internal|abstract|open|final|"
    rb"sealed|data|value|annotation|inline|suspend|operator|infix|tailrec|external|expect|actual|const|lateinit)\s{1,200})"
    rb"{0,20})(?=(?:enum|fun|val|var|class|interface|object|typealias)\b)",
    re.MULTILINE,
)
"""Annotations and modifiers before a declaration of Kotlin at the top level. The grammars may read two annotations and
what follows as an expression if the next declaration is annotated, too. All but the first one are therefore hidden."""
_LAST_MEMBER = re.compile(rb"\b(?:fun|val|var) [^{}\n]{1,300}[\w)\]>?\"] (?=\})")
"""Last member of a Kotlin block, in one line with the closing brace. The grammars need a semicolon there."""
_LONE_MACRO = re.compile(rb"^[ \t]*[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\([^()\n]{0,100}\))?[ \t]*$", re.MULTILINE)
_ENUM_MACRO = re.compile(rb"\btypedef\s+(?:NS|CF)_(?:CLOSED_)?(?:ENUM|OPTIONS|ERROR_ENUM)\(\s*\w+\s*,\s*(\w+)\s*\)")
_BLOCK_WITH_COMMAS = re.compile(
    rb'^([ \t]*\w+(?:[ \t]+"[^"\n]{0,200}"){0,3}[ \t]*\{[^{},=\n]+=[^{},\n]+)(,[^{}\n]*)(?=\})', re.MULTILINE
)
"""HCL block in one line whose attributes are separated by commas, a common mistake that hides the definitions below."""

_ENV_WITH_BLANKS = re.compile(
    rb"^([ \t]*ENV[ \t]+[\w.-]+[ \t]+)([^\s=][^\s\\]*[ \t][^\n\\]*)$", re.MULTILINE | re.IGNORECASE
)
"""Instruction `ENV name value` whose value has blanks. It hides the rest of the file from the grammar of Dockerfiles."""
_NON_WORD = re.compile(rb"\W")


_CONFLICT_MARKER = re.compile(rb"^(<|\||=|>)\1{6}(?: [^\n]*)?$", re.MULTILINE)
"""Line of git in a file with conflicts."""
_MARKER_CHARS = 7


def without_conflict_markers(code: bytes) -> bytes:
    """Replace the markers of conflicts and the common ancestor, so that both sides are parsed."""
    masked = bytearray(code)
    begin = separator = ancestor = None  # spans of the lines of the conflict that is open
    for match in _CONFLICT_MARKER.finditer(code):
        sign, span = match[1], match.span()
        if sign == b"<":
            begin, separator, ancestor = span, None, None
        elif begin is None:
            continue
        elif sign == b">":
            if separator is not None:
                end_of_ours = ancestor[0] if ancestor is not None else separator[0]
                for start, end in (begin, (end_of_ours, separator[1]), span):
                    masked[start:end] = code[start:end].translate(BLANK)
                ours = code[begin[1] : end_of_ours]
                braces = b"}" * min(ours.count(b"{") - ours.count(b"}"), _MARKER_CHARS)
                masked[separator[0] : separator[0] + len(braces)] = braces  # the other side opens these blocks again
            begin = None
        elif separator is None and sign == b"=":
            separator = span
        elif separator is None:
            ancestor = ancestor or span
    return bytes(masked)


_BLOCK_LINES: dict[str, re.Pattern[bytes]] = {
    "chunks": re.compile(
        rb"^[ \t]*(?:`{3,}|~{3,})[ \t]*(?:\{(?P<begin>[A-Za-z][\w+-]*)[^\n]*\}[ \t]*|(?P<end>))$", re.MULTILINE
    ),
    "source_blocks": re.compile(
        rb"^[ \t]*#\+(?:begin_src[ \t]+(?P<begin>[A-Za-z][\w+-]*)|(?P<end>end_src))[^\n]*$",
        re.MULTILINE | re.IGNORECASE,
    ),
    "modules": re.compile(rb"^(?:(?P<begin>)(?=(?:import|export)\b)|(?P<end>[ \t]*$|[#<]))", re.MULTILINE),
    "bird_tracks": re.compile(
        rb"^(?:>(?P<code>[^\n]*)|\\begin\{code\}(?P<begin>)[^\n]*|(?P<end>\\end\{code\})[^\n]*)$", re.MULTILINE
    ),
}
"""Lines that begin and end code in a document; the group "code" of a line is code itself."""


def _blocks_only(code: bytes, mask: Mask, language: str) -> bytes:
    """Blank everything outside of the code in a language; linear in the size of the text."""
    names = {language, *language_named(language).aliases}
    masked = bytearray(code.translate(BLANK))
    opened = -1
    for match in _BLOCK_LINES[mask].finditer(code):
        groups = match.groupdict()
        if groups.get("code") is not None:
            masked[match.start("code") : match.end("code")] = code[match.start("code") : match.end("code")]
        elif groups.get("begin") is not None:
            if opened < 0 and (not groups["begin"] or groups["begin"].decode().lower() in names):
                opened = match.end()
        elif opened >= 0:
            masked[opened : match.start()] = code[opened : match.start()]
            opened = -1
    return bytes(masked)


def apply_mask(code: bytes, mask: Mask, language: str = "") -> tuple[bytes, Mapping[int, MacroName]]:
    """Return the parser input for a text, and the names of definitions that it does not show.

    `language` is the one whose blocks are kept in a document with code.
    """
    if b"<<<<<<<" in code and b">>>>>>>" in code:
        code = without_conflict_markers(code)
    if mask in _BLOCK_LINES:
        return _blocks_only(code, mask, language), _NO_NAMES
    if mask in ("c", "cpp"):
        if mask == "cpp" and b"<<<" in code:
            code = _KERNEL_LAUNCH.sub(lambda match: match[0].translate(BLANK), code)
        return mask_preprocessor(code, mask == "c")
    if mask == "macros":
        return without_item_macros(code) if b"! {\n" in code or b"!{\n" in code else (code, _NO_NAMES)
    if mask in ("markup", "front_matter"):
        code = scripts_only(code, mask == "front_matter")
    elif mask == "razor":
        code = razor_blocks_only(code)
    elif mask == "objc_macros":
        code = _LONE_MACRO.sub(lambda match: match[0].translate(BLANK), _ENUM_MACRO.sub(_plain_enum, code))
    elif mask == "signatures":
        code = with_separated_signatures(code)
    elif mask == "kotlin":
        code = _LAST_MEMBER.sub(lambda match: match[0][:-1] + b";", code)
        code = _ANNOTATED.sub(_without_group, code)
        if b"context" in code:
            code = _CONTEXT.sub(lambda match: match[0].translate(BLANK), code)
    elif mask == "jinja":
        code = relations_only(code)
    elif mask == "dockerfile":
        code = _ENV_WITH_BLANKS.sub(lambda match: match[1] + _NON_WORD.sub(b"_", match[2]), code)
    elif mask == "hcl":
        code = _BLOCK_WITH_COMMAS.sub(lambda match: match[1] + b" " * len(match[2]), code)
    elif mask == "fixed_columns" and _FIXED_COLUMNS.search(code) is not None:
        code = _OUTER_COLUMNS.sub(_inner_columns, code)
    elif mask == "dart" and b"extension" in code:
        code = _EXTENSION_TYPE.sub(_as_class, code)
    return code, _NO_NAMES


def _inner_columns(match: re.Match[bytes]) -> bytes:
    return match[1].translate(BLANK) + match[2] + match[3].translate(BLANK)


def _without_group(match: re.Match[bytes]) -> bytes:
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + match[1].translate(BLANK) + match[0][end:]


def _as_class(match: re.Match[bytes]) -> bytes:
    return b"class    " + match[1].translate(BLANK) + match[2] + match[3].translate(BLANK)


def _plain_enum(match: re.Match[bytes]) -> bytes:
    """Return "enum Name" of the same length as a macro that declares an enumeration, with the name in its place."""
    before, after = match.start(1) - match.start(), match.end() - match.end(1)
    blanks = match.group()[4:before].translate(BLANK)
    return b"enum" + blanks + match.group(1) + b" " * after
