"""Properties of the memory for any bytes, entries and order of changes."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from promptls.index.files.uris import to_uri
from promptls.knowledge.memory_requests import MemoryRequest, perform
from promptls.knowledge.memory_store import (
    CATEGORIES,
    InvalidEntry,
    MemoryEntry,
    MemoryStore,
    decode_entries,
    encode_entries,
)
from promptls.model import Root

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)
WORDS = st.sampled_from("cart price session token cookie refund invoice scheduler deploy the add fix ä 中 x1".split())
LINES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
MOMENTS = st.integers(-1000, 1000).map(lambda days: NOW + timedelta(days=days, microseconds=days % 7))
GLOBS = st.sampled_from(["**", "src/**", "*.py", "web/*.ts", "[", "!x", "a/{b"])
ENTRIES = st.lists(
    st.builds(
        MemoryEntry,
        id=st.text("abc-_09", min_size=1, max_size=40),
        category=st.sampled_from(CATEGORIES),
        title=LINES,
        content=st.lists(LINES, min_size=1, max_size=3).map("\n".join),
        created=MOMENTS,
        updated=MOMENTS,
        tags=st.lists(WORDS, max_size=3, unique=True).map(tuple),
        paths=st.lists(GLOBS, max_size=2, unique=True).map(tuple),
        expires=st.none() | MOMENTS,
    ),
    max_size=20,
    unique_by=lambda entry: entry.id,
)


@given(ENTRIES)
def test_encoded_entries_decode_to_the_same(entries: list[MemoryEntry]) -> None:
    content = decode_entries(encode_entries(entries), "memory", "user", "")
    assert content.entries == tuple(entries)
    assert content.problems == ()
    assert not content.damaged


@given(ENTRIES, st.data())
def test_truncated_or_modified_file_is_reported_without_exception(
    entries: list[MemoryEntry], data: st.DataObject
) -> None:
    whole = encode_entries(entries)
    cut = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    for damaged in (whole[:cut], whole[:cut] + bytes([byte]) + whole[cut + 1 :], whole + whole):
        content = decode_entries(damaged, "memory", "workspace", "/w")
        assert content.damaged == bool(content.problems) or content.newer
        assert all(entry.scope == "workspace" and entry.root == "/w" for entry in content.entries)


class Memories(RuleBasedStateMachine):
    """Two servers with the same files behave like a dictionary."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        (self.top / "w").mkdir()
        self.roots = (Root((self.top / "w").as_posix(), "w", to_uri((self.top / "w").as_posix())),)
        self.now = NOW
        self.servers = [MemoryStore(self.top / "data", self.clock) for _ in range(2)]
        self.known: dict[str, MemoryEntry] = {}

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def ask(self, server: int, **fields: object) -> MemoryEntry | None:
        try:
            (entry,) = perform(self.servers[server], MemoryRequest(**fields), self.roots).entries  # type: ignore[arg-type]
        except InvalidEntry as error:
            assert error.field in ("content", "id")
            return None
        return entry

    @rule(
        target=ids,
        server=st.integers(0, 1),
        title=LINES,
        content=LINES,
        category=st.sampled_from(CATEGORIES),
        scope=st.sampled_from(["user", "workspace"]),
    )
    def add(self, server: int, **fields: str) -> str:
        entry = self.ask(server, action="add", **fields)
        if entry is None:  # duplicate
            assert any(
                (e.title, e.content, e.category, e.scope)
                == (fields["title"], fields["content"], fields["category"], fields["scope"])
                for e in self.known.values()
            )
            return "none"
        self.known[entry.id] = entry
        return entry.id

    @rule(server=st.integers(0, 1), name=ids, content=LINES)
    def update(self, server: int, name: str, content: str) -> None:
        entry = self.ask(server, action="update", id=name, content=content)
        assert (entry is None) == (name not in self.known)
        if entry is not None:
            old = self.known[name]
            assert entry == msgspec.structs.replace(old, content=content, updated=entry.updated)
            self.known[name] = entry

    @rule(server=st.integers(0, 1), name=consumes(ids))
    def remove(self, server: int, name: str) -> None:
        assert self.ask(server, action="remove", id=name) == self.known.pop(name, None)

    @invariant()
    def both_know_the_same(self) -> None:
        for server in self.servers:
            content = server.load(self.roots)
            assert {entry.id: entry for entry in content.entries} == self.known
            assert content.problems == ()

    def teardown(self) -> None:
        shutil.rmtree(self.top)


TestMemories = Memories.TestCase
TestMemories.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
