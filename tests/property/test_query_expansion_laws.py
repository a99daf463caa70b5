"""Properties of query expansion: results depend on the names, not on the history of updates."""

from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.snapshot import Snapshot, with_files
from promptls.model import FileEntry, Outline, Span, Symbol, encode_outline
from promptls.retrieval.query import parse_query
from promptls.retrieval.query_expansion import MAX_EXPANSION_WEIGHT, MAX_EXPANSIONS, Cooccurrence
from promptls.util.hashing import content_hash

NAMES = (
    "session_cookie", "sessionTimeout", "CookieJar", "read_session", "cookie_jar", "Jar", "timeout_of_cookie",
    "Größe", "a b", "",
)  # fmt: skip
names = st.lists(st.sampled_from(NAMES), max_size=5)
changes = st.lists(st.tuples(st.sampled_from(["/w/a.py", "/w/b.py", "/w/c.py"]), st.none() | names), max_size=8)


def _entry(path: str, defined: list[str]) -> FileEntry:
    symbols = tuple(Symbol(name, "function", name, name, "", Span(0, 1), 0, 1, -1) for name in defined)
    return FileEntry(
        path,
        "/w",
        path[3:],
        content_hash=content_hash("\n".join(defined)),
        encoded_outline=encode_outline(Outline("python", 1, symbols)),
    )


@given(
    changes,
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.sampled_from(["session", "cookie jar", "the timeuot", "sesion"]),
)
def test_incremental_update_equals_new_table(
    edits: list[tuple[str, list[str] | None]], looked: list[bool], text: str
) -> None:
    snapshot, cooccurrence, query = Snapshot(), Cooccurrence(), parse_query(text)
    for (path, defined), follows in zip(edits, looked, strict=False):
        snapshot = with_files(snapshot, [(path, None if defined is None else _entry(path, defined))])
        if follows:
            cooccurrence.follow(snapshot)
    expanded = cooccurrence.expand(query, snapshot, ChunkIndex().reader())
    assert expanded == Cooccurrence().expand(query, snapshot, ChunkIndex().reader())
    assert len(expanded.expanded) <= MAX_EXPANSIONS
    assert all(0 < weight <= MAX_EXPANSION_WEIGHT and term not in expanded.terms for term, weight in expanded.expanded)
    assert set(query.terms) <= set(expanded.terms) and set(query.names) <= set(expanded.names)
