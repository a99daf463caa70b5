"""Failure of one attempt to reach an endpoint."""

from __future__ import annotations


class AttemptFailed(Exception):
    """A failed attempt; the text is one sentence without a key."""

    def __init__(
        self,
        sentence: str,
        *,
        retryable: bool = False,
        permanent: bool = False,
        wrong_parameters: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.retryable = retryable  # whether another attempt may help
        self.permanent = permanent  # whether no attempt can help before the configuration changes
        self.wrong_parameters = wrong_parameters  # whether the server expects other names for the token limit
        self.retry_after_s = retry_after_s  # delay that the server requests
