"""Front matter of rule files: a parser for a subset of YAML, extended by unquoted globs.

Supports scalars, block and inline lists, folded text, and one level of nested keys.  Cursor writes unquoted globs
("globs: *.ts, *.tsx"), which YAML parsers reject.  The parser is linear in a bounded number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

MAX_LINES = 200
"""Maximum number of lines of front matter; bounds the time."""
MAX_CHARACTERS = 20_000
"""Maximum length of front matter in characters; bounds the time."""

Value = str | tuple[str, ...] | Mapping[str, tuple[str, ...]]

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$", re.DOTALL)
_ITEM = re.compile(r"-(?:[ \t]+(.*))?$", re.DOTALL)
_BLOCK_SCALAR_MARKS = frozenset({"|", ">", "|-", ">-", "|+", ">+"})
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


class FrontMatter(Struct, frozen=True):
    """The fields of front matter, and the text below it."""

    fields: Mapping[str, Value]  # by normalized key: "alwaysapply"
    body: str
    broken: tuple[tuple[str, int], ...] = ()  # (key or "", 1-based line) of each invalid field
    found: bool = False  # the file has front matter


def parse(text: str) -> FrontMatter:
    """Split a rule file into front matter and body; front matter without end is part of the body."""
    lines = text[:MAX_CHARACTERS].split("\n", MAX_LINES)
    if lines[0].rstrip() != "---":
        return FrontMatter({}, text)
    end = next((i for i, line in enumerate(lines[:MAX_LINES]) if i and line.rstrip() == "---"), 0)
    if not end:
        return FrontMatter({}, text, (("", 1),))
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
        block = _block_end(lines, i + 1, end)
        if key is None:
            broken.append(("", i + 1))
            i += 1
            continue
        name = normalize_key(key[1])
        value = _parse_value((key[2] or "").strip(), lines[i + 1 : block])
        if value is None:
            broken.append((name, i + 1))
        elif value:
            fields[name] = value
        i = block
    if broken and not fields and not any(key for key, _ in broken):  # a text that begins with a horizontal rule
        return FrontMatter({}, text, tuple(broken))
    return FrontMatter(fields, body, tuple(broken), True)


def normalize_key(key: str) -> str:
    """Normalize a key: lower case without "-" and "_"."""
    return re.sub(r"[-_]", "", key).lower()


def as_list(value: Value | None) -> tuple[str, ...]:
    """Return a value as a list; a string is split at commas."""
    if isinstance(value, str):
        return tuple(unquote(part) for part in _split_commas(value))
    return tuple(part for part in value if part) if isinstance(value, tuple) else ()


def unquote(text: str) -> str:
    """Remove the quotes around a value."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text[1:-1])
    return text


def _block_end(lines: list[str], start: int, end: int) -> int:
    """Return the end of the block below a key: indented lines and list items from `start`."""
    i = last = start
    while i < end:
        line = lines[i].rstrip()
        if line and not line[0].isspace() and not _ITEM.match(line):
            break
        i += 1
        last = i if line else last
    return last


def _parse_value(text: str, below: list[str]) -> Value | None:
    """Parse the value after a key and in the block below it; None if unsupported."""
    text = _strip_comment(text)
    below = [line.rstrip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if text in _BLOCK_SCALAR_MARKS:
        return " ".join(line.strip() for line in below)
    if text.startswith("["):
        return _parse_inline_list(" ".join([text, *map(str.strip, below)]))
    if text:
        plain = unquote(text) if text[0] in "'\"" and _closing_quote(text, 0) == len(text) - 1 else text
        return None if below and _ITEM.match(below[0].strip()) else " ".join([plain, *map(str.strip, below)])
    if not below:
        return ""
    return _parse_items(below) if _ITEM.match(below[0].strip()) else _parse_mapping(below)


def _parse_inline_list(text: str) -> tuple[str, ...] | None:
    """Parse an inline list: "[a, b]"."""
    return tuple(map(unquote, _split_commas(text[1:-1]))) if text.endswith("]") else None


def _parse_items(below: list[str]) -> tuple[str, ...] | None:
    """Parse a block list: items after dashes."""
    found = [_ITEM.match(line.strip()) for line in below]
    if not all(found):
        return None
    return tuple(unquote(_strip_comment((item[1] or "").strip())) for item in found if item)


def _parse_mapping(below: list[str]) -> dict[str, tuple[str, ...]] | None:
    """Parse nested keys, each with a list or a single value."""
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
        text = _strip_comment((key[2] or "").strip())
        inner = (
            _parse_inline_list(text)
            if text.startswith("[")
            else (unquote(text),)
            if text
            else _parse_items(below[i + 1 : end])
        )
        if inner is None or (text and end > i + 1):
            return None
        out[normalize_key(key[1])] = inner
        i = end
    return out


def _strip_comment(text: str) -> str:
    """Remove a comment: text from a "#" that is outside of quotes and at the beginning of a word."""
    i = 0
    while i < len(text):
        if text[i] in "'\"" and (i == 0 or text[i - 1] in " \t,["):
            i = _closing_quote(text, i)
        elif text[i] == "#" and (i == 0 or text[i - 1].isspace()):
            return text[:i].rstrip()
        i += 1
    return text


def _split_commas(text: str) -> list[str]:
    """Split at commas outside of quotes, braces and brackets."""
    out, start, depth, i = [], 0, 0, 0
    while i < len(text):
        if text[i] in "'\"" and not text[start:i].strip():
            i = _closing_quote(text, i)
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


def _closing_quote(text: str, start: int) -> int:
    """Return the index of the closing quote for the quote at `start`, or `start` if there is none."""
    quote, i = text[start], start + 1
    while i < len(text):
        if (text[i] == "\\" and quote == '"') or text[i] == quote == "'" == text[i + 1 : i + 2]:
            i += 1
        elif text[i] == quote:
            return i
        i += 1
    return start
