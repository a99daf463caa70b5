"""Secrets with a documented shape: keys and tokens of some forty issuers.

The shapes are data, in token_patterns.toml.  Each is compiled when a text first passes its cheap tests.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files

from msgspec import Struct

from promptls.util.decode import convert

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "token_patterns.toml"

MIN_TOKEN_CHARACTERS = 20
"""Length of the shortest token in characters; few names of symbols are longer."""

_WORD_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[0abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
)
"""Start of a token: after anything but a word character, or after an escaped one as in "\\nghp_…" and "%20ghp_…"."""
_WORD_END = r"(?![A-Za-z0-9_-])"

_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+-\\%"
_BLANK_OTHERS = bytes(c if c in _TOKEN_CHARACTERS else 0x20 for c in range(256))


class TokenPattern(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The shape of one kind of token; see token_patterns.toml for the fields."""

    name: str
    contains: tuple[str, ...]
    pattern: str
    word_start: bool = False
    word_end: bool = False

    @cached_property
    def shape(self) -> re.Pattern[str]:
        """The pattern without the requirement of a word start: a test on the runs of a text."""
        return re.compile(self._source if not self.word_start else _WORD_START + self._source)

    @cached_property
    def token(self) -> re.Pattern[str]:
        """The pattern of a token in a text."""
        return re.compile(_WORD_START + self._source)

    @property
    def _source(self) -> str:
        return self.pattern + _WORD_END if self.word_end else self.pattern


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    token: tuple[TokenPattern, ...]


@cache
def token_patterns() -> tuple[TokenPattern, ...]:
    """Load the table of token shapes."""
    text = files(__package__).joinpath(TABLE).read_text("utf-8")
    return convert(tomllib.loads(text), _Table).token


@cache
def _substrings() -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for pattern in token_patterns() for part in pattern.contains))


def find_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each token; examples of a vendor's documentation are skipped."""
    runs = _runs(text)  # few of them, which makes the searches below cheap
    present = {part for part in _substrings() if part in runs}
    if not present:
        return
    for pattern in token_patterns():
        if not present.isdisjoint(pattern.contains) and pattern.shape.search(runs):
            for match in pattern.token.finditer(text):
                if "EXAMPLE" not in match.group():
                    yield (*match.span(), pattern.name)


def _runs(text: str) -> str:
    """Return the runs of token characters that are long enough for a token, one a line."""
    pieces = text.encode("utf-8", "surrogatepass").translate(_BLANK_OTHERS).split()
    return b"\n".join([piece for piece in pieces if len(piece) >= MIN_TOKEN_CHARACTERS]).decode()
