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
from promptls.index.syntax.tree_sitter.grammar_queries import Captures, VersionedCache
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import LANGUAGES, Language
from promptls.languages.declarations import Declarations
from promptls.languages.names import reference_name
from promptls.model import IMPLEMENT, PROSE, USE, pack_numbers
from promptls.util.text.unicode_forms import nfc

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
    name: re.compile(language.mixins.prefix) for name, language in LANGUAGES.items() if language.mixins.prefix
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
    return EncodedReferences(tuple(names), pack_numbers(refs), variable_types, tuple(identifiers))


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
    arrows, colons = "->" in language.member_operators, ":" in language.member_operators
    separators = b".:\\>" if language.member_operators else b""
    dots_compose = not separators and language.capitalized_types  # only before a module: Haskell
    sigils = "@" if language.annotations else ""  # of a decorator

    def read(start: int, end: int) -> tuple[str, str]:
        text = data[start:end]
        cached = parsed.get(text)
        if cached is None:
            name = reference_name(nfc(text.decode("utf-8", "replace")))
            cached = parsed[text] = ("" if name == "_" else name, _qualifier(text))
        name, receiver = cached
        if receiver == "SUPER":  # Perl's "$self->SUPER::new"
            return name, "super"
        before = data[start - 1] if start else 0
        if dots_compose:
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
            declarations = language.types.declarations(text.decode("utf-8", "replace"))
            if cache is not None:
                cache.put(text, declarations)
        declared += [(variable, type_, source.line_at(start)) for variable, type_ in declarations]
    documented = documented_types(source, language)
    # The first of several types wins: in PHP the declaration, elsewhere the comment.
    triples = (*declared, *documented) if language.documentation == "phpdoc" else (*documented, *declared)
    encoded = array("I")
    for variable, type_, line in triples:
        encoded.extend((identifiers[variable], identifiers[type_], line))
    return pack_numbers(encoded)


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
        arrows: Whether "->" and a backslash separate a receiver, see `Language.member_operators`.
        colons: Whether ":" separates a receiver, see `Language.member_operators`.
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
