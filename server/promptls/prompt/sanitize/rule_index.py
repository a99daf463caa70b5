"""Index of rules: finds by one pass over a text which of many patterns can match.

The patterns are combined into one automaton of RE2, so that the time does not depend on their number, and is linear in
the length of any text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2


_MAX_AUTOMATON_BYTES = 8 << 20
"""Upper limit of memory of one automaton, above which RE2 discards its states.

The search of 3.5 MB of source code is as fast and takes as much memory as with 32 MB; that of larger trees was slower
with 16 MB.
"""


def _options() -> re2.Options:
    import re2  # an extension module: loaded when the first text is searched

    options = re2.Options()
    options.max_mem = _MAX_AUTOMATON_BYTES
    options.log_errors = False
    return options


def index_of_rules(patterns: Iterable[str]) -> re2.Set:
    """Return the index of patterns in the syntax of RE2."""
    import re2

    index = re2.Set.SearchSet(_options())
    for pattern in patterns:
        index.Add(pattern)
    index.Compile()
    return index


def compile_linear(pattern: str) -> re2._Regexp:
    """Compile a pattern to an automaton that searches bytes in linear time."""
    import re2

    return re2.compile(pattern.encode("ascii"), _options())


def matching_rules(index: re2.Set, text: bytes) -> list[int]:
    """Return the numbers of the patterns that match somewhere in a text, in ascending order."""
    return sorted(index.Match(text) or ())


def searchable(text: str) -> bytes:
    """Return a text in ASCII that has the same offsets; other characters become "?"."""
    return text.encode("ascii", "replace")
