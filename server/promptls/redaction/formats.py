"""Secrets by the format of a file: private keys, Kubernetes Secrets, and secret files such as .env."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import count, pairwise

from promptls.redaction.rules import Secret
from promptls.redaction.values import (
    is_chosen_key,
    is_known_password,
    is_long_random,
    is_password,
    is_strong_password,
    starts_like_placeholder,
)

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_LINES = re.compile(r"(?:(?:\s|\\[rn])*[A-Za-z0-9+/=]{32,}[ \t]*(?:\\[rn]|\n|\\?…|$))+(?:[A-Za-z0-9+/=]*\\?…)?")
"""Lines of a key whose end is missing, also as an escaped string that is truncated."""
_LINE = re.compile(r"""[-+]?[-\s>#*"']*(?://[ \t]+)?([A-Za-z0-9+/=]+)(?:[\\"',;\s][\\nr"',;\s+]*)?""")
_MIN_LINE_WIDTH = 32  # characters of base64 in a line of a key, except for its last lines
_LAST_LINES = 2  # lines that may be shorter: the rest of the key, and a checksum
_MAX_CHARACTERS = 20_000  # an RSA key of 16,384 bits has 12,700


def find_private_keys(text: str) -> Iterator[Secret]:
    """Yield the start, end and name of each private key."""
    begins = list(_BEGIN.finditer(text))
    for i, begin in enumerate(begins):
        limit = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        end = _END.search(text, begin.end(), min(limit, begin.end() + _MAX_CHARACTERS))
        if end is not None and _is_key(text[begin.end() : end.start()]):
            yield begin.start(), end.end(), "private key"
        elif end is None and (lines := _LINES.match(text, begin.end(), limit)):
            yield begin.start(), lines.end() - text[lines.start() : lines.end()].endswith("\n"), "private key"
    done = 0
    for end in _END.finditer(text):  # the beginning of the key may be cut off
        if done and text.find("\n", done, end.start()) < 0:
            continue  # a second one in its line: the lines above are examined once
        done = end.end()
        start = _start_of_lines(text, end.start())
        if start < end.start():
            yield start, end.end(), "private key"


def _start_of_lines(text: str, end: int) -> int:
    """Return the start of the key lines that go up to `end`; `end` if there are none."""
    start, last = end, text.rfind("\n", 0, end) + 1
    for number in count():
        above = text.rfind("\n", 0, max(0, last - 1)) + 1
        line = _LINE.fullmatch(text, above, max(0, last - 1))
        if line is None or (len(line[1]) < _MIN_LINE_WIDTH and number >= _LAST_LINES):
            break
        last = above
        start = above if len(line[1]) >= _MIN_LINE_WIDTH else start
    return start


def _is_key(body: str) -> bool:
    """Return whether a body is base64 with line ends, quotes and PEM headers; code that handles keys is not."""
    body = re.sub(r"(?m)^[ \t\r\"']*[A-Z][A-Za-z-]+: .*$", "", body)
    body = re.sub(r"\\[rn]|[\s\"'+,\\]", "", body)
    return len(body) >= 64 and len(re.sub(r"[A-Za-z0-9/=]", "", body)) <= len(body) // 20


_SECRET = re.compile(r"""(?m)^[-+ ]?[ ]*["']?kind["']?:[ ]*["']?Secret["']?[ ]*,?\r?$""")
_DOCUMENT_START = re.compile(r"(?m)^[-+ ]?---")
_BLOCK = re.compile(r"""(?m)^([-+ ]?[ ]*)["']?(data|stringData)["']?:[ ]*\{?[ ]*\r?$""")
_ENTRY = re.compile(r"""([-+ ]?[ ]*)["']?([\w.-]{1,253})["']?:[ ]*["']?([^\s"'#]+)["']?,?[ ]*""")
_PUBLIC_ENTRY = re.compile(
    r"\.(?:crt|cer|pub)$|^(?:namespace|username|user|host|hostname|port|database|dbname|type|url|name|server|cluster)$",
    re.I,
)
_MIN_BASE64_CHARACTERS = 8
_MAX_KNOWN_CHARACTERS = 24  # of a sample; a longer text may have its words by chance
_ADDRESS = re.compile(r"^[a-z][a-z0-9+]*://")


def find_manifest_values(text: str) -> Iterator[Secret]:
    """Yield the start, end and name of each value in the Secrets of a manifest."""
    starts = [0, *(match.start() for match in _DOCUMENT_START.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        if _SECRET.search(text, start, end):
            for block in _BLOCK.finditer(text, start, end):
                yield from _entries(text, block, end)


def _entries(text: str, block: re.Match[str], end: int) -> Iterator[Secret]:
    indent, width_of_entries = len(block[1]), 0
    at = block.end() + 1
    while at < end:
        line_end = text.find("\n", at, end)
        line_end = end if line_end < 0 else line_end
        entry = _ENTRY.match(text, at, line_end)
        width = len(text[at:line_end]) - len(text[at:line_end].lstrip("-+ "))
        if width <= indent and text[at:line_end].strip():
            return
        width_of_entries = width_of_entries or width
        if entry and len(entry[1]) == width_of_entries and _is_value(entry[2], entry[3], encoded=block[2] == "data"):
            yield (*entry.span(3), "value")
        at = line_end + 1


def _is_value(key: str, value: str, *, encoded: bool) -> bool:
    """Return whether a value is secret: of `data` all but public ones, of `stringData` keys and passwords."""
    if starts_like_placeholder(value) or "{{" in value or "⟦" in value:
        return False
    if not encoded:
        return (
            not _PUBLIC_ENTRY.search(key)
            and (is_strong_password(value) or is_chosen_key(value) or is_long_random(value))
            and not _ADDRESS.search(value)
        )
    if len(value) < _MIN_BASE64_CHARACTERS or key.endswith((".crt", ".pub")):
        return False
    try:
        plain = base64.b64decode(value, validate=True).decode("latin-1").strip()
    except ValueError:
        return False
    if _PUBLIC_ENTRY.search(key) and not is_password(plain) and not is_long_random(plain):
        return False
    return not (is_known_password(plain) and len(plain) < _MAX_KNOWN_CHARACTERS) and (
        "@" in plain or not _ADDRESS.search(plain)
    )


_INDENT = "-+ \t{[(,"
"""Characters before a name or a value: the sign of a diff line, blanks, list markers."""
_BEFORE_VALUE = re.compile(
    r"""(?!\s*["']?[A-Za-z0-9+/]{16,}={0,2}\s*$)"""  # the last line of a base64 block
    r"""[-+#;{\[(,\s]*(?:export\s+)?(?://(?:[\w./:-]*/:)?\s*)?["']?[\w.@][\w.@-]*["']?[ \t]*(?:=>?|:=?)[ \t]*"""
)
_NO_VALUE = re.compile(r"[-+ ]?\[+[\w .:/@-]*\]+\s*$|[-+\s]*(?:$|[#;]|//|@@|-----(?:BEGIN|END) [A-Z ]+-----\s*$)")
"""A line without a value: a section header, a comment, a hunk header of a diff, a PEM marker, a blank line."""
_BLOCK_SIGNS = " \t\r,;|>\"'`()[]{}+-"
"""Brackets, quotes and signs that start a block; a value has other characters too."""
_SAMPLE_VALUE = re.compile(
    r"\$\{\w*\}|%\w+%|<[^<>]*>|\{\{[^{}]*\}\}|⟦[^⟦⟧]*⟧|change[-_ ]?me|placeholder|todo|example"
    r"|your(?:[-_ ][a-z]+)+|(.)\1*|true|false|yes|no|on|off|none|null",
    re.IGNORECASE,
)


def find_file_values(text: str, is_file: bool) -> Iterator[Secret]:
    """Yield the start, end and name of each value in lines of a secret file.

    A value goes to the end of its line.  In the text of the file itself (`is_file`), a line without a name is a value.
    """
    at = 0
    is_public_key = False
    for line in text.split("\n"):
        if "-----" in line:
            is_public_key = "-----BEGIN " in line and " PUBLIC KEY" in line
        name = _BEFORE_VALUE.match(line)
        if not is_public_key and (name or (is_file and not _NO_VALUE.match(line))):
            start, end = _value_of_line(line, name.end() if name else len(line) - len(line.lstrip(_INDENT)))
            value = line[start:end]
            if value.strip(_BLOCK_SIGNS) and not _SAMPLE_VALUE.fullmatch(value):
                yield at + start, at + end, "value"
        at += len(line) + 1


def _value_of_line(line: str, start: int) -> tuple[int, int]:
    """Return the start and end of a value, without its quotes if only brackets follow them."""
    end = len(line.rstrip())
    if line[start : start + 1] in ('"', "'"):
        closing = line.rfind(line[start], start + 1)
        if closing > start and not line[closing + 1 : end].strip(" \t,;)]}"):
            return start + 1, closing
    return start, end
