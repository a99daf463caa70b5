"""A file's lines as they may stand in a prompt, cleaned as far as somebody looks.

A prompt shows a few dozen lines of each file, and cleaning is the dearest thing that is done to a file.  Nothing
that is cleaned reaches over more than two lines, apart from private keys and from files that are made for secrets;
those are cleaned as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from promptls.model import Span, TextView
from promptls.prompt.sanitize import Finding, clean, injections, is_made_for_secrets

STRIP = 64
"""Lines that are cleaned together."""
MARGIN = 2
"""Lines above and below that are looked at with them: the name of a value may stand on the line before it."""


SENTENCE = 10
"""Lines with words in them that instructions may go on for: what is looked for has no more words."""


class Page(Sequence[str]):
    """The lines of one file, cleaned; as many as the file has."""

    def __init__(self, view: TextView) -> None:
        self._raw: Sequence[str] = view.lines
        self._lines: list[str] | None = None  # made when something is not as it was
        self._path = view.entry.path
        self._key = (view.entry.digest, view.entry.path) if view.entry.digest else None
        self._done = _FLAWLESS.get(self._key, 0) if self._key else 0  # a bit for each strip
        self._whole = is_made_for_secrets(self._path) or "PRIVATE KEY" in view.text
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
            self._clean(start, end)
        else:
            at = range(len(self._raw))[at]
            self._clean(at, at + 1)
        return (self._raw if self._lines is None else self._lines)[at]

    def findings(self, spans: Iterable[Span]) -> list[Finding]:
        """What was redacted or made visible in these lines."""
        spans = tuple(spans)
        for span in spans:
            self._clean(span.start, span.end)
        return sorted(f for f in self._findings if any(f.line in span for span in spans))

    def orders(self, spans: Iterable[Span]) -> list[Finding]:
        """What reads like instructions to a model in these lines; it stands there unchanged."""
        found: list[Finding] = []
        for span in spans:
            start, end = max(0, span.start - 1), self._sentence_end(span.end)
            told = injections("\n".join(self._raw[start:end]))
            found += [Finding(f.line + start, f.name, f.secret) for f in told if f.line + start in span]
        return sorted(found)

    def _sentence_end(self, line: int) -> int:
        """Where a sentence that begins before a line has certainly ended."""
        words, end = 0, min(line, len(self._raw))
        while words < SENTENCE and end < len(self._raw):
            words += any(map(str.isalnum, self._raw[end]))
            end += 1
        return end

    def _clean(self, start: int, end: int) -> None:
        """Clean what of these lines is not clean yet."""
        first, last = start // STRIP, -(-min(end, len(self._raw)) // STRIP)
        if self._whole:
            first, last = 0, -(-len(self._raw) // STRIP)
        while first < last:
            if self._done >> first & 1:
                first += 1
                continue
            after = first + 1
            while after < last and not self._done >> after & 1:
                after += 1
            self._clean_strips(first, after)
            first = after

    def _clean_strips(self, first: int, after: int) -> None:
        start, end = first * STRIP, min(after * STRIP, len(self._raw))
        above = max(0, start - MARGIN)
        raw = self._raw[above : end + MARGIN]
        page = clean("\n".join(raw), self._path)
        shown = page.lines[start - above : end - above]
        found = [Finding(f.line + above, f.name, f.secret) for f in page.findings if start <= f.line + above < end]
        strips = ((1 << after - first) - 1) << first
        self._done |= strips
        self._findings += found
        if shown != tuple(raw[start - above : end - above]):
            if self._lines is None:
                self._lines = list(self._raw)
            self._lines[start:end] = shown
        elif not found and self._key:
            if len(_FLAWLESS) >= 1 << 16:
                _FLAWLESS.clear()
            _FLAWLESS[self._key] = _FLAWLESS.get(self._key, 0) | strips


_FLAWLESS: dict[tuple[bytes, str], int] = {}
"""(digest, path) → the strips in which there was nothing to clean; losing entries only costs time."""
