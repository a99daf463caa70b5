"""Values in the column of a secret: `INSERT INTO users (login, password) VALUES …`, CSV, tables of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from promptls.prompt.sanitize.detectors.assignments import is_secret_literal
from promptls.prompt.sanitize.names import KEYWORDS, NameKind, name_kind
from promptls.prompt.sanitize.place import Place
from promptls.prompt.sanitize.rule_index import compile_linear

if TYPE_CHECKING:
    import re2

_INSERT = (
    rf"(?i:insert\s[\w\s]{{0,20}}into\s+[\w.`\"\[\]]{{1,80}}\s*\((?P<columns>[^()]{{0,600}}(?:{'|'.join(KEYWORDS)})[^()]{{0,600}})\)"
    r"\s*values\s*)\("
)
"""The columns of an SQL statement and the start of its first row, in the syntax of RE2."""
_CELL = r"[ \t]*[\"'`*]*[\w .-]*[\"'`*]*[ \t]*"
_HEADER = (
    rf"(?mi)^{_CELL}(?:[|,;\t]{_CELL})*(?:{'|'.join(KEYWORDS)})[\w -]{{0,12}}[\"'`*]*[ \t]*"
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
def _header() -> re2._Regexp:
    return compile_linear(_HEADER)


def find_column_values(text: str, ascii_text: bytes, place: Place) -> Iterator[tuple[int, int, str]]:
    """Yield the values of secrets in rows whose columns are named before them.

    `ascii_text` is the searchable form of the text.
    """
    for match in _insert().finditer(ascii_text):
        start, end = match.span(match.re.groupindex[b"columns"])
        columns = [column.strip(' \t\r\n`"[]') for column in text[start:end].split(",")]
        yield from _inserted(text, match.end(), columns, place)
    if place.in_code:
        return
    done = 0
    for match in _header().finditer(ascii_text):
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


def _inserted(text: str, at: int, columns: list[str], place: Place) -> Iterator[tuple[int, int, str]]:
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


def _cells(
    at: int, cells: list[str], columns: list[str], secret: list[int], place: Place
) -> Iterator[tuple[int, int, str]]:
    """Yield the secrets of a row that starts at an offset."""
    starts = [at]
    for cell in cells:
        starts.append(starts[-1] + len(cell) + 1)
    for i in secret:
        value = cells[i].strip(_CELL_DECORATION)
        if value and is_secret_literal(value, columns[i], place):
            start = starts[i] + cells[i].index(value)
            yield start, start + len(value), "value"
