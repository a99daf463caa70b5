"""Prescan: words and defined names of files, and the files that match a question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.prescan import PrescanBatch, PrescanIndex, prescan
from promptls.index.search.analyzer import split_runs, tokenize

TEXTS = {
    "cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n",
    "lock.py": "def acquire_lock(timeout):\n    # wait until the lock is free\n    return Mutex().lock(timeout)\n",
    "clock.js": "export function readClock() { return performance.now() }\nclass Clock {}\n",
    "pool.go": "func (p *Pool) Release() {}\nfunc NewPool() *Pool { return &Pool{} }\n",
    "shape.rs": "pub struct Shape;\nimpl Shape { pub fn area(&self) -> f64 { 0.0 } }\n",
    "read.md": "A class of its own: the function that waits.\n",
    "empty.py": "",
}


def prescan_index(texts: dict[str, str], batch_size: int = 3) -> PrescanIndex:
    out, pairs = PrescanIndex(), list(texts.items())
    for prefix in range(0, len(pairs), batch_size):
        assert out.merge(prescan(pairs[prefix : prefix + batch_size]))
    return out


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("c", [("Cart", "cart.py"), ("Clock", "clock.js")]),
        ("CLO", [("Clock", "clock.js")]),
        ("acquire_", [("acquire_lock", "lock.py")]),
        ("shape", [("Shape", "shape.rs")]),
        ("area", [("area", "shape.rs")]),
        ("of", []),  # prose
        ("timeout", []),  # no definition
    ],
)
def test_prescanned_names_by_prefix(prefix: str, expected: list[tuple[str, str]]) -> None:
    assert list(prescan_index(TEXTS).names_starting_with(prefix)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who waits for the lock?", ["lock.py"]),  # not "clock"
        ("reading the clock", ["clock.js"]),
        ("sum of prices", ["cart.py"]),
        ("mutex timeout", ["lock.py"]),
        ("area of a shape", ["shape.rs"]),
        ("nothing of the sort exists", []),
        ("", []),
    ],
)
def test_files_that_match_the_terms_of_a_question(question: str, expected: list[str]) -> None:
    known = prescan_index(TEXTS)
    assert known.search(tokenize(question), lambda path: True, 1) == expected
    assert known.search(tokenize(question), lambda path: path not in expected, 9)[:1] != expected or not expected


def test_files_that_define_or_contain_a_name() -> None:
    known = prescan_index(TEXTS)
    assert known.files_defining(["Clock", "total", "missing"]) == ["cart.py", "clock.js"]
    assert known.files_defining(["timeout"]) == ["lock.py"], "the file contains it"
    assert known.files_defining(["total"]) == ["cart.py"]
    assert known.files_defining(["function", "Clock"]) == ["clock.js", "read.md"], (
        "the file that defines it comes first"
    )
    assert "cart.py" in known
    assert "other.py" not in known
    known.clear()
    assert known.files_defining(["Clock"]) == []
    assert list(known.names_starting_with("")) == []
    assert known.search(["lock"], lambda path: True, 9) == []
    assert "cart.py" not in known


@given(st.lists(st.text(alphabet='class def Ab_9é\n"(', max_size=60), max_size=5), st.integers(1, 3))
def test_every_word_of_a_text_is_indexed(texts: list[str], batch_size: int) -> None:
    named = {f"{i}.py": text for i, text in enumerate(texts)}
    found = prescan(named.items())
    starts, words = np.frombuffer(found.word_starts, np.int32), np.frombuffer(found.word_ids, np.int32)
    for i, text in enumerate(texts):
        words_of_file = {found.words[n] for n in words[starts[i] : starts[i + 1]].tolist()}
        assert words_of_file == {run for run in split_runs(text) if 2 <= len(run) <= 64}
    known = prescan_index(named, batch_size)
    assert all(path in known for path in named)


def test_empty_batches() -> None:
    known = PrescanIndex()
    assert known.merge(PrescanBatch())
    assert known.merge(prescan([]))
    assert known.files_defining(["x"]) == []
