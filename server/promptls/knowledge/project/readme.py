"""Prose of a project, by its headings: readmes, guides, notes on the design.

Pure functions of text; badges, banners and comments are no prose.
"""

from __future__ import annotations

import re

from msgspec import Struct

from promptls.util.truncate import clipped

MOST_CHARACTERS = 200_000
_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc|org))?", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r"(=|-|~){3,}[ \t]*")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINKED_IMAGE = re.compile(
    r"\[?!\[[^\]]{0,200}\](?:\([^)]{0,500}\)|\[[^\]]{0,200}\])(?:\]\([^)]{0,500}\)|\]\[[^\]]{0,200}\])?"
)
_HTML_HEADING = re.compile(r"^[ \t]*<h([1-6])\b[^<>]{0,500}>(.{0,500}?)</h\1>", re.DOTALL | re.MULTILINE | re.I)
_ASCIIDOC = re.compile(r"\s*=[ \t]+\w")
_TO_MARKDOWN = tuple(
    (re.compile(pattern, re.MULTILINE), by)
    for pattern, by in (
        (r"^(={1,6})(?=[ \t]+\w)", lambda found: "#" * len(found[1])),
        (r"^(?:-{4,}|\.{4,}|\+{4,})[ \t]*$", "```"),
        (r"^\[[^\]\n]{0,200}\][ \t]*$", ""),
        (r"image::?[^\s\[]{1,500}\[[^\]\n]{0,500}\]", ""),
        (r"(?:link:)?(https?://[^\s\[]{1,500})\[([^\]\n]{1,300})\]", r"[\2](\1)"),
    )
)
"""What of AsciiDoc is written otherwise in Markdown."""
_LINK = re.compile(
    r"\[([^\]\n]{1,300})\](?:\([^)\n]{0,500}\)|\[[^\]\n]{0,200}\])|`([^`<\n]{1,300}?) ?<[^>\n]{1,500}>`__?"
)
_MARKUP = re.compile(
    r"</?(?:a|b|i|u|p|br|hr|em|h\d|img|div|sub|sup|kbd|code|font|span|small|strong|center|picture|source)\b[^<>]{0,500}>",
    re.I,
)
_QUOTED = re.compile(r"(?:>[ \t]*)+(?:#{1,6}[ \t]+)?")
_BAR = re.compile(r"(?:[^|]{0,60}\|)+[^|]{0,60}")
"""A line of links: "Docs | Chat | English"."""
_SECTION = re.compile(
    r"(?:about|(?:quick |getting )?start(?:ed)?|quickstart|intro(?:duction)?|overview|install(?:ation|ing)?|usage"
    r"|features|(?:table of )?contents|documentation|read ?me|licen[cs]e|welcome|what is)\b",
    re.I,
)
"""A heading that names no project."""
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
    """The parts of a text in Markdown, reStructuredText or AsciiDoc, in order; headings inside of fences are none."""
    parts: list[Part] = []
    title, level, lines, fence = "", 0, list[str](), ""
    for line in _simpler(_COMMENT.sub("", text[:MOST_CHARACTERS])).split("\n"):
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


def _simpler(text: str) -> str:
    """A text without images that reach over lines, its first headings and all of AsciiDoc as in Markdown."""
    if _ASCIIDOC.match(text):
        for pattern, by in _TO_MARKDOWN:
            text = pattern.sub(by, text)
    text = _LINKED_IMAGE.sub(lambda found: "" if "\n" in found[0] else found[0], text)
    head, fence, rest = text.partition("\n```")
    return (
        _HTML_HEADING.sub(lambda found: f"\n{'#' * int(found[1])} {' '.join(found[2].split())}\n", head) + fence + rest
    )


def _plain(text: str) -> str:
    """A line without images, tags and the targets of links."""
    return _LINK.sub(lambda found: found[1] or found[2], _MARKUP.sub("", _LINKED_IMAGE.sub("", text))).strip()


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
    return Part(_plain(title), level, "\n".join(kept).strip("\n"))


def opening(text: str) -> Opening:
    """The title, "" where the text begins with something else, and the first paragraph of prose."""
    parts = parts_of(text)
    named = bool(parts) and parts[0].level == 1 and _SECTION.match(parts[0].title) is None
    title = parts[0].title.replace("`", "").replace("*", "") if named else ""
    for part in parts[:6]:
        for paragraph in re.split(r"\n{2,}", _FENCED.sub("\n", part.text)):
            lines = [line.strip() for line in paragraph.strip("\n").split("\n")]
            if lines[0].startswith("> [!") or any(map(_is_no_prose, lines)):
                continue
            said = _plain(" ".join(_QUOTED.sub("", line) if line.startswith(">") else line for line in lines))
            said = said.replace("**", "")
            if said and _BAR.fullmatch(said) is None:
                return Opening(title, cut(said, 400))
    return Opening(title, "")


def _is_no_prose(line: str) -> bool:
    return line.startswith(("- ", "* ")) or _NO_PROSE.fullmatch(line) is not None


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
