"""Nodes, edges, layers and results of the graph; and summaries of nodes, derived from the outline."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from promptls.graph.resolution.file_tables import FileSymbols
from promptls.index import OutlineRef, split_identifier
from promptls.knowledge.project.facts import ProjectHeader
from promptls.knowledge.project.file_kind import CORE, TEST
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.languages.signature_types import after_arrow
from promptls.model import Span, Symbol
from promptls.util.text.display import truncate_words

EdgeType = Literal[
    "contains", "imports", "calls", "inherits", "implements", "uses", "exports", "tested_by", "documents"
]
Complexity = Literal["simple", "moderate", "complex"]


class Node(Struct, frozen=True):
    """A file or a definition."""

    id: str  # "file:src/a.py", "method:src/a.py:A.b"; a second one of the same name ends in "@line"
    type: str  # "file", or the symbol's kind
    name: str
    path: str  # absolute
    label: str  # path as shown to users
    span: Span
    index: int = -1  # into Outline.symbols, -1 for the file
    qualified: str = ""  # "Server.ping"; "" for a file
    complexity: Complexity = "simple"
    summary: str = ""
    tags: tuple[str, ...] = ()
    language_notes: tuple[str, ...] = ()
    layer: str = ""

    @property
    def ref(self) -> tuple[str, int]:
        """Path, and index into the symbols or -1 for the file."""
        return self.path, self.index


class Edge(Struct, frozen=True):
    """A relation from source to target: "source calls target"."""

    source: tuple[str, int]  # (path, index of the symbol or -1 for the file)
    target: tuple[str, int]
    type: EdgeType
    weight: float  # 0..1: certainty of the target, see resolution.CERTAINTY
    path: str  # file that contains the evidence
    line: int  # 0-based line of the evidence
    note: str = ""  # method of resolution


class ScoredNeighbor(Struct, frozen=True):
    """A neighbor with its score and the edge that leads to it."""

    ref: tuple[str, int]
    score: float  # 0..1, a fraction of the parent's score
    edge: Edge


class GraphLayer(Struct, frozen=True):
    """A layer with the nodes of a result that belong to it."""

    name: str
    description: str
    nodes: tuple[str, ...]  # ids


class GraphResult(Struct, frozen=True):
    """A part of the graph, the result of promptls/graph."""

    project: ProjectHeader
    layers: tuple[GraphLayer, ...]
    nodes: tuple[Node, ...]  # most relevant first
    edges: tuple[Edge, ...]  # both ends among `nodes`
    paths: tuple[tuple[tuple[str, int], ...], ...] = ()  # call paths, shortest first
    problem: str = ""  # reason for an empty result
    suggestions: tuple[str, ...] = ()  # similar names that exist


def deduplicate_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Keep the most certain of edges with the same ends and type, at the position of the first one."""
    out: dict[tuple[OutlineRef, OutlineRef, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.type)
        other = out.get(key)
        if other is None or other.weight < edge.weight:
            out[key] = edge
    return tuple(out.values())


# ---- summaries

MAX_SUMMARY = 200
"""Maximum length of a summary in characters."""
MAX_TAGS = 5
"""Maximum number of tags of a node."""

_SENTENCE = re.compile(r"(.+?[.!?。！？])(?:\s|$)")
_UNINFORMATIVE_WORDS = frozenset(
    "get set the a an of to is has do new make init self this test tests index main mod lib src".split()
)
_ABSTRACT_BASES = frozenset({"ABC", "ABCMeta", "Protocol"})


def complexity_level(file_symbols: FileSymbols, index: int) -> Complexity:
    """Return the complexity level: simple up to McCabe's limit of 10 (1976), moderate up to 20, complex above.

    A type or file is as complex as its most complex function; a sum would only measure the length.
    """
    number = max((file_symbols.symbols[i].complexity for i in nested_symbols(file_symbols, index)), default=0)
    return "simple" if number <= 10 else "moderate" if number <= 20 else "complex"


def nested_symbols(file_symbols: FileSymbols, index: int) -> list[int]:
    """Return the indices of a definition and its nested definitions; of all definitions for -1."""
    if index < 0:
        return list(range(len(file_symbols.symbols)))
    end = file_symbols.symbols[index].span.end
    last = index + 1
    while (
        last < len(file_symbols.symbols)
        and file_symbols.symbols[last].span.start < end
        and file_symbols.symbols[last].parent >= index
    ):
        last += 1
    return list(range(index, last))


def summarize(file_symbols: FileSymbols, index: int) -> str:
    """Return the first sentence of the documentation, otherwise a description of the signature."""
    if index >= 0:
        symbol = file_symbols.symbols[index]
        return first_sentence(symbol.doc) or describe_signature(symbol, file_symbols.outline.language)
    if file_symbols.outline.doc:
        return first_sentence(file_symbols.outline.doc)
    section = file_symbols.symbols[0] if file_symbols.symbols and file_symbols.symbols[0].kind == "section" else None
    if section is not None:
        return first_sentence(section.doc) or section.name
    names = [s.name for s in file_symbols.symbols if s.parent < 0 and s.name and s.kind in TYPE_KINDS | CALLABLE_KINDS]
    kind = f"{file_symbols.outline.language.capitalize()} file"
    if not names:
        return f"{kind} of {file_symbols.outline.lines} lines."
    shown = ", ".join(names[:4])
    return f"{kind} that defines {shown}{f' and {len(names) - 4} more' if len(names) > 4 else ''}."


def first_sentence(doc: str) -> str:
    """Return the text up to the first full stop, at most MAX_SUMMARY characters."""
    match = _SENTENCE.match(doc)
    return truncate_words(match.group(1) if match else doc, MAX_SUMMARY)


def describe_signature(symbol: Symbol, language: str) -> str:
    """Return a sentence from kind, name and signature, such as "Method ping that takes frame and gives bool"."""
    if symbol.kind in TYPE_KINDS:
        head = symbol.signature.partition("(")[2].partition(")")[0] if language == "python" else ""
        derived = f", derived from {head}" if head else ""
        return truncate_words(f"{symbol.kind.capitalize()} {symbol.name or symbol.qualified}{derived}.", MAX_SUMMARY)
    if symbol.kind not in CALLABLE_KINDS or symbol.kind == "test":
        return truncate_words(f"{symbol.kind.capitalize()} {symbol.name}.", MAX_SUMMARY)
    takes = ", ".join(parameter_names(symbol.signature))
    gives = after_arrow(symbol.signature)
    gives = "" if gives in ("None", "()", "void") else gives
    text = f"{symbol.kind.capitalize()} {symbol.name}"
    if takes or gives:
        text += " that " + " and ".join(
            part for part in (takes and f"takes {takes}", gives and f"gives {gives}") if part
        )
    return truncate_words(text, MAX_SUMMARY - 1) + "."


def parameter_names(signature: str) -> list[str]:
    """Return the recognizable parameter names of a signature, without self, this and cls."""
    inside = signature.partition("(")[2]
    depth, parts, part = 0, [], ""
    for character in inside:
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            if depth == 0:
                break
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(part)
            part = ""
            continue
        if depth == 0:
            part += character
    names = []
    for text in [*parts, part]:
        text_before_type = re.split(r"[:=]", text)[0].strip().lstrip("*&.$")
        word = (
            re.search(r"[^\W\d]\w*(?=\W*$)", text_before_type)
            if ":" in text or " " in text_before_type
            else re.search(r"[^\W\d]\w*", text_before_type)
        )
        if word and word.group() not in ("self", "this", "cls"):
            names.append(word.group())
    return names[:6]


def node_tags(file_symbols: FileSymbols, index: int, label: str, layer: str) -> tuple[str, ...]:
    """Return at most MAX_TAGS tags: role, layer, decorators, then the words of the name."""
    tags: dict[str, None] = {}
    if index < 0:
        if layer != CORE:
            tags[layer.lower()] = None
        tags[file_symbols.outline.language] = None
        stem = label.rpartition("/")[2].partition(".")[0]
        if stem.lower() in ("main", "__main__", "app", "cli", "server", "manage"):
            tags["entry-point"] = None
        for word in split_identifier(stem):
            if word not in _UNINFORMATIVE_WORDS:
                tags[word] = None
        return tuple(tags)[:MAX_TAGS]
    symbol = file_symbols.symbols[index]
    if symbol.kind == "test" or (layer == TEST and symbol.name.lower().startswith("test")):
        tags["test"] = None
    elif layer != CORE:
        tags[layer.lower()] = None
    for trait in symbol.traits.split():
        if trait.startswith("@"):
            tags[trait[1:].rpartition(".")[2].lower()] = None
    if symbol.exported and symbol.kind in TYPE_KINDS | CALLABLE_KINDS and symbol.parent < 0:
        tags["exported"] = None
    for word in split_identifier(symbol.name):
        if len(word) > 2 and word not in _UNINFORMATIVE_WORDS:
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


def language_notes(file_symbols: FileSymbols, index: int) -> tuple[str, ...]:
    """Return notes about language features, such as "async generator" or "abstract base class"."""
    if index < 0:
        return ()
    symbol = file_symbols.symbols[index]
    traits = symbol.traits.split()
    notes: dict[str, None] = {}
    modifiers = [note for pattern, note in _MODIFIERS if pattern.search(symbol.signature)]
    if symbol.kind in CALLABLE_KINDS:
        is_generator = "yields" in traits and "@contextmanager" not in traits and "@asynccontextmanager" not in traits
        if is_generator:
            notes["async generator" if "async" in modifiers else "generator"] = None
        elif "async" in modifiers:
            notes["asynchronous"] = None
        if "spawns" in traits:
            notes["starts goroutines"] = None
        if "defers" in traits:
            notes["defers calls"] = None
        if "awaits" in traits and "async" not in modifiers:
            notes["awaits"] = None
        notes.update(dict.fromkeys(note for note in modifiers if note != "async"))
    for trait in traits:
        note = _DECORATORS.get("@" + trait[1:].rpartition(".")[2]) if trait.startswith("@") else None
        if note:
            notes[note] = None
    if symbol.kind in TYPE_KINDS:
        notes.update(
            dict.fromkeys(note for note in modifiers if note in ("abstract", "sealed", "value class", "template"))
        )
        names = {use.name for use in file_symbols.base_references(index)}
        if names & _ABSTRACT_BASES:
            notes["protocol" if "Protocol" in names else "abstract base class"] = None
        if names & {"Exception", "BaseException", "Error", "RuntimeError", "ValueError", "Throwable"}:
            notes["exception"] = None
        if names & {"Enum", "IntEnum", "StrEnum", "Flag"}:
            notes["enumeration"] = None
        methods = {file_symbols.symbols[i].name for i in file_symbols.children.get(index, ())}
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
