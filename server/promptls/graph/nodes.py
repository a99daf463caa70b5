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
    def ref(self) -> OutlineRef:
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


def complexity_level(file_symbols: FileSymbols, index: int) -> Complexity:
    """Return the complexity level: simple up to McCabe's limit of 10 (1976), moderate up to 20, complex above.

    A type or file is as complex as its most complex function; a sum would only measure the length.
    """
    symbols = file_symbols.symbols
    number = symbols[index].complexity if index >= 0 else 0
    for i in range(index + 1, len(symbols)):
        is_nested = index < 0 or (symbols[i].span.start < symbols[index].span.end and symbols[i].parent >= index)
        if not is_nested:
            break
        number = max(number, symbols[i].complexity)
    return "simple" if number <= 10 else "moderate" if number <= 20 else "complex"


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
    text = f"{symbol.kind.capitalize()} {symbol.name or symbol.qualified}"
    if symbol.kind in TYPE_KINDS:
        bases = symbol.signature.partition("(")[2].partition(")")[0] if language == "python" else ""
        text += f", derived from {bases}" if bases else ""
    elif symbol.kind in CALLABLE_KINDS and symbol.kind != "test":
        takes, gives = ", ".join(parameter_names(symbol.signature)), after_arrow(symbol.signature)
        parts = [f"takes {takes}"] if takes else []
        parts += [f"gives {gives}"] if gives not in ("", "None", "()", "void") else []
        text += f" that {' and '.join(parts)}" if parts else ""
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
    if index < 0:
        stem = label.rpartition("/")[2].partition(".")[0]
        tags = [layer.lower()] if layer != CORE else []
        tags.append(file_symbols.outline.language)
        tags += ["entry-point"] if stem.lower() in ("main", "__main__", "app", "cli", "server", "manage") else []
        tags += [word for word in split_identifier(stem) if word not in _UNINFORMATIVE_WORDS]
        return tuple(dict.fromkeys(tags))[:MAX_TAGS]
    symbol = file_symbols.symbols[index]
    if symbol.kind == "test" or (layer == TEST and symbol.name.lower().startswith("test")):
        tags = ["test"]
    else:
        tags = [layer.lower()] if layer != CORE else []
    tags += [trait[1:].rpartition(".")[2].lower() for trait in symbol.traits.split() if trait.startswith("@")]
    if symbol.exported and symbol.kind in TYPE_KINDS | CALLABLE_KINDS and symbol.parent < 0:
        tags.append("exported")
    words = split_identifier(symbol.name)
    tags += [word for word in words if len(word) > 2 and word not in _UNINFORMATIVE_WORDS]
    tags += [symbol.kind] if symbol.kind not in REPEATED_KINDS else []
    return tuple(dict.fromkeys(tags))[:MAX_TAGS]


_DECORATORS = {
    "property": "property",
    "cached_property": "property that is computed once",
    "staticmethod": "static method",
    "classmethod": "class method",
    "abstractmethod": "abstract method",
    "contextmanager": "context manager",
    "asynccontextmanager": "async context manager",
    "dataclass": "dataclass",
    "override": "overrides a method of its base",
    "Override": "overrides a method of its base",
    "fixture": "test fixture",
    "deprecated": "deprecated",
    "Deprecated": "deprecated",
}
_MODIFIERS = (
    (re.compile(r"\basync\b|\bsuspend\b"), "async"),
    (re.compile(r"\bstatic\b"), "static"),
    (re.compile(r"\babstract\b"), "abstract"),
    (re.compile(r"\bunsafe\b"), "unsafe"),
    (re.compile(r"\btemplate\s*<"), "template"),
    (re.compile(r"\bdata class\b|\brecord\b|\bcase class\b"), "value class"),
)
_BASE_NOTES = (
    ({"Protocol"}, "protocol"),
    ({"ABC", "ABCMeta"}, "abstract base class"),
    ({"Exception", "BaseException", "Error", "RuntimeError", "ValueError", "Throwable"}, "exception"),
    ({"Enum", "IntEnum", "StrEnum", "Flag"}, "enumeration"),
)


def language_notes(file_symbols: FileSymbols, index: int) -> tuple[str, ...]:
    """Return notes about language features, such as "async generator" or "abstract base class"."""
    if index < 0:
        return ()
    symbol = file_symbols.symbols[index]
    traits = symbol.traits.split()
    notes: list[str] = []
    modifiers = [note for pattern, note in _MODIFIERS if pattern.search(symbol.signature)]
    if symbol.kind in CALLABLE_KINDS:
        if "yields" in traits and not {"@contextmanager", "@asynccontextmanager"} & set(traits):
            notes.append("async generator" if "async" in modifiers else "generator")
        elif "async" in modifiers:
            notes.append("asynchronous")
        notes += [note for note in modifiers if note != "async"]
    decorators = (trait[1:].rpartition(".")[2] for trait in traits if trait.startswith("@"))
    notes += [_DECORATORS[name] for name in decorators if name in _DECORATORS]
    if symbol.kind in TYPE_KINDS:
        notes += [note for note in modifiers if note in ("abstract", "value class", "template")]
        bases = {use.name for use in file_symbols.base_references(index)}
        notes += [note for names, note in _BASE_NOTES if names & bases]
        methods = {file_symbols.symbols[i].name for i in file_symbols.children.get(index, ())}
        if {"__enter__", "__exit__"} <= methods:
            notes.append("context manager")
        if {"__iter__", "__next__"} <= methods:
            notes.append("iterator")
    return tuple(dict.fromkeys(notes))
