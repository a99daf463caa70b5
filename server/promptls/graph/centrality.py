"""Central definitions of a workspace: the types and functions that most other files of the project refer to.

Ranks definitions by the number of files that refer to them and by the number of definitions they refer to themselves.
Tests, examples, generated code, copies of other projects and documentation are neither ranked nor counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import log2

from msgspec import Struct

from promptls.graph.graph import INDEX_STEMS, GraphView
from promptls.graph.resolution.file_tables import FileSymbols
from promptls.index import OutlineRef
from promptls.knowledge.project.file_kind import is_peripheral
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.model import PROSE, CancelToken, Symbol

MAX_SOURCES = 4_000
"""Maximum number of files whose references are resolved, outermost first; bounds the time."""
MAX_NAMES = 600
"""Maximum number of names whose references are resolved: those that the most files mention."""
MAX_REFERENCES = 2_000
"""Maximum number of references that are resolved in one file."""
MAX_RANKED = 60
"""Maximum number of definitions in the result."""

_OUTGOING_WEIGHT = 0.4
"""Weight of a definition that a definition refers to, relative to a file that refers to it."""
_EXPORT_FACTOR = 1.6
"""Factor for definitions that an index file of an outer folder re-exports: the public interface of a library."""
_FACTORS = {
    "class": 1.0,
    "struct": 1.0,
    "interface": 1.0,
    "trait": 1.0,
    "object": 1.0,
    "enum": 0.6,
    "union": 0.6,
    "type": 0.25,
}
"""Factor by kind of type; functions have `_FUNCTION_FACTOR`."""
_FUNCTION_FACTOR, _PRIVATE_FACTOR, _ERROR_FACTOR, _SUPPORT_FACTOR = 0.35, 0.4, 0.25, 0.4
_DECLARATION_ENDS, _DECLARATION_FACTOR = (".d.ts", ".d.mts", ".d.cts", ".pyi"), 0.4
"""Files of declarations without code, and the factor for them."""
_SHORT_LINES, _SHORT_FACTOR = 8, 0.4
"""Functions with fewer lines are helpers, and the factor for them."""
_SAME_FILE_FACTOR, _SAME_FOLDER_FACTOR, _SAME_NAME_FACTOR = 0.7, 0.93, 0.4
"""Factors for a definition after each better one in the same file, in the same folder, and of the same name."""
_MAX_EXPORT_DEPTH = 3
"""Maximum number of folders above an index file whose exports are public."""

_ERROR = re.compile(r"\w*(?:Error|Exception|Err|Warning|Fault)s?")
_SUPPORT_PATH = re.compile(
    r"(?:^|[/:])_?(?:utils?|utilities|helpers?|internal_utils?|compat\w*|polyfills?|typing|constants?|shims?|scripts?"
    r"|tools?|hack|ci|build|bench(?:es|marks?)?|perf|migrations?|generated|mocks?|stubs?|testing|testutils?|_internal)"
    r"(?:/|\.[^/]*$|$)",
    re.IGNORECASE,
)
"""Paths of helpers and of scripts for development."""
_OUTSIDE = re.compile(
    r"(?:^|[/:])(?:node_modules|vendor\w*|third[_-]?party|external|_vendor|dist|target|out|site-packages|examples?|docs?"
    r"|integration|e2e|playground|sandbox)/|[._](?:generated|pb|pb2|min|g|bundle)(?:_grpc)?\.\w+$|_pb2(?:_grpc)?\.py$"
    r"|(?:^|[/:])(?:setup|conftest|noxfile|tasks|build|gulpfile|Gruntfile|Rakefile)\.\w+$|\.config\.\w+$",
    re.IGNORECASE,
)
"""Paths of generated code, of copies of other projects, and of build scripts."""


class CentralDefinition(Struct, frozen=True):
    """A definition with its rank in the workspace."""

    ref: OutlineRef
    score: float  # larger than 0; comparable within one workspace
    referring_files: int


def central_definitions(view: GraphView, token: CancelToken | None = None) -> tuple[CentralDefinition, ...]:
    """Return the central types and functions, best first; computed once for a view."""
    return view.memoize(_rank, token)


@lru_cache(maxsize=1 << 14)
def is_project_code(label: str) -> bool:
    """Return true for the project's own code, without tests, examples, generated and vendored files."""
    return not is_peripheral(label) and _OUTSIDE.search(label) is None


def is_support_code(label: str) -> bool:
    """Return true for helpers and for scripts for development."""
    return _SUPPORT_PATH.search(label) is not None


def _rank(view: GraphView, token: CancelToken | None) -> tuple[CentralDefinition, ...]:
    snapshot = view.snapshot
    labels = {path: snapshot.label(path) for path, entry in snapshot.files.items() if entry.encoded_outline}
    paths = sorted((p for p, label in labels.items() if is_project_code(label)), key=lambda p: (p.count("/"), p))
    tables = ((path, view.file_symbols(path)) for path in paths[:MAX_SOURCES])
    files = {path: table for path, table in tables if table is not None}
    all_names: set[str] = set()
    for symbols in files.values():
        if token is not None:
            token.check()
        all_names.update(symbols.symbols[index].name for index in symbols.main_definitions)
    names = set(sorted(all_names, key=lambda name: (-view.mention_count(name), name))[:MAX_NAMES])
    incoming: dict[OutlineRef, set[str]] = {}
    outgoing: dict[OutlineRef, set[OutlineRef]] = {}
    for path, symbols in files.items():
        if token is not None:
            token.check()
        for owner, target in _references(view, path, symbols, names):
            if target[0] != path and target[0] in files:
                incoming.setdefault(target, set()).add(path)
                outgoing.setdefault((path, owner), set()).add(target)
    exported = _exported(view, files, token)
    scored = [
        CentralDefinition(ref, round(score, 6), len(incoming.get(ref, ())))
        for ref in {*incoming, *outgoing, *exported}
        if ref[1] >= 0 and ref[1] in files[ref[0]].main_definitions
        if (score := _score(view, files, ref, len(incoming.get(ref, ())), len(outgoing.get(ref, ())), ref in exported))
    ]
    return _diversify(view, scored)


def _diversify(view: GraphView, scored: list[CentralDefinition]) -> tuple[CentralDefinition, ...]:
    """Return the best definitions; each one lowers the scores of those after it in its file and its folder."""
    scored.sort(key=lambda one: (-one.score, one.ref))
    ranked: list[CentralDefinition] = []
    seen: Counter[str] = Counter()
    for one in scored[: 3 * MAX_RANKED]:
        path, symbol = one.ref[0], view.symbol(one.ref)
        folder, name = path.rpartition("/")[0], f"name {symbol.qualified if symbol is not None else ''}"
        factor = _SAME_FILE_FACTOR ** seen[path] * _SAME_FOLDER_FACTOR ** seen[folder] * _SAME_NAME_FACTOR ** seen[name]
        ranked.append(CentralDefinition(one.ref, round(one.score * factor, 6), one.referring_files))
        seen.update((path, folder, name))
    ranked.sort(key=lambda one: (-one.score, one.ref))
    return tuple(ranked[:MAX_RANKED])


def _references(view: GraphView, path: str, symbols: FileSymbols, names: set[str]) -> Iterator[tuple[int, OutlineRef]]:
    """Yield (top-level definition, target) for the references of a file to definitions of these names."""
    seen: set[tuple[int, str, str]] = set()
    owners: dict[int, int] = {}
    for name in symbols.outline.ref_names:
        if name not in names:
            continue
        for owner, reference in symbols.references_named(name):
            outer = owners[owner] if owner in owners else owners.setdefault(owner, _ranked_owner(symbols, owner))
            key = (outer, name, reference.receiver)
            if reference.kind == PROSE or key in seen:
                continue
            if len(seen) >= MAX_REFERENCES:
                return
            seen.add(key)
            for found in view.resolver.resolve(path, owner, reference):
                yield outer, found.ref


def _ranked_owner(symbols: FileSymbols, index: int) -> int:
    """Return the outermost ranked definition that contains a definition, or the type of a method outside of its body."""
    outer = -1
    for scope in symbols.scopes(index):
        symbol = symbols.symbols[scope]
        type_name = symbol.qualified if symbol.kind == "impl" else symbols.enclosing_type_name(scope)
        types = symbols.by_qualified_name.get(type_name, ()) if outer < 0 and type_name else ()
        candidates = (scope, *types)
        outer = next((i for i in candidates if i in symbols.main_definitions), outer)
    return outer


def _exported(view: GraphView, files: dict[str, FileSymbols], token: CancelToken | None) -> set[OutlineRef]:
    """Return the definitions that index files of outer folders re-export."""
    exported: set[OutlineRef] = set()
    for path in files:
        stem, depth = path.rpartition("/")[2].partition(".")[0], view.snapshot.label(path).count("/")
        if stem not in INDEX_STEMS or depth > _MAX_EXPORT_DEPTH:
            continue
        if token is not None:
            token.check()
        edges = (edge for edge in view.outgoing((path, -1)) if edge.type == "exports")
        exported |= {edge.target for edge in edges if edge.target[0] != path and edge.target[0] in files}
    return exported


def _score(
    view: GraphView, files: dict[str, FileSymbols], ref: OutlineRef, incoming: int, outgoing: int, exported: bool
) -> float:
    symbols = files[ref[0]]
    symbol, label = symbols.symbols[ref[1]], view.snapshot.label(ref[0])
    score = (incoming + _OUTGOING_WEIGHT * min(outgoing, incoming + 10)) * _kind_factor(symbols, ref[1], symbol)
    if exported:
        score = (score + 1) * _EXPORT_FACTOR
    if symbol.name.startswith("_") or not symbol.exported:
        score *= _PRIVATE_FACTOR
    if _ERROR.fullmatch(symbol.name[:100]):
        score *= _ERROR_FACTOR
    if label.endswith(_DECLARATION_ENDS):
        score *= _DECLARATION_FACTOR
    if is_support_code(label):
        score *= _SUPPORT_FACTOR
    return score


def _kind_factor(symbols: FileSymbols, index: int, symbol: Symbol) -> float:
    """Return the factor for the kind of a definition; a type with more members counts more."""
    if symbol.kind in CALLABLE_KINDS:
        return _FUNCTION_FACTOR * (_SHORT_FACTOR if len(symbol.span) < _SHORT_LINES else 1.0)
    return _FACTORS.get(symbol.kind, 0.5) * (0.5 + 0.5 * min(1.0, log2(1 + member_count(symbols, index)) / 4))


def member_count(symbols: FileSymbols, index: int) -> int:
    """Return the number of members of a type, with methods that are defined outside of its body in the same file."""
    symbol = symbols.symbols[index]
    prefix = f"{symbol.qualified}."
    inside = len(symbols.children.get(index, ()))
    outside = Counter(s.qualified.startswith(prefix) for s in symbols.symbols if s.parent != index)[True]
    return inside + outside
