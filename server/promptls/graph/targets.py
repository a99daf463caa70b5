"""What a target written by hand means: "src/a.py", "src/a.py:run", "Server.run", "run", a node's id.

The same for promptls/graph and promptls/explain.  Gives places, or the names that come nearest and why there is
nothing.
"""

from __future__ import annotations

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.graph.graph import GraphView
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, SYMBOL_KINDS, TYPE_KINDS

MAX_PLACES = 50
MAX_NEAR = 5


class Located(Struct, frozen=True):
    """Places of a target, likeliest first, or why there are none."""

    places: tuple[OutlineRef, ...] = ()
    problem: str = ""
    suggestions: tuple[str, ...] = ()


def locate(view: GraphView, target: str) -> Located:
    """The nodes that a target names."""
    target = target.strip().lstrip("@#").removesuffix("()")
    if not target:
        return Located(problem="The target is blank; give a path, a name, or both as path:name.")
    head, _, rest = target.partition(":")
    if rest and (head == "file" or head in SYMBOL_KINDS):
        found = _by_id(view, target)
        if found:
            return Located(found)
    file = _file(view, target)
    if file:
        return Located(file)
    for separator in ("#", ":"):
        path, mark, name = target.rpartition(separator)
        if mark and name:
            files = _file(view, path)
            if files:
                inside = tuple(p for f, _ in files for p in _inside(view, f, name))
                return (
                    Located(inside)
                    if inside
                    else _missing(view, name, f"{path} has no definition called {name}.", files[0][0])
                )
    found = named(view, target)
    return Located(found) if found else _not_found(view, target)


def at(view: GraphView, path: str, line: int, word: str = "") -> Located:
    """What stands at a 0-based line of a file: what the `word` there refers to, where it is a reference that can be
    told; else the innermost definition; else the file itself."""
    if view.entry(path) is None:
        return _not_found(view, path)
    facts = view.facts(path)
    for owner, use in facts.uses_named(word) if facts is not None and word else ():
        if use.line == line:
            found = view.resolver.resolve(path, owner, use)
            if found:
                return Located(tuple(one.place for one in found))
    index = -1
    for i, symbol in enumerate(facts.symbols if facts is not None else ()):
        if line in symbol.span or symbol.doc_start <= line < symbol.span.start:
            index = i
    return Located(((path, index),))


def named(view: GraphView, name: str) -> tuple[OutlineRef, ...]:
    """Definitions of a name or of a qualified name ("Server.run", "pkg::Server::run")."""
    name = name.replace("::", ".").replace("#", ".").replace("\\", ".")
    last = name.rpartition(".")[2]
    found: list[tuple[int, OutlineRef]] = []
    for place in view.snapshot.names.get(last.lower(), ()):
        symbol = view.symbol(place)
        if symbol is None:
            continue
        full = f".{symbol.qualified}"
        if full.endswith("." + name):
            rank = 0
        elif full.lower().endswith("." + name.lower()):
            rank = 1
        elif symbol.name == last and "." in name and _module(place[0]).endswith("." + name.rpartition(".")[0]):
            rank = 0
        else:
            continue
        rank = rank * 8 + (symbol.qualified != name) * 4 + (symbol.kind not in TYPE_KINDS | CALLABLE_KINDS) * 2
        found.append((rank + view.is_test(place), place))
    return tuple(place for _, place in sorted(found))[:MAX_PLACES]


def _module(path: str) -> str:
    return "." + path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")


def _by_id(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    kind, _, rest = target.partition(":")
    for path in view.snapshot.files:
        label = view.snapshot.label(path)
        if rest == label and kind == "file":
            return ((path, -1),)
        if rest.startswith(label + ":"):
            facts = view.facts(path)
            for i in range(len(facts.symbols) if facts is not None else 0):
                if view.id((path, i)) == target:
                    return ((path, i),)
    return ()


def _file(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    """Files that a path names: in full, relative to a root, or by its end."""
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
    return tuple(sorted(place for rank, place in found if rank == best))


def _inside(view: GraphView, path: str, name: str) -> list[OutlineRef]:
    """Definitions of one file by name or the end of a qualified name."""
    facts = view.facts(path)
    wanted = "." + name.replace("::", ".")
    symbols = facts.symbols if facts is not None else ()
    found = [(path, i) for i, s in enumerate(symbols) if s.name and f".{s.qualified}".endswith(wanted)]
    return sorted(found, key=lambda place: (symbols[place[1]].kind in REPEATED_KINDS, place[1]))


def _missing(view: GraphView, name: str, problem: str, path: str) -> Located:
    facts = view.facts(path)
    names = sorted({s.qualified for s in facts.symbols if s.name}) if facts is not None else []
    near = process.extract(name, names, scorer=fuzz.WRatio, limit=MAX_NEAR, score_cutoff=60)
    label = view.snapshot.label(path)
    return Located(problem=problem, suggestions=tuple(f"{label}:{found}" for found, _, _ in near))


def _not_found(view: GraphView, target: str) -> Located:
    """Near names, and the reasons there can be."""
    last = target.replace("::", ".").rpartition(".")[2] or target
    labels = {view.snapshot.label(path): path for path in view.snapshot.files}
    near: list[tuple[float, str]] = []
    if "/" in target or "." in target:
        near += [
            (score, label)
            for label, score, _ in process.extract(target, list(labels), scorer=fuzz.WRatio, limit=3, score_cutoff=70)
        ]
    for name, score, _ in process.extract(
        last.lower(), list(view.snapshot.names), scorer=fuzz.ratio, limit=MAX_NEAR, score_cutoff=60
    ):
        symbol = view.symbol(view.snapshot.names[name][0])
        if symbol is not None:
            near.append((score, symbol.qualified))
    near.sort(key=lambda one: (-one[0], one[1]))
    waiting = sum(1 for entry in view.snapshot.files.values() if not entry.encoded_outline and not entry.skip_reason)
    return Located(
        problem=f"Nothing in the workspace is called {target}: {_reasons(waiting)}",
        suggestions=tuple(dict.fromkeys(name for _, name in near))[:MAX_NEAR],
    )


def _reasons(waiting: int) -> str:
    wait = f"is not indexed yet ({waiting} files are not)" if waiting else "was removed or renamed"
    return f"there may be no such name, its file may be ignored (promptls/explainIgnore tells), or it {wait}."
