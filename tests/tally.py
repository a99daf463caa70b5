"""Report of the robustness tests in tests/strength: attempts and failures of each test, as a Markdown page.

Written with `--table FILE`. A test counts its attempts with the fixture `tries`; otherwise each of its cases is one
attempt. A test stops at its first failure. Rows of tests that have not run are kept.
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
"""Function of the fixture `tries`: `tries(unit)` or `tries(unit, count)`."""
FOLDER = Path(__file__).parent / "strength"
_ROW = re.compile(r"^\| (.+?) \| (.+?) \| (\d+) \|$", re.MULTILINE)
HEADER = """\
# Strength

Written by `scripts/test tests/strength --effort {effort} --table server/docs/explanation/strength.md`; do not edit. The tests
attack real servers and processes. After each attempt they check that the results equal those of a new index, that every
limitation is reported, and that no data has left the machine. CI runs about a tenth of the attempts with every change.

Machine: {machine}, Python {python}.
"""


class Tally:
    """pytest plugin that collects attempts and failures and writes the page."""

    def __init__(self, page: Path, effort: float) -> None:
        self._page, self._effort = page, effort
        self._attempts: dict[tuple[str, str], Counter[str]] = {}
        self._failures: Counter[tuple[str, str]] = Counter()
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, _, case = report.nodeid.partition("::")
        if Path(file).parent.name != FOLDER.name:
            return
        test = Path(file).name, case.partition("[")[0]
        if report.failed:
            self._failures[test] += 1
        self._attempts.setdefault(test, Counter())
        if report.skipped:
            self._skipped.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._skipped:
            counts = {str(unit): int(str(count)) for unit, count in report.user_properties}
            self._attempts[test].update(counts or {"cases": 1})

    def pytest_sessionfinish(self) -> None:
        results = {name: (attempts, failures) for name, attempts, failures in rows(self._page)}
        for (_, test), counts in self._attempts.items():
            if counts or readable_name(test) not in results:
                attempts = ", ".join(
                    f"{count:,} {unit if count > 1 else unit.removesuffix('s')}" for unit, count in counts.items()
                )
                results[readable_name(test)] = attempts or "not possible on this machine", str(self._failures[_, test])
        header = HEADER.format(
            effort=f"{self._effort:g}",
            machine=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
        )
        parts = [header]
        for file, (description, tests) in known_tests().items():
            lines = [f"| {name} | {results[name][0]} | {results[name][1]} |" for name in tests if name in results]
            if lines:
                parts.append(
                    "\n".join(
                        [
                            f"## {file}",
                            "",
                            description,
                            "",
                            "| test | attempts | failures |",
                            "| --- | --- | --- |",
                            *lines,
                            "",
                        ]
                    )
                )
        self._page.write_text("\n".join(parts), encoding="utf-8")


def rows(page: Path) -> list[tuple[str, str, str]]:
    """Return (test, attempts, failures) of each row of a page."""
    return [row for row in _ROW.findall(page.read_text("utf-8")) if row[0] != "test"] if page.exists() else []


def known_tests() -> dict[str, tuple[str, list[str]]]:
    """Return the description and the test names of each file, as shown in the page."""
    tests_by_file = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        description = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
        tests = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
        tests_by_file[readable_name(file.stem)] = description, [readable_name(name) for name in tests]
    return tests_by_file


def readable_name(name: str) -> str:
    """Convert "test_killed_while_scanning" to "killed while scanning"."""
    return name.removeprefix("test_").replace("_", " ")
