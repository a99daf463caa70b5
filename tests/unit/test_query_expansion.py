"""Query expansion with names of the workspace."""

from pathlib import Path

import pytest

from promptls.index.search.analyzer import tokenize
from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.snapshot import Snapshot
from promptls.retrieval.query import Query, parse_query
from promptls.retrieval.query_expansion import (
    DEFAULT_LIMITS,
    MAX_EXPANSION_WEIGHT,
    MAX_EXPANSIONS,
    Cooccurrence,
    ExpansionLimits,
)
from workspaces import build_rows, snapshot_of

CODE = """
-- app/session.py --
def session_cookie(): pass
def read_session_cookie(): pass
class SessionCookieJar: pass
def session_timeout(): pass
def sessionTimeoutSeconds(): pass
def authenticate_user(): pass
-- app/other.py --
def paint_canvas(): pass
def handle_ping(): pass
def http1(): pass
def canvas3(): pass
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Snapshot:
    return snapshot_of(CODE, tmp_path)


def _expand(text: str, workspace: Snapshot, limits: ExpansionLimits = DEFAULT_LIMITS) -> Query:
    return Cooccurrence().expand(parse_query(text), workspace, ChunkIndex().reader(), limits)


def test_terms_that_occur_together_in_names_are_added(workspace: Snapshot) -> None:
    got = dict(_expand("where does the session end", workspace).expanded)
    # session is in 5 names: cookie shares 3 of its 3 (2·3/8 = 0.75), timeout 2 of its 2 (2·2/7)
    assert got == {"cooki": round(MAX_EXPANSION_WEIGHT * 6 / 8, 3), "timeout": round(MAX_EXPANSION_WEIGHT * 4 / 7, 3)}


def test_single_common_name_is_not_enough(workspace: Snapshot) -> None:
    assert _expand("where is the canvas", workspace).expanded == ()


def test_query_terms_and_excluded_terms_are_not_added(workspace: Snapshot) -> None:
    query = Cooccurrence().expand(
        parse_query("session timeout"), workspace, ChunkIndex().reader(), ExpansionLimits(expansions=MAX_EXPANSIONS)
    )
    assert "timeout" not in dict(query.expanded)


def test_number_of_added_terms_is_limited(workspace: Snapshot) -> None:
    assert len(_expand("session", workspace, ExpansionLimits(expansions=1)).expanded) == 1
    assert _expand("session", workspace, ExpansionLimits(expansions=0)).expanded == ()


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("where is autentication done, authentcate?", (("authentcate", "authenticate"),)),
        ("the sesion ends", (("sesion", "session"),)),
        ("the essions ends", (("essions", "session"),)),  # transposed first letters
        ("the zession ends", ()),  # different first letter
        ("who calls handel_ping", (("handel_ping", "handle_ping"),)),
        ("the session ends", ()),
        ("the pnig", ()),  # too short
    ],
)
def test_typing_errors_are_corrected_by_names(
    text: str, corrected: tuple[tuple[str, str], ...], workspace: Snapshot
) -> None:
    got = _expand(text, workspace)
    assert set(corrected) <= set(got.corrected)
    assert bool(got.corrected) == bool(corrected)
    assert {term for _, right in corrected for term in tokenize(right)} <= set(got.terms)


@pytest.mark.parametrize("word", ["canvases", "hands", "ready"])
def test_correct_words_are_not_corrected(word: str, workspace: Snapshot) -> None:
    assert _expand(f"where is the {word} done", workspace).corrected == ()


def test_text_of_the_question_can_be_corrected(workspace: Snapshot) -> None:
    query = _expand("How does the Sesion end after authentcate, or essions.py, but not resesion? sesions", workspace)
    expected = "How does the session end after authenticate, or session.py, but not resesion? session"
    assert query.correct(query.text) == expected
    assert [*map(query.correct, _expand("How does the sesion end?", workspace).shingles)] == ["session end"]
    assert query.text.startswith("How does the Sesion"), "other sources, such as the team index, have other words"


def test_misspelled_names_of_several_words_are_corrected_as_defined(workspace: Snapshot) -> None:
    query = _expand("who calls sessionTimeoutSecods and SesionCookieJar", workspace)
    assert dict(query.corrected) == {
        "sessiontimeoutsecods": "sessionTimeoutSeconds",
        "sesioncookiejar": "SessionCookieJar",
    }
    assert {"sessionTimeoutSeconds", "SessionCookieJar"} <= set(query.names)


@pytest.mark.parametrize("word", ["sessionTimeoutSeconds", "pollSessionState", "raiding", "http2", "canvas4"])
def test_words_of_several_parts_short_stems_and_other_digits_are_not_corrected(word: str, workspace: Snapshot) -> None:
    assert _expand(f"where is {word} done", workspace).corrected == ()


def test_corrected_name_is_used_as_query_name(workspace: Snapshot) -> None:
    assert "handle_ping" in _expand("who calls handel_ping", workspace).names


def test_word_in_indexed_text_is_not_corrected(workspace: Snapshot) -> None:
    reader = ChunkIndex()
    reader.set_rows(build_rows([(b"1", ["sesion"])]))
    reader.update_files([("x.py", "x.py", [], [b"1"])])
    assert Cooccurrence().expand(parse_query("the sesion ends"), workspace, reader.reader()).corrected == ()


def test_table_is_not_updated_during_indexing(tmp_path: Path) -> None:
    first = snapshot_of(CODE, tmp_path / "a")
    second = snapshot_of(CODE.replace("session_timeout", "session_owner"), tmp_path / "a")
    query, reader = parse_query("session"), ChunkIndex().reader()
    kept = Cooccurrence()
    whole = kept.expand(query, first, reader, complete=False)
    assert whole == _expand("session", first)
    assert kept.expand(query, second, reader, complete=False) == whole
    assert kept.expand(query, second, reader) == _expand("session", second)


def test_incremental_update_equals_new_table(tmp_path: Path) -> None:
    first = snapshot_of(CODE, tmp_path / "a")
    second = snapshot_of(
        CODE.replace("session_timeout", "session_owner").replace("-- app/other.py", "-- app/third.py"), tmp_path / "a"
    )
    cooccurrence = Cooccurrence()
    cooccurrence.follow(first)
    for text in ("session", "cookie", "handel_ping", "the sesion"):
        query = parse_query(text)
        assert cooccurrence.expand(query, second, ChunkIndex().reader()) == Cooccurrence().expand(
            query, second, ChunkIndex().reader()
        )
    assert cooccurrence.expand(parse_query("session"), first, ChunkIndex().reader()) == _expand("session", first)


def test_name_counts_until_no_file_defines_it(tmp_path: Path) -> None:
    again = "-- app/again.py --\ndef session_cookie(): pass\ndef SESSION_extra(): pass\n"
    steps = (CODE + again, CODE, again, CODE + again, CODE.replace("session_cookie(", "cookie_factory(") + again, again)
    cooccurrence = Cooccurrence()
    for code in steps:
        snapshot = snapshot_of(code, tmp_path / "a")
        for text in ("session", "cookie", "handel_ping", "the sesion", "who calls sesion_cookie", "cookie_factry"):
            query, reader = parse_query(text), ChunkIndex().reader()
            assert cooccurrence.expand(query, snapshot, reader) == Cooccurrence().expand(query, snapshot, reader)


def test_query_does_not_wait_for_update_of_large_workspace(
    workspace: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.retrieval.query_expansion.MAX_SYNC_FILES", 0)
    cooccurrence, query, reader = Cooccurrence(), parse_query("where is the session kept"), ChunkIndex().reader()
    with cooccurrence._derived.lock:
        assert cooccurrence.expand(query, workspace, reader).expanded == ()
    cooccurrence.follow(workspace)
    with cooccurrence._derived.lock:
        assert cooccurrence.expand(query, workspace, reader).expanded == _expand(query.text, workspace).expanded != ()
