"""From a target back to the mention that names it: the inverse of the grammar.

Every spelling is proved by parsing it again, so what completion inserts and what an outcome offers as a
candidate is read back as exactly that target.  Pure; knows nothing of the workspace.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import product

from promptls.mentions.grammar import LAST_LINE, WORDS, Words, argument, parse
from promptls.model import Span

_UNSPEAKABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, halves of surrogate pairs, line and paragraph separators: no mention can hold them."""


def spell(
    path: str = "",
    root: str = "",
    *,
    folder: bool = False,
    lines: Span | None = None,
    symbol: str = "",
    words: Words = WORDS,
) -> str | None:
    """The shortest mention of a path (relative, forward slashes), of lines or a symbol in it, or of a symbol alone.

    None for what no mention can say: a line break in the name, or more than 250 characters.
    """
    return _spell(path, root, folder, lines, symbol, tuple(sorted(words.items())))


def spell_argument(word: str, written: str) -> str | None:
    """The mention of a kind with an argument, in quotes where it needs them; None if no mention can say it."""
    for text in (f"@{word}:{written}", f"@{word}:{_quote(written)}"):
        found = parse(text + " x", {word: "required"})
        if len(found) == 1 and (found[0].text, found[0].kind, argument(found[0])) == (text, word, written):
            return text
    return None


def unspelled(text: str) -> str:
    """What a mention of a path or symbol names, as an argument says it: "src/my cart.py#total" of `@"src/…"#total`."""
    (mention,) = parse(text, {})
    where = (f"{mention.root}:" if mention.root else "") + mention.scope
    sharp = "#" if where and mention.kind == "symbol" else ""
    return f"{where}{sharp}{mention.target}" + ("/" if mention.kind == "folder" else "")


@lru_cache(maxsize=1 << 12)
def _spell(
    path: str, root: str, folder: bool, lines: Span | None, symbol: str, words: tuple[tuple[str, str], ...]
) -> str | None:
    if any(unicodedata.category(char) in _UNSPEAKABLE for char in path + root + symbol):
        return None
    tail = "" if lines is None else ":" + (lines.label if lines.end != LAST_LINE else f"{lines.start + 1}-")
    slash = "/" if folder and path else ""
    prefixes = [f"{root}:", f"{_quote(root)}:"] if root else [""]
    names = [path + slash, _quote(path + slash), _quote("./" + path + slash)] if path else [""]
    symbols = [f"#{symbol}", f"#{_quote(symbol)}"] if symbol else [""]
    kind = "symbol" if symbol else "folder" if slash else "file" if path else "workspace"
    known = dict(words)
    for prefix, name, end in product(prefixes, names, symbols):
        text = f"@{prefix}{name}{end}{tail}"
        # A word behind it: what is read must not depend on standing at the end of the text.
        found = parse(text + " x", known)
        if len(found) != 1 or found[0].text != text:
            continue
        got = found[0]
        place = got.scope if symbol else got.target
        if (got.kind, got.root, got.lines) != (kind, root, lines) or (symbol and got.target != symbol):
            continue
        if place in (path, "./" + path):
            return text
    return None


def _quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
