"""Private keys in PEM format, also if their beginning or their end is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_LINES = re.compile(r"(?:\s*[A-Za-z0-9+/=]{32,}[ \t]*(?:\n|$))+")
_LINE = re.compile(r"""[-+]?[-\s>#*"']*(?://[ \t]+)?([A-Za-z0-9+/=]+)(?:[\\"',;\s][\\nr"',;\s+]*)?""")
_MIN_LINE_WIDTH = 32  # characters of base64 in a line of a key, except for its last lines
_LAST_LINES = 2  # lines that may be shorter: the rest of the key, and a checksum
_MAX_CHARACTERS = 20_000  # an RSA key of 16,384 bits has 12,700


def find_private_keys(text: str) -> Iterator[tuple[int, int, str]]:
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
