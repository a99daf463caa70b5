"""Search terms from the workspace's own words."""

from pathlib import Path

import pytest

from promptls.index.search.chunk_index import Columns
from promptls.index.search.row_batch import rows_of
from promptls.index.snapshot import Snapshot
from promptls.retrieval.query import Query, analyse
from promptls.retrieval.query_expansion import EXPANSIONS, LIMITS, WEIGHT, Companions, Limits
from workspaces import snapshot_of

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
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Snapshot:
    return snapshot_of(CODE, tmp_path)


def _expand(text: str, workspace: Snapshot, limits: Limits = LIMITS) -> Query:
    return Companions().expand(analyse(text), workspace, Columns().view(), limits)


def test_terms_that_stand_together_in_names(workspace: Snapshot) -> None:
    got = dict(_expand("where does the session end", workspace).expanded)
    # session is in 5 names: cookie shares 3 of its 3 (2·3/8 = 0.75), timeout 2 of its 2 (2·2/7)
    assert got == {"cooki": round(WEIGHT * 6 / 8, 3), "timeout": round(WEIGHT * 4 / 7, 3)}


def test_one_name_is_no_habit(workspace: Snapshot) -> None:
    assert _expand("where is the canvas", workspace).expanded == ()


def test_what_is_asked_for_or_excluded_is_not_added(workspace: Snapshot) -> None:
    query = Companions().expand(analyse("session timeout"), workspace, Columns().view(), Limits(expansions=EXPANSIONS))
    assert "timeout" not in dict(query.expanded)


def test_added_terms_are_capped(workspace: Snapshot) -> None:
    assert len(_expand("session", workspace, Limits(expansions=1)).expanded) == 1
    assert _expand("session", workspace, Limits(expansions=0)).expanded == ()


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("where is autentication done, authentcate?", (("authentcate", "authent"),)),
        ("the sesion ends", (("sesion", "session"),)),
        ("the essions ends", (("essions", "session"),)),  # the first two letters changed places
        ("the zession ends", ()),  # the first letter is another
        ("who calls handel_ping", (("handel_ping", "handle_ping"),)),
        ("the session ends", ()),
        ("the pnig", ()),  # four letters
    ],
)
def test_typing_errors_are_put_right_by_the_names(
    text: str, corrected: tuple[tuple[str, str], ...], workspace: Snapshot
) -> None:
    got = _expand(text, workspace)
    assert set(corrected) <= set(got.corrected)
    assert bool(got.corrected) == bool(corrected)
    assert {right for _, right in corrected} <= set(got.terms)


def test_a_name_that_was_put_right_is_looked_up(workspace: Snapshot) -> None:
    assert "handle_ping" in _expand("who calls handel_ping", workspace).names


def test_a_word_of_some_text_is_no_typing_error(workspace: Snapshot) -> None:
    columns = Columns()
    columns.fill(rows_of([(b"1", ["sesion"])]))
    columns.move([("x.py", "x.py", [], [b"1"])])
    assert Companions().expand(analyse("the sesion ends"), workspace, columns.view()).corrected == ()


def test_while_an_index_is_made_the_table_stays_as_it_is(tmp_path: Path) -> None:
    first = snapshot_of(CODE, tmp_path / "a")
    second = snapshot_of(CODE.replace("session_timeout", "session_owner"), tmp_path / "a")
    query, columns = analyse("session"), Columns().view()
    kept = Companions()
    whole = kept.expand(query, first, columns, complete=False)
    assert whole == _expand("session", first)
    assert kept.expand(query, second, columns, complete=False) == whole
    assert kept.expand(query, second, columns) == _expand("session", second)


def test_following_changes_equals_starting_anew(tmp_path: Path) -> None:
    first = snapshot_of(CODE, tmp_path / "a")
    second = snapshot_of(
        CODE.replace("session_timeout", "session_owner").replace("-- app/other.py", "-- app/third.py"), tmp_path / "a"
    )
    followed = Companions()
    followed.follow(first)
    for text in ("session", "cookie", "handel_ping", "the sesion"):
        query = analyse(text)
        assert followed.expand(query, second, Columns().view()) == Companions().expand(query, second, Columns().view())
    assert followed.expand(analyse("session"), first, Columns().view()) == _expand("session", first)


def test_in_a_large_workspace_nobody_waits_for_whoever_takes_in_its_names(
    workspace: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.retrieval.query_expansion.AT_ONCE", 0)
    companions, query, columns = Companions(), analyse("where is the session kept"), Columns().view()
    with companions._following:
        assert companions.expand(query, workspace, columns).expanded == ()
    companions.follow(workspace)
    with companions._following:
        assert companions.expand(query, workspace, columns).expanded == _expand(query.text, workspace).expanded != ()
