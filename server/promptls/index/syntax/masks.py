"""Masks: rewriting of the source before it is parsed, for syntax that a grammar does not know.

A mask never changes the length of the text nor its lines, so that offsets stay. Everything is linear in the size of
the text. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from promptls.index.syntax.c_conditionals import BLANK
from promptls.index.syntax.c_macro_names import MacroName
from promptls.index.syntax.c_macros import mask_preprocessor
from promptls.index.syntax.rust_macros import without_item_macros
from promptls.languages import Mask

_NO_NAMES: Mapping[int, MacroName] = MappingProxyType({})

_SNIPPET = re.compile(rb"\{(?:#snippet\s+\w+\s*\([^\n]{0,300}?\)\s*|/snippet)\}")
"""Beginning or end of a Svelte snippet."""
_EXTENSION_TYPE = re.compile(
    rb"\bextension(\s+type\s+(?:const\s+)?)(\w+(?:\s*<[^<>{}]{0,200}>)?)((?:\.\w+)?\s*\([^()]{0,500}\))"
)
"""Head of a Dart extension type, without what it implements."""
_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
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
_CONTEXT = re.compile(
    rb"(?<![\w.])context[ \t]*\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,10}\)(?=\s*(?:@\w+\s+)*"
    rb"(?:(?:public|private|protected|internal|inline|suspend|override|abstract|open|final|operator|infix|tailrec|data|"
    rb"sealed|value|external|actual|expect|lateinit|const)\s+)*(?:fun|val|var|class|interface|object|typealias)\b)"
)
"""Context parameters before a declaration of Kotlin, which its grammars do not know."""
_LAST_MEMBER = re.compile(rb"\b(?:fun|val|var) [^{}\n]{1,300}[\w)\]>?\"] (?=\})")
"""Last member of a Kotlin block, in one line with the closing brace. The grammars need a semicolon there."""
_BLOCK_WITH_COMMAS = re.compile(
    rb'^([ \t]*\w+(?:[ \t]+"[^"\n]{0,200}"){0,3}[ \t]*\{[^{},=\n]+=[^{},\n]+)(,[^{}\n]*)(?=\})', re.MULTILINE
)
"""HCL block in one line whose attributes are separated by commas, a common mistake that hides the definitions below."""
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


def apply_mask(code: bytes, mask: Mask) -> tuple[bytes, Mapping[int, MacroName]]:
    """Return the parser input for a text, and the names of definitions that it does not show."""
    if mask in ("c", "cpp"):
        return mask_preprocessor(code, mask == "c")
    if mask == "macros":
        return without_item_macros(code) if b"! {\n" in code or b"!{\n" in code else (code, _NO_NAMES)
    if mask == "markup":
        code = _scripts_only(code)
    elif mask == "signatures":
        code = _with_separated_signatures(code)
    elif mask == "kotlin":
        code = _LAST_MEMBER.sub(lambda match: match[0][:-1] + b";", code)
        if b"context" in code:
            code = _CONTEXT.sub(lambda match: match[0].translate(BLANK), code)
    elif mask == "hcl":
        code = _BLOCK_WITH_COMMAS.sub(lambda match: match[1] + b" " * len(match[2]), code)
    elif mask == "dart" and b"extension" in code:
        code = _EXTENSION_TYPE.sub(_as_class, code)
    return code, _NO_NAMES


def _as_class(match: re.Match[bytes]) -> bytes:
    return b"class    " + match[1].translate(BLANK) + match[2] + match[3].translate(BLANK)


def _scripts_only(data: bytes) -> bytes:
    """Blank everything outside of the script elements of markup, except the heads of snippets."""
    pieces: list[bytes] = []
    position = 0
    for match in _SCRIPT.finditer(data):
        pieces += _snippets_only(data[position : match.start(1)]), match.group(1)
        position = match.end(1)
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


def _with_separated_signatures(data: bytes) -> bytes:
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
    """Return the end of the member of a type before a line end, comments skipped; 0 if there is no member."""
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
