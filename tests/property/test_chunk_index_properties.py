"""A chunk index after any updates equals one that is built from the result at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search import chunk_index, vectors
from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import RowBatch, quantize
from workspaces import build_rows, similarities

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
    components = np.random.default_rng(key[0]).normal(size=DIMENSION)
    return np.asarray(components / np.linalg.norm(components), np.float32)


def text(key: bytes) -> list[str]:
    rng = np.random.default_rng(100 + key[0])
    return [TERMS[i] for i in rng.integers(0, len(TERMS), rng.integers(0, 6))]


def row_batch(keys: Sequence[bytes], with_vectors: bool = True) -> RowBatch:
    packed = quantize(np.stack([vector(key) for key in keys])) if with_vectors and keys else b""
    return build_rows(((key, text(key)) for key in keys), packed)


def contents(reader: IndexReader) -> dict[str, object]:
    """Return everything that a search can read, by key instead of row."""
    live = [i for i in range(len(reader)) if reader.file_ids[i] >= 0]
    assert reader.document_frequencies(TERMS).tolist() == [reader.document_frequency(term) for term in TERMS]
    near = similarities(reader, vector(b"\x05") if reader.dimension else np.zeros(0, np.float32))
    return {
        "rows": sorted((reader.keys[i], int(reader.lengths[i]), *reader.locations(i)) for i in live),
        "first": {reader.keys[i]: reader.paths[reader.file_ids[i]] for i in live},
        "near": {reader.keys[i]: pytest.approx(float(near[i]), abs=1e-5) for i in live},
        "postings": {
            term: sorted((reader.keys[r], int(n)) for r, n in zip(postings.rows, postings.counts, strict=True))
            for term in TERMS
            for postings in [reader.postings(term)]
        },
        "often": [int(n) for n in reader.document_frequencies([*TERMS, "nowhere"])],
        "idf": [round(reader.idf(term), 6) for term in TERMS],
        "count": reader.live_count,
        "living": reader.live_keys(),
        "mean": round(reader.mean_length, 6),
    }


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_index, "MAX_BUFFERED", 5)
    monkeypatch.setattr(vectors, "_BLOCK_ROWS", 3)


@given(STEPS)
def test_any_updates_equal_a_fresh_index(steps: list[tuple[str, list[bytes] | set[bytes]]]) -> None:
    index = ChunkIndex()
    files: dict[str, list[bytes]] = {}
    tokenized: set[bytes] = set()
    embedded: set[bytes] = set()
    stored: set[bytes] = set()
    for kind, given_ in steps:
        keys = list(given_)
        living = {key for file_keys in files.values() for key in file_keys}
        if kind in PATHS:
            index.update_files([(kind, kind, files.get(kind, []), keys)])
            files[kind] = keys
        elif kind == "keep":
            present = tokenized | living
            index.drop_dead_rows([key for key in keys if key in index.rows], slack=0)
            tokenized &= living | stored | (present & set(keys))
            embedded &= tokenized
        elif kind == "stored":
            index.mark_stored(keys)
            stored |= {key for key in keys if key in index.rows}
        elif kind == "forget":
            index.invalidate(keys)
            stored -= set(keys)
        else:
            if kind == "vectors":
                keys = [key for key in keys if key in tokenized]
            index.set_rows(row_batch(keys, kind != "terms"))
            tokenized |= set(keys)
            embedded |= set(keys) if kind != "terms" else set()
    fresh = ChunkIndex()
    for path in sorted(files, reverse=True):
        fresh.update_files([(path, path, [], files[path])])
    fresh.set_rows(row_batch(sorted(tokenized), False))
    fresh.set_rows(row_batch(sorted(embedded)))
    assert contents(index.reader()) == contents(fresh.reader())


def test_row_is_complete_with_terms_and_vector_or_without_a_model() -> None:
    index = ChunkIndex()
    index.update_files([("x.py", "x.py", [], [b"1", b"2"])])
    index.set_rows(row_batch([b"1", b"2"], False))
    assert not index.is_complete(b"1")
    index.set_rows(row_batch([b"1"]))
    index.mark_unembeddable([b"2"])
    assert index.is_complete(b"1")
    assert index.is_complete(b"2")
    assert index.count_chunks({"x.py"}) == (2, 1)
    assert index.without_vector() == (1, {"x.py"})
    index.set_rows(row_batch([b"2"]))
    assert index.count_chunks({"x.py"}) == (2, 2)
    assert index.without_vector() == (0, set())
    assert index.count_chunks({"y.py"}) == (0, 0)
    index.invalidate([b"1"])
    assert not index.is_complete(b"1")


def test_similarities_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    embeddings = rng.normal(size=(40, 256)).astype(np.float32)
    query = rng.normal(size=256).astype(np.float32)
    keys = [bytes([n]) for n in range(len(embeddings))]
    seen = []
    for order in (range(40), rng.permutation(40).tolist()):
        index = ChunkIndex()
        index.set_rows(build_rows(((keys[n], ["word"]) for n in order), quantize(embeddings[list(order)])))
        index.update_files([("x.py", "x.py", [], [keys[n] for n in order])])
        reader = index.reader()
        near = similarities(reader, query)
        seen.append([float(near[reader.row_of(key)]) for key in keys])
    assert seen[0] == seen[1]
    exact = embeddings.astype(np.float64) @ query.astype(np.float64)
    assert np.abs(seen[0] - exact).max() < 0.02 * np.abs(exact).max()


def test_similarities_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    keys = [bytes([n]) for n in range(40)]
    index = ChunkIndex()
    index.set_rows(build_rows(((key, ["word"]) for key in keys), quantize(rng.normal(size=(40, 256)))))
    index.update_files([("x.py", "x.py", [], keys)])
    reader, query = index.reader(), rng.normal(size=256).astype(np.float32)
    whole = similarities(reader, query)
    monkeypatch.setattr(vectors, "_BLOCK_ROWS", 7)
    assert np.array_equal(similarities(reader, query), whole)
    ended = ThreadPoolExecutor(1)
    ended.shutdown()  # submit raises RuntimeError, as without threads
    monkeypatch.setattr(vectors, "_EXECUTOR", ended)
    assert np.array_equal(similarities(reader, query), whole)
    assert whole.any()


def test_files_are_found_by_terms_of_their_paths() -> None:
    index = ChunkIndex()
    index.update_files(
        [("/r/src/http_client.py", "src/http_client.py", [], [b"1"]), ("/r/src/x.py", "src/x.py", [], [b"2"])]
    )
    reader = index.reader()
    assert [reader.paths[i] for i in reader.path_postings("client").rows] == ["/r/src/http_client.py"]
    assert len(reader.path_postings("src").rows) == 2
    assert not len(reader.path_postings("r").rows)


def test_reader_is_unchanged_while_files_change() -> None:
    """A request that holds a reader continues with the file ids that it knows the paths of."""
    index = ChunkIndex()
    index.set_rows(row_batch([b"a", b"b"]))
    index.update_files([("/w/a.py", "a.py", [], [b"a"])])
    reader = index.reader()
    index.update_files([("/w/a.py", "a.py", [b"a"], []), ("/w/b.py", "b.py", [], [b"b"])])
    assert reader.file_ids.tolist() == [0, -1]
    assert len(reader.path_lengths) == 1
    assert index.reader().file_ids.tolist() == [-1, 1]
