"""Report of tests/strength: counts of attempts and failures, kept rows, and completeness of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tally import FOLDER, Tally, known_tests, readable_name, rows

PAGE = FOLDER.parents[1] / "server" / "docs" / "explanation" / "strength.md"
SCANNING = "test_crash_recovery.py", "test_killed_while_scanning"
SERVERS = "test_concurrent_servers.py", "test_servers_write_concurrently"


def report(tally: Tally, test: tuple[str, str], *, case: str = "", outcome: Any = "passed", **attempts: int) -> None:
    """Send the three reports of one test case to the plugin, as pytest does."""
    nodeid = f"tests/strength/{'::'.join(test)}{case and f'[{case}]'}"
    for when in ("setup", "call", "teardown"):
        result = outcome if when == "call" else "passed"
        properties = list(attempts.items()) if when == "teardown" else []
        tally.pytest_runtest_logreport(
            pytest.TestReport(nodeid, ("", 0, ""), {}, result, None, when, user_properties=properties)  # type: ignore[arg-type]
        )


def test_attempts_are_summed_and_failures_are_counted(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "page.md", 10)
    report(tally, SCANNING, kills=1500)
    report(tally, SERVERS, case="2", outcome="failed", servers=2, notes=60)
    report(tally, SERVERS, case="4", servers=4, notes=1)
    report(tally, ("test_disk_failures.py", "test_read_only_cache_folder"))
    report(tally, ("test_disk_failures.py", "test_wrong_modification_times_do_not_hide_changes"), outcome="skipped")
    tally.pytest_sessionfinish()
    assert set(rows(tmp_path / "page.md")) == {
        ("killed while scanning", "1,500 kills", "0"),
        ("servers write concurrently", "6 servers, 61 notes", "1"),
        ("read only cache folder", "1 case", "0"),
        ("wrong modification times do not hide changes", "not possible on this machine", "0"),
    }


def test_rows_of_tests_that_have_not_run_are_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = Tally(page, 10)
    report(first, SCANNING, kills=15)
    report(first, SERVERS, servers=2)
    first.pytest_sessionfinish()
    second = Tally(page, 10)
    report(second, SERVERS, servers=6)
    report(second, SCANNING, outcome="skipped")
    second.pytest_sessionfinish()
    assert set(rows(page)) == {
        ("killed while scanning", "15 kills", "0"),
        ("servers write concurrently", "6 servers", "0"),
    }


def test_tests_of_other_folders_are_ignored(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "page.md", 1)
    tally.pytest_runtest_logreport(
        pytest.TestReport("tests/unit/test_tally.py::test_x", ("", 0, ""), {}, "failed", None, "call")  # type: ignore[arg-type]
    )
    tally.pytest_sessionfinish()
    assert rows(tmp_path / "page.md") == []


def test_page_lists_every_test_without_failures() -> None:
    """If this fails, run `scripts/test tests/strength/FILE --effort 10 --table server/docs/explanation/strength.md`."""
    names = {name for _, tests in known_tests().values() for name in tests}
    assert {name for name, _, _ in rows(PAGE)} == names
    assert [row for row in rows(PAGE) if row[2] != "0"] == []
    assert len(names) == sum(len(tests) for _, tests in known_tests().values())  # names are unique


def test_readable_names() -> None:
    assert readable_name("test_killed_while_scanning") == "killed while scanning"
