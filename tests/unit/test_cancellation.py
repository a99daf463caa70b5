"""Long loops over a message stop when the request is cancelled, and take time in proportion to the message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.api.messages.results import encode_mentions, utf16_offset, utf16_offsets
from promptls.index import Snapshot, match_globs
from promptls.mentions.resolve import message_syntax
from promptls.model import Cancelled, CancelToken, Mention, MentionOutcome
from promptls.prompt.build import MAX_ANALYZED_CHARACTERS, analyzed_text
from promptls.prompt.tasks.long_log import contains_log, shorten_log
from promptls.prompt.tasks.stack_trace import parse_frames
from promptls.prompt.tasks.trace_items import mask_mentions
from promptls.prompt.tokens.estimate import Estimate
from promptls.util.cancellation import cancellable, check_cancelled, check_each, run_cancellable

LOG = "2026-01-01 12:00:00 ERROR shop.cart failed\n" * 2_000
TRACE = '  File "/app/cart.py", line 7, in apply_discount\n    x = 1\n' * 2_000
MENTIONS = [Mention("@a", 3 * n, 3 * n + 2, "file", "a") for n in range(2_000)]
OUTCOMES = [MentionOutcome(mention, "unresolved") for mention in MENTIONS]

LOOPS: dict[str, Callable[[], object]] = {
    "mentions": lambda: message_syntax("@a " * 2_000),
    "fences": lambda: message_syntax("```\n" * 2_000 + "@a"),
    "inline code": lambda: message_syntax("`x` " * 2_000 + "@a"),
    "globs": lambda: match_globs(["src/a.py"] * 2_000, ["**/*.py"]),
    "globs with an exception": lambda: match_globs(["src/a.py"] * 2_000, ["**/*.py", "!b.py"]),
    "tokens": lambda: Estimate().count("word " * 20_000),
    "tokens of many texts": lambda: Estimate().count_all(["word"] * 2_000),
    "log": lambda: contains_log(LOG),
    "shortened log": lambda: shorten_log(LOG, 500, Estimate()),
    "stack trace": lambda: parse_frames(TRACE),
    "masked mentions": lambda: mask_mentions("@a " * 2_000, MENTIONS),
    "encoded mentions": lambda: encode_mentions(OUTCOMES, "@a " * 2_000, Snapshot()),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_loops_stop_when_the_request_is_cancelled(loop: Callable[[], object]) -> None:
    loop()  # outside of a request
    token = CancelToken()
    with cancellable(token):
        loop()
        token.cancel()
        with pytest.raises(Cancelled):
            loop()
    loop()  # the thread serves other requests


def test_cancellation_belongs_to_the_innermost_request_of_a_thread() -> None:
    outer, inner = CancelToken(), CancelToken()
    inner.cancel()
    with cancellable(outer):
        with pytest.raises(Cancelled), cancellable(inner):
            check_cancelled()
        check_cancelled()
        assert list(check_each(range(2_000))) == list(range(2_000))


def test_cancelled_call_does_not_start() -> None:
    token, calls = CancelToken(), list[str]()
    run_cancellable(token, calls.append, "first")
    token.cancel()
    with pytest.raises(Cancelled):
        run_cancellable(token, calls.append, "second")
    assert calls == ["first"]


@given(st.text(st.characters() | st.sampled_from("a😀é"), max_size=30), st.integers(0, 40))
def test_utf16_offsets_agree_with_encoding(text: str, offset: int) -> None:
    assert utf16_offsets(text)(offset) == utf16_offset(text, offset)


def test_long_question_is_analyzed_at_its_start_and_end() -> None:
    short = "x" * MAX_ANALYZED_CHARACTERS
    assert analyzed_text(short) == short
    text = analyzed_text("How? " + "x" * 3 * MAX_ANALYZED_CHARACTERS + " Why?")
    assert text.startswith("How? ") and text.endswith(" Why?") and len(text) <= MAX_ANALYZED_CHARACTERS + 1
