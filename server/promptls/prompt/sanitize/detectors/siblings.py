"""Values whose name is in another field next to them: `"name": "DB_PASSWORD", "value": "…"`, `<key>…</key><string>…`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from promptls.prompt.sanitize.detectors.assignments import is_secret_literal
from promptls.prompt.sanitize.names import KEYWORDS, RARE_KEYWORDS
from promptls.prompt.sanitize.place import Place
from promptls.prompt.sanitize.rule_index import compile_linear, index_of_rules, matching_rules

if TYPE_CHECKING:
    import re2

_NAME = rf"(?P<name>[\w ./:-]{{0,60}}(?i:{'|'.join(KEYWORDS + RARE_KEYWORDS)})[\w ./:-]{{0,40}})"
_VALUE = r"""(?P<value>[^\s"'`<>]{6,400})"""
_NAME_FIELD = (
    r"""["']?(?i:name|key|id|option_?name|parameter_?key|variable|env|field|property)["']?\s{0,4}[:=]\s{0,4}"""
)
_VALUE_FIELD = r"""["']?(?i:value|content|default|parameter_?value|(?:initial|current|default|string)_?value)["']?\s{0,4}[:=]\s{0,4}"""
_OTHER_FIELDS = (
    r"""(?:["']?(?i:type|description|enabled|secure|secret|sensitive|slot_?setting|scope|disabled|id|required)["']?"""
    r"""\s{0,4}[:=]\s{0,4}[^,\n]{1,80},?\s{1,80}){0,3}"""
)
_BETWEEN = r"""["']?[ \t]{0,4}[,;]?\s{1,80}"""

_PATTERNS = (
    rf"""{_NAME_FIELD}["']?{_NAME}{_BETWEEN}{_OTHER_FIELDS}{_VALUE_FIELD}["']?{_VALUE}""",
    rf"""{_NAME_FIELD}["']{_NAME}["'],{_VALUE_FIELD}["']{_VALUE}["']""",
    rf"""{_VALUE_FIELD}["']{_VALUE}["'][ \t]{{0,4}},?\s{{0,80}}{_OTHER_FIELDS}{_NAME_FIELD}["']{_NAME}["']""",
    rf"""<(?:[\w-]{{0,24}}(?i:name)|key|id)>\s{{0,40}}{_NAME}\s{{0,40}}</[\w-]{{1,32}}>\s{{1,80}}<(?:[\w-]{{0,24}}(?i:value)|string|data)>\s{{0,40}}{_VALUE}\s{{0,40}}</""",
    rf"""<{_NAME}>\s{{0,80}}<(?i:value)>{_VALUE}</""",
)  # fmt: skip
"""Fields of JSON, YAML and TOML in both orders, attributes and elements of XML, in the syntax of RE2."""


@cache
def _index() -> re2.Set:
    return index_of_rules(pattern.replace("?P<name>", "?:").replace("?P<value>", "?:") for pattern in _PATTERNS)


@cache
def _compiled(number: int) -> re2._Regexp:
    return compile_linear(_PATTERNS[number])


def find_sibling_values(text: str, ascii_text: bytes, place: Place) -> Iterator[tuple[int, int, str]]:
    """Yield the values of secrets that have their name in a field before or after them.

    `ascii_text` is the searchable form of the text.
    """
    for number in matching_rules(_index(), ascii_text):
        pattern = _compiled(number)
        value, name = pattern.groupindex[b"value"], pattern.groupindex[b"name"]
        for match in pattern.finditer(ascii_text):
            first, last = match.span(value)
            start, end = match.span(name)
            if is_secret_literal(text[first:last], text[start:end].strip(" ./:-"), place):
                yield first, last, "value"
