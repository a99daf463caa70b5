"""Characters that nobody sees, made visible; and names as they may stand in a header.

Pure functions over text; what a reader can see stays as it is, and so does the number of lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

# Unicode's Default_Ignorable_Code_Point but for variation selectors, controls, separators of lines, halves of pairs.
_NOT_SHOWN = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTOR = r"\ufe00-\ufe0f"
# Runs of variation selectors carry hidden bytes; a single one only chooses between two looks of an emoji.
_UNSEEN = re.compile(rf"[{_NOT_SHOWN}]|\r(?!\n)|[{_SELECTOR}]{{2,}}")
_SKIPPED = re.compile(rf"[{_NOT_SHOWN}{_SELECTOR}]|\r(?!\n)")
_SEEN = bytes(c for c in range(128) if (c >= 0x20 or c in b"\t\n") and c != 0x7F)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> tuple[str, dict[str, int]]:
    """Each character that cannot be seen or that turns the direction of writing as "⟦U+202E⟧".

    Tabs and line ends stay.  Also gives the number of characters by class: "control", "zero width",
    "bidi control", "tag character", "surrogate".
    """
    if _is_plain(text, _UNSEEN):
        return text, {}
    counts: Counter[str] = Counter(name for _, name in unseen(text))
    return _UNSEEN.sub(lambda found: _escaped(found.group()), text), dict(counts)


def seen_through(text: str) -> str:
    """The text without invisible characters: what a model may well read.  Lines stay."""
    return text if _is_plain(text, _SKIPPED) else _SKIPPED.sub("", text)


def _is_plain(text: str, hidden: re.Pattern[str]) -> bool:
    """Whether certainly all can be seen: told at a glance by the few characters that are not plain ASCII."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _SEEN)
    return not rest or not hidden.search(rest.decode("utf-8", "surrogatepass"))


def _escaped(characters: str) -> str:
    return "".join(f"⟦U+{ord(c):04X}⟧" for c in characters)


def unseen(text: str) -> Iterator[tuple[int, str]]:
    """(line, class) of each invisible character."""
    line, at = 0, 0
    for found in _UNSEEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        for character in found.group():
            yield line, _class(character)


def _class(character: str) -> str:
    if character in _BIDI:
        return "bidi control"
    if character < "\xa0":
        return "control"
    if "\ud800" <= character <= "\udfff":
        return "surrogate"
    return "tag character" if character >= "\U000e0000" else "zero width"


@lru_cache(maxsize=1 << 12)
def header_text(value: str) -> str:
    """A path or a name as it may stand between the quotes of a header: one line that cannot end it.

    `&`, `<`, `>` and `"` become XML entities; tabs, line ends, invisible characters and "⟦" the visible
    escape, so that the value can be had back: undo the escapes, then the entities.
    """
    value = re.sub(r"[⟦\t\r\n]", lambda found: _escaped(found.group()), value)
    value = visible(value)[0]
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
