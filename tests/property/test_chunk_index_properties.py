"""The columns after any history of changes say what columns say that were made of the result at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import chunk_index as owner
from promptls.index.search import vectors as near
from promptls.index.search.chunk_index import Columns
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import Rows, rounded, rows_of
from workspaces import similarities

DIMENSION = 8
TERMS = "a b c d ab cd".split()
KEYS = st.integers(0, 11).map(lambda n: bytes([n]))
PATHS = ["x.py", "b/y.py", "c/z.py"]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("terms"), st.sets(KEYS, max_size=6)),
        st.tuples(st.just("vectors"), st.sets(KEYS, max_size=6)),
        st.tuples(st.just("both"), st.sets(KEYS, max_size=6)),
        st.tuples(st.just("stored"), st.sets(KEYS, max_size=6)),
        st.tuples(st.just("forget"), st.sets(KEYS, max_size=6)),
        st.tuples(st.sampled_from(PATHS), st.lists(KEYS, max_size=6)),
        st.tuples(st.just("keep"), st.sets(KEYS)),
    ),
    max_size=14,
)


def vector(key: bytes) -> np.ndarray:
    found = np.random.default_rng(key[0]).normal(size=DIMENSION)
    return np.asarray(found / np.linalg.norm(found), np.float32)


def text(key: bytes) -> list[str]:
    rng = np.random.default_rng(100 + key[0])
    return [TERMS[i] for i in rng.integers(0, len(TERMS), rng.integers(0, 6))]


def made(keys: Sequence[bytes], vectors: bool = True) -> Rows:
    found = rounded(np.stack([vector(key) for key in keys])) if vectors and keys else b""
    return rows_of(((key, text(key)) for key in keys), found)


def said(view: IndexReader) -> dict[str, object]:
    """All that a search can learn, by key instead of by row."""
    alive = [i for i in range(len(view)) if view.file[i] >= 0]
    assert view.frequencies(TERMS).tolist() == [view.frequency(term) for term in TERMS]
    near = similarities(view, vector(b"\x05") if view.dimension else np.zeros(0, np.float32))
    return {
        "rows": sorted((view.keys[i], int(view.length[i]), *view.places(i)) for i in alive),
        "first": {view.keys[i]: view.files[view.file[i]] for i in alive},
        "near": {view.keys[i]: pytest.approx(float(near[i]), abs=1e-5) for i in alive},
        "postings": {
            term: sorted((view.keys[r], int(n)) for r, n in zip(found.rows, found.counts, strict=True))
            for term in TERMS
            for found in [view.postings(term)]
        },
        "often": [int(n) for n in view.frequencies([*TERMS, "nowhere"])],
        "idf": [round(view.idf(term), 6) for term in TERMS],
        "count": view.count,
        "living": view.living(),
        "mean": round(view.mean_length, 6),
    }


@pytest.fixture(autouse=True, params=["all exactly", "by signs first"])
def small_parts(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(owner, "TAIL", 5)
    monkeypatch.setattr(near, "_BLOCK", 3)
    if request.param != "all exactly":
        monkeypatch.setattr(near, "EXACT", 2)


@given(STEPS)
def test_any_history_ends_as_a_fresh_start(steps: list[tuple[str, list[bytes] | set[bytes]]]) -> None:
    columns = Columns()
    files: dict[str, list[bytes]] = {}
    termed: set[bytes] = set()
    vectored: set[bytes] = set()
    stored: set[bytes] = set()
    for kind, given_ in steps:
        keys = list(given_)
        living = {key for found in files.values() for key in found}
        if kind in PATHS:
            columns.move([(kind, kind, files.get(kind, []), keys)])
            files[kind] = keys
        elif kind == "keep":
            present = termed | living
            columns.keep([key for key in keys if key in columns.rows], slack=0)
            termed &= living | stored | (present & set(keys))
            vectored &= termed
        elif kind == "stored":
            columns.mark_stored(keys)
            stored |= {key for key in keys if key in columns.rows}
        elif kind == "forget":
            columns.forget(keys)
            stored -= set(keys)
        else:
            if kind == "vectors":
                keys = [key for key in keys if key in termed]
            columns.fill(made(keys, kind != "terms"))
            termed |= set(keys)
            vectored |= set(keys) if kind != "terms" else set()
    fresh = Columns()
    for path in sorted(files, reverse=True):
        fresh.move([(path, path, [], files[path])])
    fresh.fill(made(sorted(termed), False))
    fresh.fill(made(sorted(vectored)))
    assert said(columns.view()) == said(fresh.view())


def test_a_view_stays_while_rows_are_added() -> None:
    columns = Columns()
    columns.fill(rows_of([(b"first", ["a", "b"])], rounded(vector(b"\x01")[None])))
    columns.move([("x.py", "x.py", [], [b"first"])])
    before = columns.view()
    columns.fill(rows_of((bytes([n]), ["a"]) for n in range(50)))
    assert len(before) == 1
    assert len(columns.view()) == 51
    assert before.row(bytes([7])) == -1
    assert before.frequency("a") == 1


def test_a_row_is_made_when_it_has_terms_and_a_vector_or_there_is_no_model() -> None:
    columns = Columns()
    columns.move([("x.py", "x.py", [], [b"1", b"2"])])
    columns.fill(made([b"1", b"2"], False))
    assert not columns.made(b"1")
    columns.fill(made([b"1"]))
    columns.settle([b"2"])
    assert columns.made(b"1")
    assert columns.made(b"2")
    assert columns.count({"x.py"}) == (2, 1)
    assert columns.bare() == (1, {"x.py"})
    columns.fill(made([b"2"]))
    assert columns.count({"x.py"}) == (2, 2)
    assert columns.bare() == (0, set())
    assert columns.count({"y.py"}) == (0, 0)
    columns.forget([b"1"])
    assert not columns.made(b"1")


def test_similarities_are_cosines_to_the_precision_of_eight_bits() -> None:
    columns = Columns()
    keys = [bytes([n]) for n in range(20)]
    columns.fill(made(keys))
    columns.fill(rows_of([(b"none", ["no", "vector"])]))
    columns.move([("x.py", "x.py", [], [*keys, b"none"])])
    asked = vector(b"\x63")
    view = columns.view()
    near = similarities(view, asked)
    for key in keys:
        assert near[view.row(key)] == pytest.approx(float(vector(key) @ asked), abs=0.02)
    assert near[view.row(b"none")] == 0
    assert not similarities(columns.view(), np.ones(3, np.float32)).any()


def test_similarities_do_not_depend_on_where_a_row_stands() -> None:
    rng = np.random.default_rng(1)
    found = rng.normal(size=(40, 256)).astype(np.float32)
    asked = rng.normal(size=256).astype(np.float32)
    keys = [bytes([n]) for n in range(len(found))]
    seen = []
    for order in (range(40), rng.permutation(40).tolist()):
        columns = Columns()
        columns.fill(rows_of(((keys[n], ["word"]) for n in order), rounded(found[list(order)])))
        columns.move([("x.py", "x.py", [], [keys[n] for n in order])])
        view = columns.view()
        near = similarities(view, asked)
        seen.append([float(near[view.row(key)]) for key in keys])
    assert seen[0] == seen[1]
    exact = found.astype(np.float64) @ asked.astype(np.float64)
    assert np.abs(seen[0] - exact).max() < 0.02 * np.abs(exact).max()


def test_similarities_are_the_same_in_one_thread_and_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    keys = [bytes([n]) for n in range(40)]
    columns = Columns()
    columns.fill(rows_of(((key, ["word"]) for key in keys), rounded(rng.normal(size=(40, 256)))))
    columns.move([("x.py", "x.py", [], keys)])
    view, asked = columns.view(), rng.normal(size=256).astype(np.float32)
    whole = similarities(view, asked)
    monkeypatch.setattr(near, "_BLOCK", 7)
    assert np.array_equal(similarities(view, asked), whole)
    ended = ThreadPoolExecutor(1)
    ended.shutdown()  # a pool that takes nothing, as one that gets no thread
    monkeypatch.setattr(near, "_BESIDE", ended)
    assert np.array_equal(similarities(view, asked), whole)
    assert whole.any()


def test_of_very_many_rows_the_nearest_are_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    found = rng.normal(size=(400, 256))
    asked = rng.normal(size=256)
    found[:100] += asked  # some are near
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    asked = (asked / np.linalg.norm(asked)).astype(np.float32)
    keys = [n.to_bytes(2, "big") for n in range(400)]
    dead = rounded(np.tile(asked, (50, 1)))  # nearer than any, but they stand nowhere

    def found_in(order: list[int], gone: bool) -> dict[bytes, float]:
        columns = Columns()
        if gone:
            columns.fill(rows_of(((n.to_bytes(3, "big"), ["gone"]) for n in range(50)), dead))
        columns.fill(rows_of(((keys[n], ["word"]) for n in order), rounded(found[order])))
        columns.move([("x.py", "x.py", [], keys)])
        view = columns.view()
        near_ = similarities(view, asked)
        return {key: float(near_[view.row(key)]) for key in keys}

    monkeypatch.setattr(near, "EXACT", 1 << 17)
    exact = found_in(list(range(400)), gone=False)
    monkeypatch.setattr(near, "EXACT", 100)
    monkeypatch.setattr(near, "NEAREST", 120)
    some = found_in(list(range(400)), gone=False)
    best = sorted(exact, key=exact.__getitem__, reverse=True)[:80]
    assert all(some[key] == exact[key] for key in best)
    assert sum(some[key] == exact[key] for key in keys) < 200
    assert max(abs(some[key] - exact[key]) for key in keys) < 0.25
    assert found_in(rng.permutation(400).tolist(), gone=True) == some


def test_a_rare_term_weighs_more() -> None:
    columns = Columns()
    columns.fill(rows_of((bytes([i]), ["common", "rare"] if i == 0 else ["common"]) for i in range(10)))
    columns.move([("x.py", "x.py", [], [bytes([i]) for i in range(10)])])
    view = columns.view()
    assert view.idf("rare") > view.idf("common") > 0
    assert view.idf("rare") == pytest.approx(math.log(1 + 9.5 / 1.5))


def test_files_are_found_by_the_terms_of_their_names() -> None:
    columns = Columns()
    columns.move([("/r/src/http_client.py", "src/http_client.py", [], [b"1"]), ("/r/src/x.py", "src/x.py", [], [b"2"])])
    view = columns.view()
    assert [view.files[i] for i in view.named("client").rows] == ["/r/src/http_client.py"]
    assert len(view.named("src").rows) == 2
    assert not len(view.named("r").rows)


def test_a_view_stays_as_it_is_while_files_come_and_go() -> None:
    """A request that holds a view goes on with the numbers of files that it knows the names of."""
    columns = Columns()
    columns.fill(made([b"a", b"b"]))
    columns.move([("/w/a.py", "a.py", [], [b"a"])])
    view = columns.view()
    columns.move([("/w/a.py", "a.py", [b"a"], []), ("/w/b.py", "b.py", [], [b"b"])])
    assert view.file.tolist() == [0, -1]
    assert len(view.path_length) == 1
    assert columns.view().file.tolist() == [-1, 1]
