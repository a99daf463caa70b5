"""Rules of secrets: tables of tokens and of the syntax of credentials, and the automata that select rules for a text.

The heads of the rules of a table are combined into one automaton of RE2.  One pass over a text finds the rules that can
match; the time is linear in the length of the text and does not depend on the number of rules.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from promptls.redaction.place import Place
from promptls.util.decode import convert

if TYPE_CHECKING:
    import re2

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

Secret = tuple[int, int, str]
"""Start, end and name of a secret in a text."""

_TOKENS_PER_AUTOMATON, _CREDENTIALS_PER_AUTOMATON = 60, 30
"""Rules that are searched at once.

A state of an automaton knows which of its rules have matched, so few rules have far fewer states, but each automaton
reads the text again. Larger groups halve the time in a text that is like earlier ones, and double it in the first ones.
"""
_MAX_AUTOMATON_BYTES = 8 << 20
"""Upper limit of memory of one automaton, above which RE2 discards its states.

The search of 3.5 MB of source code is as fast and takes as much memory as with 32 MB; that of larger trees was slower
with 16 MB.
"""
_WORD_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[0abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
)
"""Start of a token: after anything but a word character, or after an escaped one as in "\\nghp_…" and "%20ghp_…"."""
_WORD_END = r"(?![A-Za-z0-9_-])"
_INDEXED_WORD_START = r"(?:^|[^A-Za-z0-9_-]|\\[0abfnrtv]|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})"
"""The same in the syntax of RE2, which has no lookarounds."""
_NEGATIVE_LOOKAHEAD = re.compile(r"\(\?![^()]*\)")
_PART = re.compile(r"(?<!\?P)<([a-z_]+)>")


class Source(Struct, frozen=True):
    """A text that is searched for secrets, and the kind of file that it comes from."""

    text: str
    ascii: bytes  # the text with the same offsets; characters that are not ASCII are "?"
    place: Place


def source_of(text: str, place: Place) -> Source:
    """Return a text in the form in which it is searched."""
    return Source(text, text.encode("ascii", "replace"), place)


class TokenRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The shape of one kind of token; see tokens.toml for the fields."""

    name: str
    pattern: str
    source: str
    word_end: bool = False
    anywhere: bool = False
    head: str = ""
    random: bool = False

    @property
    def indexed(self) -> str:
        """The head in the syntax of RE2: it matches every text that has a token."""
        if self.head:
            return self.head
        pattern = _NEGATIVE_LOOKAHEAD.sub("", self.pattern).replace("(?<=", "(?:").replace("(?=", "(?:")
        return pattern if self.anywhere or self.pattern.startswith("(?<=") else _INDEXED_WORD_START + pattern

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern of a token in a text."""
        pattern = self.pattern + _WORD_END if self.word_end else self.pattern
        return re.compile(pattern if self.anywhere else _WORD_START + pattern)


class SyntaxRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A password by the syntax around it; see credentials.toml for the fields."""

    head: str
    pattern: str
    anywhere: bool = False
    strict: bool = False
    clear: bool = False
    blanks: bool = False

    @property
    def indexed(self) -> str:
        """The head in the syntax of RE2."""
        return f"(?mi:{self.head})"

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The pattern in the syntax of RE2."""
        return compile_linear(self.pattern)


class CallRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A function that has a password as its argument with an index; see credentials.toml."""

    callee: str
    argument: int
    strict: bool = True
    clear: bool = False
    blanks: bool = False

    @property
    def indexed(self) -> str:
        """Expression of a call; without parentheses, a string follows as in Ruby."""
        return rf"""(?:(?:\b|_|\))(?:{self.callee})(?:\s{{0,4}}\(|[ ]["']))"""

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The expression of a call."""
        return compile_linear(self.indexed)


class FieldRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A value with its name in another field; see credentials.toml."""

    pattern: str

    @property
    def indexed(self) -> str:
        """The pattern without the names of its groups."""
        return self.pattern.replace("?P<name>", "?:").replace("?P<value>", "?:")

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The pattern in the syntax of RE2."""
        return compile_linear(self.pattern)


class _Tokens(Struct, frozen=True, forbid_unknown_fields=True):
    token: tuple[TokenRule, ...]


class _Credentials(Struct, frozen=True, forbid_unknown_fields=True):
    syntax: tuple[SyntaxRule, ...]
    call: tuple[CallRule, ...]
    field: tuple[FieldRule, ...]
    parts: dict[str, str]


Rule = TokenRule | SyntaxRule | CallRule


@cache
def tokens() -> tuple[TokenRule, ...]:
    """Load the table of tokens."""
    return load_table("tokens.toml", _Tokens).token


@cache
def _credentials() -> _Credentials:
    return load_table("credentials.toml", _Credentials)


@cache
def _automata(in_code: bool) -> tuple[tuple[re2.Set, tuple[Rule, ...]], ...]:
    syntax = tuple(rule for rule in _credentials().syntax if rule.anywhere or not in_code)
    tables: tuple[tuple[tuple[Rule, ...], int], ...] = (
        (tokens(), _TOKENS_PER_AUTOMATON),
        ((*syntax, *_credentials().call), _CREDENTIALS_PER_AUTOMATON),
    )
    groups = [table[at : at + size] for table, size in tables for at in range(0, len(table), size)]
    return tuple((_index_of(rule.indexed for rule in group), group) for group in groups)


@cache
def _field_automaton() -> re2.Set:
    return _index_of(rule.indexed for rule in _credentials().field)


def matching_rules(source: Source) -> list[Rule]:
    """Return the rules that are for the place of a text and whose head is in it."""
    automata = _automata(source.place.in_code)
    return [table[number] for automaton, table in automata for number in sorted(automaton.Match(source.ascii) or ())]


def matching_fields(source: Source) -> list[FieldRule]:
    """Return the rules of fields that match a text."""
    return [_credentials().field[number] for number in sorted(_field_automaton().Match(source.ascii) or ())]


def with_parts(pattern: str) -> str:
    """Return a pattern with the parts of credentials.toml filled in."""
    parts = _credentials().parts
    while (filled := _PART.sub(lambda part: parts.get(part[1], part[0]), pattern)) != pattern:
        pattern = filled
    return pattern


@cache
def word_table() -> dict[str, str | list[str]]:
    """Load the table of words; a text has words with blanks between them."""
    return load_table("words.toml", dict[str, str | list[str]])


@cache
def word_set(name: str) -> frozenset[str]:
    """Return a set of words of the table."""
    entry = word_table()[name]
    return frozenset(entry.split() if isinstance(entry, str) else entry)


def load_table(name: str, type_: type[T]) -> T:
    """Load a data file of this package."""
    content: Any = tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))
    return convert(content, type_)


def _index_of(patterns: Iterable[str]) -> re2.Set:
    """Combine patterns in the syntax of RE2 into one automaton."""
    import re2

    index = re2.Set.SearchSet(_options())
    for pattern in patterns:
        index.Add(with_parts(pattern))
    index.Compile()
    return index


def compile_linear(pattern: str) -> re2._Regexp:
    """Compile a pattern to an automaton that searches bytes in linear time; for its parts, see `with_parts`."""
    import re2

    return re2.compile(with_parts(pattern).encode("ascii"), _options())


def _options() -> re2.Options:
    import re2  # an extension module: loaded when the first text is searched

    options = re2.Options()
    options.max_mem = _MAX_AUTOMATON_BYTES
    options.log_errors = False
    return options
