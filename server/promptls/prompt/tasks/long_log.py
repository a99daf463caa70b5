"""Logs that exceed the budget: shortened to the question, the errors, the first and the last lines.

Of the output of a test runner, tests that pass are left out if another fails.

The user's own text before and after a log is never shortened.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from promptls.prompt.tasks.stack_trace import parse_frames
from promptls.prompt.tokens import Counter, count_all
from promptls.util.cancellation import check_each
from promptls.util.text.display import plural

MIN_LOG_LINES, MIN_LOG_SHARE = 10, 0.2
"""Minimum number of lines in the format of a log, and their minimum share in a message that is a log."""

MAX_QUESTION_LINES = 30
"""Maximum lines before and after a log that are the user's own, if the message is a log."""

MAX_LINE_CHARACTERS = 500
"""Characters to which the lines of a shortened log are cut: a line can be a whole document in JSON."""

MAX_ERROR_LINES = 400
"""Maximum number of distinct error lines that are considered."""

HEAD_LINES, TAIL_LINES = 5, 10
"""Lines from the start and the end of a log that are kept first."""

ERROR_CONTEXT, TRACE_LINES = 2, 30
"""Lines around an error that are kept, and lines of the stack trace next to it."""

MARK_TOKENS = 16
"""More tokens than the line that replaces left-out lines has."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_TRACE_LINE = re.compile(
    r"\s*(?:[\w.-]{1,40} *\| +)?(?:at \S.*(?:\)|:\d+)\s*$|[Ff]ile \"[^\"]+\", line \d|from \S+:\d|#\d+ +\S.*\d|\.\.\. \d+ more"
    r"|Caused by: |Traceback \(|goroutine \d|created by \S+|\d+: \S+::|\S+\.\w+:\d+|\^)|\t\S+\.go:\d"
)
_LOG_LINE = re.compile(
    r"\s*\[?(?:\d{4}-\d\d-\d\d|\d\d?[:/.]\d\d[:/.]\d\d|\w{3} +\d{1,2} \d\d:\d\d|\d{10,13}\b)"
    r"|\s*[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|npm ERR!)\b"
    r"|\s*\[[\w .:/-]{1,40}\]|\s*\{\"|\s*[\w.-]{1,40} +\| "
    r"|\s*(?:make(?:\[\d+\])?|gcc|npm|error|warning|info|debug|fatal|panic)[:!]"
)
_ERROR_START = re.compile(r"\s*(?:[\w.$:]{0,80}(?:Error|Exception)\b|panic|thread '|Exception in |Unhandled|Uncaught)")
"""A line next to a stack trace that is a part of it."""
_ERROR_LINE = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|[Pp]anic(?:ked)?|[Ff]atal|[Ee]rror|FAILED|Exception|Unhandled|Uncaught|npm ERR!)\b"
    r"|(?<!\w)\w{1,80}(?:Error|Exception|Failure)\b|\bcore dumped\b|\b[Ss]egmentation fault\b|\bFAIL\b|^\s*(?:not ok\b|[✗✕✘])"
)
_GO_CALL = re.compile(r"\S+\((?:\.\.\.|\{?0x[^)]*)?\)$")
_PYTEST_SOURCE = re.compile(r"[>E] {2,}")
_TEST_STARTS = re.compile(r"\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\s|\[ +RUN +\])")
_TEST_PASSES = re.compile(
    r"\s*(?:--- PASS: |ok\s+(?:\d+\b|\S+\s+(?:[\d.]+s|\(cached\)))|PASS(?:\s*$|:? \S+\.\w+)|Passed \S+ \[|[✓✔√] |\[ +OK +\]"
    r"|test \S+ \.\.\. ok\s*$)|.*\bPASSED\b(?:\s+\[ *\d+%\])?\s*$"
)
_TEST_FAILS = re.compile(r"\s*(?:--- FAIL: |\[ +FAILED +\])")
"""Lines of go test, pytest, cargo, Jest, Mocha, GoogleTest, TAP, automake, Gradle and dotnet; words of prose do not match."""
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9a-f]{8,}|\d+")


class _Log(Struct, frozen=True):
    """A message in lines, with the range of the log in it."""

    lines: tuple[str, ...]
    start: int
    end: int


def contains_log(message: str) -> bool:
    """Return whether a message contains a log or a stack trace."""
    lines = message.split("\n")
    return _is_log(lines, _log_lines(lines)) or any(frame.traced for frame in parse_frames(message))


def shorten_log(message: str, max_tokens: int, counter: Counter) -> tuple[str, str]:
    """Return a message with its log shortened to about `max_tokens`, and a warning; as it is, without a warning, if nothing helps.

    The question, the errors with the lines around them, the start and the end of the log remain.
    """
    log = _find_log(message)
    if log is None:
        return message, ""
    kept = {*range(log.start), *range(log.end, len(log.lines))}
    question = "\n".join(log.lines[n] for n in sorted(kept))
    remaining = max_tokens - counter.count(question) - 2 * MARK_TOKENS
    added: list[list[int]] = []
    passed = _passed_lines(log)
    errors = _distinct_errors(log, passed)
    if not errors:
        passed = set()
    for region in check_each(_regions(log, errors)):
        new = [n for n in region if n not in kept and n not in passed]
        cost = sum(count_all(counter, [_cut(log.lines[n]) + "\n" for n in new])) + MARK_TOKENS if new else 0
        if new and cost <= remaining:
            kept.update(new)
            added.append(new)
            remaining -= cost
    text = _join(log, kept)
    while added and counter.count(text) > max_tokens:
        kept.difference_update(added.pop())
        text = _join(log, kept)
    kept_count = sum(log.start <= n < log.end for n in kept)
    total = log.end - log.start
    if kept_count == total and len(text) >= len(message):
        return message, ""
    warning = f"The log was shortened from {total:,} to {plural(kept_count, 'line')} to fit the budget."
    return text, warning


def _log_lines(lines: Sequence[str]) -> list[int]:
    """Return the lines in the format of a log or of a stack trace."""
    formats = (_LOG_LINE, _TRACE_LINE, _TEST_STARTS, _TEST_PASSES)
    return [n for n, line in enumerate(check_each(lines)) if any(form.match(line[:200]) for form in formats)]


def _is_log(lines: Sequence[str], log_lines: Sequence[int]) -> bool:
    """Return whether most of a message is a log."""
    filled = sum(1 for line in check_each(lines) if line.strip())
    return len(log_lines) >= max(MIN_LOG_LINES, MIN_LOG_SHARE * filled)


def _find_log(message: str) -> _Log | None:
    """Return the log in a message: from its first to its last log line, or what a code fence contains."""
    lines = message.split("\n")
    log_lines = _log_lines(lines)
    if not log_lines:
        return None
    start, end = log_lines[0], log_lines[-1] + 1
    while start > 0 and _ERROR_START.match(lines[start - 1][:MAX_LINE_CHARACTERS]):
        start -= 1
    while end < len(lines) and _ERROR_START.match(lines[end][:MAX_LINE_CHARACTERS]):
        end += 1
    fences = [n for n, line in enumerate(lines) if _FENCE.match(line)]
    blocks = [(sum(a < n < b for n in log_lines), a, b) for a, b in zip(fences[::2], fences[1::2], strict=False)]
    fenced, first, last = max(blocks, default=(0, 0, 0))
    if 2 * fenced >= len(log_lines):
        start, end = first + 1, last
    elif _is_log(lines, log_lines):
        start = min(start, _end_of_question(lines[:start]))
        end = max(end, len(lines) - _end_of_question(lines[end:][::-1]))
    return _Log(tuple(lines), start, max(start, end))


def _end_of_question(lines: Sequence[str]) -> int:
    """Return the number of lines in the user's own text, which the log follows: all, or the first paragraphs."""
    if len(lines) <= MAX_QUESTION_LINES:
        return len(lines)
    blank = [n for n, line in enumerate(lines[:MAX_QUESTION_LINES]) if not line.strip()]
    return blank[-1] + 1 if blank else min(2, len(lines))


def _passed_lines(log: _Log) -> set[int]:
    """Return the lines of tests that pass, with what they print."""
    passed: set[int] = set()
    start = -1
    for n in range(log.start, log.end):
        line = log.lines[n][:200]
        if _TEST_STARTS.match(line):
            start = n
        elif _TEST_FAILS.match(line):
            start = -1
        elif _TEST_PASSES.match(line):
            passed.update(range(start if start >= 0 else n, n + 1))
            start = -1
    return passed


def _regions(log: _Log, errors: Sequence[int]) -> Iterator[Iterable[int]]:
    """Yield the ranges of lines to keep, most important first."""
    main, others = dict.fromkeys([*errors[-1:], *errors[:1]]), errors[1:-1]
    for n in main:
        yield _around_error(log, n)
    yield range(max(log.start, log.end - TAIL_LINES), log.end)
    yield range(log.start, min(log.end, log.start + HEAD_LINES))
    for n in (*main, *others):
        yield (n,)
    for n in others:
        yield _around_error(log, n)
    for factor in (2, 4, 8, 16, 32, 64):
        yield range(max(log.start, log.end - factor * TAIL_LINES), log.end)
        yield range(log.start, min(log.end, log.start + factor * HEAD_LINES))


def _distinct_errors(log: _Log, passed: set[int]) -> list[int]:
    """Return the first of the error lines that are equal except for numbers; of too many, the first and last ones."""
    first: dict[str, int] = {}
    for n in range(log.start, log.end):
        line = log.lines[n][:MAX_LINE_CHARACTERS]
        if n not in passed and _ERROR_LINE.search(line):
            first.setdefault(_NUMBER.sub("#", line).strip(), n)
    errors = list(first.values())
    half = MAX_ERROR_LINES // 2
    return errors if len(errors) <= MAX_ERROR_LINES else [*errors[:half], *errors[-half:]]


def _around_error(log: _Log, n: int) -> range:
    """Return the lines around an error, and the stack trace that it begins or ends."""

    def continues(line: int, beyond: int) -> bool:
        """Return whether a line is a part of the stack trace: a blank one if the line beyond it is."""
        return _is_trace(log.lines[line] or log.lines[beyond])

    first, last = max(log.start, n - ERROR_CONTEXT), min(log.end, n + 1 + ERROR_CONTEXT)
    while last < min(log.end, n + TRACE_LINES) and continues(last, min(last + 1, log.end - 1)):
        last += 1
    while first > max(log.start, n - TRACE_LINES) and continues(first, first - 1):
        first -= 1
    return range(first, last)


def _is_trace(line: str) -> bool:
    line = line[:MAX_LINE_CHARACTERS]
    return line[:1].isspace() or any(form.match(line) for form in (_TRACE_LINE, _GO_CALL, _PYTEST_SOURCE))


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else line[: MAX_LINE_CHARACTERS - 1] + "…"


def _join(log: _Log, kept: set[int]) -> str:
    """Return the kept lines; a line with their number replaces lines that are left out."""
    out: list[str] = []
    at = 0
    for n in [*sorted(kept), len(log.lines)]:
        if n > at:
            out.append(f"… {plural(n - at, 'line')} left out")
        if n < len(log.lines):
            out.append(_cut(log.lines[n]) if log.start <= n < log.end else log.lines[n])
        at = n + 1
    return "\n".join(out)
