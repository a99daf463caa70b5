"""What a file refers to: names it calls, inherits, implements or uses, and the types of its variables.

The query captures the nodes; what stands before a name (its receiver) and what a declaration says
of a variable's type are read from the text, which is the same for every generation of a grammar.  Nothing
is looked up here: a receiver is what is written.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from promptls.index.syntax import doc_types, names
from promptls.index.syntax.source_text import Source
from promptls.index.syntax.type_hints import declared_type
from promptls.languages.table import LANGUAGES
from promptls.model import IMPLEMENT, MENTION, USE

if TYPE_CHECKING:
    from promptls.index.syntax.captures import Findings
    from promptls.index.syntax.incremental import Kept

MAX_REFERENCES = 50_000
MAX_TYPED = 20_000
UNKNOWN = "?"
"""A receiver that is no plain name: an element of something, the end of a long chain."""
LITERAL = "''"
NUMBER = "0"

_ARROWS = frozenset({"c", "cpp", "php", "perl"})
_JOINTLESS = frozenset({"bash", "vim", "haskell"})
"""Languages where a dot before a name joins no receiver to it: in Vim script it joins texts, in Haskell functions."""
_QUALIFIER = re.compile(rb"\.((?:[\w']*[A-Z]\.)*[\w']*[A-Z])(?![\w'.])")  # of Haskell's names, backwards
_MIXES = {
    "ruby": re.compile(rb"\b(?:include|extend|prepend)\b[ (][\w:, ]*$"),
    "elixir": re.compile(rb"(?:@behaviour|\buse)[ (]+$"),
}
"""What stands before a module that is implemented, in languages where it looks like any call."""
_REACH = 160  # bytes before a name in which its receiver is looked for
_CHAIN = re.compile(rb"[\w$@\x80-\xff]+(?:(?:\?|!)?(?:\.\??|::|>-\??|\\)[\w$@\x80-\xff]+)*")  # read backwards
_DECLARED = 240  # bytes of a declaration that are read
_NEAR = 60
_MAX_LINKS = 5  # of a chain of calls
_SIMPLE = re.compile(
    rb"\.((?:[\w$]+\.)*[\w$]*[A-Za-z_$])(?=[^\w$.\x80-\xff?!:>)\]\\\s@]|[ \t\n]+(?:[^.\s:]|:(?!:)))"
)  # backwards
_SPOKEN = re.compile(
    r"(?<!`)`(?:([A-Za-z_][\w.]*(?:::\w+)*|[\w.-]+(?:/[\w.-]+)+|\w[\w-]*\.[a-z]{1,5})(?:\(\))?)`(?!`)"
    r"|\]\(<?(?!https?:|mailto:|#)([\w./-]{1,200})[^)]{0,200}\)"
)
_EXTENSIONS = frozenset(extension for language in LANGUAGES for extension in language.extensions)
_MAX_PROSE = 5_000  # characters of a line
_REMARK = re.compile(rb"(?<!\S)(?://|#(?!\[)|--(?!\S)|/?\*)")
_GENERIC = re.compile(rb">(?:[^()<>;{}=]|>[^()<>;{}=]*<)*<(?:::)?")  # read backwards
_BLANK = b" \t\n"
_QUOTES = b"\"'`"


class References:
    """The references of one file, ready for `model.Outline`."""

    __slots__ = ("names", "refs", "typed", "words")

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.words: tuple[str, ...] = ()
        self.refs = b""
        self.typed = b""


def references(source: Source, findings: Findings, language: str, named: set[int], kept: Kept | None) -> References:
    """What the names that were found refer to; `named` are bytes where names begin that are none: those of definitions,
    and those bound there."""
    found = References()
    words, numbers = _numbers(), _numbers()
    words[""] = 0
    ends = {start: (end, kind) for start, end, kind in sorted(findings.names)}  # of two that begin alike the longer one
    data, starts = source.data, source.starts
    out = array("I")
    read = _reader(data, language)
    known = kept.references if kept is not None else None
    mixes = _MIXES.get(language)
    line = 0
    for start, (end, kind) in islice(ends.items(), MAX_REFERENCES):
        if start in named:
            continue
        if known is None or start < _REACH:
            told = read(start, end)
        else:
            written = data[start - _REACH : end]
            told = known.get(written) or known.put(written, read(start, end))
        name, word = told
        if not name:
            continue
        if kind == IMPLEMENT and mixes is not None and mixes.search(data[max(0, start - _NEAR) : start]) is None:
            kind = USE
        while starts[line + 1] <= start:
            line += 1
        out.extend((numbers[name], line, words[word] << 3 | kind))
    if language == "markdown":
        _mentions(source, numbers, words, out)
    found.names, found.refs = tuple(numbers), out.tobytes()
    found.typed = _typed(source, findings.places.get("typed", ()), language, words, kept)
    found.words = tuple(words)
    return found


def _numbers() -> defaultdict[str, int]:
    """Texts by the order in which they are asked for."""
    found: defaultdict[str, int] = defaultdict()
    found.default_factory = found.__len__
    return found


def _reader(data: bytes, language: str) -> Callable[[int, int], tuple[str, str]]:
    """A function that reads a reference between two bytes: (its name, "" if none that counts; its receiver).  What it
    returns depends on nothing but these bytes and the `_REACH` before them."""
    names_of: dict[bytes, tuple[str, str]] = {}  # text → (its name, what of the text stands before that)
    ignored = names.NO_REFERENCES.get(language, frozenset())
    arrows, joints = language in _ARROWS, b".:\\>" if language not in _JOINTLESS else b""
    colons = language == "lua"
    sigils = "" if language == "ruby" else "@"  # of a decorator

    def read(start: int, end: int) -> tuple[str, str]:
        text = data[start:end]
        known = names_of.get(text)
        if known is None:
            name = names.reference(text.decode("utf-8", "replace"), language)
            known = names_of[text] = ("" if name == "_" else name, _written(text))
        name, word = known
        if word == "SUPER":  # Perl's "$self->SUPER::new"
            return name, "super"
        before = data[start - 1] if start else 0
        if language == "haskell":
            of = _QUALIFIER.match(data[max(0, start - _NEAR) : start][::-1])
            word = of.group(1)[::-1].decode() if of is not None else ""
        elif name and joints and (before in joints or (before in _BLANK and _chained(data, start))):
            match = _SIMPLE.match(data[max(0, start - _NEAR) : start][::-1]) if before == 0x2E else None
            if match is not None:
                word = match.group(1)[::-1].decode()
            else:
                word = receiver(data, start, arrows, colons).lstrip(sigils)
        return ("" if not word and name in ignored else name), word

    return read


def _typed(source: Source, places: Sequence[int], language: str, words: dict[str, int], kept: Kept | None) -> bytes:
    """Triples (variable, type, line) of what declarations say of variables, and comments where code does not."""
    found: list[tuple[str, str, int]] = []
    data = source.data
    for start in sorted(set(places))[:MAX_TYPED]:
        written = data[start : start + _DECLARED]
        told = kept.types.get(written) if kept is not None else None
        if told is None:
            told = declared_type(written.decode("utf-8", "replace"), language)
            if kept is not None:
                kept.types.put(written, told)
        found += [(variable, of, source.row(start)) for variable, of in told]
    said = doc_types.types(source, language)
    out = array("I")
    for variable, of, line in (*found, *said) if language == "php" else (*said, *found):  # the first counts
        out.extend((words[variable], words[of], line))
    return out.tobytes()


def _mentions(source: Source, numbers: dict[str, int], words: dict[str, int], out: array[int]) -> None:
    """What prose speaks of: names and paths in code spans, and the targets of links, outside of code blocks."""
    fence = ""
    for line, text in enumerate(source.lines):
        mark = text.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        if fence or len(text) > _MAX_PROSE or ("`" not in text and "](" not in text):
            continue
        for match in _SPOKEN.finditer(text):
            spoken = match.group(1) or match.group(2)
            file = match.group(1) is None or "/" in spoken or spoken.rpartition(".")[2] in _EXTENSIONS
            owner, joint, name = spoken.rpartition("/" if file else ".")
            if name and len(numbers) < MAX_REFERENCES:
                owner += joint if file else ""
                out.extend((numbers[name], line, words[owner] << 3 | MENTION))


def _chained(data: bytes, start: int) -> bool:
    """Whether a name on a line of its own goes on with the expression of the line before: "\\n  .name"."""
    if start > 1 and data[start - 1] != 0x0A and data[start - 2] not in b" \t\n.:":
        return False  # as most are: what is before it is on its line
    return _before(data, start).endswith((b".", b"::"))


def _before(data: bytes, start: int) -> bytes:
    """The code before a byte, blanks and the comments between lines left out, as far as it is of interest."""
    text = data[max(0, start - _REACH) : start]
    head = text.rstrip(_BLANK)
    while b"\n" in text[len(head) :]:
        at = head.rfind(b"\n") + 1
        remark = _REMARK.search(head, at)
        if remark is None:
            break
        text = head[: remark.start()] + b"\n"
        head = text.rstrip(_BLANK)
    return head


def _written(text: bytes) -> str:
    """The qualifier inside of a reference that was captured in whole: "a::b" → "a"."""
    if b"." not in text and b"::" not in text and b"\\" not in text:
        return ""
    return ".".join(re.split(r"::|\.|\\", text.decode("utf-8", "replace"))[:-1])


def receiver(data: bytes, start: int, arrows: bool = False, colons: bool = False) -> str:
    """What stands before the name at a byte and is joined to it: "self", "os.path", "Server()" for the result
    of a call, "open().lines" for an attribute of one, LITERAL, NUMBER, UNKNOWN; "" for a name by itself.  Separators come out as dots."""
    head = _before(data, start)
    if head.endswith(b".."):
        return ""
    if head.endswith(b".") or (arrows and head.endswith(b"\\")):
        head = head[:-1]
    elif head.endswith(b"::") or (arrows and head.endswith(b"->")):
        head = head[:-2]
    elif colons and head.endswith(b":") and not head.endswith(b" :") and start and data[start - 1] == 0x3A:
        head = head[:-1]  # Lua's "object:method()"
    else:
        return ""
    text = ""
    for _ in range(_MAX_LINKS):
        head = _before(head, len(head)).rstrip(b"?!&")
        called = ""
        if head.endswith(b")"):
            at = _opening(head)
            if head.endswith((b"type(self)", b"type(cls)")) and not text:
                return "self"  # in Python: whose class is meant
            head, called = head[: max(0, at)], "()"
            if head.endswith(b">") and (generic := _GENERIC.match(head[::-1])):
                head = head[: -generic.end()]
        if not head:
            return UNKNOWN
        if head[-1] in _QUOTES:
            return LITERAL if not text else UNKNOWN
        match = _CHAIN.match(head[::-1])
        if match is None:
            return UNKNOWN
        link = match.group()[::-1]
        text = _DOTS.sub(".", link.decode("utf-8", "replace")) + called + ("." + text if text else "")
        rest = head[: len(head) - len(link)]
        head = rest.rstrip(_BLANK)
        if len(head) < len(rest) and b"\n" in rest[len(head) :]:
            head = _before(rest, len(rest))
        if not head and start > _REACH:
            return UNKNOWN  # its beginning is out of reach
        if head.endswith(b"..") or not head.endswith((b".", b"::")):
            return NUMBER if text[:1].isdigit() else text
        head = head[:-1].rstrip(b":")
    return UNKNOWN


_DOTS = re.compile(r"[?!]?(?:\.|::|->|\\)")


def _opening(head: bytes) -> int:
    """Where the parenthesis opens that the last byte closes, -1 if that is too far away."""
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        if head[at] == 0x29:
            depth += 1
        elif head[at] == 0x28:
            depth -= 1
            if depth == 0:
                return at
    return -1
