"""References of one file: names that it calls, inherits, implements or uses, and the types of its variables.

The queries capture the names. The receiver before a name and the type in a declaration are read from the text. The
result therefore does not depend on the version of a grammar. Nothing is resolved here: receivers are as written.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice

from msgspec import Struct

from promptls.index.syntax.doc_types import documented_types
from promptls.index.syntax.names import reference_name
from promptls.index.syntax.tree_sitter.grammar_queries import Captures, VersionedCache
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import LANGUAGES, Language
from promptls.model import IMPLEMENT, PROSE, USE

Declarations = list[tuple[str, str]]
"""(variable, type expression) pairs."""

_CALL = r"(?:await\s+)?([A-Za-z_$][\w$.]*)\s*\("
_PY_ANNOTATED = re.compile(r"\*{0,2}([A-Za-z_][\w.]*)\s*:\s*([^=\n]+)")
_PY_ASSIGNED = re.compile(rf"([A-Za-z_][\w.]*)\s*=\s*{_CALL}")
_PY_WITH = re.compile(r"(?:await\s+)?([A-Za-z_][\w.]*)\(.*?\)\s+as\s+([A-Za-z_]\w*)")
_PY_WRAPPED = re.compile(r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Required|NotRequired)\[(.*)\]?$")

_TS = re.compile(
    r"(?:(?:public|private|protected|readonly|static|override|declare)\s+)*([A-Za-z_$#][\w$.#]*)\s*[?!]?\s*"
    rf"(?::\s*([^=;{{\n]+?)\s*(?:=[^=>]|[;,)\n{{]|$)|=\s*(?:new\s+([A-Za-z_$][\w$.]*)|{_CALL}))"
)
_TS_CALLBACK = re.compile(
    r"(?:new\s+)?([A-Za-z_$][\w$.]*)(?:<[^()]{0,80}>)?\(((?:[^(){}\[\]]*,)?)\s*(?:async\s+)?"
    r"(?:\(([\w$,\s]*)\)\s*=>|([A-Za-z_$][\w$]*)\s*=>|function\s*[\w$]*\(([\w$,\s]*)\))"
)
_TS_DESTRUCTURED = re.compile(r"\{([\w$#\s,:=]*)\}\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)*)\s*(?:[;,\n]|$)")
_TS_MEMBER_VALUE = re.compile(r"([A-Za-z_$][\w$.#]*)\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)+)\s*(?:[;,\n]|$)")
_TYPE_FIRST = re.compile(
    r"(?:(?:public|private|protected|static|final|readonly|abstract|internal|volatile|const|late|covariant|required|val|this|in|out|ref|@\w+)\s+)*"
    r"([A-Za-z_][\w.:]*)\s*(?:<[^;={}()]*>)?(?:\s*[*&?]+|\s)\s*([A-Za-z_]\w*)\s*(?:=\s*(?:await\s+)?(new\s+)?([A-Za-z_][\w.]*)?"
    r"(?:<[^;={}()]*>)?\s*(\()?|[;,)\]{}]|$)"
)
_CPP_SMART_POINTER = re.compile(
    r"(?:(?:static|const|mutable|inline)\s+)*(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|optional)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
    r"[\s&]+([A-Za-z_]\w*)"
)
_CPP_MAKE_POINTER = re.compile(
    r"(?:const\s+)?auto[\s&]+([A-Za-z_]\w*)\s*=\s*(?:std::)?make_(?:unique|shared)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
)
_GO = re.compile(
    r"(?:var\s+)?([A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::=|=)\s*(?:&?([A-Za-z_][\w.]*)\s*(\{|\()|new\(([A-Za-z_][\w.]*)\))"
)
_GO_PARAMETER = re.compile(r"(?:var\s+)?((?:[A-Za-z_]\w*\s*,\s*)*[A-Za-z_]\w*)\s+\**([A-Za-z_][\w.]*)")
_RUST = re.compile(
    r"(?:let\s+)?(?:mut\s+)?([A-Za-z_]\w*)\s*(?::\s*([^=;,)\n]+))?\s*(?:=\s*(?:&(?:mut\s+)?)?([A-Za-z_][\w:.]*)\s*(?:::<[^>]*>)?\s*([({]))?"
)
_RUST_TYPE_NAME = re.compile(
    r"(?:&\s*)?(?:'\w+\s*)?(?:mut\s+|dyn\s+|impl\s+)*(?:(?:Box|Rc|Arc|Option)<(?:dyn\s+)?)?([A-Za-z_][\w:]*)"
)
_NAME_FIRST = re.compile(
    r"(?:@[\w:.]+(?:\([^()]*\))?\s+(?://[^\n]*\n\s*)?)*(?:(?:val|var|let|def|private|fileprivate|protected|public|internal|open|final|abstract|override|static|class|const|inline|noinline|crossinline"
    r"|lateinit|lazy|implicit|expect|actual|vararg|weak|unowned|inout|_)(?:\[\w+\]|\([a-z]+\))?\s+)*([A-Za-z_]\w*)\s*"
    r"(?::\s*(?:any\s+|some\s+|inout\s+)?([A-Za-z_][\w.]*)"
    r"|=\s*(?:try[?!]?\s+|await\s+)*(?:new\s+([A-Z][\w.]*)|([A-Za-z_$][\w$.]*)\s*(?:<[^()={}]{0,80}>|\[[^()={}]{0,80}\])?\s*\())"
)
_PHP = re.compile(
    r"(?:(?:public|private|protected|readonly|static)\s+)*(?:\??\\?([A-Za-z_][\w\\]*)\s+)?\$([A-Za-z_]\w*(?:->\w+)?)\s*(?:=\s*new\s+\\?([A-Za-z_][\w\\]*))?"
)
_PERL = re.compile(r"(?:my\s+|our\s+|local\s+|state\s+)?(\$[A-Za-z_]\w*)\s*=\s*([A-Z]\w*(?:::\w+)*)->new\b")
_ZIG = re.compile(
    r"(?:(?:comptime|noalias|const|var)\s+)*([A-Za-z_]\w*)\s*(?::\s*(?:[*?]|const\s)*([A-Za-z_][\w.]*)(?![\w.(]))?"
    r"\s*(?:=\s*(?:try\s+|&)?([A-Za-z_][\w.]*)\s*([({]))?"
)
_ZIG_BUILT_IN_TYPE = re.compile(
    r"[iuf]\d+|[iu]size|bool|void|type|any\w+|comptime_\w+|struct|enum|union|error|opaque|fn|packed|extern"
)
_RUBY = re.compile(r"(@{0,2}[A-Za-z_]\w*)\s*=\s*([A-Z][\w:]*)\.new\b")

_ARGUMENTS_START = re.compile(r"\s*(?:::)?(?:<[^(){};=]{0,80}>)?\s*\(")
_SIMPLE_CALL_END = re.compile(r"""\([^()\[\]{}"'`]*\)[ \t]*(?:[;,)]|\n\s*[^\s.?!/-]|\s*$)""")
_NEXT_LINK = re.compile(
    r"(?:[!?]|\s|//[^\n]*\n)*(?:\.|->|::)\s*([A-Za-z_$][\w$]*)\s*(?:(?:::)?<[^(){};=]{0,80}>\s*)?([({]?)|\s*(\[)"
)
_IDENTITY_MEMBERS = frozenset({"apply", "also", "await"})
"""Members whose value is their receiver."""

_MAX_CHAIN_LINKS = 6
"""Links of a call chain that are followed."""

_STRING_OR_BRACKET = re.compile(r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]""")


def parse_declaration(text: str, language: Language) -> Declarations:
    """Return the (variable, type expression) pairs of the declaration at the beginning of a text."""
    parse = _PARSERS.get(language.declaration_syntax)
    return parse(text) if parse else []


def _chain_type(text: str, callee: str, arguments: int, instantiates: bool = False) -> str:
    """Return the type expression of a value that begins with a call.

    "A()" stands for a call, "A().b()" for a chain of calls, and "A" for an instance created with `new`. The result is ""
    if the chain ends with something other than a call. A text that ends within the arguments counts as a call without a chain, because
    most calls have none.

    Args:
        text: The declaration.
        callee: The called function.
        arguments: Position of the opening parenthesis.
        instantiates: Whether the call creates an instance of `callee`.
    """
    without_chain = callee if instantiates else callee + "()"
    if _SIMPLE_CALL_END.match(text, arguments):  # most calls
        return without_chain
    end = _closing_bracket_end(text, arguments)
    chain = callee + "()"
    for link in range(_MAX_CHAIN_LINKS):
        match = _NEXT_LINK.match(text, end) if end > 0 else None
        if match is None:
            return chain if link else without_chain
        name, bracket, subscript = match.groups()
        if subscript:
            return ""
        end = _closing_bracket_end(text, match.start(2)) if bracket else match.end()
        if name in _IDENTITY_MEMBERS and bracket != "(":
            continue
        if not bracket:
            return ""
        chain += f".{name}()"
    return ""


def _closing_bracket_end(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`, 0 if there is none."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        depth += (token.group() in "([{") - (token.group() in ")]}")
        if depth == 0:
            return token.end()
    return 0


def _pair(variable: str, type_: str) -> Declarations:
    return [(variable, type_)] if type_ else []


def _parse_python(text: str) -> Declarations:
    if match := _PY_ANNOTATED.match(text):
        return _pair(match.group(1), annotation_class(match.group(2)))
    if match := _PY_ASSIGNED.match(text):
        return _pair(match.group(1), _chain_type(text, match.group(2), match.end() - 1))
    if match := _PY_WITH.match(text):
        return [(match.group(2), match.group(1) + "()")]
    return []


def annotation_class(text: str) -> str:
    """Return the class of a Python annotation, "" for none or several: "a.B" for "Optional['a.B']"."""
    text = text.strip().strip("\"'")
    while match := _PY_WRAPPED.match(text):
        text = match.group(1).split(",")[0].rstrip("] ").strip("\"'")
    options = [part.strip().strip("\"'") for part in text.split("|")]
    classes = [part for part in options if part and not part.startswith("None")]
    match = re.match(r"[A-Za-z_][\w.]*", classes[0]) if len(classes) == 1 else None
    return match.group() if match else ""


def _parse_ecmascript(text: str) -> Declarations:
    if callback := _TS_CALLBACK.match(text):
        function, arguments_before, *parameter_lists = callback.groups()
        parameters = next(filter(None, parameter_lists), "").split(",")
        argument = arguments_before.count(",")
        return [(name.strip(), f"{function}({argument},{i})") for i, name in enumerate(parameters) if name.strip()]
    if destructured := _TS_DESTRUCTURED.match(text):
        pieces = (re.findall(r"[\w$#]+", piece.partition("=")[0]) for piece in destructured.group(1).split(","))
        return [(words[-1], f"={destructured.group(2)}.{words[0]}") for words in pieces if 0 < len(words) < 3]
    match = _TS.match(text)
    if match is None:
        member = _TS_MEMBER_VALUE.match(text)
        return [(member.group(1), "=" + member.group(2))] if member is not None else []
    variable, annotation, new_class, callee = match.groups()
    if annotation:
        type_name = _typescript_class(annotation)
        return _pair(variable, type_name if "=>" not in annotation else "")
    if new_class:
        return _pair(variable, _new_instance_type(text, new_class, match.end()))
    if not callee or callee == "require":  # "require" is an import
        return []
    return _pair(variable, _chain_type(text, callee, match.end() - 1))


def _typescript_class(annotation: str) -> str:
    """Return the class of a TypeScript annotation, "" for an array, a choice of several types, or none."""
    options = [part.strip() for part in annotation.split("|") if part.strip() not in ("null", "undefined")]
    if len(options) != 1:
        return ""
    intersected = [part.strip() for part in options[0].split("&") if len(part.strip()) > 1]
    match = re.match(r"[A-Za-z_$][\w$.]*(?![\w$.]*\[)", intersected[0] if intersected else options[0])
    return match.group() if match else ""


def _new_instance_type(text: str, class_name: str, end: int) -> str:
    """Return the type expression of "new A", which may have type arguments and arguments after it."""
    arguments = _ARGUMENTS_START.match(text, end)
    return _chain_type(text, class_name, arguments.end() - 1, instantiates=True) if arguments else class_name


def _parse_type_first(text: str) -> Declarations:
    """Parse declarations of Java, C#, C and Dart: "Foo x = …"."""
    match = _TYPE_FIRST.match(text)
    if match is None:
        return []
    type_name, variable, new, value, called = match.groups()
    if type_name in ("var", "auto", "let", "final", "const", "late"):
        if called and value:
            callee = value.replace("::", ".")
            return _pair(variable, _chain_type(text, callee, match.end() - 1, instantiates=bool(new)))
        return _pair(variable, value if new and value else "")
    if type_name in ("return", "throw", "new", "else", "await", "yield", "goto", "case"):
        return []
    return [(variable, type_name.replace("::", "."))]


def _parse_cpp(text: str) -> Declarations:
    if match := _CPP_SMART_POINTER.match(text):
        return [(match.group(2), match.group(1).replace("::", "."))]
    if match := _CPP_MAKE_POINTER.match(text):
        return [(match.group(1), match.group(2).replace("::", "."))]
    return _parse_type_first(text)


def _parse_go(text: str) -> Declarations:
    if match := _GO.match(text):
        variable, value, bracket, new_type = match.groups()
        return _pair(variable, new_type or (value if bracket == "{" else _chain_type(text, value, match.start(3))))
    if match := _GO_PARAMETER.match(text):
        return [(name.strip(), match.group(2)) for name in match.group(1).split(",")]
    return []


def _parse_rust(text: str) -> Declarations:
    match = _RUST.match(text)
    if match is None:
        return []
    variable, annotation, value, bracket = match.groups()
    if annotation:
        type_name = _RUST_TYPE_NAME.match(annotation.strip())
        return [(variable, type_name.group(1).replace("::", "."))] if type_name else []
    if not value:
        return []
    path = value.replace("::", ".")
    return _pair(variable, _chain_type(text, path, match.start(4)) if bracket == "(" else path)


def _parse_name_first(text: str) -> Declarations:
    """Parse declarations of Kotlin, Swift and Scala: "val x: Foo"."""
    match = _NAME_FIRST.match(text)
    if match is None:
        return []
    variable, type_name, new_class, callee = match.groups()
    if type_name:
        return [(variable, type_name)]
    if new_class:
        return _pair(variable, _new_instance_type(text, new_class, match.end()))
    return _pair(variable, _chain_type(text, callee, match.end() - 1))


def _parse_php(text: str) -> Declarations:
    match = _PHP.match(text)
    if match is None:
        return []
    type_name, variable, new_class = match.groups()
    type_name = new_class or type_name
    return [("$" + variable.replace("->", "."), type_name.replace("\\", "."))] if type_name else []


def _parse_zig(text: str) -> Declarations:
    match = _ZIG.match(text)
    if match is None:
        return []
    variable, type_name, value, bracket = match.groups()
    if type_name:
        return [] if _ZIG_BUILT_IN_TYPE.fullmatch(type_name) else [(variable, type_name)]
    if not value or _ZIG_BUILT_IN_TYPE.fullmatch(value):
        return []
    return _pair(variable, value if bracket == "{" else _chain_type(text, value, match.start(4)))


def _parse_perl(text: str) -> Declarations:
    return _parse_new_call(text, _PERL.match(text))


def _parse_ruby(text: str) -> Declarations:
    return _parse_new_call(text, _RUBY.match(text))


def _parse_new_call(text: str, match: re.Match[str] | None) -> Declarations:
    """Parse "x = A.new(1)"; without arguments, a chain after "new" has no known type in these languages."""
    if match is None:
        return []
    class_name = match.group(2).replace("::", ".")
    arguments = _ARGUMENTS_START.match(text, match.end())
    if arguments is not None:
        return _pair(match.group(1), _chain_type(text, class_name, arguments.end() - 1, instantiates=True))
    return _pair(match.group(1), "" if _NEXT_LINK.match(text, match.end()) else class_name)


_PARSERS: dict[str, Callable[[str], Declarations]] = {
    "python": _parse_python,
    "ecmascript": _parse_ecmascript,
    "type_first": _parse_type_first,
    "cpp": _parse_cpp,
    "name_first": _parse_name_first,
    "go": _parse_go,
    "rust": _parse_rust,
    "php": _parse_php,
    "zig": _parse_zig,
    "perl": _parse_perl,
    "ruby": _parse_ruby,
}
"""Parser by `Language.declaration_syntax`."""


MAX_REFERENCES = 50_000
"""References per file; more are ignored."""

MAX_DECLARATIONS = 20_000
"""Typed declarations per file; more are ignored."""

UNKNOWN_RECEIVER = "?"
"""A receiver that is not a plain name: an element of a collection, or the end of a long chain."""

STRING_LITERAL = "''"
"""A receiver that is a string literal."""

NUMBER_LITERAL = "0"
"""A receiver that is a number."""

ReferenceCache = VersionedCache[bytes, tuple[str, str]]
"""(name, receiver) of a reference, by its text and the `_RECEIVER_BYTES` before it."""

DeclarationCache = VersionedCache[bytes, Declarations]
"""Types of declarations by their text."""

_RECEIVER_BYTES = 160
"""Bytes before a name that are searched for its receiver."""

_DECLARATION_BYTES = 240
"""Bytes of a declaration that are read."""

_SIMPLE_RECEIVER_BYTES = 60
"""Bytes before a name that are searched for a plain receiver or a mixin call."""

_MAX_RECEIVER_LINKS = 5
"""Links of a call chain that become part of a receiver."""

_MAX_PROSE_CHARS = 5_000
"""Longest line of prose that is searched for references."""

_MIXIN_PREFIXES = {
    name: re.compile(language.mixin_prefix) for name, language in LANGUAGES.items() if language.mixin_prefix
}
_EXTENSIONS = frozenset(extension for language in LANGUAGES.values() for extension in language.extensions)

# Patterns that are matched against reversed text.
_HASKELL_QUALIFIER_REVERSED = re.compile(rb"\.((?:[\w']*[A-Z]\.)*[\w']*[A-Z])(?![\w'.])")
_LINK_REVERSED = re.compile(rb"[\w$@\x80-\xff]+(?:(?:\?|!)?(?:\.\??|::|>-\??|\\)[\w$@\x80-\xff]+)*")
_SIMPLE_RECEIVER_REVERSED = re.compile(
    rb"\.((?:[\w$]+\.)*[\w$]*[A-Za-z_$])(?=[^\w$.\x80-\xff?!:>)\]\\\s@]|[ \t\n]+(?:[^.\s:]|:(?!:)))"
)
_TYPE_ARGUMENTS_REVERSED = re.compile(rb">(?:[^()<>;{}=]|>[^()<>;{}=]*<)*<(?:::)?")

_PROSE_REFERENCE = re.compile(
    r"(?<!`)`(?:([A-Za-z_][\w.]*(?:::\w+)*|[\w.-]+(?:/[\w.-]+)+|\w[\w-]*\.[a-z]{1,5})(?:\(\))?)`(?!`)"
    r"|\]\(<?(?!https?:|mailto:|#)([\w./-]{1,200})[^)]{0,200}\)"
)
_COMMENT = re.compile(rb"(?<!\S)(?://|#(?!\[)|--(?!\S)|/?\*)")
_SEPARATOR = re.compile(r"[?!]?(?:\.|::|->|\\)")
_BLANKS = b" \t\n"
_QUOTES = b"\"'`"


class EncodedReferences(Struct, frozen=True):
    """The references of one file in the encoding of `model.Outline`."""

    names: tuple[str, ...] = ()
    refs: bytes = b""
    variable_types: bytes = b""
    identifiers: tuple[str, ...] = ()


def find_references(
    source: SourceText,
    captures: Captures,
    language: Language,
    definition_starts: set[int],
    reference_cache: ReferenceCache | None,
    declaration_cache: DeclarationCache | None,
) -> EncodedReferences:
    """Return the references among the captured names.

    Args:
        source: The text of the file.
        captures: The captures of the queries.
        language: The language of the file.
        definition_starts: Bytes where the names of definitions and bound names begin, which are not references.
        reference_cache: References of the previous version, None for a file that is not edited.
        declaration_cache: Declarations of the previous version, None for a file that is not edited.
    """
    identifiers, names = _numbering(), _numbering()
    identifiers[""] = 0
    # Of two names with the same start, the longer one wins.
    ends = {start: (end, kind) for start, end, kind in sorted(captures.references)}
    data, line_starts = source.data, source.line_starts
    refs = array("I")
    read = _reference_reader(data, language)
    mixin_prefix = _MIXIN_PREFIXES.get(language.name)
    line = 0
    for start, (end, kind) in islice(ends.items(), MAX_REFERENCES):
        if start in definition_starts:
            continue
        if reference_cache is None or start < _RECEIVER_BYTES:
            reference = read(start, end)
        else:
            key = data[start - _RECEIVER_BYTES : end]
            reference = reference_cache.get(key) or reference_cache.put(key, read(start, end))
        name, receiver = reference
        if not name:
            continue
        if (
            kind == IMPLEMENT
            and mixin_prefix is not None
            and mixin_prefix.search(data[max(0, start - _SIMPLE_RECEIVER_BYTES) : start]) is None
        ):
            kind = USE
        while line_starts[line + 1] <= start:
            line += 1
        refs.extend((names[name], line, identifiers[receiver] << 3 | kind))
    if language.name == "markdown":
        _add_prose_references(source, names, identifiers, refs)
    variable_types = _encode_variable_types(
        source, captures.positions.get("typed", ()), language, identifiers, declaration_cache
    )
    return EncodedReferences(tuple(names), refs.tobytes(), variable_types, tuple(identifiers))


def _numbering() -> defaultdict[str, int]:
    """Return a dictionary that numbers its keys in the order of their first use."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _reference_reader(data: bytes, language: Language) -> Callable[[int, int], tuple[str, str]]:
    """Return a function that reads the reference between two bytes as (name, receiver).

    The name is "" for a reference that is ignored. The result depends only on these bytes and the `_RECEIVER_BYTES`
    before them.
    """
    parsed: dict[bytes, tuple[str, str]] = {}  # captured text → (name, qualifier within the text)
    ignored = language.ignored_references
    arrows, colons = language.arrow_members, language.colon_members
    separators = b".:\\>" if language.dot_members else b""
    sigils = "" if language.name == "ruby" else "@"  # of a decorator

    def read(start: int, end: int) -> tuple[str, str]:
        text = data[start:end]
        cached = parsed.get(text)
        if cached is None:
            name = reference_name(text.decode("utf-8", "replace"))
            cached = parsed[text] = ("" if name == "_" else name, _qualifier(text))
        name, receiver = cached
        if receiver == "SUPER":  # Perl's "$self->SUPER::new"
            return name, "super"
        before = data[start - 1] if start else 0
        if language.name == "haskell":
            match = _HASKELL_QUALIFIER_REVERSED.match(data[max(0, start - _SIMPLE_RECEIVER_BYTES) : start][::-1])
            receiver = match.group(1)[::-1].decode() if match is not None else ""
        elif name and separators and (before in separators or (before in _BLANKS and _continues_chain(data, start))):
            match = None
            if before == ord("."):
                match = _SIMPLE_RECEIVER_REVERSED.match(data[max(0, start - _SIMPLE_RECEIVER_BYTES) : start][::-1])
            if match is not None:
                receiver = match.group(1)[::-1].decode()
            else:
                receiver = receiver_of(data, start, arrows, colons).lstrip(sigils)
        return ("" if not receiver and name in ignored else name), receiver

    return read


def _encode_variable_types(
    source: SourceText,
    positions: Sequence[int],
    language: Language,
    identifiers: dict[str, int],
    cache: DeclarationCache | None,
) -> bytes:
    """Return (variable, type, line) triples of declarations and of documentation comments."""
    declared: list[tuple[str, str, int]] = []
    data = source.data
    for start in sorted(set(positions))[:MAX_DECLARATIONS]:
        text = data[start : start + _DECLARATION_BYTES]
        declarations = cache.get(text) if cache is not None else None
        if declarations is None:
            declarations = parse_declaration(text.decode("utf-8", "replace"), language)
            if cache is not None:
                cache.put(text, declarations)
        declared += [(variable, type_, source.line_at(start)) for variable, type_ in declarations]
    documented = documented_types(source, language)
    # The first of several types wins: in PHP the declaration, elsewhere the comment.
    triples = (*declared, *documented) if language.name == "php" else (*documented, *declared)
    encoded = array("I")
    for variable, type_, line in triples:
        encoded.extend((identifiers[variable], identifiers[type_], line))
    return encoded.tobytes()


def _add_prose_references(
    source: SourceText, names: dict[str, int], identifiers: dict[str, int], refs: array[int]
) -> None:
    """Add the references in Markdown prose: names and paths in code spans, and link targets, outside of code blocks."""
    fence = ""
    for line, text in enumerate(source.lines):
        marker = text.lstrip()[:3]
        if marker in ("```", "~~~"):
            fence = "" if fence == marker else fence or marker
        if fence or len(text) > _MAX_PROSE_CHARS or ("`" not in text and "](" not in text):
            continue
        for match in _PROSE_REFERENCE.finditer(text):
            target = match.group(1) or match.group(2)
            is_file = match.group(1) is None or "/" in target or target.rpartition(".")[2] in _EXTENSIONS
            owner, separator, name = target.rpartition("/" if is_file else ".")
            if name and len(names) < MAX_REFERENCES:
                owner += separator if is_file else ""
                refs.extend((names[name], line, identifiers[owner] << 3 | PROSE))


def _continues_chain(data: bytes, start: int) -> bool:
    r"""Return whether a name on a line of its own continues the expression of the line before: "\n  .name"."""
    if start > 1 and data[start - 1] != ord("\n") and data[start - 2] not in b" \t\n.:":
        return False  # the common case: other code is before it on its line
    return _code_before(data, start).endswith((b".", b"::"))


def _code_before(data: bytes, start: int) -> bytes:
    """Return the code in the `_RECEIVER_BYTES` before a byte, without trailing blanks and comments between lines."""
    text = data[max(0, start - _RECEIVER_BYTES) : start]
    code = text.rstrip(_BLANKS)
    while b"\n" in text[len(code) :]:
        line_start = code.rfind(b"\n") + 1
        comment = _COMMENT.search(code, line_start)
        if comment is None:
            break
        text = code[: comment.start()] + b"\n"
        code = text.rstrip(_BLANKS)
    return code


def _qualifier(text: bytes) -> str:
    """Return the qualifier inside of a captured reference: "a" for "a::b"."""
    if b"." not in text and b"::" not in text and b"\\" not in text:
        return ""
    return ".".join(re.split(r"::|\.|\\", text.decode("utf-8", "replace"))[:-1])


def receiver_of(data: bytes, start: int, arrows: bool = False, colons: bool = False) -> str:
    """Return the receiver before the name at a byte, with dots as separators.

    Examples are "self", "os.path", "Server()" for the result of a call, and "open().lines" for an attribute of one.
    Other results are `STRING_LITERAL`, `NUMBER_LITERAL`, `UNKNOWN_RECEIVER`, and "" for a name without a receiver.

    Args:
        data: The text of the file.
        start: First byte of the name.
        arrows: Whether "->" and a backslash separate a receiver, see `Language.arrow_members`.
        colons: Whether ":" separates a receiver, see `Language.colon_members`.
    """
    code = _code_before(data, start)
    if code.endswith(b".."):
        return ""
    if code.endswith(b".") or (arrows and code.endswith(b"\\")):
        code = code[:-1]
    elif code.endswith(b"::") or (arrows and code.endswith(b"->")):
        code = code[:-2]
    elif colons and code.endswith(b":") and not code.endswith(b" :") and start and data[start - 1] == ord(":"):
        code = code[:-1]
    else:
        return ""
    receiver = ""
    for _ in range(_MAX_RECEIVER_LINKS):
        code = _code_before(code, len(code)).rstrip(b"?!&")
        call = ""
        if code.endswith(b")"):
            parenthesis = _opening_parenthesis(code)
            if code.endswith((b"type(self)", b"type(cls)")) and not receiver:
                return "self"  # in Python: the class of the current object
            code, call = code[: max(0, parenthesis)], "()"
            if code.endswith(b">") and (type_arguments := _TYPE_ARGUMENTS_REVERSED.match(code[::-1])):
                code = code[: -type_arguments.end()]
        if not code:
            return UNKNOWN_RECEIVER
        if code[-1] in _QUOTES:
            return STRING_LITERAL if not receiver else UNKNOWN_RECEIVER
        match = _LINK_REVERSED.match(code[::-1])
        if match is None:
            return UNKNOWN_RECEIVER
        link = match.group()[::-1]
        receiver = _SEPARATOR.sub(".", link.decode("utf-8", "replace")) + call + ("." + receiver if receiver else "")
        rest = code[: len(code) - len(link)]
        code = rest.rstrip(_BLANKS)
        if len(code) < len(rest) and b"\n" in rest[len(code) :]:
            code = _code_before(rest, len(rest))
        if not code and start > _RECEIVER_BYTES:
            return UNKNOWN_RECEIVER  # the receiver begins before the bytes that are searched
        if code.endswith(b"..") or not code.endswith((b".", b"::")):
            return NUMBER_LITERAL if receiver[:1].isdigit() else receiver
        code = code[:-1].rstrip(b":")
    return UNKNOWN_RECEIVER


def _opening_parenthesis(code: bytes) -> int:
    """Return the position of the parenthesis that the last byte closes, -1 if there is none."""
    depth = 0
    for position in range(len(code) - 1, -1, -1):
        if code[position] == ord(")"):
            depth += 1
        elif code[position] == ord("("):
            depth -= 1
            if depth == 0:
                return position
    return -1
