"""Messages with a log that exceeds the budget: what remains, and the warning."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.tasks.long_log import MAX_LINE_CHARACTERS, contains_log, shorten_log
from promptls.prompt.tokens import counter

CHARS4 = counter("chars4")
TRACE = """Traceback (most recent call last):
  File "/app/shop.py", line 3, in total
    return parse(item)
ValueError: cannot parse 'x'"""


def log(count: int) -> list[str]:
    return [f"2024-05-01 10:00:{n % 60:02} INFO request {n} served" for n in range(count)]


def shorten(lines: list[str], max_tokens: int = 1000) -> tuple[list[str], str]:
    text, warning = shorten_log("\n".join(lines), max_tokens, CHARS4)
    assert CHARS4.count(text) <= max_tokens
    return text.split("\n"), warning


def test_question_errors_start_and_end_remain() -> None:
    records = log(12_000)
    records[5000] = "2024-05-01 10:00:00 ERROR connection 17 lost"
    records[6000] = "2024-05-01 10:00:01 ERROR connection 18 lost"
    records[7000:7004] = TRACE.split("\n")
    shown, warning = shorten(["Why does it fail?", "It worked before.", "", *records, "", "Please explain."])
    assert shown[:4] == ["Why does it fail?", "It worked before.", "", records[0]]
    assert shown[-3:] == [records[-1], "", "Please explain."]
    assert [line for line in shown if "connection" in line] == [records[5000]]  # equal except for numbers
    assert set(TRACE.split("\n")) < set(shown)
    kept = set(shown) - {""}
    assert re.fullmatch(r"The log was shortened from 12,000 to \d+ lines to fit the budget\.", warning)
    assert all(line in kept for line in (records[4999], records[5001]))


def test_left_out_lines_are_counted() -> None:
    records = log(2000)
    shown, warning = shorten(["Why?", "", *records], 400)
    left_out = sum(
        int(match[1].replace(",", "")) for line in shown if (match := re.fullmatch(r"… ([\d,]+) lines? left out", line))
    )
    kept = sum(line in records for line in shown)
    assert left_out + kept == 2000
    assert f"from 2,000 to {kept} lines" in warning


@pytest.mark.parametrize(
    "body",
    [
        [f"    at step{n} (/app/a.js:{n + 1}:1)" for n in range(2000)],
        [f"web-1  | step {n}" for n in range(2000)],
        [f"[INFO] step {n}" for n in range(2000)],
        [f'{{"level":"info","step":{n}}}' for n in range(2000)],
        [f"May  3 10:00:0{n % 10} host app[1]: step {n}" for n in range(2000)],
        ["```", *[f"plain output {n}" for n in range(2000)], "ERROR: no", "```"],
    ],
)
def test_logs_by_format(body: list[str]) -> None:
    lines = ["What went wrong here?", "", *body, "", "Thanks!"]
    if "plain output 1" not in body:
        assert contains_log("\n".join(lines))
    shown, warning = shorten(lines, 500)
    assert shown[0] == lines[0]
    assert shown[-1] == lines[-1]
    assert warning


GO = """=== RUN   TestError{n}
    pool_test.go:{n}: checked value {n}
--- PASS: TestError{n} (0.00s)"""
GO_FAILURE = """--- FAIL: TestExhausted (0.00s)
panic: pool exhausted after 3 tries [recovered]

goroutine 18 [running]:
testing.tRunner.func1.2({0x5145e0, 0xc000014250})
\t/usr/local/go/src/testing/testing.go:1632 +0x230
example.com/pool.(*Pool).mustGet(...)
\t/home/ci/pool/src/pool.go:32
created by testing.(*T).Run in goroutine 1
\t/usr/local/go/src/testing/testing.go:1743 +0x390"""
PYTEST_FAILURE = """____ test_get ____

    def test_get():
>       assert Pool().get() is not None

tests/test_pool.py:6:
E           src.pool.PoolError: pool exhausted"""


@pytest.mark.parametrize(
    ("passing", "failure"),
    [
        (GO, GO_FAILURE),
        ("tests/test_a.py::test_error_{n} PASSED [ 10%]", PYTEST_FAILURE),
        ("test net::error_{n} ... ok", "thread 'net::get' panicked at src/net.rs:7:5:\nno route"),
        ("  ✓ rejects an Error {n} (3 ms)", "  ✕ resolves\n    Error: timeout\n        at get (/app/a.js:1:2)"),
        ("ok {n} - rejects error {n}", "not ok 7 - resolves\n  Error: timeout"),
        ("[ RUN      ] Net.Error{n}\n[       OK ] Net.Error{n} (0 ms)", "[  FAILED  ] Net.Get (0 ms)"),
    ],
    ids=["go", "pytest", "cargo", "jest", "tap", "gtest"],
)
def test_of_test_output_the_failures_remain(passing: str, failure: str) -> None:
    passed = [line for n in range(500) for line in passing.format(n=n).split("\n")]
    shown, _ = shorten(["Why?", "", *passed, *failure.split("\n"), *passed])
    assert "\n".join(shown) == "\n".join(
        ["Why?", "", f"… {len(passed):,} lines left out", failure, f"… {len(passed):,} lines left out"]
    )


def test_question_that_begins_like_a_passing_test_remains() -> None:
    passed = [f"tests/test_a.py::test_error_{n} PASSED" for n in range(500)]
    question = ["ok, here is the log of the pipeline", "Passed values look right.", "PASS or fail, I cannot tell."]
    shown, _ = shorten([*question, "", *passed, *PYTEST_FAILURE.split("\n")])
    assert shown[:4] == [*question, ""]


def test_output_of_tests_that_all_pass_is_a_log() -> None:
    passed = [f"tests/test_a.py::test_error_{n} PASSED" for n in range(500)]
    shown, _ = shorten(["Why so slow?", "", *passed])
    assert {passed[0], passed[-1]} < set(shown)


def test_output_around_a_few_log_lines_is_a_part_of_the_log() -> None:
    output = [f"compiling unit {n}" for n in range(300)]
    records = [line for pair in zip(log(100), output[100:200], strict=True) for line in pair]
    shown, _ = shorten(["Why is this slow?", "", *output[:100], *records, *output[200:], "", "Any idea?"], 600)
    assert shown[:2] == ["Why is this slow?", ""]
    assert shown[-1] == "Any idea?"


def test_long_line_is_cut() -> None:
    shown, warning = shorten(["Why?", "", '{"level":"error","data":"' + "x" * 100_000 + '"}', *log(20)], 1500)
    assert max(map(len, shown)) == MAX_LINE_CHARACTERS
    assert warning


def test_prose_is_not_shortened() -> None:
    prose = "\n".join(f"Paragraph {n} explains why the error in src/shop.py:12 matters." for n in range(500))
    assert not contains_log(prose)
    assert shorten_log(prose, 100, CHARS4) == (prose, "")


def test_prose_around_a_short_trace_remains() -> None:
    prose = [f"The import step {n} reads a file and then waits for the next one." for n in range(200)]
    text, _ = shorten_log("\n".join([*prose, *TRACE.split("\n"), *prose]), 100, CHARS4)
    assert [line for line in text.split("\n") if line.startswith("The import")] == [*prose, *prose]


LINES = st.one_of(
    st.sampled_from(["", "```", "Why?", "x" * 3000, *TRACE.split("\n"), *log(3), "ERROR: a", "at f (a.js:1:2)"]),
    st.text(max_size=30),
)


@given(st.lists(LINES, max_size=80), st.integers(0, 400))
def test_shortened_text_is_not_longer_and_keeps_only_given_lines(lines: list[str], max_tokens: int) -> None:
    message = "\n".join(lines)
    text, warning = shorten_log(message, max_tokens, CHARS4)
    if not warning:
        assert text == message
        return
    given_lines = {line[: MAX_LINE_CHARACTERS - 1] for line in message.split("\n")}
    for line in text.split("\n"):
        assert line[: MAX_LINE_CHARACTERS - 1] in given_lines or re.fullmatch(r"… [\d,]+ lines? left out", line)
