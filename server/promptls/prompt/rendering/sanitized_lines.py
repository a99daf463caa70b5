"""Lazily sanitized lines of a file; long lines of data are shortened.

A prompt shows a few dozen lines of a file, and sanitizing is the most expensive step on its text.  Lines are therefore
sanitized in batches when they are first read.  Private keys, secret files and diffs are understood only as a whole, and
their text is sanitized as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from promptls.model import FileText, Span
from promptls.prompt.sanitize import clean, find_injections
from promptls.redaction.place import is_secret_file, origin_of
from promptls.redaction.secrets import Finding, is_diff
from promptls.util.text.display import shorten_line

BATCH_LINES = 64
"""Number of lines that are sanitized together."""
CONTEXT_LINES = 2
"""Number of lines above and below a batch that are sanitized with it: a name may be on the line before its value."""
MAX_SENTENCE_LINES = 10
"""Maximum number of lines with words in an injection; no pattern has more words."""

_MAX_CLEAN_FILES = 1 << 16  # entries of `_CLEAN_BATCHES`


class SanitizedLines(Sequence[str]):
    """The sanitized lines of one file; as many as the file has."""

    def __init__(self, file: FileText) -> None:
        self._raw: Sequence[str] = file.lines
        self._lines: list[str] | None = None  # None while all sanitized lines equal the raw ones
        self._path = origin_of(file.entry)
        self._key = (file.entry.content_hash, self._path) if file.entry.content_hash else None
        self._done = _CLEAN_BATCHES.get(self._key, 0) if self._key else 0  # bit set of sanitized batches
        self._as_whole = is_secret_file(self._path) or "PRIVATE KEY" in file.text or is_diff(file.text)
        self._findings: list[Finding] = []

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            start, end, _ = at.indices(len(self._raw))
            self._sanitize(start, end)
        else:
            at = range(len(self._raw))[at]
            self._sanitize(at, at + 1)
        return (self._raw if self._lines is None else self._lines)[at]

    def findings(self, spans: Iterable[Span]) -> list[Finding]:
        """Return redacted secrets and escaped characters in the lines of the spans."""
        spans = tuple(spans)
        for span in spans:
            self._sanitize(span.start, span.end)
        return sorted(f for f in self._findings if any(f.line in span for span in spans))

    def injections(self, spans: Iterable[Span]) -> list[Finding]:
        """Return prompt injections in the lines of the spans; the lines stay unchanged."""
        findings: list[Finding] = []
        for span in spans:
            start, end = max(0, span.start - 1), self._sentence_end(span.end)
            for injection in find_injections("\n".join(self._raw[start:end])):
                line = injection.line + start
                if line in span:
                    findings.append(Finding(line, injection.name, injection.secret))
        return sorted(findings)

    def _sentence_end(self, line: int) -> int:
        """Return a line before which a sentence that starts before `line` has ended."""
        lines_with_words, end = 0, min(line, len(self._raw))
        while lines_with_words < MAX_SENTENCE_LINES and end < len(self._raw):
            lines_with_words += any(map(str.isalnum, self._raw[end]))
            end += 1
        return end

    def _sanitize(self, start: int, end: int) -> None:
        """Sanitize the batches of these lines that are not sanitized yet."""
        first, last = start // BATCH_LINES, -(-min(end, len(self._raw)) // BATCH_LINES)
        if self._as_whole:
            first, last = 0, -(-len(self._raw) // BATCH_LINES)
        while first < last:
            if self._done >> first & 1:
                first += 1
                continue
            after = first + 1
            while after < last and not self._done >> after & 1:
                after += 1
            self._sanitize_batches(first, after)
            first = after

    def _sanitize_batches(self, first: int, after: int) -> None:
        start, end = first * BATCH_LINES, min(after * BATCH_LINES, len(self._raw))
        above = max(0, start - CONTEXT_LINES)
        raw = self._raw[above : end + CONTEXT_LINES]
        cleaned = clean("\n".join(raw), self._path)
        lines = tuple(map(shorten_line, cleaned.lines[start - above : end - above]))
        findings = [
            Finding(f.line + above, f.name, f.secret) for f in cleaned.findings if start <= f.line + above < end
        ]
        batches = ((1 << after - first) - 1) << first
        self._done |= batches
        self._findings += findings
        if lines != tuple(raw[start - above : end - above]):
            if self._lines is None:
                self._lines = list(self._raw)
            self._lines[start:end] = lines
        elif not findings and self._key:
            if len(_CLEAN_BATCHES) >= _MAX_CLEAN_FILES:
                _CLEAN_BATCHES.clear()
            _CLEAN_BATCHES[self._key] = _CLEAN_BATCHES.get(self._key, 0) | batches


_CLEAN_BATCHES: dict[tuple[bytes, str], int] = {}
"""Cache: (content hash, origin) → bit set of batches without findings.  Losing entries only costs time."""
