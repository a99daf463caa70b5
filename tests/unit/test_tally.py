"""The page of what tests/strength has tried: what is counted, what stays, and that it is up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tally import FOLDER, Tally, known_tests, rows, spoken

PAGE = FOLDER.parents[1] / "server" / "STRENGTH.md"
SCANNING = "test_faults.py", "test_killed_while_scanning"
SERVERS = "test_several_servers.py", "test_servers_that_write_together"


def told(tally: Tally, test: tuple[str, str], *, case: str = "", outcome: Any = "passed", **tried: int) -> None:
    """The reports of one case, as pytest gives them."""
    nodeid = f"tests/strength/{'::'.join(test)}{case and f'[{case}]'}"
    for when in ("setup", "call", "teardown"):
        result = outcome if when == "call" else "passed"
        properties = list(tried.items()) if when == "teardown" else []
        tally.pytest_runtest_logreport(
            pytest.TestReport(nodeid, ("", 0, ""), {}, result, None, when, user_properties=properties)  # type: ignore[arg-type]
        )


def test_what_is_tried_adds_up_and_what_fails_is_lost(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "page.md", 10)
    told(tally, SCANNING, kills=1500)
    told(tally, SERVERS, case="2", outcome="failed", servers=2, notes=60)
    told(tally, SERVERS, case="4", servers=4, notes=1)
    told(tally, ("test_disk.py", "test_read_only"))
    told(tally, ("test_disk.py", "test_times_of_files_that_lie"), outcome="skipped")
    tally.pytest_sessionfinish()
    assert set(rows(tmp_path / "page.md")) == {
        ("killed while scanning", "1,500 kills", "0"),
        ("servers that write together", "6 servers, 61 notes", "1"),
        ("read only", "1 case", "0"),
        ("times of files that lie", "not possible here", "0"),
    }


def test_what_has_not_run_stays_as_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = Tally(page, 10)
    told(first, SCANNING, kills=15)
    told(first, SERVERS, servers=2)
    first.pytest_sessionfinish()
    second = Tally(page, 10)
    told(second, SERVERS, servers=6)
    told(second, SCANNING, outcome="skipped")
    second.pytest_sessionfinish()
    assert set(rows(page)) == {
        ("killed while scanning", "15 kills", "0"),
        ("servers that write together", "6 servers", "0"),
    }


def test_other_tests_are_none_of_it(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "page.md", 1)
    tally.pytest_runtest_logreport(
        pytest.TestReport("tests/unit/test_tally.py::test_x", ("", 0, ""), {}, "failed", None, "call")  # type: ignore[arg-type]
    )
    tally.pytest_sessionfinish()
    assert rows(tmp_path / "page.md") == []


def test_the_page_knows_every_test_and_nothing_was_lost() -> None:
    """When this fails: scripts/test tests/strength/FILE --effort 10 --table server/STRENGTH.md"""
    wanted = {name for _, tests in known_tests().values() for name in tests}
    assert {name for name, _, _ in rows(PAGE)} == wanted
    assert [row for row in rows(PAGE) if row[2] != "0"] == []
    assert len(wanted) == sum(len(tests) for _, tests in known_tests().values())  # a name stands for one test


def test_names_as_people_say_them() -> None:
    assert spoken("test_killed_while_scanning") == "killed while scanning"
