"""What a node says of itself: complexity, summary, tags, language notes; all from the outline, no model asked.

Pure functions of a file's tables.
"""

from __future__ import annotations

import re

from promptls.graph.file_tables import Facts
from promptls.graph.nodes import Complexity
from promptls.graph.signatures import behind_arrow
from promptls.index.search.analyzer import split_identifier
from promptls.knowledge.project.layers import CORE, TEST
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.model import Symbol
from promptls.util.truncate import truncate_words

MAX_SUMMARY = 200
MAX_TAGS = 5

_SENTENCE = re.compile(r"(.+?[.!?。！？])(?:\s|$)")
_DULL = frozenset("get set the a an of to is has do new make init self this test tests index main mod lib src".split())
_ABSTRACT = frozenset({"ABC", "ABCMeta", "Protocol"})


def complexity_of(facts: Facts, index: int) -> Complexity:
    """Simple up to 10, moderate up to 20, complex above: McCabe's limit of 10 (1976) and twice that.

    A type or a file is as complex as the most complex function in it: a sum would only say how long it is.
    """
    number = max((facts.symbols[i].complexity for i in within(facts, index)), default=0)
    return "simple" if number <= 10 else "moderate" if number <= 20 else "complex"


def within(facts: Facts, index: int) -> list[int]:
    """A definition and those in it; all of the file for -1."""
    if index < 0:
        return list(range(len(facts.symbols)))
    end = facts.symbols[index].span.end
    last = index + 1
    while last < len(facts.symbols) and facts.symbols[last].span.start < end and facts.symbols[last].parent >= index:
        last += 1
    return list(range(index, last))


def summary_of(facts: Facts, index: int, label: str) -> str:
    """The first sentence of its documentation, else what its signature says in words."""
    if index >= 0:
        symbol = facts.symbols[index]
        return first_sentence(symbol.doc) or in_words(symbol, facts.outline.language)
    if facts.outline.doc:
        return first_sentence(facts.outline.doc)
    section = facts.symbols[0] if facts.symbols and facts.symbols[0].kind == "section" else None
    if section is not None:
        return first_sentence(section.doc) or section.name
    names = [s.name for s in facts.symbols if s.parent < 0 and s.name and s.kind in TYPE_KINDS | CALLABLE_KINDS]
    kind = f"{facts.outline.language.capitalize()} file" if facts.outline.language != "text" else "Text file"
    if not names:
        return f"{kind} of {facts.outline.lines} lines."
    shown = ", ".join(names[:4])
    return f"{kind} that defines {shown}{f' and {len(names) - 4} more' if len(names) > 4 else ''}."


def first_sentence(doc: str) -> str:
    """Up to the first full stop, at most MAX_SUMMARY characters."""
    match = _SENTENCE.match(doc)
    return truncate_words(match.group(1) if match else doc, MAX_SUMMARY)


def in_words(symbol: Symbol, language: str) -> str:
    """A sentence from kind, name and signature: "Method ping that takes frame and gives bool" and so on."""
    if symbol.kind in TYPE_KINDS:
        head = symbol.signature.partition("(")[2].partition(")")[0] if language == "python" else ""
        derived = f", derived from {head}" if head else ""
        return truncate_words(f"{symbol.kind.capitalize()} {symbol.name or symbol.qualified}{derived}.", MAX_SUMMARY)
    if symbol.kind not in CALLABLE_KINDS or symbol.kind == "test":
        return truncate_words(f"{symbol.kind.capitalize()} {symbol.name}.", MAX_SUMMARY)
    takes = ", ".join(parameters(symbol.signature))
    gives = behind_arrow(symbol.signature)
    gives = "" if gives in ("None", "()", "void") else gives
    text = f"{symbol.kind.capitalize()} {symbol.name}"
    if takes or gives:
        text += " that " + " and ".join(
            part for part in (takes and f"takes {takes}", gives and f"gives {gives}") if part
        )
    return truncate_words(text, MAX_SUMMARY - 1) + "."


def parameters(signature: str) -> list[str]:
    """Names of the parameters of a head, as far as they can be told; what it is called on left out."""
    inside = signature.partition("(")[2]
    depth, pieces, part = 0, [], ""
    for character in inside:
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            if depth == 0:
                break
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(part)
            part = ""
            continue
        if depth == 0:
            part += character
    names = []
    for text in [*pieces, part]:
        bare = re.split(r"[:=]", text)[0].strip().lstrip("*&.$")
        word = re.search(r"[^\W\d]\w*(?=\W*$)", bare) if ":" in text or " " in bare else re.search(r"[^\W\d]\w*", bare)
        if word and word.group() not in ("self", "this", "cls"):
            names.append(word.group())
    return names[:6]


def tags_of(facts: Facts, index: int, label: str, layer: str) -> tuple[str, ...]:
    """At most MAX_TAGS words: role, layer, decorators, then the words of the name."""
    tags: dict[str, None] = {}
    if index < 0:
        if layer != CORE:
            tags[layer.lower()] = None
        tags[facts.outline.language] = None
        stem = label.rpartition("/")[2].partition(".")[0]
        if stem.lower() in ("main", "__main__", "app", "cli", "server", "manage"):
            tags["entry-point"] = None
        for word in split_identifier(stem):
            if word not in _DULL:
                tags[word] = None
        return tuple(tags)[:MAX_TAGS]
    symbol = facts.symbols[index]
    if symbol.kind == "test" or (layer == TEST and symbol.name.lower().startswith("test")):
        tags["test"] = None
    elif layer != CORE:
        tags[layer.lower()] = None
    for mark in symbol.traits.split():
        if mark.startswith("@"):
            tags[mark[1:].rpartition(".")[2].lower()] = None
    if symbol.exported and symbol.kind in TYPE_KINDS | CALLABLE_KINDS and symbol.parent < 0:
        tags["exported"] = None
    for word in split_identifier(symbol.name):
        if len(word) > 2 and word not in _DULL:
            tags[word] = None
    if symbol.kind not in REPEATED_KINDS:
        tags[symbol.kind] = None
    return tuple(tags)[:MAX_TAGS]


_DECORATORS = {
    "@property": "property",
    "@cached_property": "property that is computed once",
    "@staticmethod": "static method",
    "@classmethod": "class method",
    "@abstractmethod": "abstract method",
    "@contextmanager": "context manager",
    "@asynccontextmanager": "async context manager",
    "@dataclass": "dataclass",
    "@cache": "memoised",
    "@lru_cache": "memoised",
    "@overload": "overload",
    "@override": "overrides a method of its base",
    "@Override": "overrides a method of its base",
    "@final": "final",
    "@fixture": "test fixture",
    "@total_ordering": "ordering from two methods",
    "@derive": "derived traits",
    "@test": "unit test",
    "@Deprecated": "deprecated",
    "@deprecated": "deprecated",
}
_MODIFIERS = (
    (re.compile(r"\basync\b|\bsuspend\b"), "async"),
    (re.compile(r"\bstatic\b"), "static"),
    (re.compile(r"\babstract\b"), "abstract"),
    (re.compile(r"\bunsafe\b"), "unsafe"),
    (re.compile(r"\bconst fn\b|\bconstexpr\b"), "evaluated by the compiler"),
    (re.compile(r"\btemplate\s*<"), "template"),
    (re.compile(r"\bsealed\b"), "sealed"),
    (re.compile(r"\bdata class\b|\brecord\b|\bcase class\b"), "value class"),
    (re.compile(r"\bvirtual\b"), "virtual"),
    (re.compile(r"\bsynchronized\b"), "synchronized"),
)


def notes_of(facts: Facts, index: int) -> tuple[str, ...]:
    """Small facts of the construct itself: "async generator", "abstract base class", "starts goroutines"."""
    if index < 0:
        return ()
    symbol = facts.symbols[index]
    marks = symbol.traits.split()
    notes: dict[str, None] = {}
    modifiers = [note for pattern, note in _MODIFIERS if pattern.search(symbol.signature)]
    if symbol.kind in CALLABLE_KINDS:
        generates = "yields" in marks and "@contextmanager" not in marks and "@asynccontextmanager" not in marks
        if generates:
            notes["async generator" if "async" in modifiers else "generator"] = None
        elif "async" in modifiers:
            notes["asynchronous"] = None
        if "spawns" in marks:
            notes["starts goroutines"] = None
        if "defers" in marks:
            notes["defers calls"] = None
        if "awaits" in marks and "async" not in modifiers:
            notes["awaits"] = None
        notes.update(dict.fromkeys(note for note in modifiers if note != "async"))
    for mark in marks:
        note = _DECORATORS.get("@" + mark[1:].rpartition(".")[2]) if mark.startswith("@") else None
        if note:
            notes[note] = None
    if symbol.kind in TYPE_KINDS:
        notes.update(
            dict.fromkeys(note for note in modifiers if note in ("abstract", "sealed", "value class", "template"))
        )
        names = {use.name for use in facts.bases(index)}
        if names & _ABSTRACT:
            notes["protocol" if "Protocol" in names else "abstract base class"] = None
        if names & {"Exception", "BaseException", "Error", "RuntimeError", "ValueError", "Throwable"}:
            notes["exception"] = None
        if names & {"Enum", "IntEnum", "StrEnum", "Flag"}:
            notes["enumeration"] = None
        methods = {facts.symbols[i].name for i in facts.children.get(index, ())}
        if {"__enter__", "__exit__"} <= methods:
            notes["context manager"] = None
        if {"__aenter__", "__aexit__"} <= methods:
            notes["async context manager"] = None
        if "__iter__" in methods and "__next__" in methods:
            notes["iterator"] = None
        if "__call__" in methods:
            notes["callable objects"] = None
        if "__getattr__" in methods:
            notes["attributes made on demand"] = None
    return tuple(notes)
