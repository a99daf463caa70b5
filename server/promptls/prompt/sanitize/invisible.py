"""Escaping of invisible characters, and of names in headers.

Visible text and the number of lines stay unchanged.  Pure functions over text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

# Unicode's Default_Ignorable_Code_Point except variation selectors; controls, line separators and surrogates.
_INVISIBLE_CLASS = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTOR = r"\ufe00-\ufe0f"
# A run of variation selectors can carry hidden bytes; a single one only selects the style of an emoji.
_INVISIBLE = re.compile(rf"[{_INVISIBLE_CLASS}]|\r(?!\n)|[{_SELECTOR}]{{2,}}")
_IGNORABLE = re.compile(rf"[{_INVISIBLE_CLASS}{_SELECTOR}]|\r(?!\n)")
_PLAIN_ASCII = bytes(c for c in range(128) if (c >= 0x20 or c in b"\t\n") and c != 0x7F)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_invisible(text: str) -> tuple[str, dict[str, int]]:
    """Escape each invisible character and each bidi control as "⟦U+202E⟧"; tabs and line ends stay.

    Returns the text, and the number of escaped characters by class: "control", "zero width", "bidi control",
    "tag character", "surrogate".
    """
    if _is_plain(text, _INVISIBLE):
        return text, {}
    counts: Counter[str] = Counter(name for _, name in invisible_characters(text))
    return _INVISIBLE.sub(lambda match: _escape(match.group()), text), dict(counts)


def strip_invisible(text: str) -> str:
    """Remove invisible characters: a model may read the text without them.  The number of lines stays."""
    return text if _is_plain(text, _IGNORABLE) else _IGNORABLE.sub("", text)


def _is_plain(text: str, invisible: re.Pattern[str]) -> bool:
    """Return whether the pattern has no match; fast, because printable ASCII is not searched."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_ASCII)
    return not rest or not invisible.search(rest.decode("utf-8", "surrogatepass"))


def _escape(characters: str) -> str:
    return "".join(f"⟦U+{ord(c):04X}⟧" for c in characters)


def invisible_characters(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the class of each invisible character."""
    line, at = 0, 0
    for match in _INVISIBLE.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        for character in match.group():
            yield line, _class_of(character)


def _class_of(character: str) -> str:
    if character in _BIDI:
        return "bidi control"
    if character < "\xa0":
        return "control"
    if "\ud800" <= character <= "\udfff":
        return "surrogate"
    return "tag character" if character >= "\U000e0000" else "zero width"


@lru_cache(maxsize=1 << 12)
def header_text(value: str) -> str:
    """Escape a path or a name for a quoted attribute of a header.

    `&`, `<`, `>` and `"` become XML entities.  Tabs, line ends, invisible characters and "⟦" are escaped as by
    `escape_invisible`.  Decoding is unambiguous: first the escapes, then the entities.
    """
    return one_line(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


@lru_cache(maxsize=1 << 12)
def one_line(value: str) -> str:
    """Escape tabs, line ends, invisible characters and "⟦" of a path or a name that stands in a line of its own."""
    return escape_invisible(re.sub(r"[⟦\t\r\n]", lambda match: _escape(match.group()), value))[0]
