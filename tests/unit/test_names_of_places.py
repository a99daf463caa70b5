"""Names of a question, and the lines with them that are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.index.files.read import FileLimits
from promptls.index.snapshot import SourceReader
from promptls.model import CancelToken, Item, Origin, Span
from promptls.retrieval.places import with_places
from promptls.retrieval.query import parse_query
from promptls.retrieval.question_names import question_names
from workspaces import IndexedSnapshot, snapshot_of


def names(question: str, *mentioned: str) -> list[tuple[str, str]]:
    return [(name.spellings[0], name.kind) for name in question_names(question, parse_query(question), mentioned)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("add a read-later service like the LinkTaco integration, which spots?", "LinkTaco"),
        ("a CLI flag --keep-going, analogous to --failfast", "failfast"),
        ("ein Kanal wie der Discord-Provider, nur für uns", "Discord"),
        ('a privilege that works like e.g. "manage tag synonyms" does', "manage tag synonyms"),
        ("a reason next to the existing ones like Unkind. Where?", "Unkind"),
        ("should be kept the same way as the confirm-before-closing one", "confirm-before-closing"),
        ("a toggle for focus. It's more or less what zen mode is. Which files?", "zen mode"),
        ("a `release` tag. Basically what `vert` does already, in its own color", "vert"),
        ("a truncate filter, take the hash filter as a template", "hash filter"),
        ("a memory map, the packet diagram would be a good template", "packet diagram"),
        ("link a Codeberg account. GitHub already has this, same idea", "GitHub"),
        ("can we get Bluesky? Telegram was added recently", "Telegram"),
    ],
)
def test_existing_feature_that_is_compared_with(question: str, expected: str) -> None:
    assert (expected, "sibling") in names(question)


@pytest.mark.parametrize(
    "question",
    ["I would like to add a setting", "I'd like the same for replies", "it looks like it is never closed"],
)
def test_like_that_compares_nothing(question: str) -> None:
    assert not [name for name, kind in names(question) if kind == "sibling"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Hook up Datadog as another backend, you find Prometheus under telemetry", ["Datadog", "Prometheus"]),
        ('I want a new entry "Copy path" beside "Open in Finder"', ["Copy path", "Open in Finder"]),
        ("could we have utm_id? utm_term is stored, too", ["utm_id", "utm_term"]),
        ("feature idea: keep-sample, a percentage of row-keep-matched", ["keep-sample", "row-keep-matched"]),
        ("People want a new page for Codeberg", ["Codeberg"]),  # the first word of a sentence does not count
    ],
)
def test_names_of_a_request_for_something_new_may_be_its_model(question: str, expected: list[str]) -> None:
    assert [name for name, kind in names(question) if kind == "sibling"] == expected


@pytest.mark.parametrize(
    "question", ["why does Telegram fail?", "who reads max_retries, and how does Prometheus get it?"]
)
def test_names_of_other_questions_are_not_models(question: str) -> None:
    assert not [name for name, kind in names(question) if kind == "sibling"]


def test_names_in_code_style_flags_and_mentions_are_found_once() -> None:
    question = "who reads max_retries (--max-retries), and what about `Session.close`?"
    assert names(question, "app.Session.close") == [("close", "mention"), ("max_retries", "name")]


USES = """
-- src/client.py --
def connect(max_retries=3):
    return max_retries
-- docs/settings.md --
`max_retries` is the number of attempts.
-- tests/test_client.py --
def test_connect():
    assert connect(max_retries=2) == 2
"""


def uses(question: str, workspace: str, tmp_path: Path, best: str = "") -> dict[str, float]:
    """Return the best probability of the lines with a name by file; `best`: the file whose definition ranks first."""
    snapshot = snapshot_of(workspace, tmp_path)
    reader, sources = IndexedSnapshot(snapshot).reader(), SourceReader(snapshot, FileLimits())
    path = next((path for path in snapshot.files if best and path.endswith(best)), "")
    ranked = [Item(path, Span(0, 2), "function", Origin.SEMANTIC, 0.5, "connect")] if path else []
    items = with_places(ranked, question, parse_query(question), (), snapshot, reader, sources, CancelToken())
    return {snapshot.label(item.path): item.score for item in reversed(items)}


def test_question_about_uses_counts_tests_and_raises_all_places(tmp_path: Path) -> None:
    asked = uses("what breaks if I rename max_retries?", USES, tmp_path)
    other = uses("how does max_retries work?", USES, tmp_path)
    assert asked.keys() - other.keys() == {"tests/test_client.py"}
    assert all(asked[path] > score for path, score in other.items())


def test_places_are_in_code_about_changes_but_not_in_a_changelog(tmp_path: Path) -> None:
    other = "-- src/exchange_rates.py --\nclient(max_retries=4)\n-- CHANGELOG.md --\n`max_retries` is new.\n"
    found = uses("how does max_retries work?", USES + other, tmp_path)
    assert found.keys() == {"src/client.py", "docs/settings.md", "src/exchange_rates.py"}


def test_name_that_is_frequent_in_tests_only_has_its_other_places(tmp_path: Path) -> None:
    many = "".join(f"    assert connect(max_retries={n})\n" for n in range(60))
    found = uses("what breaks if I rename max_retries?", f"{USES}\ndef test_many():\n{many}", tmp_path)
    assert found.keys() == {"src/client.py", "docs/settings.md"}


CALLS = """
-- src/client.py --
def connect(retries=3):
    return retries
-- src/app.py --
def main():
    connect()
-- tests/test_client.py --
def test_retries():
    assert connect(2) == 2
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what calls the code that opens the socket?", {"src/client.py", "src/app.py", "tests/test_client.py"}),
        ("which tests cover opening the socket?", {"src/client.py", "tests/test_client.py"}),
        ("how is the socket opened?", {"src/client.py"}),
    ],
)
def test_uses_of_the_best_definition_are_places_if_uses_are_asked_for(
    tmp_path: Path, question: str, expected: set[str]
) -> None:
    assert uses(question, CALLS, tmp_path, best="client.py").keys() == expected
