"""Prose of a project, by its headings: readmes, guides, notes on the design.

Pure functions of text; badges, banners and comments are no prose.
"""

from __future__ import annotations

import re

from msgspec import Struct

from promptls.index.clipping import clipped

MOST_CHARACTERS = 200_000
_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc|org))?", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r"(=|-|~){3,}[ \t]*")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_LINKED_IMAGE = re.compile(
    r"\[?!\[[^\]\n]{0,200}\](?:\([^)\n]{0,500}\)|\[[^\]\n]{0,200}\])(?:\]\([^)\n]{0,500}\)|\]\[[^\]\n]{0,200}\])?"
)
_COMMENT = re.compile(r"<!--.{0,500}?-->", re.DOTALL)
_TAG = re.compile(r"</?(?!https?:)[A-Za-z][^<>]{0,500}>")
_APPARATUS = re.compile(
    r"[ \t]*(?:\.\. (?:image|figure|rst-class|raw|toctree|module|currentmodule|_[^:\n]{1,100}):.*|:\w[\w-]*:(?: .*)?"
    r"|\[[^\]\n]{1,200}\]:[ \t]*\S.*)"
)
_NO_PROSE = re.compile(r"\s*(?:\.\. .*|\[[^\]\n]{1,200}\]:.*|:\w+:.*|[-=*_ ]{3,}|\|.*)?")
_END = re.compile(r"[.!?…][\"')\]]*(?=\s)|(?=\n[ \t]*(?:\n|[-*+#|>`]|\d{1,3}[.)]| {4}))")


class Part(Struct, frozen=True):
    """A heading and what stands below it, up to the next heading."""

    title: str  # "" for what stands before the first
    level: int
    text: str


class Opening(Struct, frozen=True):
    """What a readme says first."""

    title: str
    paragraph: str


def is_readme(name: str) -> bool:
    return _README.fullmatch(name.rsplit("/", 1)[-1]) is not None


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a text in Markdown or reStructuredText, in order; headings inside of fences are none."""
    parts: list[Part] = []
    title, level, lines, fence = "", 0, list[str](), ""
    for line in _COMMENT.sub("", text[:MOST_CHARACTERS]).split("\n"):
        mark = _FENCE.match(line)
        if mark is not None:
            fence = "" if fence == mark[1] else fence or mark[1]
        heading = _HEADING.fullmatch(line) if not fence else None
        if not fence and heading is None and _underlines(lines, line):
            name = lines.pop().strip()
            parts.append(_part(title, level, lines))
            title, level, lines = name, 1 if line[0] == "=" else 2, []
        elif heading is not None:
            parts.append(_part(title, level, lines))
            title, level, lines = heading[2].rstrip("# \t"), len(heading[1]), []
        else:
            lines.append(line if fence or mark is not None else _bare(line))
    parts.append(_part(title, level, lines))
    return tuple(part for part in parts if part.title or part.text)


def _underlines(before: list[str], line: str) -> bool:
    """Whether a line makes a heading of the one above, which must be a line by itself."""
    if not before or not before[-1].strip() or _UNDERLINE.fullmatch(line) is None:
        return False
    return len(before) == 1 or not before[-2].strip() or _UNDERLINE.fullmatch(before[-2]) is not None


def _bare(line: str) -> str:
    """A line of prose without banners, badges and link definitions."""
    if _APPARATUS.fullmatch(line):
        return ""
    line = _LINKED_IMAGE.sub("", line)
    return (_TAG.sub("", line) if line.lstrip().startswith("<") else line).rstrip()


def _part(title: str, level: int, lines: list[str]) -> Part:
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line)
    return Part(_bare(title).strip(), level, "\n".join(kept).strip("\n"))


def opening(text: str) -> Opening:
    """The first heading and the first paragraph of prose."""
    parts = parts_of(text)
    title = next((part.title for part in parts if part.title), "")
    for part in parts[:6]:
        for paragraph in part.text.split("\n\n"):
            lines = [line.strip() for line in paragraph.split("\n")]
            if lines and not any(_NO_PROSE.fullmatch(line) or line.startswith(("```", "- ", "* ")) for line in lines):
                return Opening(title, cut(" ".join(lines), 400))
    return Opening(title, "")


def cut(text: str, most: int) -> str:
    """At most `most` characters, ended after a paragraph, a sentence or an item; within one only if it is too long."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at = head.rfind("\n\n")
    if at < most // 2:
        at = max(at, max((found.end() for found in _END.finditer(head)), default=-1))
    if at < most // 4:
        at = max(at, head.rfind("\n"), head.rfind(" "))
    return head[:at].rstrip() + "…" if at > 0 else clipped(text, most)
