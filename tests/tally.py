"""What the tests of tests/strength have tried, and what was lost, as a page.

Asked for by `--table FILE`.  A test tells what it tries by the fixture `tries`, else each of its cases is one try; a
test stops at the first try after which something is wrong.  Rows of tests that have not run stay as they are.
"""

from __future__ import annotations

import ast
import platform
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

Tries = Callable[..., None]
"""`tries(what)` or `tries(what, count)`."""
FOLDER = Path(__file__).parent / "strength"
_ROW = re.compile(r"^\| (.+?) \| (.+?) \| (\d+) \|$", re.MULTILINE)
HEAD = """\
# Strength

Written by `scripts/test tests/strength --effort {effort} --table server/STRENGTH.md`; do not edit. What is tried is
tried on real servers and processes, and each try is followed by the question that counts: are the answers those of a
fresh index, is what is lacking told, has anything got out? Lost are the tries after which it was not so. A tenth of it,
or a little more, is tried with every change.

Machine: {machine}, Python {python}.
"""


class Tally:
    """Collects what tests report; in the process that prints."""

    def __init__(self, page: Path, effort: float) -> None:
        self._page, self._effort = page, effort
        self._tried: dict[tuple[str, str], Counter[str]] = {}
        self._lost: Counter[tuple[str, str]] = Counter()
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, _, case = report.nodeid.partition("::")
        if Path(file).parent.name != FOLDER.name:
            return
        test = Path(file).name, case.partition("[")[0]
        if report.failed:
            self._lost[test] += 1
        self._tried.setdefault(test, Counter())
        if report.skipped:
            self._skipped.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._skipped:
            told = {str(what): int(str(count)) for what, count in report.user_properties}
            self._tried[test].update(told or {"cases": 1})

    def pytest_sessionfinish(self) -> None:
        known = {name: (tried, lost) for name, tried, lost in rows(self._page)}
        for (_, test), tried in self._tried.items():
            if tried or spoken(test) not in known:
                said = ", ".join(
                    f"{count:,} {what if count > 1 else what.removesuffix('s')}" for what, count in tried.items()
                )
                known[spoken(test)] = said or "not possible here", str(self._lost[_, test])
        head = HEAD.format(
            effort=f"{self._effort:g}",
            machine=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
        )
        parts = [head]
        for file, (about, tests) in known_tests().items():
            lines = [f"| {name} | {known[name][0]} | {known[name][1]} |" for name in tests if name in known]
            if lines:
                parts.append(
                    "\n".join(
                        [f"## {file}", "", about, "", "| what | tried | lost |", "| --- | --- | --- |", *lines, ""]
                    )
                )
        self._page.write_text("\n".join(parts), encoding="utf-8")


def rows(page: Path) -> list[tuple[str, str, str]]:
    """(what, tried, lost) of each row of a page."""
    return [row for row in _ROW.findall(page.read_text("utf-8")) if row[0] != "what"] if page.exists() else []


def known_tests() -> dict[str, tuple[str, list[str]]]:
    """File → (what it is about, the names of its tests as people say them)."""
    out = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        about = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
        tests = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
        out[spoken(file.stem)] = about, [spoken(name) for name in tests]
    return out


def spoken(name: str) -> str:
    """ "test_killed_while_scanning" → "killed while scanning"."""
    return name.removeprefix("test_").replace("_", " ")
