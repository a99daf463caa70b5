"""Table of the syntax of credentials: loads credential_patterns.toml and indexes its rules."""

from __future__ import annotations

from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from promptls.prompt.sanitize.rule_index import compile_linear, index_of_rules
from promptls.util.decode import convert
from promptls.util.toml import tomllib

if TYPE_CHECKING:
    import re2


TABLE = "credential_patterns.toml"

_PARTS = {
    "<value>": r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})'|([^\s"'`|;<>]{4,128}))""",
    "<login>": r"[\w.+@-]{1,60}",
    "<quoted>": r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})')""",
    "<rest>": r"(?:[^\n|;]|\\\n){0,200}?",
}


class SyntaxRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A password by the syntax around it; see credential_patterns.toml for the fields."""

    head: str
    pattern: str
    anywhere: bool = False
    strict: bool = False
    clear: bool = False

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The pattern with its parts filled in."""
        pattern = self.pattern
        for part, text in _PARTS.items():
            pattern = pattern.replace(part, text)
        return compile_linear(pattern)


class CallRule(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A function that has a password as its argument with an index."""

    callee: str
    argument: int

    @property
    def head(self) -> str:
        """Expression of a call; without parentheses, a string follows as in Ruby."""
        return rf"""(?:\b|_|\))(?:{self.callee})(?:\s{{0,4}}\(|[ ]["'])"""

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The expression of a call."""
        return compile_linear(self.head)


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    syntax: tuple[SyntaxRule, ...]
    call: tuple[CallRule, ...]


@cache
def credential_rules() -> tuple[SyntaxRule | CallRule, ...]:
    """Load the table of rules."""
    text = files(__package__).joinpath(TABLE).read_text("utf-8")
    table = convert(tomllib.loads(text), _Table)
    return (*table.syntax, *table.call)


@cache
def credential_index() -> re2.Set:
    """Return the index of the heads of the rules."""
    return index_of_rules(
        f"(?m){rule.head}" if isinstance(rule, CallRule) else f"(?mi){rule.head}" for rule in credential_rules()
    )
