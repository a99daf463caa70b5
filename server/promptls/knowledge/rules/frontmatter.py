"""The head of a rules file: the small part of YAML that such heads are written in, and what is no YAML at all.

Scalars, lists in either style, folded texts, and one level of keys below a key; a glob may stand unquoted, as
Cursor writes it ("globs: *.ts, *.tsx"), which no YAML parser takes.  One pass over a bounded number of lines.
Knows nothing of what the keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

MOST_LINES = 200
"""Lines within which the head must end."""
MOST_CHARACTERS = 20_000

Value = str | tuple[str, ...] | Mapping[str, tuple[str, ...]]

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$", re.DOTALL)
_ITEM = re.compile(r"-(?:[ \t]+(.*))?$", re.DOTALL)
_TEXT_MARKS = frozenset({"|", ">", "|-", ">-", "|+", ">+"})
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


class Head(Struct, frozen=True):
    """The fields of a head and the text below it."""

    fields: Mapping[str, Value]  # by key in small letters without "-" and "_": "alwaysapply"
    body: str
    broken: tuple[tuple[str, int], ...] = ()  # (key, "" for none; 1-based line) of what was not understood
    found: bool = False  # whether there is a head


def parse(text: str) -> Head:
    """Split a rules file; a head that does not end is none."""
    lines = text[:MOST_CHARACTERS].split("\n", MOST_LINES)
    if lines[0].rstrip() != "---":
        return Head({}, text)
    end = next((i for i, line in enumerate(lines[:MOST_LINES]) if i and line.rstrip() == "---"), 0)
    if not end:
        return Head({}, text, (("", 1),))
    body = text[sum(len(line) + 1 for line in lines[: end + 1]) :]
    fields: dict[str, Value] = {}
    broken: list[tuple[str, int]] = []
    i = 1
    while i < end:
        line = lines[i].rstrip()
        if not line or line.lstrip().startswith("#"):
            i += 1
            continue
        key = _KEY.match(line)
        block = _block(lines, i + 1, end)
        if key is None:
            broken.append(("", i + 1))
            i += 1
            continue
        name = canonical(key[1])
        value = _value((key[2] or "").strip(), lines[i + 1 : block])
        if value is None:
            broken.append((name, i + 1))
        elif value:
            fields[name] = value
        i = block
    if broken and not fields and not any(key for key, _ in broken):  # a page that begins with a line across
        return Head({}, text, tuple(broken))
    return Head(fields, body, tuple(broken), True)


def canonical(key: str) -> str:
    """A key as `Head.fields` has it."""
    return re.sub(r"[-_]", "", key).lower()


def words(value: Value | None) -> tuple[str, ...]:
    """A value as a list: one of commas is one of several."""
    if isinstance(value, str):
        return tuple(scalar(part) for part in _split(value))
    return tuple(part for part in value if part) if isinstance(value, tuple) else ()


def scalar(text: str) -> str:
    """A value without its quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text[1:-1])
    return text


def _block(lines: list[str], start: int, end: int) -> int:
    """Where the lines that belong to the key above `start` end: those that are indented or list items."""
    i = last = start
    while i < end:
        line = lines[i].rstrip()
        if line and not line[0].isspace() and not _ITEM.match(line):
            break
        i += 1
        last = i if line else last
    return last


def _value(text: str, below: list[str]) -> Value | None:
    """The value that stands behind a key and below it, None if it is beyond this parser."""
    text = _without_comment(text)
    below = [line.rstrip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if text in _TEXT_MARKS:
        return " ".join(line.strip() for line in below)
    if text.startswith("["):
        return _inline(" ".join([text, *map(str.strip, below)]))
    if text:
        plain = scalar(text) if text[0] in "'\"" and _closing(text, 0) == len(text) - 1 else text
        return None if below and _ITEM.match(below[0].strip()) else " ".join([plain, *map(str.strip, below)])
    if not below:
        return ""
    return _items(below) if _ITEM.match(below[0].strip()) else _map(below)


def _inline(text: str) -> tuple[str, ...] | None:
    """The items of "[a, b]"."""
    return tuple(map(scalar, _split(text[1:-1]))) if text.endswith("]") else None


def _items(below: list[str]) -> tuple[str, ...] | None:
    """The items of a list with a dash before each."""
    found = [_ITEM.match(line.strip()) for line in below]
    if not all(found):
        return None
    return tuple(scalar(_without_comment((item[1] or "").strip())) for item in found if item)


def _map(below: list[str]) -> dict[str, tuple[str, ...]] | None:
    """Keys below a key, each with a list or one value."""
    out: dict[str, tuple[str, ...]] = {}
    indent = len(below[0]) - len(below[0].lstrip())
    i = 0
    while i < len(below):
        key = _KEY.match(below[i].strip())
        if key is None or len(below[i]) - len(below[i].lstrip()) != indent:
            return None
        end = i + 1
        while end < len(below) and not (
            len(below[end]) - len(below[end].lstrip()) <= indent and _KEY.match(below[end].strip())
        ):
            end += 1
        text = _without_comment((key[2] or "").strip())
        inner = _inline(text) if text.startswith("[") else (scalar(text),) if text else _items(below[i + 1 : end])
        if inner is None or (text and end > i + 1):
            return None
        out[canonical(key[1])] = inner
        i = end
    return out


def _without_comment(text: str) -> str:
    """The text up to a "#" that is no part of a word or of quotes."""
    i = 0
    while i < len(text):
        if text[i] in "'\"" and (i == 0 or text[i - 1] in " \t,["):
            i = _closing(text, i)
        elif text[i] == "#" and (i == 0 or text[i - 1].isspace()):
            return text[:i].rstrip()
        i += 1
    return text


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no quotes, braces or brackets."""
    out, start, depth, i = [], 0, 0, 0
    while i < len(text):
        if text[i] in "'\"" and not text[start:i].strip():
            i = _closing(text, i)
        elif text[i] in "{[":
            depth += 1
        elif text[i] in "}]":
            depth = max(0, depth - 1)
        elif text[i] == "," and not depth:
            out.append(text[start:i])
            start = i + 1
        i += 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]


def _closing(text: str, start: int) -> int:
    """Where the quotes that open at `start` close; `start` if they do not."""
    quote, i = text[start], start + 1
    while i < len(text):
        if (text[i] == "\\" and quote == '"') or text[i] == quote == "'" == text[i + 1 : i + 2]:
            i += 1
        elif text[i] == quote:
            return i
        i += 1
    return start
