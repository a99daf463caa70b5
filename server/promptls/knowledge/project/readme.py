"""Readme parsing: splits readmes and guides into sections by headings, without badges, banners and comments.

Supports Markdown, reStructuredText and AsciiDoc.  Pure functions of text.
"""

from __future__ import annotations

import re

from msgspec import Struct

from promptls.util.truncate import truncate_words

MAX_CHARACTERS = 200_000
"""Maximum number of characters parsed; bounds the time."""
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
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"^(={1,6})(?=[ \t]+\w)", lambda found: "#" * len(found[1])),
        (r"^(?:-{4,}|\.{4,}|\+{4,})[ \t]*$", "```"),
        (r"^\[[^\]\n]{0,200}\][ \t]*$", ""),
        (r"image::?[^\s\[]{1,500}\[[^\]\n]{0,500}\]", ""),
        (r"(?:link:)?(https?://[^\s\[]{1,500})\[([^\]\n]{1,300})\]", r"[\2](\1)"),
    )
)
"""Substitutions from AsciiDoc to Markdown."""
_LINK = re.compile(
    r"\[([^\]\n]{1,300})\](?:\([^)\n]{0,500}\)|\[[^\]\n]{0,200}\])|`([^`<\n]{1,300}?) ?<[^>\n]{1,500}>`__?"
)
_MARKUP = re.compile(
    r"</?(?:a|b|i|u|p|br|hr|em|h\d|img|div|sub|sup|kbd|code|font|span|small|strong|center|picture|source)\b[^<>]{0,500}>",
    re.I,
)
_QUOTED = re.compile(r"(?:>[ \t]*)+(?:#{1,6}[ \t]+)?")
_LINK_BAR = re.compile(r"(?:[^|]{0,60}\|)+[^|]{0,60}")
"""A line of links separated by bars: "Docs | Chat | English"."""
_GENERIC_TITLE = re.compile(
    r"(?:about|(?:quick |getting )?start(?:ed)?|quickstart|intro(?:duction)?|overview|install(?:ation|ing)?|usage"
    r"|features|(?:table of )?contents|documentation|read ?me|licen[cs]e|welcome|what is)\b",
    re.I,
)
"""Headings that are not the name of a project."""
_COMMENT = re.compile(r"<!--.{0,500}?-->", re.DOTALL)
_TAG = re.compile(r"</?(?!https?:)[A-Za-z][^<>]{0,500}>")
_DIRECTIVE = re.compile(
    r"[ \t]*(?:\.\. (?:image|figure|rst-class|raw|toctree|module|currentmodule|_[^:\n]{1,100}):.*|:\w[\w-]*:(?: .*)?"
    r"|\[[^\]\n]{1,200}\]:[ \t]*\S.*)"
)
_NOT_PROSE = re.compile(r"\s*(?:\.\. .*|\[[^\]\n]{1,200}\]:.*|:\w+:.*|[-=*_ ]{3,}|\|.*)?")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]]*(?=\s)|(?=\n[ \t]*(?:\n|[-*+#|>`]|\d{1,3}[.)]| {4}))")


class DocumentSection(Struct, frozen=True):
    """A heading and the text up to the next heading."""

    title: str  # "" for text before the first heading
    level: int
    text: str


class ReadmeOpening(Struct, frozen=True):
    """Title and first paragraph of a readme."""

    title: str
    paragraph: str


def is_readme(name: str) -> bool:
    """Return true for file names of readmes."""
    return _README.fullmatch(name.rsplit("/", 1)[-1]) is not None


def split_document(text: str) -> tuple[DocumentSection, ...]:
    """Split a text in Markdown, reStructuredText or AsciiDoc at headings outside of fenced blocks."""
    sections: list[DocumentSection] = []
    title, level, lines, fence = "", 0, list[str](), ""
    for line in _normalize_markup(_COMMENT.sub("", text[:MAX_CHARACTERS])).split("\n"):
        fence_match = _FENCE.match(line)
        if fence_match is not None:
            fence = "" if fence == fence_match[1] else fence or fence_match[1]
        heading = _HEADING.fullmatch(line) if not fence else None
        if not fence and heading is None and _is_heading_underline(lines, line):
            name = lines.pop().strip()
            sections.append(_make_section(title, level, lines))
            title, level, lines = name, 1 if line[0] == "=" else 2, []
        elif heading is not None:
            sections.append(_make_section(title, level, lines))
            title, level, lines = heading[2].rstrip("# \t"), len(heading[1]), []
        else:
            lines.append(line if fence or fence_match is not None else _strip_line_markup(line))
    sections.append(_make_section(title, level, lines))
    return tuple(section for section in sections if section.title or section.text)


def _normalize_markup(text: str) -> str:
    """Convert AsciiDoc and the first HTML headings to Markdown, and remove multi-line images."""
    if _ASCIIDOC.match(text):
        for pattern, replacement in _TO_MARKDOWN:
            text = pattern.sub(replacement, text)
    text = _LINKED_IMAGE.sub(lambda found: "" if "\n" in found[0] else found[0], text)
    head, fence, rest = text.partition("\n```")
    return (
        _HTML_HEADING.sub(lambda found: f"\n{'#' * int(found[1])} {' '.join(found[2].split())}\n", head) + fence + rest
    )


def _strip_inline_markup(text: str) -> str:
    """Remove images, tags and link targets from a line."""
    return _LINK.sub(lambda found: found[1] or found[2], _MARKUP.sub("", _LINKED_IMAGE.sub("", text))).strip()


def _is_heading_underline(before: list[str], line: str) -> bool:
    """Return true if a line underlines the line above, which must be a paragraph of one line."""
    if not before or not before[-1].strip() or _UNDERLINE.fullmatch(line) is None:
        return False
    return len(before) == 1 or not before[-2].strip() or _UNDERLINE.fullmatch(before[-2]) is not None


def _strip_line_markup(line: str) -> str:
    """Remove banners, badges and link definitions from a line."""
    if _DIRECTIVE.fullmatch(line):
        return ""
    line = _LINKED_IMAGE.sub("", line)
    return (_TAG.sub("", line) if line.lstrip().startswith("<") else line).rstrip()


def _make_section(title: str, level: int, lines: list[str]) -> DocumentSection:
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line)
    return DocumentSection(_strip_inline_markup(title), level, "\n".join(kept).strip("\n"))


def read_opening(text: str) -> ReadmeOpening:
    """Return the title, or "" if the text does not begin with one, and the first paragraph of prose."""
    sections = split_document(text)
    has_title = bool(sections) and sections[0].level == 1 and _GENERIC_TITLE.match(sections[0].title) is None
    title = sections[0].title.replace("`", "").replace("*", "") if has_title else ""
    for section in sections[:6]:
        for paragraph in re.split(r"\n{2,}", _FENCED.sub("\n", section.text)):
            lines = [line.strip() for line in paragraph.strip("\n").split("\n")]
            if lines[0].startswith("> [!") or any(map(_is_not_prose, lines)):
                continue
            paragraph_text = _strip_inline_markup(
                " ".join(_QUOTED.sub("", line) if line.startswith(">") else line for line in lines)
            )
            paragraph_text = paragraph_text.replace("**", "")
            if paragraph_text and _LINK_BAR.fullmatch(paragraph_text) is None:
                return ReadmeOpening(title, truncate_text(paragraph_text, 400))
    return ReadmeOpening(title, "")


def _is_not_prose(line: str) -> bool:
    return line.startswith(("- ", "* ")) or _NOT_PROSE.fullmatch(line) is not None


def truncate_text(text: str, max_characters: int) -> str:
    """Truncate a text after a paragraph, sentence or list item; within a sentence only if it is too long."""
    if len(text) <= max_characters:
        return text
    head = text[: max_characters - 1]
    at = head.rfind("\n\n")
    if at < max_characters // 2:
        at = max(at, max((found.end() for found in _SENTENCE_END.finditer(head)), default=-1))
    if at < max_characters // 4:
        at = max(at, head.rfind("\n"), head.rfind(" "))
    return head[:at].rstrip() + "…" if at > 0 else truncate_words(text, max_characters)
