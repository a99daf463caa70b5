"""Formats mentions of paths, lines and symbols: the inverse of the grammar.

Every result is verified by parsing it again, so an inserted mention always resolves to the chosen target.
Pure functions without access to the workspace.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import product

from promptls.mentions.syntax.grammar import CORE_KEYWORDS, Keywords, full_argument, parse
from promptls.mentions.syntax.line_syntax import LAST_LINE
from promptls.model import Span

_UNREPRESENTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories that no mention can contain: control characters, surrogates, line and paragraph separators."""

_SEPARATORS = ":#"
"""Characters between a root, a path and a symbol."""

_FOLLOWING_WORD = " x"
"""Text put behind a mention before parsing: the result must not depend on the end of the message."""


def format_mention(
    path: str = "",
    root: str = "",
    *,
    folder: bool = False,
    lines: Span | None = None,
    symbol: str = "",
    keywords: Keywords = CORE_KEYWORDS,
) -> str | None:
    """Return the shortest mention of a relative path, of lines or a symbol in it, or of a symbol alone.

    Returns:
        None if no mention can represent it, because of a line break or more than 250 characters.
    """
    return _format(path, root, folder, lines, symbol, tuple(sorted(keywords.items())))


def format_argument_mention(keyword: str, argument: str) -> str | None:
    """Return the mention of a keyword with an argument, quoted if necessary, or None if it is impossible."""
    for text in (f"@{keyword}:{argument}", f"@{keyword}:{_quote(argument)}"):
        mentions = parse(text + _FOLLOWING_WORD, {keyword: "required"})
        if len(mentions) != 1:
            continue
        mention = mentions[0]
        if (mention.text, mention.kind, full_argument(mention)) == (text, keyword, argument):
            return text
    return None


def mention_to_argument(text: str) -> str:
    """Convert a mention of a path or symbol to an argument: `@"src/my cart.py"#total` to "src/my cart.py#total"."""
    (mention,) = parse(text, {})
    scope = (f"{mention.root}:" if mention.root else "") + mention.scope
    separator = "#" if scope and mention.kind == "symbol" else ""
    return f"{scope}{separator}{mention.target}" + ("/" if mention.kind == "folder" else "")


@lru_cache(maxsize=1 << 12)
def _format(
    path: str, root: str, folder: bool, lines: Span | None, symbol: str, keywords: tuple[tuple[str, str], ...]
) -> str | None:
    if any(unicodedata.category(char) in _UNREPRESENTABLE for char in path + root + symbol):
        return None
    tail = "" if lines is None else ":" + (lines.label if lines.end != LAST_LINE else f"{lines.start + 1}-")
    slash = "/" if folder and path else ""
    prefixes = [f"{root}:", f"{_quote(root)}:"] if root else [""]
    names = [path + slash, _quote(path + slash), _quote("./" + path + slash)] if path else [""]
    if path.strip(_SEPARATORS) != path:
        names = names[1:]  # without quotes, the workspace would decide where the path begins or ends
    symbols = [f"#{symbol}", f"#{_quote(symbol)}"] if symbol else [""]
    kind = "symbol" if symbol else "folder" if slash else "file" if path else "workspace"
    keyword_table = dict(keywords)
    for prefix, name, symbol_part in product(prefixes, names, symbols):
        text = f"@{prefix}{name}{symbol_part}{tail}"
        mentions = parse(text + _FOLLOWING_WORD, keyword_table)
        if len(mentions) != 1 or mentions[0].text != text:
            continue
        parsed = mentions[0]
        parsed_path = parsed.scope if symbol else parsed.target
        if (parsed.kind, parsed.root, parsed.lines) != (kind, root, lines) or (symbol and parsed.target != symbol):
            continue
        if parsed_path in (path, "./" + path):
            return text
    return None


def _quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
