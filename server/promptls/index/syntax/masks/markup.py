"""Masks of templates: the code in script elements, front matter, Svelte snippets and Razor blocks."""

from __future__ import annotations

import re

from promptls.index.syntax.masks.c_conditionals import BLANK

_SCRIPT_START = re.compile(rb"<script\b([^>]{0,2000})>", re.IGNORECASE)
_SCRIPT_END = re.compile(rb"</script\s*>", re.IGNORECASE)
_DATA_SCRIPT = re.compile(
    rb"\btype\s*=\s*[\"']?(?!module\b|text/(?:javascript|babel|typescript)|application/(?:x-)?javascript)\w",
    re.IGNORECASE,
)
"""Attributes of a script element whose content is data or a template."""

_FRONT_MATTER = re.compile(rb"\A\s*---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_RAZOR_BLOCK = re.compile(rb"@(?:code|functions)\s*\{")
_CSHARP_TOKEN = re.compile(
    rb"@\"(?:[^\"]|\"\")*(?:\"|\Z)|\"(?:[^\"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*|//[^\n]*|/\*.*?(?:\*/|\Z)|@?[{}]", re.DOTALL
)
_SNIPPET = re.compile(rb"\{(?:#snippet\s+\w+\s*\([^\n]{0,300}?\)\s*|/snippet)\}")
"""Beginning or end of a Svelte snippet."""


def scripts_only(data: bytes, with_front_matter: bool = False) -> bytes:
    """Blank everything outside of the script elements of markup, except the heads of snippets and the front matter."""
    front_matter = _FRONT_MATTER.match(data) if with_front_matter else None
    pieces: list[bytes] = []
    position = 0
    if front_matter is not None:
        pieces += _snippets_only(data[: front_matter.start(1)]), front_matter.group(1)
        position = front_matter.end(1)
    while (start := _SCRIPT_START.search(data, position)) is not None:
        end = _SCRIPT_END.search(data, start.end())
        if end is None:
            break
        if _DATA_SCRIPT.search(start.group(1)) is None:
            pieces += _snippets_only(data[position : start.end()]), data[start.end() : end.start()]
        else:
            pieces.append(_snippets_only(data[position : end.start()]))
        position = end.start()
    return b"".join([*pieces, _snippets_only(data[position:])])


def _snippets_only(markup: bytes) -> bytes:
    """Blank markup, and turn each Svelte snippet into a function without content."""
    blank = markup.translate(BLANK)
    if b"{#snippet" not in markup:
        return blank
    functions = bytearray(blank)
    opened: list[tuple[int, int]] = []
    for match in _SNIPPET.finditer(markup):
        start, end = match.span()
        if markup[start + 1 : start + 2] == b"#":
            opened.append((start, end))
        elif opened:
            head, body = opened.pop()
            functions[head:body] = b"function " + markup[head + len("{#snippet") : body - 1] + b"{"
            functions[start : start + 1] = b"}"
    return bytes(functions)


def razor_blocks_only(data: bytes) -> bytes:
    """Blank everything outside of the code blocks of a Razor template, and make each block a class "_".

    The head of the class replaces blanks before the block. The members of a block that begins the file stay at top
    level.
    """
    masked = bytearray(data.translate(BLANK))
    position = 0
    while (match := _RAZOR_BLOCK.search(data, position)) is not None:
        end = _block_end(data, match.end() - 1)
        room = masked.rfind(b"     ", position, match.start())
        if room >= 0:
            masked[room : room + 5], masked[match.start()] = b"class", ord("_")  # an "@" in the text
            masked[match.end() - 1 : end] = data[match.end() - 1 : end]
        else:
            masked[match.end() : max(match.end(), end - 1)] = data[match.end() : max(match.end(), end - 1)]
        position = end
    return bytes(masked)


def _block_end(data: bytes, brace: int) -> int:
    """Return the end of the C# block that a brace opens, the end of the text if it is not closed."""
    depth = 0
    for token in _CSHARP_TOKEN.finditer(data, brace):
        if token.group() in (b"{", b"@{"):
            depth += 1
        elif token.group() == b"}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(data)
