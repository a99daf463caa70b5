"""One attempt at an endpoint that gave no answer, and what it means for the next."""

from __future__ import annotations


class Refused(Exception):
    """Why, in one sentence without a key."""

    def __init__(
        self,
        sentence: str,
        *,
        again: bool = False,
        lasting: bool = False,
        parameters: bool = False,
        ordered_s: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.again = again  # whether one more attempt may help
        self.lasting = lasting  # whether nothing helps until something is changed
        self.parameters = parameters  # whether the server wants the limits of an answer told differently
        self.ordered_s = ordered_s  # the pause that the server asked for
