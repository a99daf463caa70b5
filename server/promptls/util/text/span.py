"""Half-open line ranges."""

from __future__ import annotations

from msgspec import Struct


class Span(Struct, frozen=True, order=True, array_like=True, gc=False):
    """Lines `start` to `end`, 0-based, half-open."""

    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.start <= line < self.end

    def overlaps(self, other: Span) -> bool:
        """Return whether the spans share a line."""
        return self.start < other.end and other.start < self.end

    def contains(self, other: Span) -> bool:
        """Return whether every line of the other span is in this one."""
        return self.start <= other.start and other.end <= self.end

    @property
    def label(self) -> str:
        """Line numbers for people, 1-based and inclusive: "12-20", or "12" for one line."""
        return str(self.start + 1) if self.end <= self.start + 1 else f"{self.start + 1}-{self.end}"
