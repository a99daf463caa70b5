r"""Regular expressions: those from untrusted sources, and those that are compiled at their first use.

`Regex` matches expressions of workspace files and messages by RE2, in linear time.  RE2 has no look-around and no back-references.  `\w`, `\d`, `\s` and `\b` are ASCII-only.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

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

    def find(self, data: bytes, start: int = 0, end: int | None = None) -> int:
        """Return where the first match in a part of an encoded text begins, -1 without a match."""
        match = self._pattern.search(data, start, len(data) if end is None else end)
        return match.start() if match is not None else -1


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


class _LazyPattern:
    """A pattern that compiles itself; later calls find the compiled methods in the instance."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._pattern, self._flags)
        for method in ("match", "search", "fullmatch", "finditer", "findall", "sub", "split"):
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled at its first use: every process imports all languages, and few need them."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
