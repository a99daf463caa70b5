"""The columns after any history of changes say what columns say that were made of the result at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index import columns as module
from promptls.index.columns import Columns, Contents, View
from promptls.model import Row

DIMENSION = 8
TERMS = "a b c d ab cd".split()
TEXTS = st.lists(st.sampled_from(TERMS), max_size=6).map(" ".join)
KEYS = st.integers(0, 11).map(lambda n: bytes([n]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.dictionaries(KEYS, TEXTS, max_size=6)),
        st.tuples(st.just("extend"), st.dictionaries(KEYS, TEXTS, max_size=6)),
        st.tuples(st.just("place"), st.dictionaries(KEYS, st.sampled_from(["x.py", "b/y.py", ""]), max_size=6)),
        st.tuples(st.just("keep"), st.sets(KEYS)),
    ),
    max_size=12,
)


def vector(key: bytes) -> np.ndarray:
    found = np.random.default_rng(key[0]).normal(size=DIMENSION)
    return (found / np.linalg.norm(found)).astype(np.float16)


def contents(texts: dict[bytes, str]) -> Contents:
    words = sorted({t for text in texts.values() for t in text.split()})
    split = [text.split() for text in texts.values()]
    return Contents(
        list(texts),
        np.array([vector(key) for key in texts], np.float16).reshape(len(texts), DIMENSION),
        words,
        np.array([words.index(t) for terms in split for t in terms], np.int32),
        np.cumsum([0, *map(len, split)], dtype=np.int64),
    )


def said(view: View) -> dict[str, object]:
    """All that a search can learn, by key instead of by row."""
    alive = [i for i in range(len(view)) if view.file[i] >= 0]
    near = view.similarities(vector(b"\x05").astype(np.float32) if view.dimension else np.zeros(0, np.float32))
    return {
        "rows": sorted((view.keys[i], int(view.length[i]), view.files[view.file[i]]) for i in alive),
        "near": {view.keys[i]: pytest.approx(float(near[i]), abs=1e-5) for i in alive},
        "postings": {
            term: sorted((view.keys[r], int(n)) for r, n in zip(found.rows, found.counts, strict=True))
            for term in TERMS
            for found in [view.postings(term)]
        },
        "idf": [round(view.idf(term), 6) for term in TERMS],
        "count": view.count,
        "mean": round(view.mean_length, 6),
    }


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAIL", 5)
    monkeypatch.setattr(module, "_BLOCK", 3)


@given(STEPS)
def test_any_history_ends_as_a_fresh_start(steps: list[tuple[str, dict[bytes, str] | set[bytes]]]) -> None:
    columns = Columns()
    texts: dict[bytes, str] = {}
    placed: dict[bytes, str] = {}
    for kind, given_ in steps:
        if kind == "keep":
            needed = given_ & texts.keys()
            columns.keep(needed, slack=0)
            for key in [k for k in texts if k not in needed and k not in placed]:
                del texts[key]
            continue
        assert isinstance(given_, dict)
        if kind == "place":
            columns.place((key, path, path) for key, path in given_.items())
            for key, path in given_.items():
                placed.pop(key, None)
                if path and key in texts:
                    placed[key] = path
        else:
            new = {key: text for key, text in given_.items() if key not in texts}
            texts |= new
            if kind == "add":
                columns.add(Row(key, vector(key).tobytes(), text) for key, text in given_.items())
            else:
                columns.extend(contents(given_))
    fresh = Columns()
    fresh.add(Row(key, vector(key).tobytes(), text) for key, text in texts.items() if key in placed)
    fresh.place((key, path, path) for key, path in placed.items())
    assert said(columns.view()) == said(fresh.view())


def test_a_view_stays_while_rows_are_added() -> None:
    columns = Columns()
    columns.add([Row(b"first", vector(b"\x01").tobytes(), "a b")])
    columns.place([(b"first", "x.py", "x.py")])
    before = columns.view()
    columns.add(Row(bytes([n]), vector(bytes([n])).tobytes(), "a") for n in range(50))
    assert len(before) == 1
    assert len(columns.view()) == 51
    assert before.row(bytes([7])) == -1
    assert before.frequency("a") == 1


def test_similarities_are_cosines_to_the_precision_of_eight_bits() -> None:
    columns = Columns()
    keys = [bytes([n]) for n in range(20)]
    columns.add([*(Row(key, vector(key).tobytes(), "") for key in keys), Row(b"none", b"", "no vector")])
    columns.place((key, "x.py", "x.py") for key in [*keys, b"none"])
    asked = vector(b"\x63").astype(np.float32)
    near = columns.view().similarities(asked)
    for key, value in zip(keys, near, strict=False):
        assert value == pytest.approx(float(vector(key).astype(np.float32) @ asked), abs=0.02)
    assert near[-1] == 0
    assert not columns.view().similarities(np.ones(3, np.float32)).any()


def test_a_rare_term_weighs_more() -> None:
    columns = Columns()
    columns.add(Row(bytes([i]), b"", "common rare" if i == 0 else "common") for i in range(10))
    columns.place((bytes([i]), "x.py", "x.py") for i in range(10))
    view = columns.view()
    assert view.idf("rare") > view.idf("common") > 0
    assert view.idf("rare") == pytest.approx(math.log(1 + 9.5 / 1.5))


def test_files_are_found_by_the_terms_of_their_names() -> None:
    columns = Columns()
    columns.add([Row(b"1", b"", ""), Row(b"2", b"", "")])
    columns.place([(b"1", "/r/src/http_client.py", "src/http_client.py"), (b"2", "/r/src/x.py", "src/x.py")])
    view = columns.view()
    assert [view.files[i] for i in view.named("client").rows] == ["/r/src/http_client.py"]
    assert len(view.named("src").rows) == 2
    assert not len(view.named("r").rows)
