"""Secrets by the name of a value: `api_key = "…"`, `"name": "DB_PASSWORD", "value": "…"`, a column of a table.

A name before its value, in a field next to it or at the head of its column decides the kind of secret, and the value
must be like one of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from promptls.redaction.place import Place
from promptls.redaction.rules import Secret, Source, compile_linear, matching_fields
from promptls.redaction.secret_names import NameKind, name_kind
from promptls.redaction.values import (
    SIGNED_WORD,
    is_basic_login,
    is_chosen_key,
    is_clear_password,
    is_known_password,
    is_long_random,
    is_password,
    is_phrase,
    is_random,
    is_spaced_password,
    is_strong_password,
    is_uuid,
    starts_like_placeholder,
)

if TYPE_CHECKING:
    import re2

_AFTER_NAME = frozenset(",\"'`\\ \t=:><(|?{]\r\n-")
"""Characters between a name and its value."""
_BEFORE_LINE_END = frozenset("\"':= \t\r\n")
_MAX_NAME_CHARACTERS = 72
_MIN_LOGIN_CHARACTERS = 12  # of "user:password" in base64
_MIN_ISSUED_CHARACTERS = 12  # of a key that is a password
_MAX_NAMES_IN_RUN = 16
"""Maximum number of names in one run that are examined: the values of names without a delimiter between them overlap,
and each may have 400 characters."""
_RUN = re.compile(r"""[^\s"'`<>;,&(){}\[\]]*""")
"""Text without a blank, a quote or another end of a value."""
_NAME_END = re.compile(r"[\w-]{0,72}(?:\.[A-Za-z_]\w{0,24}){0,3}")
_NAME_CHARACTERS = frozenset("_-.")
_QUOTED_VALUE = r"""(?:\\?["'`])([^\s"'`\\⟦⟧]{6,4000}|[^\n"'`\\⟦⟧]{6,400})(?=\\?["'`])"""
_BARE_VALUE = r"""(?P<bare>[^\s"'`⟦⟧]{6,400})"""
_ASSIGNED = re.compile(
    r"""(?P<end>\\?["'`]?\]?)[ \t]{0,16}"""
    r"""(?:"""
    r"""(?::[ \t]?&?(?:'static[ \t])?\[?[A-Za-z][\w.<>\[\]?; ]{0,24}[ \t]{0,4}(?==))?"""  # a type annotation
    r"""(?:\{[^{}\n]{0,24}\}[ \t]{0,4}(?==))?"""  # accessors of a property
    r"""(?P<operator>=>|:=|:-|\|\|=?|\?\?=?|\?[:=]|={1,3}|:|<-|to(?=[ ]["']))"""
    r"""|(?P<call>[({][ \t]*(?=["']))"""  # of a method or a macro
    r"""|(?P<comma>,)(?:(?<=["'],)[^()\n]{0,80}?\bdefault[ ]?=)?"""  # a pair of arguments, or an option and its default
    r"""|(?<=["'])[ \t]?(?P<attribute>(?:value|content|default)[ \t]?=|[^<>\n]{0,40}>)"""  # of an XML element
    r"""|(?P<element>>)"""
    r"""|(?P<macro>(?<=[ \t])(?=[NE]?["']))"""  # an argument of a macro, or SQL
    r""")[ \t]{0,32}(?:[bruBRUfN@&*]{0,2}(?=["'`]))?(?P<wrap>(?:\[\d{0,3}\])?[\w.:]{1,40}\([ \t]?(?=["'`]))?"""
    rf"""(?:{_QUOTED_VALUE}|{_BARE_VALUE})""",
)
_DEFAULT_AFTER = re.compile(  # of a lookup by name: os.getenv("KEY", "…"), process.env.KEY || "…"
    rf"""["'`]?[\])]?\)?[ \t]{{0,4}}(?:,|\|\||\?\?|or)[ \t]{{0,4}}[bru]?{_QUOTED_VALUE}"""
)
_NEXT_LINE = re.compile(  # of Kubernetes, Terraform and CloudFormation
    r"""["']?:?[ \t]*[:=]?[ \t]*\{?[ \t]*\r?\n"""
    r"""(?:[ \t]+["']?(?:type|description|sensitive|nullable|noecho)\b[^\n]{0,120}\n){0,3}"""
    r"""[ \t]*["']?(?:value|default)["']?[ \t]{0,16}[:=][ \t]*["']?(?P<value>[^\s"'⟦⟧]{6,400})""",
    re.IGNORECASE,
)
_SEPARATOR = r"""(?:[\\"'`\]]{0,3}[ \t]{0,16}(?:[:=<>(){|?,]|to[ ]["']|[NE]?["']|\r?\n))"""
"""The start of what the patterns above match, in the syntax of RE2."""
_LIST_START = re.compile(
    r"""["'`]?\]?(?::[ \t]?[\w.<>\[\], ]{1,40}?[ \t]?(?==))?[ \t]{0,16}(?:=>|:=|=|:)[ \t]{0,16}"""
    r"""(?:(?:new[ ])?(?:\[\d{0,3}\])?[\w.<>]{0,40}!?[\[{]|(?P<yaml>(?=\r?\n[ \t]{0,24}-[ \t]))"""
    r"""|(?:list|tuple|set|frozenset|(?:List|Set)\.of|Arrays\.asList|(?:list|set|array)Of|array)?\()"""
)
_LIST_ITEM = re.compile(
    r"""[\s,]{0,80}(?:-[ \t]+)?[bruBRU@]{0,2}(?:"(?P<double>[^"\\\n]{0,400})"|'(?P<single>[^'\\\n]{0,400})'"""
    r"""|(?P<bare>[^\s"'`,\[\](){}<>:;]{1,400})(?=[ \t]*(?:[,\]\r\n]|$)))"""
)
_MAX_LIST_ITEMS = 40
_INLINE_OBJECT = re.compile(
    r"""["']?[ \t]*[:=][ \t]*\{[ \t]*["']?value["']?[ \t]*[:=][ \t]*["']([^\s"'⟦⟧]{6,400})(?=["'])"""
)
_REFERENCE = re.compile(
    r"://|^\d{4}-\d\d-\d\d|^[.~]|^/(?!(?:[A-Za-z0-9+/]{39}(?:[A-Za-z0-9+/]{4})?|[A-Za-z0-9+/]{20,}={1,2})$)|\.\."
    r"|^[A-Za-z_][\w.:]*\((?:.*\))?$|\\[wdsbWDSB]|\[\^|\{\d"
    r"|\w=\w+,\w+=|\]\]>|\\u[0-9a-fA-F]{4}|^:|^pk\.eyJ|^[\w-]+(?:\.[\w-]+)+/|^(?![A-Za-z0-9+/]{24,}={0,2}$)[\w-]+(?:/[\w.-]+){2,}$|\$2[aby]\$|^(?:vault|npm|secret|ssm|env|file|arn|aws|gcp|op|sm|kms|enc|ref|data|image|sha\d+|md5|urn|https?|projects)[:/]|^ENC\[|^\$ANSIBLE"
    r"|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|[$#]\{|\$\(|\{\{|%[({]|^@|<%|^-{2}|\)\)|=>|->|\(\)"
)
"""A URL, a date, a path, a call, a constant, a template, the address of a secret store, or a public token of Mapbox; base64 may start with "/" too."""
_ATTRIBUTE = re.compile(r"(?![A-Za-z][a-z]+\.[A-Za-z][a-z]+\d+[!?]?$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_TAG = re.compile(r"!\w")
"""The tag of a YAML value."""
_EXPRESSION = re.compile(r"^[A-Za-z_][\w.:]*[(\[]|^!(?![A-Z][a-z]+!?\d)|^[\w.]+\)|^[A-Za-z_][\w.]*(?:\|\||&&)")
"""The start of a call, an element, a negation or a condition: not the start of a value without quotes."""
_PROSE = re.compile(r"[ \t]+(?:[^\W\d_]{2,}(?![\w.-]*[=:])|=[ \t])")
"""Another word after a value: the value is the first word of a sentence, or a type."""
_LOGIN_VALUE = re.compile(r"[A-Za-z][\w.+@-]{0,60}[:/]([^\s:/]{8,128})$")
"""A user name and a password in one value."""
_UPPER_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")


def find_named_values(source: Source) -> Iterator[Secret]:
    """Yield values after the name of a secret: random ones anywhere, passwords in quotes or in settings files."""
    text, place = source.text, source.place
    candidate = _candidates(place.in_code)
    found = candidate.search(source.ascii)
    run_end = names = 0
    while found:
        at = found.start()
        done = _end_of_name(text, at)
        if at >= run_end:
            run_end, names = _end_of_run(text, at), 0
        names += 1
        if names <= _MAX_NAMES_IN_RUN and text[done : done + 1] in _AFTER_NAME:
            yield from _values_of_name(text, at, done, place)
        found = candidate.search(source.ascii, max(done, at + 1))


@cache
def _candidates(in_code: bool) -> re2._Regexp:
    """Return the expression of a name with what can be a value after it; the value is checked afterwards."""
    keywords = "<keyword>" if in_code else "<keyword>|<rare_keyword>"
    return compile_linear(rf"(?i:{keywords})[\w-]{{0,72}}(?:\.[A-Za-z_]\w{{0,24}}){{0,3}}" + _SEPARATOR)


def _values_of_name(text: str, at: int, end: int, place: Place) -> Iterator[Secret]:
    if opening := _LIST_START.match(text, end):
        with_bare = place.in_settings and (opening["yaml"] is not None or text[opening.end() - 2] == " ")
        yield from _values_of_list(
            text, opening.end(), with_bare, text[_start_of_name(text, at) : end].strip("-."), place
        )
    match = _ASSIGNED.match(text, end)
    if (match is None or (match["bare"] or "").startswith(("{", "(", "["))) and text[end] in _BEFORE_LINE_END:
        match = _INLINE_OBJECT.match(text, end) or _NEXT_LINE.match(text, end) or match
    match = match or _DEFAULT_AFTER.match(text, end)
    if match is None:
        return
    start = _start_of_name(text, at)
    kind = name_kind(text[start:end].strip("-."))
    if kind is NameKind.REFERENCE or text.endswith(("checksum/", "hash/"), max(0, start - 9), start):
        return
    found = _secret_value(text, start, match, kind, place)
    if found is None and text[end] != "," and (default := _DEFAULT_AFTER.match(text, end)):
        found = _secret_value(text, start, default, kind, place)
    if found:
        yield (*found, "value")


def _values_of_list(text: str, at: int, with_bare: bool, name: str, place: Place) -> Iterator[Secret]:
    """Yield the secrets among the items of a list that is named after secrets; a password must be a strong one.

    `with_bare`: whether items without quotes are values.
    """
    kind = name_kind(name)
    for _ in range(_MAX_LIST_ITEMS if kind not in (NameKind.REFERENCE, NameKind.OTHER) else 0):
        item = _LIST_ITEM.match(text, at)
        if item is None or (item.lastgroup == "bare" and not with_bare):
            return
        value, at = item[item.lastgroup or 0], item.end()
        if (is_long_random(value) or is_strong_password(value)) and is_secret_literal(value, name, place):
            yield (*item.span(item.lastgroup or 0), "value")


def _secret_value(text: str, start: int, match: re.Match[str], kind: NameKind, place: Place) -> tuple[int, int] | None:
    """Return the start and end of the value of a match if it is a secret."""
    groups = match.groupdict()
    bare = groups.get("bare") is not None
    first, last = match.span(match.lastindex or 0)
    if bare:
        last = _end_of_bare_value(text, start, first, last, groups, place)
    value = text[first:last]
    if len(value) < 6 or (groups.get("wrap") and kind is NameKind.OTHER):
        return None
    is_literal = not bare or place.in_settings or _is_literal(text, start, match, groups, place)
    if bare and not is_literal and groups.get("operator") is None:
        return None  # an argument: a name rather than a value
    if bare and (text[first - 1 : first] in ("(", "{", ",") or _EXPRESSION.match(value)):
        return None
    if (
        bare
        and _PROSE.match(text, last)
        and not (text[first - 1] == "=" and (text[start] == "-" or _is_upper_name(text, start, match.start())))
    ):
        return None
    if groups.get("macro") is not None and groups["end"]:
        return None  # an item of a list
    if groups.get("comma") and not _is_pair(text, start, match.start(), in_quotes=bool(groups["end"])):
        return None  # an item of a list
    login = _LOGIN_VALUE.match(value) if kind is NameKind.ISSUED else None
    if login and is_long_random(value) and not value[: login.start(1)].islower():
        login = None  # base64
    if login and is_clear_password(login[1]) and not (place.in_tests or "://" in value):
        return first + login.start(1), last
    is_called = text[last : last + 1] == "("
    if (
        starts_like_placeholder(value)
        or _is_reference(value + "(" * is_called, bare, place.in_settings)
        or not value.strip()
    ):
        return None
    return (first, last) if _is_secret(value, kind, place, is_literal, bare) else None


def _is_pair(text: str, start: int, end: int, in_quotes: bool) -> bool:
    """Return whether a name before a comma is a string or a constant before other arguments, a symbol, or an item of a tuple."""
    if in_quotes:
        return text[max(0, start - 40) : start].rstrip(" \t\n\"'`")[-1:] == "("
    is_constant = text[start - 1 : start] == "(" and _is_upper_name(text, text.rfind(".", start, end) + 1 or start, end)
    return is_constant or (text[start - 1 : start] in (":", "{") if start else False)


def is_secret_literal(value: str, name: str, place: Place) -> bool:
    """Return whether a value without quotes is a secret for a name."""
    kind = name_kind(name)
    return (
        kind is not NameKind.REFERENCE
        and "⟦" not in value
        and not (starts_like_placeholder(value) or _is_reference(value, bare=False) or _EXPRESSION.match(value))
        and _is_secret(value, kind, place, is_literal=True, bare=False)
    )


def _is_reference(value: str, bare: bool, in_settings: bool = False) -> bool:
    """Return whether a value stands for another one; `bare`: it has no quotes."""
    if SIGNED_WORD.fullmatch(value):
        return False
    if _REFERENCE.search(value) or (bare and _TAG.match(value)):
        return True
    if _ATTRIBUTE.match(value):
        if bare and in_settings and any(map(str.isdigit, value)):
            return is_known_password(value)
        return not (is_long_random(value) or (not bare and len(value) >= _MIN_ISSUED_CHARACTERS and is_random(value)))
    return False


def _is_secret(value: str, kind: NameKind, place: Place, is_literal: bool, bare: bool) -> bool:
    """Return whether a value is a secret for a name of a kind."""
    if " " in value:
        return kind is NameKind.PASSWORD and not (bare or place.in_tests) and is_spaced_password(value)
    if is_uuid(value):
        return kind in (NameKind.ISSUED, NameKind.SECRET) and is_literal and not place.in_tests
    if is_long_random(value):
        return kind is not NameKind.OTHER or not bare or place.in_settings
    if kind is NameKind.OTHER or not is_literal:
        return False
    if kind is not NameKind.PASSWORD:
        return (
            (is_basic_login(value) and len(value) >= _MIN_LOGIN_CHARACTERS)
            or is_strong_password(value)
            or (not place.in_tests and len(value) >= _MIN_ISSUED_CHARACTERS and is_chosen_key(value))
        )
    if place.in_tests:
        return is_strong_password(value) and not is_known_password(value)
    return is_password(value) or is_phrase(value)


def _end_of_bare_value(
    text: str, start: int, first: int, last: int, groups: dict[str, str | None], place: Place
) -> int:
    """Return the end of a value without quotes: that of its connection string, element, list or line."""
    before = text[start - 1 : start] if start else ""
    if before in (";", "?", "&") or groups.get("element") or groups.get("attribute"):
        stops = ";&<>"
    elif place.in_settings and _starts_line(text, start):
        stops = "<"
    else:
        stops = "<>;,&(){}[]"
    value = text[first:last]
    for stop in stops:
        value = value.partition(stop)[0]
    if groups.get("operator") in (":-", ":=", ":") and text[max(0, start - 2) : start] == "${":
        value = value.partition("}")[0]
    return first + len(value.rstrip(",;"))


def _starts_line(text: str, start: int) -> bool:
    """Return whether only blanks, list signs and "export" are before a name in its line."""
    return _line_before(text, start, 120).strip(" \t-+") in ("", "export", "ENV", "ARG", "set")


def _is_literal(text: str, start: int, match: re.Match[str], groups: dict[str, str | None], place: Place) -> bool:
    """Return whether a bare value is not an expression: that of a shell variable, an option or a connection string."""
    operator = groups.get("operator")
    before = text[max(0, start - 2) : start]
    if groups.get("element") or (groups.get("attribute") or "").endswith(">"):
        return text.find("</", match.start("bare"), match.end("bare")) >= 0
    if before == "${" or (place.in_text and operator in ("=", ":")):
        return True
    if operator not in ("=", ":=", ":-") or match.end("operator") != match.start("bare"):
        return False
    return (
        before[-1:] in (";", "?", "&")
        or before in ("--", "-D")
        or _is_upper_name(text, start, match.start())
        or _is_in_string(text, start)
    )


def _is_in_string(text: str, at: int) -> bool:
    """Return whether an offset is inside of a string, by the number of quotes before it in the line."""
    line = _line_before(text, at, 400)
    return line.count('"') % 2 == 1 or line.count("'") % 2 == 1


def _line_before(text: str, at: int, limit: int) -> str:
    """Return the text of the line before an offset, at most `limit` characters."""
    return text[max(0, at - limit) : at].rpartition("\n")[2]


def _is_upper_name(text: str, start: int, end: int) -> bool:
    return _UPPER_NAME.match(text[start:end]) is not None


def _start_of_name(text: str, at: int) -> int:
    """Return the start of the identifier at an offset, at most `_MAX_NAME_CHARACTERS` before."""
    limit = max(0, at - _MAX_NAME_CHARACTERS)
    while at > limit and (text[at - 1].isalnum() or text[at - 1] in _NAME_CHARACTERS):
        at -= 1
    return at


def _end_of_run(text: str, at: int) -> int:
    match = _RUN.match(text, at)
    return match.end() if match else at


def _end_of_name(text: str, at: int) -> int:
    match = _NAME_END.match(text, at)
    return match.end() if match else at


# ---------------------------------------------------------------- bytes of keys

_KEY_OF_BYTES = (
    r"(?i:key|secret|seed|psk|\bmaster|\b[kd]ek|\b[zt][pmwa]k)\w{0,3}(?:[ \t]{0,2}\[[^\[\]\n]{0,24}\])*"  # k_link_key[16]
    r"""(?:[ \t]{0,4}PROGMEM)?["']?[ \t]{0,4}(?::[ \t]?[^=\n]{1,30})?[ \t]{0,4}(?::=|=|:)[ \t]{0,4}"""
    r"(?:new )?[\w.&]{0,20}(?:\[\d{0,3}\])?[\w.]{0,20}(?:\[\])?!?[ \t]{0,4}[\[({](?:data:[ ]?\[)?"
)
"""The name of a key, also of one for keys, zones or terminals (KEK, ZMK, TWK), and the start of a list; for RE2."""
_BYTE = re.compile(
    r"[\s,;]{0,40}((?:\(\w{1,16}\)[ ]?)?(0x[0-9a-fA-F]{1,2}|-?\d{1,3}))(?:u8|\.toByte\(\))?(?=[\s,;)\]}])"
)
_KEY_BYTES = range(16, 65)
"""Bytes of a key: AES-128 has 16, HMAC-SHA-512 up to 64."""
_MIN_STEPS = 10
"""Distinct differences of adjacent bytes: a table of codes has one or two, 16 random bytes have 14 on average."""


@cache
def _key_of_bytes() -> re2._Regexp:
    return compile_linear(_KEY_OF_BYTES)


def find_byte_keys(source: Source) -> Iterator[Secret]:
    """Yield the keys that are lists of bytes: `key[16] = {0x3a, …}`."""
    for match in _key_of_bytes().finditer(source.ascii):
        at = match.end()
        found: list[re.Match[str]] = []
        while len(found) < _KEY_BYTES.stop and (byte := _BYTE.match(source.text, at)):
            found.append(byte)
            at = byte.end()
        values = [int(byte[2], 16 if "x" in byte[2] else 10) for byte in found]
        steps = {b - a for a, b in pairwise(values)}
        if (
            len(values) in _KEY_BYTES
            and max(values) - min(values) < 256
            and len(steps) >= _MIN_STEPS
            and is_random(bytes(value % 256 for value in values).hex())
            and not source.place.in_tests
            and source.text[at : at + 8].lstrip(" \t\r\n,;")[:1] in (")", "]", "}")
        ):
            yield found[0].start(1), at, "key"


# ---------------------------------------------------------------- fields next to each other


def find_sibling_values(source: Source) -> Iterator[Secret]:
    """Yield the values of secrets that have their name in a field before or after them."""
    text = source.text
    for rule in matching_fields(source):
        value, name = rule.compiled.groupindex[b"value"], rule.compiled.groupindex[b"name"]
        for match in rule.compiled.finditer(source.ascii):
            first, last = match.span(value)
            start, end = match.span(name)
            if is_secret_literal(text[first:last], text[start:end].strip(" ./:-"), source.place):
                yield first, last, "value"


# ---------------------------------------------------------------- columns

_INSERT = (
    r"(?i:insert\s[\w\s]{0,20}into\s+[\w.`\"\[\]]{1,80}\s*\((?P<columns>[^()]{0,600}(?:<keyword>)[^()]{0,600})\)"
    r"\s*values\s*)\("
)
"""The columns of an SQL statement and the start of its first row, in the syntax of RE2."""
_CELL = r"[ \t]*[\"'`*]*[\w .-]*[\"'`*]*[ \t]*"
_HEADER = (
    rf"(?mi)^{_CELL}(?:[|,;\t]{_CELL})*(?:<keyword>)[\w -]{{0,12}}[\"'`*]*[ \t]*"
    rf"(?:[|,;\t]{_CELL})*\r?\n"
)
"""A line of short cells, one of which has the name of a secret, in the syntax of RE2."""
_ITEM = re.compile(
    r"\s*(?:N?'(?P<single>(?:[^'\\\n]|''|\\.)*)'|N?\"(?P<double>(?:[^\"\\\n]|\\.)*)\"|[^'\"(),;]+(?:\([^()]*\))?|\([^()]*\))\s*(?P<end>[,)])"
)
"""A value of a row, and the sign after it."""
_NEXT_ROW = re.compile(r"\s*,\s*\(")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-")
_CELL_DECORATION = " \t\r\"'`*"


@cache
def _insert() -> re2._Regexp:
    return compile_linear(_INSERT)


@cache
def _table_header() -> re2._Regexp:
    return compile_linear(_HEADER)


def find_column_values(source: Source) -> Iterator[Secret]:
    """Yield the values of secrets in rows whose columns are named before them."""
    text, place = source.text, source.place
    for match in _insert().finditer(source.ascii):
        start, end = match.span(match.re.groupindex[b"columns"])
        columns = [column.strip(' \t\r\n`"[]') for column in text[start:end].split(",")]
        yield from _inserted(text, match.end(), columns, place)
    if place.in_code:
        return
    done = 0
    for match in _table_header().finditer(source.ascii):
        if match.start() < done:
            continue
        header = text[match.start() : match.end()]
        delimiter = next((sign for sign in "|\t;," if sign in header), "")
        columns = [cell.strip(_CELL_DECORATION) for cell in header.split(delimiter)] if delimiter else []
        secret = [i for i, name in enumerate(columns) if name_kind(name) not in (NameKind.OTHER, NameKind.REFERENCE)]
        done = match.end()
        if secret and len(columns) > 1 and _starts_table(text, match.start(), match.end(), delimiter):
            for at, line in _rows(text, match.end(), delimiter, len(columns)):
                done = at + len(line)
                yield from _cells(at, line.split(delimiter), columns, secret, place)


def _inserted(text: str, at: int, columns: list[str], place: Place) -> Iterator[Secret]:
    """Yield the secrets of the rows after VALUES; `at` is after the first parenthesis."""
    number = 0
    while item := _ITEM.match(text, at):
        at = item.end()
        group = "single" if item["single"] is not None else "double"
        value = item[group]
        if value and number < len(columns) and is_secret_literal(value, columns[number], place):
            yield (*item.span(group), "value")
        number += 1
        if item["end"] == ")":
            row = _NEXT_ROW.match(text, at)
            if row is None:
                return
            at, number = row.end(), 0


def _starts_table(text: str, start: int, end: int, delimiter: str) -> bool:
    """Return whether a line is the header of a table: before a rule in Markdown, first in its paragraph in CSV."""
    if delimiter == "|":
        return _RULE.match(text, end) is not None
    return start == 0 or text.endswith(("\n\n", "\n\r\n"), max(0, start - 3), start)


def _rows(text: str, at: int, delimiter: str, columns: int) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each line that has as many cells as the header."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if line.count(delimiter) + 1 != columns:
            return
        yield at, line
        at = end + 1


def _cells(at: int, cells: list[str], columns: list[str], secret: list[int], place: Place) -> Iterator[Secret]:
    """Yield the secrets of a row that starts at an offset."""
    starts = [at]
    for cell in cells:
        starts.append(starts[-1] + len(cell) + 1)
    for i in secret:
        value = cells[i].strip(_CELL_DECORATION)
        if value and is_secret_literal(value, columns[i], place):
            start = starts[i] + cells[i].index(value)
            yield start, start + len(value), "value"
