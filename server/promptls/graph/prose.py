"""Targets of references in prose: a file that is mentioned by path, or a definition with a unique name."""

from __future__ import annotations

from collections.abc import Callable

from promptls.index import OutlineRef, Snapshot
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import Reference, Symbol

LINK, PATH, QUALIFIED_NAME, NAME = 1.0, 0.8, 0.9, 0.6
"""Certainty of a target by the form of the reference."""


def prose_target(
    path: str,
    use: Reference,
    snapshot: Snapshot,
    symbol_of: Callable[[OutlineRef], Symbol | None],
    in_tests: Callable[[str], bool],
) -> tuple[OutlineRef, float, str] | None:
    """Return (target, certainty, form) of a reference in the prose of the file `path`; None without a unique target."""
    if use.receiver.endswith("/") or "." in use.name or not use.name:
        return _file(path, use.receiver + use.name, snapshot)
    refs = [
        ref
        for ref in snapshot.names.get(use.name.lower(), ())
        if _is_named(ref, use, symbol_of(ref)) and not in_tests(ref[0])
    ]
    return (refs[0], QUALIFIED_NAME if use.receiver else NAME, "name") if len(refs) == 1 else None


def _file(path: str, named: str, snapshot: Snapshot) -> tuple[OutlineRef, float, str] | None:
    linked = _join_path(path.rpartition("/")[0], named)
    if linked in snapshot.files and linked != path:
        return (linked, -1), LINK, "link"
    tail = "/" + named.lstrip("./")
    base = named.rpartition("/")[2].lower()
    found = sorted(p for p in snapshot.basenames.get(base, ()) if p.endswith(tail) and p != path)
    return ((found[0], -1), PATH, "path") if len(found) == 1 else None


def _is_named(ref: OutlineRef, use: Reference, symbol: Symbol | None) -> bool:
    if symbol is None or symbol.name != use.name or symbol.kind not in TYPE_KINDS | CALLABLE_KINDS:
        return False
    if not use.receiver or f".{symbol.qualified}".endswith(f".{use.receiver}.{use.name}"):
        return True
    stem = ref[0].rpartition("/")[2].partition(".")[0]
    return use.receiver.rpartition(".")[2] == stem


def _join_path(folder: str, relative: str) -> str:
    """Join a relative path to a folder and normalize "." and ".."."""
    parts = [] if relative.startswith("/") else folder.split("/")
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
