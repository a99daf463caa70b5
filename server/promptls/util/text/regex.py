r"""Regular expressions from untrusted sources (workspace files, messages), matched by RE2 in linear time.

RE2 has no look-around and no back-references.  `\w`, `\d`, `\s` and `\b` are ASCII-only.
"""

from __future__ import annotations

from typing import Any

MAX_MEMORY = 1 << 18
"""Memory limit of one compiled expression in bytes; bounds the worst case to about 20 µs per character of text."""

MAX_CHARS = 5_000
"""Maximum number of characters of an expression; bounds compilation time."""


class RegexError(ValueError):
    """An invalid or unsupported expression; the message is the reason, without a period."""


class Regex:
    """A compiled expression.  Thread-safe.

    Args:
        expression: RE2 syntax.
        multiline: Let "^" and "$" match at every line of a text.

    Raises:
        RegexError: The expression is invalid, too long, too large or not supported.
    """

    __slots__ = ("_pattern",)

    def __init__(self, expression: str, *, multiline: bool = False) -> None:
        self._pattern = _compile(f"(?m){expression}" if multiline else expression)

    def search(self, text: str) -> bool:
        """Return whether the expression matches anywhere in a text."""
        return self._pattern.search(text.encode("utf-8", "surrogatepass")) is not None


def _compile(expression: str) -> Any:
    import re2  # an extension module that most processes never need

    if len(expression) > MAX_CHARS:
        raise RegexError(f"longer than {MAX_CHARS:,} characters")
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        return re2.compile(expression.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        reason = error.args[0] if error.args else "cannot be compiled"
        raise RegexError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None
