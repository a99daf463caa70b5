"""Code in Markdown: fences that their content cannot close, headers on one line."""

from __future__ import annotations

import re

from promptls.languages.table import language_of
from promptls.prompt.pack import Kept
from promptls.prompt.render import Renderer, named
from promptls.prompt.sanitize import header_text

_RUNS = re.compile(r"`{3,}")


def fenced(body: str, info: str = "") -> str:
    """The body between backticks, more of them than stand together anywhere in it."""
    ticks = "`" * max(3, 1 + max(map(len, _RUNS.findall(body)), default=0))
    return f"{ticks}{info}\n{body}\n{ticks}"


def code(kept: Kept, info: str | None = None) -> str:
    """A block's text, fenced, with its language unless `info` says something else; what is only named is quoted."""
    if kept.block.form == "reference":
        return f"> {header_text(kept.block.body)}"  # a name can be a sentence
    return fenced(kept.block.body, language(kept) if info is None else info)


def language(kept: Kept) -> str:
    """The language of a block's file, "" for plain text and folders."""
    name = "" if kept.block.item.kind == "folder" else language_of(kept.block.item.path, "")
    return "" if name == "text" else name


def name(kept: Kept) -> str:
    """The block's definition as a header may show it, "" for none."""
    return header_text(named(kept.block.item.symbol))


def path(kept: Kept, renderer: Renderer) -> str:
    """The block's file as a header may show it."""
    return header_text(renderer.label(kept.block.item.path))


def lines(kept: Kept) -> str:
    """ "12-20, 31", "" where no lines of a file are shown."""
    return ", ".join(span.label for span in kept.block.spans)


def place(kept: Kept, renderer: Renderer) -> str:
    """ "src/a.py:12-20" """
    shown = lines(kept)
    return f"{path(kept, renderer)}:{shown}" if shown else path(kept, renderer)


def cited(kept: Kept, citation: str, renderer: Renderer) -> str:
    """ "[P1] source: src/a.py:12-20" with its line end, "" without a citation.

    A line before the text: as an attribute of a tag, labels made attune's answers three times less faithful.
    """
    return f"[{citation}] source: {place(kept, renderer)}\n" if citation else ""
