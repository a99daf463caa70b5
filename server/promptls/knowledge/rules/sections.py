"""A rules file as passages: its text in pieces that make sense alone, imports put in, comments for people left out.

Pure functions of text; who may be imported is the caller's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

WHOLE = 1_200
"""Characters up to which a file is one passage …"""
PIECE = 800
"""… and up to which the parts of a longer one are joined again."""
MOST_IMPORTS = 8

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_IMPORT = re.compile(r"\s*(?:[-*+]\s+)?@([^\s`@]+\.(?:md|mdc|markdown|txt|rst))\s*", re.IGNORECASE)

Importer = Callable[[str], "tuple[str, str] | str"]
"""The path of an import → (its label, its text), or why it stays as it stands."""


class Passage(Struct, frozen=True):
    """A piece of a rules file."""

    text: str
    label: str  # of the file that it stands in


def passages(text: str, label: str, importer: Importer) -> tuple[list[Passage], list[str]]:
    """The passages of a rules file in order, and what could not be imported, as sentences.

    A line that is nothing but "@docs/style.md" (also as an item of a list), outside of code, is an import:
    the file's text takes its place, one level deep.  An "@name" within a sentence stays as it is.
    """
    out: list[Passage] = []
    troubles: list[str] = []
    own: list[str] = []
    count = 0
    for line, code in _lines(without_comments(text)):
        asked = None if code else _IMPORT.fullmatch(line)
        if asked is None:
            own.append(line)
            continue
        count += 1
        got = importer(asked[1]) if count <= MOST_IMPORTS else f"only {MOST_IMPORTS} imports are followed"
        if isinstance(got, str):
            troubles.append(f"@{asked[1]} stays as it is: {got}.")
            own.append(line)
            continue
        out += [Passage(piece, label) for piece in pieces("\n".join(own))]
        own = []
        out += [Passage(piece, got[0]) for piece in pieces(without_comments(got[1]))]
    return [*out, *(Passage(piece, label) for piece in pieces("\n".join(own)))], troubles


def pieces(text: str) -> list[str]:
    """A text as it is if it is short, else cut before its headings; no heading is left without what it heads."""
    text = text.strip("\n").rstrip()
    if len(text) <= WHOLE:
        return [text] if text.strip() else []
    parts: list[list[str]] = [[]]
    for line, code in _lines(text):
        if not code and _HEADING.match(line):
            parts.append([])
        parts[-1].append(line)
    out: list[str] = []
    above = ""  # headings that nothing has followed yet
    for part in parts:
        body = "\n".join(part).strip("\n").rstrip()
        if "\n" not in body and _HEADING.match(body):
            above += body + "\n\n"
            continue
        body, above = above + body, ""
        if out and len(out[-1]) + len(body) < PIECE:
            out[-1] += "\n\n" + body
        elif body:
            out.append(body)
    return [*out, above.rstrip()] if above else out


def without_comments(text: str) -> str:
    """The text without the comments that begin a line, "<!-- … -->": a reader of the page does not see them."""
    if "<!--" not in text:
        return text
    out: list[str] = []
    inside = False
    for line, code in _lines(text):
        if not inside and (code or not line.lstrip().startswith("<!--")):
            out.append(line)
            continue
        _, closed, rest = (line if inside else line.lstrip()[4:]).partition("-->")
        inside = not closed
        if rest.strip():
            out.append(rest.lstrip())
    return "\n".join(out)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """(line, whether it belongs to a fenced block of code)"""
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
