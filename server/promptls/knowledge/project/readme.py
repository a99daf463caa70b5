"""Readme parsing: splits readmes and guides into sections by headings, without badges, banners and comments.

Supports Markdown and reStructuredText.  Pure functions of text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from promptls.util.text.display import truncate_words

MAX_CHARACTERS = 200_000
"""Maximum number of characters parsed; bounds the time."""
MAX_PROSE_CHARACTERS = 40_000
"""Maximum number of characters of a document that are searched for its purpose or summary."""
MAX_SUMMARY_CHARACTERS = 400
"""Maximum number of characters of one paragraph or list in a summary."""
MIN_WORDS = 4
"""Minimum number of words in a paragraph about the purpose, in scripts with spaces."""
MAX_PARAGRAPHS, MAX_LIST_ITEMS = 3, 8
"""Maximum number of paragraphs about the purpose of a project, and of items of one list."""
_README = re.compile(
    r"readme(?P<locale>[._-][a-z]{2,3}(?:[_-][a-z]{2,4})?)??(?P<extension>\.(?:md|markdown|mdx|rst|txt))?",
    re.IGNORECASE,
)
_EXTENSIONS = ("md", "markdown", "mdx", "rst", "", "txt")
"""Extensions of readmes, the preferred one first."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r"(=|-|~){3,}[ \t]*")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINKED_IMAGE = re.compile(
    r"\[?!\[[^\]]{0,200}\](?:\([^)]{0,500}\)|\[[^\]]{0,200}\])(?:\]\([^)]{0,500}\)|\]\[[^\]]{0,200}\])?"
)
_HTML_HEADING = re.compile(r"^[ \t]*<h([1-6])\b[^<>]{0,500}>(.{0,500}?)</h\1>", re.DOTALL | re.MULTILINE | re.I)
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


_COLONS = (":", "\uff1a")
_LIST_ITEM = re.compile(r"[-*+\u2022][ \t]+|\d{1,2}[.)][ \t]+")
_FOOTNOTE = re.compile(r"\[\^[^\]\n]{1,40}\]")
_BARE_LINK = re.compile(r"(?:https?://\S+|\S+@\S+)[.\s]*")
_WORD_CHARACTERS = re.compile(r"\w{2}|[\u3040-\u30ff\u3400-\u9fff]")
_ADVERTISEMENT = re.compile(
    r"\b(?:sponsor(?:s|ed|ship|ships|ing)?|backers?|donat(?:e|es|ion|ions)|patreon|open ?collective|buy me a coffee|ko-fi"
    r"|(?:star|follow) (?:us|this|the|it|me)\b|(?:we(?:'re| are)|now) hiring|join (?:us|our|the) \w+ ?(?:discord|slack|community|chat)?"
    r"|read this in|other languages|translations?:|licen[sc]ed under|all rights reserved|newsletter|special thanks"
    r"|you can install|can be installed|(?:pip|npm|cargo|go|gem) install|(?:main|master|devel\w*|stable)`? branch"
    r"|documentation (?:can be found|is (?:available|at))|made (?:possible|with (?:love|\u2764))|table of contents)\b|\u2b50|\U0001f31f",
    re.IGNORECASE,
)
"""Paragraphs about supporters, the community, translations and the licence."""
_NOT_ABOUT_TITLE = re.compile(
    r"licen[sc]e|sponsor|backer|contribut|credits|acknowledg|star history|stargazer|donat|badge|thanks|support(?:er|ing)?\b"
    r"|contents|\btoc\b|install|download|usage|getting started|quick ?start|example|build|setup|set up|requirement"
    r"|prerequisite|change ?log|release|version|news|roadmap|communit|contact|documentation|\bdocs?\b|links|resources"
    r"|security|code of conduct|faq|test|develop|deploy|migrat|upgrad|author|maintainer|team|status|translation",
    re.IGNORECASE,
)
"""Titles of sections that are not about the purpose of a project."""
_FEATURES_TITLE = re.compile(
    r"features?|highlights|what (?:is|does|can)|why\b|overview|about|key (?:points|concepts)|capabilit|merkmale"
    r"|funciones|fonctionnalit|\u7279\u6027|\u529f\u80fd|\u7279\u5fb4",
    re.IGNORECASE,
)
"""Titles of sections whose list belongs to the purpose of a project."""


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
    """Return true for file names of readmes, translated ones included."""
    return _README.fullmatch(name.rsplit("/", 1)[-1]) is not None


def readme_order(name: str) -> tuple[int, bool, bool, int, str]:
    """Return the sort key of a readme: outermost first, then without a language in the name, then by format."""
    match = _README.fullmatch(name.rsplit("/", 1)[-1])
    locale, extension = match.group("locale", "extension") if match is not None else ("", "")
    locale = (locale or "")[1:].lower()
    preference = _EXTENSIONS.index((extension or "")[1:].lower())
    return name.count("/"), bool(locale), not locale.startswith("en"), preference, name


def split_document(text: str) -> tuple[DocumentSection, ...]:
    """Split a text in Markdown or reStructuredText at headings outside of fenced blocks."""
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
    """Convert the first HTML headings to Markdown, and remove multi-line images."""
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
    paragraph = next((p for section in sections[:6] for p in _paragraphs(section)), "")
    return ReadmeOpening(title, truncate_text(paragraph, 400))


def read_purpose(text: str, max_characters: int = 900) -> str:
    """Return what a readme says about the purpose of the project: its first paragraphs of prose.

    A list belongs to the paragraph that introduces it with a colon, or to a section of features.  Sections about
    installation, use, licence and the like end the prose, and count only if there is none before them.
    """
    kept: list[str] = []
    for section in split_document(text[:MAX_PROSE_CHARACTERS])[:12]:
        if _NOT_ABOUT_TITLE.search(section.title):
            if kept:
                break
            continue
        takes_list = _FEATURES_TITLE.search(section.title) is not None
        if kept and section.title and not takes_list:
            break
        for paragraph in _paragraphs(section, with_lists=True):
            introduced = bool(kept) and kept[-1].endswith(_COLONS)
            if not paragraph.startswith("- "):
                if introduced:
                    kept.pop()  # what it introduces is code or a table
                if sum(not p.startswith("- ") for p in kept) >= MAX_PARAGRAPHS:
                    break
                kept += [paragraph] if len(paragraph.split()) >= MIN_WORDS or not paragraph.isascii() else []
            elif kept and kept[-1].startswith("- "):
                kept[-1] = "\n".join(f"{kept[-1]}\n{paragraph}".split("\n")[:MAX_LIST_ITEMS])
            elif introduced or takes_list:
                kept.append(paragraph)
            if sum(map(len, kept)) >= max_characters:
                break
    if kept and kept[-1].endswith(_COLONS):
        kept.pop()
    purpose = truncate_text("\n\n".join(kept), max_characters)
    return purpose.removesuffix("……") + "…" * purpose.endswith("……") if kept else read_opening(text).paragraph


def read_summary(text: str, max_characters: int) -> str:
    """Return the headings of a document, each with the first paragraph and list below it, without code."""
    kept: list[str] = []
    length = 0
    for section in split_document(text[:MAX_PROSE_CHARACTERS]):
        paragraphs = list(_paragraphs(section, with_lists=True))
        prose = [p for p in paragraphs if not p.startswith("- ")][:1]
        lists = [p for p in paragraphs if p.startswith("- ")][:1]
        if not paragraphs:
            continue
        heading = [f"{'#' * section.level} {truncate_text(section.title, 100)}"] if section.title else []
        part = "\n".join([*heading, *(truncate_text(p, MAX_SUMMARY_CHARACTERS) for p in (*prose, *lists))])
        length += len(part)
        if length > max_characters:
            break
        kept.append(part)
    return "\n".join(kept)


def _paragraphs(section: DocumentSection, with_lists: bool = False) -> Iterator[str]:
    """Yield the paragraphs of prose in a section, without banners, code and advertisements, and optionally its lists."""
    for block in re.split(r"\n[ \t]*\n", _FENCED.sub("\n\n", section.text)):
        raw_lines = [line for line in block.split("\n") if line.strip()]
        if not raw_lines or all(line.startswith(("   ", "\t")) for line in raw_lines):
            continue  # code, or the content of a directive
        lines = [line.strip() for line in raw_lines]
        if _ADVERTISEMENT.search(block[:2000]) or lines[0].startswith("> [!"):
            continue
        if with_lists and _LIST_ITEM.match(lines[0]):
            if text := _list_text(raw_lines):
                yield text
            continue
        if any(map(_is_not_prose, lines)):
            continue
        paragraph = _strip_inline_markup(
            " ".join(_QUOTED.sub("", line) if line.startswith(">") else line for line in lines)
        )
        paragraph = _FOOTNOTE.sub("", paragraph.replace("**", "").replace("|br|", ""))
        is_link = _BARE_LINK.fullmatch(paragraph[:300]) is not None or _LINK_BAR.fullmatch(paragraph) is not None
        if _WORD_CHARACTERS.search(paragraph) is not None and not is_link:
            yield paragraph


def _list_text(lines: list[str]) -> str:
    """Return the first items of a list as lines that begin with "- ", with continuation lines joined."""
    items: list[str] = []
    for line in lines:
        text = line.strip()
        match = _LIST_ITEM.match(text)
        if match is not None and (not items or len(line) - len(line.lstrip()) < 2):
            items.append(text[match.end() :])
        elif items:
            items[-1] += " " + text
    described = (item for item in items if _LINK.fullmatch(item.strip()) is None)
    cleaned = (_strip_inline_markup(item).replace("**", "") for item in described)
    return "\n".join(f"- {truncate_text(item, 160)}" for item in list(filter(None, cleaned))[:MAX_LIST_ITEMS])


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
