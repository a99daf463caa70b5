"""What is remembered: requests, files, dates, and what of it belongs to a question."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from promptls.index.files import Limits, to_uri
from promptls.index.search.analyzer import terms
from promptls.index.snapshot import Snapshot, Sources
from promptls.knowledge.memory import (
    Answer,
    Ask,
    Entry,
    InvalidEntry,
    Memory,
    codebuddy_block,
    perform,
    ranked,
    relevant,
    user_folder,
)
from promptls.mentions.context import Around, Request
from promptls.mentions.resolve import resolve_all
from promptls.model import MentionOutcome, Note, Root

NOW = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


class Clock:
    """The time, as the test says; every look is a second later."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Shop:
    """A memory and a workspace of two folders."""

    def __init__(self, top: Path) -> None:
        self.user = top / "data"
        self.clock = Clock()
        self.memory = Memory(self.user, self.clock)
        for name in ("a", "b"):
            (top / name).mkdir(exist_ok=True)
        self.roots = tuple(Root(p.as_posix(), p.name, to_uri(p.as_posix())) for p in (top / "a", top / "b"))

    def ask(self, action: str, **fields: object) -> Answer:
        return perform(self.memory, Ask(action=action, **fields), self.roots)  # type: ignore[arg-type]

    def add(self, title: str = "Money", content: str = "Cents, never floats.", **fields: object) -> Entry:
        fields = {"category": "knowledge", **fields}
        return self.ask("add", title=title, content=content, **fields).entries[0]

    def file(self, root: int = -1) -> Path:
        return self.user / "memory.json" if root < 0 else Path(self.roots[root].path, ".promptls", "memory.json")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def titles(answer: Answer) -> list[str]:
    return [entry.title for entry in answer.entries]


# ---- requests


def test_add_list_update_remove(shop: Shop) -> None:
    added = shop.add(tags=("money", "money"), paths=("shop/**",))
    assert (added.scope, added.root, added.tags, added.paths) == ("user", "", ("money",), ("shop/**",))
    assert shop.ask("list") == Answer((added,), 1)
    changed = shop.ask("update", id=added.id, content="Always cents.").entries[0]
    assert changed == msgspec.structs.replace(added, content="Always cents.", updated=changed.updated)
    assert changed.updated > added.updated
    assert shop.ask("remove", id=added.id).entries == (changed,)
    assert shop.ask("list") == Answer((), 0)


def test_all_survives_another_start(shop: Shop) -> None:
    added = [
        shop.add("One", category="rule", expires="2031-05-06", tags=("x",)),
        shop.add("Zwei ä 中 😀", "Zeile\n  zwei", category="Experience", scope="workspace", paths=("*.py",)),
    ]
    again = Memory(shop.user, shop.clock).load(shop.roots)
    assert sorted(again.entries, key=lambda e: e.title) == added
    assert again.problems == ()
    assert added[1].category == "experience"


def test_the_newest_come_first_page_by_page(shop: Shop) -> None:
    first = shop.add("First")
    for name in ("Second", "Third"):
        shop.add(name, name)
    shop.ask("update", id=first.id, title="First again")
    assert titles(shop.ask("list")) == ["First again", "Third", "Second"]
    page = shop.ask("list", limit=1, offset=1)
    assert (titles(page), page.total) == (["Third"], 3)


def test_lists_by_category_and_scope(shop: Shop) -> None:
    shop.add("Mine", category="rule")
    shop.add("Ours", category="rule", scope="workspace")
    shop.add("Fact", scope="workspace")
    assert titles(shop.ask("list", category="rule", scope="workspace")) == ["Ours"]
    assert titles(shop.ask("list", scope="user")) == ["Mine"]


def test_a_workspace_has_a_file_only_when_something_is_added_to_it(shop: Shop) -> None:
    shop.add("Mine")
    shop.ask("list")
    assert [list(Path(root.path).iterdir()) for root in shop.roots] == [[], []]
    entry = shop.add("Ours", scope="workspace")
    assert entry.root == shop.roots[0].path
    assert sorted(p.name for p in Path(shop.roots[0].path).rglob("*")) == [".promptls", "memory.json"]


@pytest.mark.parametrize("by", ["name", "path", "uri"])
def test_a_workspace_folder_is_chosen(shop: Shop, by: str) -> None:
    entry = shop.add("Ours", scope="workspace", root=getattr(shop.roots[1], by))
    assert entry.root == shop.roots[1].path
    assert shop.file(1).exists()
    assert shop.ask("remove", id=entry.id).entries == (entry,)


def test_search_finds_words_in_any_form_and_text_as_it_stands(shop: Shop) -> None:
    shop.add("Payments", "Retried three times.", tags=("stripe",))
    shop.add("Logging", "structlog, see log_setup.py", category="rule")
    assert titles(shop.ask("search", query="payment retry")) == ["Payments"]
    assert titles(shop.ask("search", query="STRIPE")) == ["Payments"]
    assert titles(shop.ask("search", query="ctlog, SEE")) == ["Logging"]
    assert titles(shop.ask("search", query="nothing of this")) == []
    found = shop.ask("search", query="payments")
    assert len(found.scores) == 1 and 0 < found.scores[0] < 1


ENTRY = {"category": "rule", "title": "T", "content": "C"}
INVALID: list[tuple[dict[str, object], str, tuple[str, ...]]] = [
    ({"action": "forget"}, "action", ("add", "list", "remove", "search", "update")),
    ({"action": "add", "title": "T", "content": "C"}, "category", ()),
    ({"action": "add", **ENTRY, "category": "idea"}, "category", ("experience", "knowledge", "rule")),
    ({"action": "add", **ENTRY, "title": " \n "}, "title", ()),
    ({"action": "add", **ENTRY, "title": "t" * 121}, "title", ()),
    ({"action": "add", **ENTRY, "title": "a\u202eb"}, "title", ()),
    ({"action": "add", **ENTRY, "title": "a\ud800"}, "title", ()),
    ({"action": "add", **ENTRY, "content": ""}, "content", ()),
    ({"action": "add", **ENTRY, "content": "c" * 4001}, "content", ()),
    ({"action": "add", **ENTRY, "content": "\udfff"}, "content", ()),
    ({"action": "add", **ENTRY, "tags": ("",)}, "tags", ()),
    ({"action": "add", **ENTRY, "tags": tuple(map(str, range(21)))}, "tags", ()),
    ({"action": "add", **ENTRY, "paths": ("x" * 201,)}, "paths", ()),
    ({"action": "add", **ENTRY, "expires": 0}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": True}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": 36501}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": "soon"}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": "2029-12-31"}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": "9999-99-99"}, "expires", ()),
    ({"action": "add", **ENTRY, "scope": "team"}, "scope", ("user", "workspace")),
    ({"action": "add", **ENTRY, "scope": "workspace", "root": "c"}, "root", ("a", "b")),
    ({"action": "update"}, "id", ()),
    ({"action": "update", "id": "nobody", "title": "T"}, "id", ()),
    ({"action": "remove", "id": "nobody"}, "id", ()),
    ({"action": "search", "query": " "}, "query", ()),
    ({"action": "list", "limit": 0}, "limit", ()),
    ({"action": "list", "limit": 1001}, "limit", ()),
    ({"action": "list", "offset": -1}, "offset", ()),
    ({"action": "list", "category": "idea"}, "category", ("experience", "knowledge", "rule")),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "field", "valid"), INVALID)
def test_what_is_invalid_is_named_with_what_is_valid(
    shop: Shop, fields: dict[str, object], field: str, valid: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidEntry) as caught:
        shop.ask(**fields)  # type: ignore[arg-type]
    assert (caught.value.field, caught.value.valid) == (field, valid)
    assert str(caught.value).startswith(f"{field}: ")
    assert str(caught.value).endswith(".")
    assert not shop.file().exists()


def test_the_limits_themselves_are_valid(shop: Shop) -> None:
    entry = shop.add("t" * 120, "c" * 4000, tags=tuple(map(str, range(20))), expires=36_500)
    assert shop.ask("list").entries == (entry,)


def test_the_same_thing_is_not_remembered_twice(shop: Shop) -> None:
    first = shop.add()
    with pytest.raises(InvalidEntry, match=first.id):
        shop.add()
    assert shop.add(scope="workspace").scope == "workspace"


def test_a_file_has_a_largest_number_of_entries(shop: Shop) -> None:
    shop.add("Template")
    data = msgspec.json.decode(shop.file().read_bytes())
    data["entries"] = [{**data["entries"][0], "id": f"e{i}", "title": f"T{i}"} for i in range(1000)]
    shop.file().write_bytes(msgspec.json.encode(data))
    with pytest.raises(InvalidEntry, match="1,000") as caught:
        shop.add("One more")
    assert caught.value.field == "scope"
    shop.ask("remove", id="e5")
    assert shop.add("One more").title == "One more"


def test_without_a_workspace_there_is_only_the_users(shop: Shop) -> None:
    with pytest.raises(InvalidEntry) as caught:
        perform(shop.memory, Ask(action="add", scope="workspace", **ENTRY), ())
    assert (caught.value.field, caught.value.valid) == ("scope", ("user",))


# ---- expiry


@pytest.mark.parametrize(
    ("expires", "end"),
    [
        (1, NOW + timedelta(days=1, seconds=1)),
        ("2030-01-01", datetime(2030, 1, 1, 23, 59, 59, tzinfo=timezone.utc)),
        ("2030-01-02T10:00:00Z", datetime(2030, 1, 2, 10, tzinfo=timezone.utc)),
        ("2030-01-02T10:00:00+02:00", datetime(2030, 1, 2, 8, tzinfo=timezone.utc)),
        ("2030-01-02T10:00:00", datetime(2030, 1, 2, 10, tzinfo=timezone.utc)),
        ("", None),
        (None, None),
    ],
)
def test_dates_of_expiry(shop: Shop, expires: object, end: datetime | None) -> None:
    assert shop.add(expires=expires).expires == end


def test_what_has_expired_is_not_listed_unless_asked_for_and_never_goes_into_a_prompt(shop: Shop) -> None:
    entry = shop.add(category="rule", expires=1)
    assert shop.ask("list").total == 1
    shop.clock.now += timedelta(days=2)
    assert shop.ask("list").total == 0
    assert shop.ask("search", query="money").total == 0
    assert shop.ask("list", include_expired=True).entries == (entry,)
    assert relevant([entry], terms("money"), (), shop.clock.now) == ()
    assert [outcome.status for outcome in mentioned(shop)] == ["unresolved", "unresolved"]
    renewed = shop.ask("update", id=entry.id, expires="").entries[0]
    assert (renewed.expires, shop.ask("list").total) == (None, 1)
    assert [outcome.status for outcome in mentioned(shop)] == ["included", "included"]


def mentioned(shop: Shop) -> tuple[MentionOutcome, ...]:
    sources = Sources(Snapshot(roots=shop.roots), Limits())
    return resolve_all("@memory @memory:money", Request(sources, around=Around(memory=shop.memory)))


# ---- files


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_the_users_memory_is_the_users_alone_unless_somebody_chose_otherwise(
    shop: Shop, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(os.umask, os.umask(0o022)))
    shop.add("One")
    shop.add("Ours", scope="workspace")
    assert [shop.file(n).stat().st_mode & 0o777 for n in (-1, 0)] == [0o600, 0o644]
    shop.file().chmod(0o640)
    shop.add("Two")
    assert shop.file().stat().st_mode & 0o777 == 0o640


# ---- several writers


def test_two_servers_see_each_other(shop: Shop, tmp_path: Path) -> None:
    other = Shop(tmp_path)
    first = shop.add("First")
    assert titles(other.ask("list")) == ["First"]
    other.add("Second")
    other.ask("update", id=first.id, title="Changed")
    assert sorted(titles(shop.ask("list"))) == ["Changed", "Second"]


def test_a_change_of_the_same_length_and_time_is_seen(shop: Shop) -> None:
    shop.add("Aaa")
    shop.ask("list")
    before = shop.file().stat()
    shop.file().write_bytes(shop.file().read_bytes().replace(b"Aaa", b"Bbb"))
    os.utime(shop.file(), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert titles(shop.ask("list")) == ["Bbb"]


WRITER = """
import sys
from pathlib import Path
from promptls.knowledge.memory import Draft, Memory
memory = Memory(Path(sys.argv[1]))
for i in range(15):
    memory.add(Draft(category="rule", title=f"{sys.argv[2]} {i}", content="x"))
"""


def test_writers_at_the_same_time_lose_nothing(shop: Shop) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(shop.user), name]) for name in "ABC"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    answer = shop.ask("list")
    assert sorted(titles(answer)) == sorted(f"{name} {i}" for name in "ABC" for i in range(15))
    assert answer.problems == ()
    assert sorted(p.name for p in shop.user.iterdir()) == ["locks", "memory.json"]


ENDLESS = """
import sys
from pathlib import Path
from promptls.knowledge.memory import Draft, Memory
memory = Memory(Path(sys.argv[1]))
for i in range(1000):
    print(memory.add(Draft(category="rule", title=f"T{i}", content="x" * 500)).entries[0].id, flush=True)
"""


def test_a_writer_that_is_killed_leaves_all_it_had_said(shop: Shop) -> None:
    for _ in range(3):
        before = {entry.id for entry in shop.ask("list", limit=1000).entries}
        shop.user.mkdir(exist_ok=True)
        writer = subprocess.Popen([sys.executable, "-c", ENDLESS, str(shop.user)], stdout=subprocess.PIPE, text=True)
        with writer:
            assert writer.stdout is not None
            said = {writer.stdout.readline().strip() for _ in range(5)}
            writer.kill()
        answer = shop.ask("list", limit=1000)
        assert before | said <= {entry.id for entry in answer.entries}
        assert answer.problems == ()
        for entry in answer.entries:  # the lock is free, and titles may come again
            shop.ask("remove", id=entry.id)


# ---- files that are not as they should be

DAMAGED = {
    "": "no JSON",
    "{": "no JSON",
    "[]": "Expected `object`",
    '{"version": 1, "entries": 5}': "Expected `array`",
    '{"entries": []}': "version",
    "\0" * 50: "no JSON",
    '{"version": 1, "entries": ' + "[" * 100_000: "no JSON",
    '{"version": 1, "entries": [{"id": "x"}]}': "entry 1",
}


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:30].replace("\0", "0"))
def test_a_damaged_file_is_told_and_kept_when_it_is_replaced(shop: Shop, text: str) -> None:
    shop.user.mkdir()
    shop.file().write_text(text)
    (told,) = shop.ask("list").problems
    assert "memory.json (yours)" in told.message and DAMAGED[text] in told.message
    assert shop.file().read_text() == text
    done = shop.ask("add", **ENTRY)
    assert "memory.json.bad-1" in done.problems[0].message
    assert (shop.user / "memory.json.bad-1").read_text() == text
    assert titles(shop.ask("list")) == ["T"]
    assert shop.ask("list").problems == ()


def test_what_was_kept_before_stays(shop: Shop) -> None:
    shop.user.mkdir()
    for number, text in enumerate(("first", "second"), 1):
        shop.file().write_text(text)
        shop.add(f"T{number}")
    assert [(shop.user / f"memory.json.bad-{n}").read_text() for n in (1, 2)] == ["first", "second"]


def test_good_entries_of_a_damaged_file_count(shop: Shop) -> None:
    good = shop.add("Good")
    data = msgspec.json.decode(shop.file().read_bytes())
    (entry,) = data["entries"]
    bad = [
        {**entry, "id": "b1", "title": "x" * 200},
        {**entry, "id": "b2", "category": "idea"},
        {**entry, "id": "../b3"},
        {**entry, "id": "b4", "created": "2030-01-01T00:00:00"},
        entry,
        7,
    ]
    shop.file().write_bytes(msgspec.json.encode({**data, "entries": [*bad, entry]}))
    answer = shop.ask("list")
    assert answer.entries == (good,)
    assert len(answer.problems) == 5
    assert "entry 1: title" in answer.problems[0].message


def test_a_file_of_a_later_version_is_neither_used_nor_touched(shop: Shop) -> None:
    shop.user.mkdir()
    shop.file().write_text('{"version": 2, "entries": []}')
    assert "version 2" in shop.ask("list").problems[0].message
    with pytest.raises(InvalidEntry, match="version 2"):
        shop.add()
    assert shop.file().read_text() == '{"version": 2, "entries": []}'


def test_a_huge_file_is_neither_used_nor_touched(shop: Shop) -> None:
    shop.user.mkdir()
    with shop.file().open("wb") as file:
        file.truncate(24_000_001)
    assert "over the limit" in shop.ask("list").problems[0].message
    with pytest.raises(InvalidEntry, match="over the limit"):
        shop.add()
    assert shop.file().stat().st_size == 24_000_001


def test_no_link_leads_a_workspace_memory_out_of_the_workspace(shop: Shop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (Path(shop.roots[0].path) / ".promptls").symlink_to(outside)
    with pytest.raises(InvalidEntry, match="link"):
        shop.add(scope="workspace")
    assert list(outside.iterdir()) == []
    (outside / "memory.json").write_text('{"version": 1, "entries": []}')
    assert "leads out" in shop.ask("list").problems[0].message


def test_no_link_in_the_place_of_a_memory_is_read_or_followed(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text('{"version": 1, "entries": []}')
    shop.file(0).parent.mkdir()
    shop.file(0).symlink_to(target)
    assert len(shop.ask("list").problems) == 1
    with pytest.raises(InvalidEntry, match="link"):
        shop.add(scope="workspace")
    shop.file(0).unlink()
    shop.file(0).with_name("memory.json.new").symlink_to(target)
    shop.add(scope="workspace")
    assert target.read_text() == '{"version": 1, "entries": []}'
    assert not shop.file(0).is_symlink()


def test_the_users_own_file_may_be_a_link(shop: Shop, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    shop.user.mkdir()
    shop.file().symlink_to(dotfiles / "mine.json")
    shop.add("Mine")
    assert shop.file().is_symlink()
    assert titles(shop.ask("list")) == ["Mine"]
    assert (dotfiles / "mine.json").is_file()


def test_a_workspace_cannot_take_the_place_of_the_users_own(shop: Shop) -> None:
    mine = shop.add("Mine")
    shop.file(0).parent.mkdir()
    shop.file(0).write_bytes(shop.file().read_bytes().replace(b"Mine", b"Evil"))
    assert shop.ask("remove", id=mine.id).entries == (mine,)
    assert titles(shop.ask("list")) == ["Evil"]


def test_a_change_that_fails_leaves_the_file(shop: Shop) -> None:
    shop.add("Kept")
    (shop.user / "memory.json.new").mkdir()
    with pytest.raises(InvalidEntry, match="cannot be changed"):
        shop.add("Lost")
    assert titles(shop.ask("list")) == ["Kept"]


# ---- what belongs to a question


def entry(title: str, content: str = "x", category: str = "knowledge", age: int = 0, **fields: object) -> Entry:
    when = NOW - timedelta(days=age)
    given = {"id": title[:40], "category": category, "created": when, "updated": when, **fields}
    return Entry(title=title, content=content, **given)  # type: ignore[arg-type]


def named(hits: list[object]) -> list[str]:
    return [hit.entry.title for hit in hits]  # type: ignore[attr-defined]


def test_rules_always_the_most_specific_first(shop: Shop) -> None:
    entries = [
        entry("Old", category="rule", age=5),
        entry("New", category="rule"),
        entry("Of web", category="rule", paths=("web/**",), age=9),
        entry("Of api", category="rule", paths=("api/**",)),
    ]
    assert named(ranked(entries, (), ("web/app.ts",), NOW)) == ["Of web", "New", "Old"]
    assert named(ranked(entries, (), (), NOW)) == ["Of api", "Of web", "New", "Old"]


def test_a_workspace_does_not_crowd_out_what_is_the_users(shop: Shop) -> None:
    loud = "token session refresh " * 20
    ours: dict[str, object] = {"scope": "workspace", "root": "/w", "updated": NOW + timedelta(days=999)}
    entries = [
        entry("Mine", category="rule", age=9),
        entry("Theirs", category="rule", paths=("**",), **ours),
        entry("Sessions", "Fifteen minutes."),
        entry("Token session refresh token", loud, tags=("token", "session", "refresh"), **ours),
    ]
    found = named(ranked(entries, terms("why is the session token refreshed?"), ("a.py",), NOW))
    assert found[:2] == ["Mine", "Theirs"]
    assert sorted(found[2:]) == ["Sessions", "Token session refresh token"]


def test_the_data_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTLS_DATA", str(tmp_path / "here"))
    memory = Memory()
    perform(memory, Ask(action="add", **ENTRY), ())
    assert (tmp_path / "here" / "memory.json").is_file()
    monkeypatch.delenv("PROMPTLS_DATA")
    assert user_folder().name == "promptls"


def test_the_newest_wins_a_tie_whatever_the_order(shop: Shop) -> None:
    entries = [entry(f"Tokens {i}", "Refresh tokens rotate.", age=i) for i in range(4)]
    question = terms("how do refresh tokens rotate?")
    assert named(ranked(entries, question, (), NOW)) == [f"Tokens {i}" for i in range(4)]
    assert ranked(entries[::-1], question, (), NOW) == ranked(entries, question, (), NOW)


def test_globs_of_files_in_play_are_evidence(shop: Shop) -> None:
    entries = [entry("Rounding", "Half up.", paths=("billing/**",)), entry("Colours", "Blue.", paths=("web/**",))]
    question = terms("why is this total off by one?")
    assert named(ranked(entries, question, ("billing/invoice.py",), NOW)) == ["Rounding"]
    assert named(ranked(entries, question, ("api/a.py",), NOW)) == []


def test_an_entry_about_other_files_counts_less(shop: Shop) -> None:
    entries = [entry("Sessions", "x", paths=("legacy/**",)), entry("Session store", "x")]
    found = ranked(entries, terms("where are sessions kept?"), ("src/a.py",), NOW)
    assert named(found)[:1] == ["Session store"]


def test_notes_say_whose_they_are(shop: Shop) -> None:
    entries = [
        entry("Tabs", "Two\nlines", category="rule"),
        entry("Refunds", "Within 14 days.", scope="workspace", root="/w"),
    ]
    assert relevant(entries, terms("refund a customer"), (), NOW) == (
        Note("- Tabs (rule): Two\n  lines", "memory (yours)", 1.0),
        Note(
            "- Refunds (knowledge): Within 14 days.",
            "memory (workspace)",
            relevant(entries, terms("refund a customer"), (), NOW)[1].score,
        ),
    )


def test_a_word_of_all_entries_tells_nothing(shop: Shop) -> None:
    entries = [entry(f"Acme {word}", f"acme {word}") for word in "kiln loom anvil forge lathe press dye ink".split()]
    assert named(ranked(entries, terms("what does the acme loom weave?"), (), NOW)) == ["Acme loom"]


def test_codebuddys_own_layout() -> None:
    entries = [
        entry("Tabs", "Never.", category="rule"),
        entry("Db", "Postgres\n15", scope="workspace"),
        entry("Flaky", "Retry.", category="experience"),
    ]
    assert codebuddy_block(entries) == (
        "User memory:\n- [Rule] Tabs: Never.\n- [Experience] Flaky: Retry.\n\n"
        "Project memory:\n- [Knowledge] Db: Postgres\n  15"
    )
    assert codebuddy_block(()) == ""


def test_asks_can_be_decoded_as_they_are() -> None:
    ask = msgspec.convert({"action": "update", "id": "x", "expires": None, "tags": ["a"]}, Ask)
    assert (ask.expires, ask.tags, ask.title) == (None, ("a",), UNSET)
