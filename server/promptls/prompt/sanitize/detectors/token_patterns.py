"""Secrets with a documented shape: keys and tokens of some hundred issuers.

The shapes are data, in token_patterns.toml.  One index finds those that a text has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from promptls.prompt.sanitize.rule_index import index_of_rules, matching_rules
from promptls.prompt.sanitize.value_checks import is_random, is_sample_token
from promptls.util.decode import convert
from promptls.util.toml import tomllib

if TYPE_CHECKING:
    import re2


TABLE = "token_patterns.toml"

MIN_TOKEN_CHARACTERS = 20
"""Length of the shortest token in characters; few names of symbols are longer."""
_WORD_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[0abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
)
"""Start of a token: after anything but a word character, or after an escaped one as in "\\nghp_…" and "%20ghp_…"."""
_WORD_END = r"(?![A-Za-z0-9_-])"

_INDEXED_WORD_START = r"(?:^|[^A-Za-z0-9_-]|\\[0abfnrtv]|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})"
"""The same in the syntax of RE2, which has no lookarounds."""
_NEGATIVE_LOOKAHEAD = re.compile(r"\(\?![^()]*\)")


class TokenPattern(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The shape of one kind of token; see token_patterns.toml for the fields."""

    name: str
    pattern: str
    source: str
    word_end: bool = False
    anywhere: bool = False
    head: str = ""
    random: bool = False

    @property
    def indexed(self) -> str:
        """The pattern in the syntax of RE2, for the index: it matches every text that has a token."""
        if self.head:
            return self.head
        pattern = _NEGATIVE_LOOKAHEAD.sub("", self.pattern).replace("(?<=", "(?:").replace("(?=", "(?:")
        return pattern if self.anywhere or self.pattern.startswith("(?<=") else _INDEXED_WORD_START + pattern

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
def _index() -> re2.Set:
    return index_of_rules(pattern.indexed for pattern in token_patterns())


def find_tokens(text: str, ascii_text: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each token; samples are skipped.

    `ascii_text` is the searchable form of the text.
    """
    for number in matching_rules(_index(), ascii_text):
        pattern = token_patterns()[number]
        for match in pattern.token.finditer(text):
            value = match.group()
            if not is_sample_token(value) and (not pattern.random or is_random(value)):
                yield (*match.span(), pattern.name)
