"""Protocol for cooperative cancellation; `promptls.model.CancelToken` implements it."""

from __future__ import annotations

from typing import Protocol


class CancelSignal(Protocol):
    """A flag that long-running work checks between steps."""

    @property
    def cancelled(self) -> bool:
        """Whether the work should stop."""
        ...

    def check(self) -> None:
        """Raise an exception if the work should stop."""
        ...
