"""Tests found by file name: maps a source file to the tests named after it.

Finds tests without resolvable calls, for example tests that run a program or inspect a page.
"""

from __future__ import annotations

from promptls.graph.graph import INDEX_STEMS
from promptls.index import Snapshot
from promptls.knowledge.project.file_kind import is_test_path

MAX_MATCHES = 3
"""Maximum number of equally good matches; more matches are not specific."""
_NAME_PATTERNS = (
    *("test_{}", "test-{}", "test{}", "{}_test", "{}-test", "{}.test", "{}test", "{}_tests", "{}tests"),
    *("{}_spec", "{}-spec", "{}.spec", "{}spec", "{}"),
)
_SCRIPT_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
_JVM_SUFFIXES = (".java", ".kt", ".scala", ".groovy")
_TEST_SUFFIXES = {
    **dict.fromkeys((*_SCRIPT_SUFFIXES, ".vue", ".svelte"), _SCRIPT_SUFFIXES),
    **dict.fromkeys((*_C_SUFFIXES, ".h", ".hh", ".hpp", ".hxx"), _C_SUFFIXES),
    **dict.fromkeys(_JVM_SUFFIXES, _JVM_SUFFIXES),
    ".ex": (".exs",),
    ".pm": (".t",),
}
"""Suffixes of tests by suffix of the source file, if they may differ."""


def find_tests_named_after(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the tests (absolute paths) named after a file, with the most folders in common; () for a test."""
    label = snapshot.label(path)
    if is_test_path(label):
        return ()
    folder, _, base = path.lower().rpartition("/")
    stem, dot, ending = base.rpartition(".")
    names = {stem, stem.strip("_-")}
    if stem in INDEX_STEMS:
        names.add(folder.rpartition("/")[2])
    candidates = {
        f"{pattern.format(name)}{end}"
        for name in names - {""}
        for pattern in _NAME_PATTERNS
        for end in _TEST_SUFFIXES.get(dot + ending, (dot + ending,))
    }
    tests = [
        p
        for name in candidates
        for p in snapshot.basenames.get(name, ())
        if p != path and is_test_path(snapshot.label(p))
    ]
    folders = frozenset(label.lower().split("/")[:-1])
    common = {p: len(folders.intersection(snapshot.label(p).lower().split("/")[:-1])) for p in tests}
    max_common = max(common.values(), default=0)
    best = tuple(sorted(p for p, count in common.items() if count == max_common))
    return best if len(best) <= MAX_MATCHES else ()
