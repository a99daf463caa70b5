"""Secrets with a documented shape: keys and tokens of some hundred issuers.

The shapes are data, in token_patterns.toml.  Each is compiled when a text first passes its cheap tests.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain

from msgspec import Struct

from promptls.prompt.sanitize.value_checks import is_random, is_sample_token
from promptls.util.decode import convert

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "token_patterns.toml"

MIN_TOKEN_CHARACTERS = 20
"""Length of the shortest token in characters; few names of symbols are longer."""
_MIN_LETTERS = 34
"""Length of the shortest token of letters only, in characters."""

_MAX_RUN_CHARACTERS = 8_000
"""Length of the longest run that is searched, in characters: longer ones are data in base64, such as images."""

_WORD_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[0abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
)
"""Start of a token: after anything but a word character, or after an escaped one as in "\\nghp_…" and "%20ghp_…"."""
_WORD_END = r"(?![A-Za-z0-9_-])"

_RUN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+-\\%~$@?&"
"""Characters that tokens and their surroundings have."""
_DIGIT_OR_KEY = re.compile(rb"[0-9]|A[KS]IA|ABIA|ACCA|LTAI")
_BLANK_OTHERS = bytes(c if c in _RUN_CHARACTERS else 0x20 for c in range(256))


class TokenPattern(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The shape of one kind of token; see token_patterns.toml for the fields."""

    name: str
    contains: tuple[str, ...]
    pattern: str
    source: str
    word_start: bool = False
    word_end: bool = False
    anywhere: bool = False
    random: bool = False

    @cached_property
    def shape(self) -> re.Pattern[str]:
        """The pattern without the requirement of a word start: a test on the runs of a text."""
        return re.compile(self._source if not self.word_start else _WORD_START + self._source)

    @cached_property
    def token(self) -> re.Pattern[str]:
        """The pattern of a token in a text."""
        return re.compile(self._source if self.anywhere else _WORD_START + self._source)

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
def _patterns_by_substring() -> dict[str, tuple[int, ...]]:
    """Return the numbers of the patterns whose matches contain a substring, by the substring."""
    numbers: dict[str, list[int]] = {}
    for number, pattern in enumerate(token_patterns()):
        for part in pattern.contains:
            numbers.setdefault(part, []).append(number)
    return {part: tuple(found) for part, found in numbers.items()}


def find_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each token; samples are skipped."""
    runs = _runs(text)  # few of them, which makes the searches below cheap
    if not runs:
        return
    found = [numbers for part, numbers in _patterns_by_substring().items() if part in runs]
    for number in sorted(set(chain.from_iterable(found))):
        pattern = token_patterns()[number]
        if pattern.shape.search(runs):
            for match in pattern.token.finditer(text):
                value = match.group()
                if not is_sample_token(value) and (not pattern.random or is_random(value)):
                    yield (*match.span(), pattern.name)


def _runs(text: str) -> str:
    """Return the distinct runs of token characters that can be tokens, one a line."""
    pieces = text.encode("utf-8", "surrogatepass").translate(_BLANK_OTHERS).split()
    long = {piece for piece in pieces if MIN_TOKEN_CHARACTERS <= len(piece) <= _MAX_RUN_CHARACTERS}
    return b"\n".join([piece for piece in long if _can_be_token(piece)]).decode()


def _can_be_token(piece: bytes) -> bool:
    """Return whether a run of characters has a digit or the start of a key of letters, or is not a short name or word."""
    return (
        len(piece) >= _MIN_LETTERS
        or _DIGIT_OR_KEY.search(piece) is not None
        or ((b"-" in piece or b"_" in piece) and not piece.islower() and not piece.isupper())
    )
