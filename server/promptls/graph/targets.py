"""Resolution of graph targets: "src/a.py", "src/a.py:run", "Server.run", "run", or the id of a node.

Used by promptls/graph and promptls/explain.  Returns nodes, or a problem and similar names.
"""

from __future__ import annotations

import re

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.graph.centrality import is_project_code
from promptls.graph.graph import GraphView
from promptls.index import OutlineRef
from promptls.languages import implementation_paths
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, SYMBOL_KINDS, TYPE_KINDS

_TASK_SEPARATOR = re.compile(r"(?<=\w):(?=\w)")
"""Separator in names of Rake tasks: "db:migrate"."""
MAX_MATCHES = 50
"""Maximum number of definitions for one target."""
MAX_SUGGESTIONS = 5
"""Maximum number of similar names."""


class TargetMatches(Struct, frozen=True):
    """Nodes that match a target, most likely first, or the reason why there are none."""

    refs: tuple[OutlineRef, ...] = ()
    problem: str = ""
    suggestions: tuple[str, ...] = ()


def resolve_target(view: GraphView, target: str) -> TargetMatches:
    """Return the nodes that match a target."""
    target = target.strip().lstrip("@#").removesuffix("()")
    if not target:
        return TargetMatches(problem="The target is blank; give a path, a name, or both as path:name.")
    head, _, rest = target.partition(":")
    if rest and (head == "file" or head in SYMBOL_KINDS):
        found = _by_id(view, target)
        if found:
            return TargetMatches(found)
    file = _matching_files(view, target)
    if file:
        return TargetMatches(file)
    for separator in ("#", ":"):
        path, mark, name = target.rpartition(separator)
        if mark and name:
            files = _matching_files(view, path)
            if files:
                definitions = tuple(p for f, _ in files for p in _definitions_in_file(view, f, name))
                return (
                    TargetMatches(definitions)
                    if definitions
                    else _not_in_file(view, name, f"{path} has no definition called {name}.", files[0][0])
                )
    found = definitions_named(view, target) or definitions_named(view, _TASK_SEPARATOR.sub(".", target))
    return TargetMatches(found) if found else _not_found(view, target)


def resolve_position(view: GraphView, path: str, line: int, word: str = "") -> TargetMatches:
    """Return the nodes at a 0-based line of a file.

    This is the target of the reference `word` if it can be resolved, otherwise the innermost definition, otherwise
    the file.
    """
    if view.entry(path) is None:
        return _not_found(view, path)
    file_symbols = view.file_symbols(path)
    for owner, use in file_symbols.references_named(word) if file_symbols is not None and word else ():
        if use.line == line:
            found = view.resolver.resolve(path, owner, use)
            if found:
                return TargetMatches(tuple(match.ref for match in found))
    index = -1
    for i, symbol in enumerate(file_symbols.symbols if file_symbols is not None else ()):
        if line in symbol.span or symbol.doc_start <= line < symbol.span.start:
            index = i
    return TargetMatches(((path, index),))


def definitions_named(view: GraphView, name: str) -> tuple[OutlineRef, ...]:
    """Return the definitions of a name or qualified name ("Server.run", "pkg::Server::run")."""
    name = name.replace("::", ".").replace("#", ".").replace("\\", ".")
    last = name.rpartition(".")[2]
    found: list[tuple[tuple[int, ...], OutlineRef]] = []
    for ref in view.snapshot.names.get(last.lower(), ()):
        symbol = view.symbol(ref)
        if symbol is None:
            continue
        full = f".{symbol.qualified}"
        if full.endswith("." + name):
            rank = 0
        elif full.lower().endswith("." + name.lower()):
            rank = 1
        elif symbol.name == last and "." in name and _module_path(ref[0]).endswith("." + name.rpartition(".")[0]):
            rank = 0
        else:
            continue
        is_other_code = view.is_test(ref) or not is_project_code(view.snapshot.label(ref[0]))
        found.append(((rank, is_other_code, symbol.qualified != name, _kind_rank(symbol.kind)), ref))
    paths = {ref[0] for _, ref in found}
    ordered = sorted(
        found, key=lambda pair: (pair[0], _repeats_any(pair[1][0], paths), _path_order(pair[1][0]), pair[1])
    )
    return tuple(ref for _, ref in ordered)[:MAX_MATCHES]


def _kind_rank(kind: str) -> int:
    """Return the order of a kind among definitions of one name: types and modules, callables, others."""
    if kind in TYPE_KINDS or kind == "module":
        return 0
    return 1 if kind in CALLABLE_KINDS else 2


def _path_order(path: str) -> tuple[int, list[str]]:
    """Return a sort key that puts files in fewer folders first, and "api" before "api-beta"."""
    parts = path.split("/")
    return len(parts), parts


def _repeats_any(path: str, paths: set[str]) -> bool:
    """Return whether a file only declares what one of the other files implements."""
    return any(implementation in paths for implementation in implementation_paths(path))


def _module_path(path: str) -> str:
    return "." + path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")


def _by_id(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    kind, _, rest = target.partition(":")
    for path in view.snapshot.files:
        label = view.snapshot.label(path)
        if rest == label and kind == "file":
            return ((path, -1),)
        if rest.startswith(label + ":"):
            file_symbols = view.file_symbols(path)
            for i in range(len(file_symbols.symbols) if file_symbols is not None else 0):
                if view.id((path, i)) == target:
                    return ((path, i),)
    return ()


def _matching_files(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    """Return the files that match a path: absolute, relative to a root, or by the end of the path."""
    if not target:
        return ()
    if target in view.snapshot.files:
        return ((target, -1),)
    base = target.rpartition("/")[2].lower()
    found: list[tuple[int, OutlineRef]] = []
    for path in view.snapshot.basenames.get(base, ()):
        label = view.snapshot.label(path)
        if label == target or label.partition(":")[2] == target:
            found.append((0, (path, -1)))
        elif path.endswith("/" + target.removeprefix("./")):
            found.append((1, (path, -1)))
    best = min((rank for rank, _ in found), default=0)
    return tuple(sorted(ref for rank, ref in found if rank == best))


def _definitions_in_file(view: GraphView, path: str, name: str) -> list[OutlineRef]:
    """Return the definitions of a file by name, or by the end of a qualified name."""
    file_symbols = view.file_symbols(path)
    suffix = "." + name.replace("::", ".")
    symbols = file_symbols.symbols if file_symbols is not None else ()
    found = [(path, i) for i, s in enumerate(symbols) if s.name and f".{s.qualified}".endswith(suffix)]
    return sorted(found, key=lambda ref: (symbols[ref[1]].kind in REPEATED_KINDS, ref[1]))


def _not_in_file(view: GraphView, name: str, problem: str, path: str) -> TargetMatches:
    file_symbols = view.file_symbols(path)
    names = sorted({s.qualified for s in file_symbols.symbols if s.name}) if file_symbols is not None else []
    similar = process.extract(name, names, scorer=fuzz.WRatio, limit=MAX_SUGGESTIONS, score_cutoff=60)
    label = view.snapshot.label(path)
    return TargetMatches(problem=problem, suggestions=tuple(f"{label}:{found}" for found, _, _ in similar))


def _not_found(view: GraphView, target: str) -> TargetMatches:
    """Return similar names, and the possible reasons for no match."""
    last = target.replace("::", ".").rpartition(".")[2] or target
    labels = {view.snapshot.label(path): path for path in view.snapshot.files}
    similar: list[tuple[float, str]] = []
    if "/" in target or "." in target:
        similar += [
            (score, label)
            for label, score, _ in process.extract(target, list(labels), scorer=fuzz.WRatio, limit=3, score_cutoff=70)
        ]
    for name, score, _ in process.extract(
        last.lower(), list(view.snapshot.names), scorer=fuzz.ratio, limit=MAX_SUGGESTIONS, score_cutoff=60
    ):
        symbol = view.symbol(view.snapshot.names[name][0])
        if symbol is not None:
            similar.append((score, symbol.qualified))
    similar.sort(key=lambda match: (-match[0], match[1]))
    waiting = sum(1 for entry in view.snapshot.files.values() if not entry.encoded_outline and not entry.skip_reason)
    return TargetMatches(
        problem=f"Nothing in the workspace is called {target}: {_reasons(waiting)}",
        suggestions=tuple(dict.fromkeys(name for _, name in similar))[:MAX_SUGGESTIONS],
    )


_IGNORE_SOURCES = ".gitignore, .promptlsignore or the setting index.exclude"
"""Reasons for excluded files, in words that users of the command line, of editors and of agents can act on."""


def _reasons(waiting: int) -> str:
    wait = f"is not indexed yet ({waiting} files are not)" if waiting else "was removed or renamed"
    return f"the name may not exist, its file may be ignored ({_IGNORE_SOURCES}), or it {wait}."
