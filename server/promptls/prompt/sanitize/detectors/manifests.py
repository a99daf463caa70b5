"""Values of Kubernetes Secrets, in base64 (`data`) and in plain text (`stringData`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import pairwise

from promptls.prompt.sanitize.value_checks import (
    is_chosen_key,
    is_known_password,
    is_long_random,
    is_password,
    is_strong_password,
    starts_like_placeholder,
)

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


def find_manifest_values(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each value in the Secrets of a manifest."""
    starts = [0, *(match.start() for match in _DOCUMENT_START.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        if _SECRET.search(text, start, end):
            for block in _BLOCK.finditer(text, start, end):
                yield from _entries(text, block, end)


def _entries(text: str, block: re.Match[str], end: int) -> Iterator[tuple[int, int, str]]:
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
