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
from promptls.index.search.analyzer import tokenize
from promptls.knowledge.memory_requests import MemoryRequest, perform, rank_entries, relevant_entries, search_entries
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


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["version", "entries", "id", "title"]), x),
    ).map(msgspec.json.encode)
)
def test_any_bytes_decode_to_entries_or_problems(data: bytes) -> None:
    content = decode_entries(data, "memory", "user", "")
    assert content.entries == () or not content.damaged


@given(ENTRIES, LINES, st.lists(st.sampled_from(["src/a.py", "web/b.ts", "c.md"]), unique=True), st.randoms())
@settings(max_examples=200)
def test_relevance_does_not_depend_on_order(
    entries: list[MemoryEntry], question: str, files: list[str], random: object
) -> None:
    hits = rank_entries(entries, tokenize(question), files, NOW)
    shuffled = list(entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rank_entries(shuffled, tokenize(question), files, NOW) == hits
    assert not any(hit.entry.is_expired(NOW) for hit in hits)
    assert len({hit.entry.id for hit in hits}) == len(hits)
    assert all(0 < hit.score <= 1 for hit in hits)
    kinds = [hit.entry.category == "rule" for hit in hits]
    assert kinds == sorted(kinds, reverse=True)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    unlimited = {e.id for e in entries if e.category == "rule" and not e.paths and not e.is_expired(NOW)}
    assert unlimited <= {hit.entry.id for hit in hits}
    assert [note.score for note in relevant_entries(entries, tokenize(question), files, NOW)] == scores


@given(ENTRIES)
def test_only_rules_are_relevant_without_question_and_files(entries: list[MemoryEntry]) -> None:
    assert all(hit.entry.category == "rule" for hit in rank_entries(entries, (), (), NOW))


@given(ENTRIES)
def test_entry_is_found_by_its_title(entries: list[MemoryEntry]) -> None:
    for entry in entries:
        assert entry in [hit.entry for hit in search_entries(entries, entry.title)]


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
