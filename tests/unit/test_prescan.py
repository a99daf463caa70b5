"""What a first look at files tells: words, names, and which files a question is likely to be about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.prescan.lexer import Skims, skim
from promptls.index.prescan.term_index import Skimmed
from promptls.index.search.analyzer import runs, terms

TEXTS = {
    "cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n",
    "lock.py": "def acquire_lock(timeout):\n    # wait until the lock is free\n    return Mutex().lock(timeout)\n",
    "clock.js": "export function readClock() { return performance.now() }\nclass Clock {}\n",
    "pool.go": "func (p *Pool) Release() {}\nfunc NewPool() *Pool { return &Pool{} }\n",
    "shape.rs": "pub struct Shape;\nimpl Shape { pub fn area(&self) -> f64 { 0.0 } }\n",
    "read.md": "A class of its own: the function that waits.\n",
    "empty.py": "",
}


def looked(texts: dict[str, str], at_once: int = 3) -> Skimmed:
    out, pairs = Skimmed(), list(texts.items())
    for start in range(0, len(pairs), at_once):
        assert out.take(skim(pairs[start : start + at_once]))
    return out


@pytest.mark.parametrize(
    ("start", "expected"),
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
def test_names_that_files_seem_to_define(start: str, expected: list[tuple[str, str]]) -> None:
    assert list(looked(TEXTS).named(start)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who waits for the lock?", ["lock.py"]),  # and not the clock
        ("reading the clock", ["clock.js"]),
        ("sum of prices", ["cart.py"]),
        ("mutex timeout", ["lock.py"]),
        ("area of a shape", ["shape.rs"]),
        ("nothing of the sort exists", []),
        ("", []),
    ],
)
def test_files_that_a_question_is_likely_to_be_about(question: str, expected: list[str]) -> None:
    known = looked(TEXTS)
    assert known.holding(terms(question), lambda path: True, 1) == expected
    assert known.holding(terms(question), lambda path: path not in expected, 9)[:1] != expected or not expected


def test_files_that_define_a_name() -> None:
    known = looked(TEXTS)
    assert known.defining(["Clock", "total", "missing"]) == ["cart.py", "clock.js"]
    assert known.defining(["timeout"]) == ["lock.py"], "it is held there"
    assert known.defining(["total"]) == ["cart.py"]
    assert known.defining(["function", "Clock"]) == ["clock.js", "read.md"], "who defines it comes first"
    assert "cart.py" in known
    assert "other.py" not in known
    known.clear()
    assert known.defining(["Clock"]) == []
    assert list(known.named("")) == []
    assert known.holding(["lock"], lambda path: True, 9) == []
    assert "cart.py" not in known


@given(st.lists(st.text(alphabet='class def Ab_9é\n"(', max_size=60), max_size=5), st.integers(1, 3))
def test_every_word_of_a_text_is_known_of_it(texts: list[str], at_once: int) -> None:
    named = {f"{i}.py": text for i, text in enumerate(texts)}
    found = skim(named.items())
    starts, words = np.frombuffer(found.start, np.int32), np.frombuffer(found.word, np.int32)
    for i, text in enumerate(texts):
        held = {found.words[n] for n in words[starts[i] : starts[i + 1]].tolist()}
        assert held == {run for run in runs(text) if 2 <= len(run) <= 64}
    known = looked(named, at_once)
    assert all(path in known for path in named)


def test_nothing_comes_of_nothing() -> None:
    known = Skimmed()
    assert known.take(Skims())
    assert known.take(skim([]))
    assert known.defining(["x"]) == []
