"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


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
