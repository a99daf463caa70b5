"""Restrictions, order and first line of promptls/list."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.api.regions import (
    first_line,
    matches_name,
    promote_names,
    with_joined_names,
    with_names,
)
from promptls.api.search import current_items, has_changed_on_disk
from promptls.engine import Engine
from promptls.index import Workspace
from promptls.index.index_status import IndexState
from promptls.model import Item, Origin, Span
from promptls.prompt.read_code import read_places
from promptls.prompt.tokens import counter
from promptls.retrieval.query import parse_query
from promptls.settings import Settings
from workspaces import context_of, snapshot_of


def item(symbol: str, kind: str = "function", path: str = "/w/a.py") -> Item:
    return Item(path, Span(0, 2), kind, Origin.KEYWORD, 0.5, symbol)


@pytest.mark.parametrize(
    ("symbol", "names", "matches"),
    [
        ("Cart.add", ("Cart.add",), True),
        ("Cart.add", ("add",), True),
        ("Cart.add", ("Cart::add",), True),
        ("Cart.add", ("ad",), False),
        ("Cart.add", ("Cart.*",), True),
        ("Cart.add", ("B*", "add"), True),
    ],
)
def test_names_restrict_by_qualified_name_or_glob(symbol: str, names: tuple[str, ...], matches: bool) -> None:
    assert matches_name(item(symbol), names) is matches


def test_names_with_adjacent_words_of_a_short_query_come_first() -> None:
    items = [item(name) for name in ("run", "installFishCompletion", "fish_completion", "completion_fish")]

    def order(query: str) -> list[str]:
        return [one.symbol for one in promote_names(items, parse_query(query))]

    assert order("fish completion install") == ["installFishCompletion", "fish_completion", "run", "completion_fish"]
    assert order("how is a fish completion file installed on a Mac") == [one.symbol for one in items]


def test_a_short_query_names_definitions_of_three_words(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- a.py --\nclass NewsResourceEntity: ...\ndef news_feed_item(): ...\n", tmp_path)
    assert with_joined_names(parse_query("news resource entity"), snapshot).names[0] == "newsresourceentity"
    assert with_joined_names(parse_query("the news feed item"), snapshot).names[0] == "news_feed_item"
    question = parse_query("how is a news resource entity stored in the database")
    assert with_joined_names(question, snapshot) == question


def test_names_of_a_list_are_candidates(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- a.py --\nclass NewsEntity: ...\ndef unrelated(): ...\n", tmp_path)
    query = parse_query("cache eviction")
    assert with_names(query, ("a.unrelated", "News*"), snapshot).names == ("a.unrelated", "newsentity", *query.names)
    assert with_names(query, ("*",), snapshot) == query


def test_regions_of_changed_files_are_left_out_and_read_as_they_are_now(tmp_path: Path) -> None:
    snapshot = snapshot_of("-- a.py --\ndef old():\n    pass\n-- b.py --\ndef kept():\n    pass\n", tmp_path)
    a, b = sorted(snapshot.files)
    Path(a).write_text("import os\n\n\ndef new():\n    return os.name\n")
    assert has_changed_on_disk(a, snapshot)
    assert not has_changed_on_disk(b, snapshot)
    found = read_places(["a.py#new", "a.py#old"], context_of(snapshot), counter(), 1000, lambda: None)
    assert "5\t    return os.name" in found.text
    assert len(found.problems) == 1
    assert found.changed == 1
    engine = Engine(Settings(), Workspace())
    found_items = [item("old", path=a), item("kept", path=b), item("old too", path=a)]
    assert [one.symbol for one in current_items(found_items, engine, snapshot)] == ["kept"]
    engine.close()
    Path(b).unlink()
    assert has_changed_on_disk(b, snapshot)


def test_the_first_line_has_share_and_seconds_of_an_incomplete_index_and_changed_files() -> None:
    half = IndexState("indexing", 1, files=100, unread=50, pending=50, problem="", seconds_left=3.2)
    assert first_line(half, 0) == "50 % of 100 files are indexed, ready in about 4 s."
    ready = IndexState("ready", 1, files=100, unread=0, pending=0, problem="")
    assert first_line(ready, 2) == "2 files changed since they were indexed and are left out; list again."
    assert first_line(ready, 0) == ""
