"""Memory: requests, files, expiry dates, and relevance to a question."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import msgspec
import pytest

from promptls.index.files.read import FileLimits
from promptls.index.files.uris import to_uri
from promptls.index.search.analyzer import tokenize
from promptls.index.snapshot import Snapshot, SourceReader
from promptls.knowledge.memory_requests import MemoryRequest, perform, rank_entries, relevant_entries
from promptls.knowledge.memory_store import InvalidEntry, MemoryEntry, MemoryResult, MemoryStore, user_data_dir
from promptls.mentions.context import ResolveContext, Services
from promptls.mentions.resolve import resolve_mentions
from promptls.model import MentionOutcome, Root, SectionEntry

NOW = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


class Clock:
    """A clock set by the test; each reading is one second later."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Shop:
    """A memory store and a workspace of two folders."""

    def __init__(self, top: Path) -> None:
        self.user = top / "data"
        self.clock = Clock()
        self.memory = MemoryStore(self.user, self.clock)
        for name in ("a", "b"):
            (top / name).mkdir(exist_ok=True)
        self.roots = tuple(Root(p.as_posix(), p.name, to_uri(p.as_posix())) for p in (top / "a", top / "b"))

    def ask(self, action: str, **fields: object) -> MemoryResult:
        return perform(self.memory, MemoryRequest(action=action, **fields), self.roots)  # type: ignore[arg-type]

    def add(self, title: str = "Money", content: str = "Cents, never floats.", **fields: object) -> MemoryEntry:
        fields = {"category": "knowledge", **fields}
        return self.ask("add", title=title, content=content, **fields).entries[0]

    def file(self, root: int = -1) -> Path:
        return self.user / "memory.json" if root < 0 else Path(self.roots[root].path, ".promptls", "memory.json")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def titles(answer: MemoryResult) -> list[str]:
    return [entry.title for entry in answer.entries]


# ---- requests


def test_add_list_update_remove(shop: Shop) -> None:
    added = shop.add(tags=("money", "money"), paths=("shop/**",))
    assert (added.scope, added.root, added.tags, added.paths) == ("user", "", ("money",), ("shop/**",))
    assert shop.ask("list") == MemoryResult((added,), 1)
    changed = shop.ask("update", id=added.id, content="Always cents.").entries[0]
    assert changed == msgspec.structs.replace(added, content="Always cents.", updated=changed.updated)
    assert changed.updated > added.updated
    assert shop.ask("remove", id=added.id).entries == (changed,)
    assert shop.ask("list") == MemoryResult((), 0)


def test_list_is_sorted_newest_first_and_paged(shop: Shop) -> None:
    first = shop.add("First")
    for name in ("Second", "Third"):
        shop.add(name, name)
    shop.ask("update", id=first.id, title="First again")
    assert titles(shop.ask("list")) == ["First again", "Third", "Second"]
    page = shop.ask("list", limit=1, offset=1)
    assert (titles(page), page.total) == (["Third"], 3)


def test_list_is_filtered_by_category_and_scope(shop: Shop) -> None:
    shop.add("Mine", category="rule")
    shop.add("Ours", category="rule", scope="workspace")
    shop.add("Fact", scope="workspace")
    assert titles(shop.ask("list", category="rule", scope="workspace")) == ["Ours"]
    assert titles(shop.ask("list", scope="user")) == ["Mine"]


def test_workspace_file_is_created_with_first_entry(shop: Shop) -> None:
    shop.add("Mine")
    shop.ask("list")
    assert [list(Path(root.path).iterdir()) for root in shop.roots] == [[], []]
    entry = shop.add("Ours", scope="workspace")
    assert entry.root == shop.roots[0].path
    assert sorted(p.name for p in Path(shop.roots[0].path).rglob("*")) == [".promptls", "memory.json"]


@pytest.mark.parametrize("by", ["name", "path", "uri"])
def test_workspace_folder_is_selected_by_name_path_or_uri(shop: Shop, by: str) -> None:
    entry = shop.add("Ours", scope="workspace", root=getattr(shop.roots[1], by))
    assert entry.root == shop.roots[1].path
    assert shop.file(1).exists()
    assert shop.ask("remove", id=entry.id).entries == (entry,)


def test_search_matches_word_forms_and_literal_text(shop: Shop) -> None:
    shop.add("Payments", "Retried three times.", tags=("stripe",))
    shop.add("Logging", "structlog, see log_setup.py", category="rule")
    assert titles(shop.ask("search", query="payment retry")) == ["Payments"]
    assert titles(shop.ask("search", query="STRIPE")) == ["Payments"]
    assert titles(shop.ask("search", query="ctlog, SEE")) == ["Logging"]
    assert titles(shop.ask("search", query="nothing of this")) == []
    results = shop.ask("search", query="payments")
    assert len(results.scores) == 1 and 0 < results.scores[0] < 1


ENTRY = {"category": "rule", "title": "T", "content": "C"}
INVALID: list[tuple[dict[str, object], str, tuple[str, ...]]] = [
    ({"action": "forget"}, "action", ("add", "list", "remove", "search", "update")),
    ({"action": "add", "title": "T", "content": "C"}, "category", ()),
    ({"action": "add", **ENTRY, "category": "idea"}, "category", ("experience", "knowledge", "rule")),
    ({"action": "add", **ENTRY, "title": "t" * 121}, "title", ()),
    ({"action": "add", **ENTRY, "title": "a\u202eb"}, "title", ()),
    ({"action": "add", **ENTRY, "content": ""}, "content", ()),
    ({"action": "add", **ENTRY, "content": "\udfff"}, "content", ()),
    ({"action": "add", **ENTRY, "tags": tuple(map(str, range(21)))}, "tags", ()),
    ({"action": "add", **ENTRY, "paths": ("x" * 201,)}, "paths", ()),
    ({"action": "add", **ENTRY, "expires": 36501}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": "soon"}, "expires", ()),
    ({"action": "add", **ENTRY, "expires": "2029-12-31"}, "expires", ()),
    ({"action": "add", **ENTRY, "scope": "team"}, "scope", ("user", "workspace")),
    ({"action": "add", **ENTRY, "scope": "workspace", "root": "c"}, "root", ("a", "b")),
    ({"action": "update"}, "id", ()),
    ({"action": "remove", "id": "nobody"}, "id", ()),
    ({"action": "search", "query": " "}, "query", ()),
    ({"action": "list", "limit": 0}, "limit", ()),
    ({"action": "list", "offset": -1}, "offset", ()),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "field", "valid"), INVALID)
def test_invalid_field_is_reported_with_valid_values(
    shop: Shop, fields: dict[str, object], field: str, valid: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidEntry) as caught:
        shop.ask(**fields)  # type: ignore[arg-type]
    assert (caught.value.field, caught.value.valid) == (field, valid)
    assert str(caught.value).startswith(f"{field}: ")
    assert str(caught.value).endswith(".")
    assert not shop.file().exists()


def test_duplicate_entry_is_rejected(shop: Shop) -> None:
    first = shop.add()
    with pytest.raises(InvalidEntry, match=first.id):
        shop.add()
    assert shop.add(scope="workspace").scope == "workspace"


def test_number_of_entries_in_a_file_is_limited(shop: Shop) -> None:
    shop.add("Template")
    data = msgspec.json.decode(shop.file().read_bytes())
    data["entries"] = [{**data["entries"][0], "id": f"e{i}", "title": f"T{i}"} for i in range(1000)]
    shop.file().write_bytes(msgspec.json.encode(data))
    with pytest.raises(InvalidEntry, match="1,000") as caught:
        shop.add("One more")
    assert caught.value.field == "scope"
    shop.ask("remove", id="e5")
    assert shop.add("One more").title == "One more"


# ---- expiry


@pytest.mark.parametrize(
    ("expires", "end"),
    [
        (1, NOW + timedelta(days=1, seconds=1)),
        ("2030-01-01", datetime(2030, 1, 1, 23, 59, 59, tzinfo=timezone.utc)),
        ("2030-01-02T10:00:00Z", datetime(2030, 1, 2, 10, tzinfo=timezone.utc)),
        ("2030-01-02T10:00:00+02:00", datetime(2030, 1, 2, 8, tzinfo=timezone.utc)),
        ("", None),
    ],
)
def test_expiry_dates_are_parsed(shop: Shop, expires: object, end: datetime | None) -> None:
    assert shop.add(expires=expires).expires == end


def test_expired_entries_are_hidden_unless_requested_and_never_in_prompts(shop: Shop) -> None:
    entry = shop.add(category="rule", expires=1)
    assert shop.ask("list").total == 1
    shop.clock.now += timedelta(days=2)
    assert shop.ask("list").total == 0
    assert shop.ask("search", query="money").total == 0
    assert shop.ask("list", include_expired=True).entries == (entry,)
    assert relevant_entries([entry], tokenize("money"), (), shop.clock.now) == ()
    assert [outcome.status for outcome in mentioned(shop)] == ["unresolved", "unresolved"]
    renewed = shop.ask("update", id=entry.id, expires="").entries[0]
    assert (renewed.expires, shop.ask("list").total) == (None, 1)
    assert [outcome.status for outcome in mentioned(shop)] == ["included", "included"]


def mentioned(shop: Shop) -> tuple[MentionOutcome, ...]:
    sources = SourceReader(Snapshot(roots=shop.roots), FileLimits())
    return resolve_mentions("@memory @memory:money", ResolveContext(sources, services=Services(memory=shop.memory)))


# ---- files


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_user_memory_is_private_by_default(shop: Shop, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(os.umask, os.umask(0o022)))
    shop.add("One")
    shop.add("Ours", scope="workspace")
    assert [shop.file(n).stat().st_mode & 0o777 for n in (-1, 0)] == [0o600, 0o644]
    shop.file().chmod(0o640)
    shop.add("Two")
    assert shop.file().stat().st_mode & 0o777 == 0o640


# ---- concurrent writers


WRITER = """
import sys
from pathlib import Path
from promptls.knowledge.memory_store import EntryDraft, MemoryStore
memory = MemoryStore(Path(sys.argv[1]))
for i in range(15):
    memory.add(EntryDraft(category="rule", title=f"{sys.argv[2]} {i}", content="x"))
"""


@pytest.mark.process
def test_concurrent_writers_lose_nothing(shop: Shop) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(shop.user), name]) for name in "ABC"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    answer = shop.ask("list")
    assert sorted(titles(answer)) == sorted(f"{name} {i}" for name in "ABC" for i in range(15))
    assert answer.problems == ()
    assert sorted(p.name for p in shop.user.iterdir()) == [".gitignore", "locks", "memory.json"]


ENDLESS = """
import sys
from pathlib import Path
from promptls.knowledge.memory_store import EntryDraft, MemoryStore
memory = MemoryStore(Path(sys.argv[1]))
for i in range(1000):
    print(memory.add(EntryDraft(category="rule", title=f"T{i}", content="x" * 500)).entries[0].id, flush=True)
"""


@pytest.mark.process
def test_killed_writer_loses_no_acknowledged_entry(shop: Shop) -> None:
    for _ in range(3):
        before = {entry.id for entry in shop.ask("list", limit=1000).entries}
        shop.user.mkdir(exist_ok=True)
        writer = subprocess.Popen([sys.executable, "-c", ENDLESS, str(shop.user)], stdout=subprocess.PIPE, text=True)
        with writer:
            assert writer.stdout is not None
            acknowledged = {writer.stdout.readline().strip() for _ in range(5)}
            writer.kill()
        answer = shop.ask("list", limit=1000)
        assert before | acknowledged <= {entry.id for entry in answer.entries}
        assert answer.problems == ()
        for entry in answer.entries:  # the lock is free, and titles can be used again
            shop.ask("remove", id=entry.id)


# ---- damaged files

DAMAGED = {
    "": "invalid JSON",
    "{": "invalid JSON",
    "[]": "Expected `object`",
    '{"version": 1, "entries": 5}': "Expected `array`",
    '{"entries": []}': "version",
    "\0" * 50: "invalid JSON",
    '{"version": 1, "entries": ' + "[" * 100_000: "invalid JSON",
    '{"version": 1, "entries": [{"id": "x"}]}': "entry 1",
}


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:30].replace("\0", "0"))
def test_damaged_file_is_reported_and_backed_up(shop: Shop, text: str) -> None:
    shop.user.mkdir()
    shop.file().write_text(text)
    (problem,) = shop.ask("list").problems
    assert "memory.json (yours)" in problem.message and DAMAGED[text] in problem.message
    assert shop.file().read_text() == text
    (shop.user / "memory.json.bad-1").write_text("earlier")
    done = shop.ask("add", **ENTRY)
    assert "memory.json.bad-2" in done.problems[0].message
    backups = [(shop.user / f"memory.json.bad-{n}").read_text() for n in (1, 2)]
    assert backups == ["earlier", text]
    assert titles(shop.ask("list")) == ["T"]
    assert shop.ask("list").problems == ()


def test_valid_entries_of_damaged_file_are_used(shop: Shop) -> None:
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


def test_file_of_newer_version_is_neither_used_nor_changed(shop: Shop) -> None:
    shop.user.mkdir()
    shop.file().write_text('{"version": 2, "entries": []}')
    assert "version 2" in shop.ask("list").problems[0].message
    with pytest.raises(InvalidEntry, match="version 2"):
        shop.add()
    assert shop.file().read_text() == '{"version": 2, "entries": []}'


def test_oversized_file_is_neither_used_nor_changed(shop: Shop) -> None:
    shop.user.mkdir()
    with shop.file().open("wb") as file:
        file.truncate(24_000_001)
    assert "over the limit" in shop.ask("list").problems[0].message
    with pytest.raises(InvalidEntry, match="over the limit"):
        shop.add()
    assert shop.file().stat().st_size == 24_000_001


def test_link_does_not_redirect_workspace_memory(shop: Shop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (Path(shop.roots[0].path) / ".promptls").symlink_to(outside)
    with pytest.raises(InvalidEntry, match="link"):
        shop.add(scope="workspace")
    assert list(outside.iterdir()) == []
    (outside / "memory.json").write_text('{"version": 1, "entries": []}')
    assert "outside the workspace" in shop.ask("list").problems[0].message


def test_link_as_memory_file_is_not_followed(shop: Shop, tmp_path: Path) -> None:
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


def test_user_memory_file_may_be_a_link(shop: Shop, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    shop.user.mkdir()
    shop.file().symlink_to(dotfiles / "mine.json")
    shop.add("Mine")
    assert shop.file().is_symlink()
    assert titles(shop.ask("list")) == ["Mine"]
    assert (dotfiles / "mine.json").is_file()


def test_workspace_cannot_shadow_user_memory(shop: Shop) -> None:
    mine = shop.add("Mine")
    shop.file(0).parent.mkdir()
    shop.file(0).write_bytes(shop.file().read_bytes().replace(b"Mine", b"Evil"))
    assert shop.ask("remove", id=mine.id).entries == (mine,)
    assert titles(shop.ask("list")) == ["Evil"]


def test_failed_change_leaves_file_unchanged(shop: Shop) -> None:
    shop.add("Kept")
    (shop.user / "memory.json.new").mkdir()
    with pytest.raises(InvalidEntry, match="cannot change"):
        shop.add("Lost")
    assert titles(shop.ask("list")) == ["Kept"]


# ---- relevance


def entry(title: str, content: str = "x", category: str = "knowledge", age: int = 0, **fields: object) -> MemoryEntry:
    when = NOW - timedelta(days=age)
    given = {"id": title[:40], "category": category, "created": when, "updated": when, **fields}
    return MemoryEntry(title=title, content=content, **given)  # type: ignore[arg-type]


def named(hits: list[object]) -> list[str]:
    return [hit.entry.title for hit in hits]  # type: ignore[attr-defined]


def test_rules_always_apply_most_specific_first(shop: Shop) -> None:
    entries = [
        entry("Old", category="rule", age=5),
        entry("New", category="rule"),
        entry("Of web", category="rule", paths=("web/**",), age=9),
        entry("Of api", category="rule", paths=("api/**",)),
    ]
    assert named(rank_entries(entries, (), ("web/app.ts",), NOW)) == ["Of web", "New", "Old"]
    assert named(rank_entries(entries, (), (), NOW)) == ["Of api", "Of web", "New", "Old"]


def test_workspace_entries_do_not_displace_user_entries(shop: Shop) -> None:
    loud = "token session refresh " * 20
    ours: dict[str, object] = {"scope": "workspace", "root": "/w", "updated": NOW + timedelta(days=999)}
    entries = [
        entry("Mine", category="rule", age=9),
        entry("Theirs", category="rule", paths=("**",), **ours),
        entry("Sessions", "Fifteen minutes."),
        entry("Token session refresh token", loud, tags=("token", "session", "refresh"), **ours),
    ]
    results = named(rank_entries(entries, tokenize("why is the session token refreshed?"), ("a.py",), NOW))
    assert results[:2] == ["Mine", "Theirs"]
    assert sorted(results[2:]) == ["Sessions", "Token session refresh token"]


def test_data_directory_is_configurable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTLS_DATA", str(tmp_path / "here"))
    memory = MemoryStore()
    perform(memory, MemoryRequest(action="add", **ENTRY), ())
    assert (tmp_path / "here" / "memory.json").is_file()
    monkeypatch.delenv("PROMPTLS_DATA")
    assert user_data_dir().name == "promptls"


def test_matching_globs_add_evidence(shop: Shop) -> None:
    entries = [entry("Rounding", "Half up.", paths=("billing/**",)), entry("Colours", "Blue.", paths=("web/**",))]
    question = tokenize("why is this total off by one?")
    assert named(rank_entries(entries, question, ("billing/invoice.py",), NOW)) == ["Rounding"]
    assert named(rank_entries(entries, question, ("api/a.py",), NOW)) == []


def test_prompt_entries_show_their_scope(shop: Shop) -> None:
    entries = [
        entry("Tabs", "Two\nlines", category="rule"),
        entry("Refunds", "Within 14 days.", scope="workspace", root="/w"),
    ]
    assert relevant_entries(entries, tokenize("refund a customer"), (), NOW) == (
        SectionEntry("- Tabs (rule): Two\n  lines", "memory (yours)", 1.0),
        SectionEntry(
            "- Refunds (knowledge): Within 14 days.",
            "memory (workspace)",
            relevant_entries(entries, tokenize("refund a customer"), (), NOW)[1].score,
        ),
    )
