"""Test files that are called after a file, as test runners and people call them.

For tests that call nothing by name: they run a program, look at a page, or what they call cannot be told.
"""

from __future__ import annotations

from promptls.graph.graph import INDEX_FILES
from promptls.index.snapshot import Snapshot
from promptls.knowledge.project.file_kind import is_test_path

MOST = 3
"""Files that fit equally well; more of them say nothing."""
_SHAPES = (
    *("test_{}", "test-{}", "test{}", "{}_test", "{}-test", "{}.test", "{}test", "{}_tests", "{}tests"),
    *("{}_spec", "{}-spec", "{}.spec", "{}spec", "{}"),
)
_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_C = (".c", ".cc", ".cpp", ".cxx")
_JVM = (".java", ".kt", ".scala", ".groovy")
_ENDINGS = {
    **dict.fromkeys((*_SCRIPTS, ".vue", ".svelte"), _SCRIPTS),
    **dict.fromkeys((*_C, ".h", ".hh", ".hpp", ".hxx"), _C),
    **dict.fromkeys(_JVM, _JVM),
    ".ex": (".exs",),
    ".pm": (".t",),
}
"""Endings of tests by that of what they test, where it may be another one."""


def named_after(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The tests (absolute paths) that are called after a file, those with the most folders in common; () for a test."""
    label = snapshot.label(path)
    if is_test_path(label):
        return ()
    folder, _, base = path.lower().rpartition("/")
    stem, dot, ending = base.rpartition(".")
    names = {stem, stem.strip("_-")}
    if stem in INDEX_FILES:
        names.add(folder.rpartition("/")[2])
    wanted = {
        f"{shape.format(name)}{end}"
        for name in names - {""}
        for shape in _SHAPES
        for end in _ENDINGS.get(dot + ending, (dot + ending,))
    }
    found = [p for name in wanted for p in snapshot.basenames.get(name, ()) if p != path and is_test_path(snapshot.label(p))]
    own = frozenset(label.lower().split("/")[:-1])
    shared = {p: len(own.intersection(snapshot.label(p).lower().split("/")[:-1])) for p in found}
    most = max(shared.values(), default=0)
    best = tuple(sorted(p for p, count in shared.items() if count == most))
    return best if len(best) <= MOST else ()
