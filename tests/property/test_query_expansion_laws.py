"""However the names of a workspace came about, they have the same companions."""

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search.chunk_index import Columns
from promptls.index.snapshot import Snapshot, with_entry
from promptls.model import FileEntry, Outline, Span, Symbol, pack
from promptls.retrieval import query_expansion
from promptls.retrieval.query import analyse
from promptls.retrieval.query_expansion import EXPANSIONS, WEIGHT, Companions
from promptls.util.hashing import digest_of

NAMES = (
    "session_cookie",
    "sessionTimeout",
    "CookieJar",
    "read_session",
    "cookie_jar",
    "Jar",
    "timeout_of_cookie",
    "Größe",
    "a b",
    "",
)
names = st.lists(st.sampled_from(NAMES), max_size=5)
changes = st.lists(st.tuples(st.sampled_from(["/w/a.py", "/w/b.py", "/w/c.py"]), st.none() | names), max_size=8)


def _entry(path: str, defined: list[str]) -> FileEntry:
    symbols = tuple(Symbol(name, "function", name, name, "", Span(0, 1), 0, 1, -1) for name in defined)
    return FileEntry(
        path, "/w", path[3:], digest=digest_of("\n".join(defined)), outlined=pack(Outline("python", 1, symbols))
    )


@given(
    changes,
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.sampled_from(["session", "cookie jar", "the timeuot", "sesion"]),
)
def test_following_equals_starting_anew(
    edits: list[tuple[str, list[str] | None]], looked: list[bool], text: str
) -> None:
    snapshot, followed, query = Snapshot(), Companions(), analyse(text)
    for (path, defined), look in zip(edits, looked, strict=False):
        snapshot = with_entry(snapshot, path, None if defined is None else _entry(path, defined))
        if look:
            followed.follow(snapshot)
    got = followed.expand(query, snapshot, Columns().view())
    assert got == Companions().expand(query, snapshot, Columns().view())
    assert len(got.expanded) <= EXPANSIONS
    assert all(0 < weight <= WEIGHT and term not in got.terms for term, weight in got.expanded)
    assert set(query.terms) <= set(got.terms) and set(query.names) <= set(got.names)


@given(changes, st.integers(1, 3))
def test_a_large_workspace_is_taken_in_file_by_file_and_ends_the_same(
    edits: list[tuple[str, list[str] | None]], most: int
) -> None:
    snapshot, followed, query = Snapshot(), Companions(), analyse("session cookie jar")
    with mock.patch.multiple(query_expansion, AT_ONCE=0, TAKEN=most, PIECE=1):
        for path, defined in edits:
            snapshot = with_entry(snapshot, path, None if defined is None else _entry(path, defined))
            followed.expand(query, snapshot, Columns().view())
        for _ in snapshot.files:
            followed.expand(query, snapshot, Columns().view())
        got = followed.expand(query, snapshot, Columns().view())
    assert got == Companions().expand(query, snapshot, Columns().view())
