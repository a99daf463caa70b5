"""One line of relations of a definition: what it calls, who calls it, and its tests.

Places are paths with a line, so that the next read needs no search.  The work is bounded: references are resolved in the
nearest files that mention the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge
from promptls.index import OutlineRef, Snapshot
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import Symbol

MAX_FILES = 24
"""Maximum number of files in which callers are resolved; bounds the time to a few milliseconds."""
MAX_TARGETS, MAX_SOURCES = 6, 3
"""Maximum number of called definitions and of calling places that are named; all are counted."""


def relation_line(view: GraphView, ref: OutlineRef) -> str:
    """Return the relations of a definition, "" if none are known: "calls f (a.py:10) · called by 3 · tests t.py:40"."""
    symbol = view.symbol(ref)
    if symbol is None:
        return ""
    outgoing = view.outgoing(ref, 0)
    incoming = [edge for edge in view.incoming(ref, MAX_FILES) if edge.source != ref]
    tests = [edge for edge in incoming if edge.type == "calls" and view.is_test(edge.source)]
    callers = [edge for edge in incoming if edge.type == "calls" and not view.is_test(edge.source)]
    more = "+" if view.mention_count(symbol.name) > MAX_FILES else ""
    parts = [
        _targets(view, ref[0], "calls", [e for e in outgoing if e.type == "calls" and e.target != ref]),
        _targets(view, ref[0], "extends", [e for e in outgoing if e.type in ("inherits", "implements")]),
        _sources(view, "called by", callers, more) if symbol.kind in CALLABLE_KINDS | TYPE_KINDS else "",
        _sources(view, "extended by", [e for e in incoming if e.type in ("inherits", "implements")], more),
        _sources(view, "used by", [e for e in incoming if e.type == "uses"], more) if not callers else "",
        _sources(view, "tests", tests, more),
    ]
    return " · ".join(filter(None, parts))


def _targets(view: GraphView, path: str, verb: str, edges: Iterable[Edge]) -> str:
    """Return the definitions that edges lead to, by file: "calls a, b (x.py:10,20)"."""
    targets = list(dict.fromkeys(edge.target for edge in edges))
    by_file: dict[str, list[Symbol]] = {}
    for target in targets[:MAX_TARGETS]:
        symbol = view.symbol(target)
        if symbol is not None:
            by_file.setdefault(target[0], []).append(symbol)
    groups = []
    for other, symbols in by_file.items():
        names = ", ".join(symbol.name or symbol.qualified for symbol in symbols)
        lines = ",".join(str(symbol.span.start + 1) for symbol in symbols)
        groups.append(f"{names} ({'' if other == path else short_path(view.snapshot, other)}:{lines})")
    hidden = len(targets) - MAX_TARGETS
    return f"{verb} {', '.join(groups)}{f', {hidden} more' if hidden > 0 else ''}" if groups else ""


def _sources(view: GraphView, verb: str, edges: Sequence[Edge], more: str) -> str:
    """Return the number of definitions that edges come from, and the first places: "called by 3 (a.py:10,20, …)"."""
    first = list({edge.source: edge for edge in reversed(edges)}.values())[::-1]
    if not first:
        return ""
    by_file: dict[str, list[str]] = {}
    for edge in first[:MAX_SOURCES]:
        by_file.setdefault(edge.path, []).append(str(edge.line + 1))
    shown = ", ".join(f"{short_path(view.snapshot, path)}:{','.join(lines)}" for path, lines in by_file.items())
    return f"{verb} {len(first)}{more} ({shown}{', …' if len(first) > MAX_SOURCES else ''})"


def short_path(snapshot: Snapshot, path: str) -> str:
    """Return the name of a file if no other file has it, else its whole label."""
    name = path.rpartition("/")[2]
    return name if len(snapshot.basenames.get(name.lower(), ())) == 1 else snapshot.label(path)
