"""Sections of a rule file: splits the text at headings, resolves imports and removes comments.

Pure functions of text; the caller decides which files may be imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

MAX_UNSPLIT_CHARACTERS = 1_200
"""Maximum length in characters of a text that is not split."""
MERGE_CHARACTERS = 800
"""Length in characters up to which consecutive sections of a longer text are merged."""
MAX_IMPORTS = 8
"""Maximum number of imports of a rule file."""

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_IMPORT = re.compile(r"\s*(?:[-*+]\s+)?@([^\s`@]+\.(?:md|mdc|markdown|txt|rst))\s*", re.IGNORECASE)

Importer = Callable[[str], "tuple[str, str] | str"]
"""Maps an import path to (label, text), or to the reason why it cannot be imported."""


class RuleSection(Struct, frozen=True):
    """A section of a rule file."""

    text: str
    label: str  # label of the file that contains the text


def split_sections(text: str, label: str, importer: Importer) -> tuple[list[RuleSection], list[str]]:
    """Return the sections of a rule file, and messages about failed imports.

    An import is a line with only "@docs/style.md", optionally as a list item, outside of code.  The text of the file
    replaces the line; imports in that text are not resolved.
    """
    out: list[RuleSection] = []
    messages: list[str] = []
    lines: list[str] = []
    count = 0
    for line, code in _lines_with_fences(strip_comments(text)):
        imported = None if code else _IMPORT.fullmatch(line)
        if imported is None:
            lines.append(line)
            continue
        count += 1
        content = importer(imported[1]) if count <= MAX_IMPORTS else f"only {MAX_IMPORTS} imports are resolved"
        if isinstance(content, str):
            messages.append(f"cannot import @{imported[1]}: {content}.")
            lines.append(line)
            continue
        out += [RuleSection(piece, label) for piece in split_text("\n".join(lines))]
        lines = []
        out += [RuleSection(piece, content[0]) for piece in split_text(strip_comments(content[1]))]
    return [*out, *(RuleSection(piece, label) for piece in split_text("\n".join(lines)))], messages


def split_text(text: str) -> list[str]:
    """Split a long text before headings; a heading stays together with its text."""
    text = text.strip("\n").rstrip()
    if len(text) <= MAX_UNSPLIT_CHARACTERS:
        return [text] if text.strip() else []
    parts: list[list[str]] = [[]]
    for line, code in _lines_with_fences(text):
        if not code and _HEADING.match(line):
            parts.append([])
        parts[-1].append(line)
    out: list[str] = []
    headings = ""  # headings without text so far
    for part in parts:
        body = "\n".join(part).strip("\n").rstrip()
        if "\n" not in body and _HEADING.match(body):
            headings += body + "\n\n"
            continue
        body, headings = headings + body, ""
        if out and len(out[-1]) + len(body) < MERGE_CHARACTERS:
            out[-1] += "\n\n" + body
        elif body:
            out.append(body)
    return [*out, headings.rstrip()] if headings else out


def strip_comments(text: str) -> str:
    """Remove HTML comments that begin a line, "<!-- … -->"; readers of the rendered text do not see them."""
    if "<!--" not in text:
        return text
    out: list[str] = []
    inside = False
    for line, code in _lines_with_fences(text):
        if not inside and (code or not line.lstrip().startswith("<!--")):
            out.append(line)
            continue
        _, closed, rest = (line if inside else line.lstrip()[4:]).partition("-->")
        inside = not closed
        if rest.strip():
            out.append(rest.lstrip())
    return "\n".join(out)


def _lines_with_fences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a fenced code block."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)
