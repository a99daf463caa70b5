"""Preparation of long questions: bug reports, issues and messages with pasted text.

A report consists of a title, prose, quoted code and the text of a template.  The title says what it is about.
Instructions of a template, images, addresses and descriptions of the environment say nothing about the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

PROSE_WEIGHT = 0.6
"""Weight of a term that occurs in the prose below the title, relative to 1 for a term of the title."""
CODE_WEIGHT = 0.3
"""Weight of a term that occurs only in quoted code or output."""
TITLE_SHARE = 0.7
"""Share of the title in the embedding of a report.

This and the two weights were chosen on issues of one half of 41 Python repositories; on the other half, all functions
to change are among the first ten regions in 57 % instead of 43 %.
"""
MIN_WORDS = 40
"""Minimum number of words of a message of several lines that is read as a report."""

_TEMPLATE_WORDS = frozenset(
    "a actual additional am are behavior behaviour bug build checklist checks code complete context current describe "
    "description details environment error example expected feature have how i information info is issue log logs "
    "minimal motivation os output platform possible prerequisites problem proposed question related relevant report "
    "reproduce reproducible reproduction request sample screenshots search searched solution steps stack system the "
    "this to trace traceback version versions what you your".split()
)
"""Words of the headings of issue templates."""
_ENVIRONMENT = re.compile(r"\b(environment|versions?|system info(rmation)?|platform|os|checklist|prerequisites?)\b")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s(?P<marked>.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*|__(?P<underlined>[^_]+)__:?\s*)$")
_CHECKBOX = re.compile(r"\s*[-*+]\s+\[[ xX]\]")
_FENCE = re.compile(r"\s{0,3}(?P<marker>`{3,}|~{3,})(?P<info>.*)")
_IMAGE = re.compile(r"!\[[^\]\[\n]*\]\([^()\s]*\)|<img\b[^<>]*>", re.I)
_TAG = re.compile(r"</?(?:details|summary|br|p|b|i|em|strong|kbd|sub|sup|hr|div|span|a|h[1-6])\b[^<>]*>", re.I)
_ADDRESS = re.compile(r"https?://[^\s()<>\[\]]+")
_FILE_ADDRESS = re.compile(r"https?://[^/]+/[^/]+/[^/]+/(?:-/)?(?:blob|tree|raw)/[^/]+/(?P<path>[^#?]+)")


class Report(Struct, frozen=True):
    """The parts of a long question; an ordinary question is prose without a title."""

    title: str
    prose: str
    code: str

    @property
    def text(self) -> str:
        """Return all parts."""
        return "\n".join(filter(None, (self.title, self.prose, self.code)))


def split_report(text: str) -> Report:
    """Split a long question into its parts, without the text of templates."""
    ordinary = Report("", text, "")
    if "\n" not in text.strip() or len(text.split()) < MIN_WORDS:
        return ordinary
    title = ""
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    in_environment = False
    for line in _without_comments(text).split("\n"):
        marked = _FENCE.match(line)
        if fence:
            if marked and marked["marker"].startswith(fence) and not marked["info"].strip():
                fence = ""
            elif not in_environment:
                code.append(line)
        elif marked:
            fence = marked["marker"]
        elif (heading := _heading_words(line)) and _TEMPLATE_WORDS.issuperset(heading):
            in_environment = bool(_ENVIRONMENT.search(" ".join(heading)))
        elif heading or not (in_environment or _CHECKBOX.match(line)):
            in_environment = False
            if clean := _clean(line):
                if title:
                    prose.append(clean)
                title = title or clean
    return Report(title, "\n".join(prose), "\n".join(code)) if title else ordinary


def _heading_words(line: str) -> list[str]:
    """Return the words of a heading, or of a line in bold."""
    match = _HEADING.match(line)
    words = next(filter(None, match.groups()), "") if match else ""
    return re.findall(r"\w+", words.lower())


def _clean(line: str) -> str:
    """Return a line without images, tags and addresses; the address of a file in a repository becomes its path."""
    line = _IMAGE.sub(" ", line)
    line = _ADDRESS.sub(lambda match: _path_of(match[0]), line)
    return _TAG.sub(" ", line).strip()


def _path_of(address: str) -> str:
    match = _FILE_ADDRESS.match(address)
    return match["path"] if match else " "


def _without_comments(text: str) -> str:
    """Return the text without HTML comments, in which templates give instructions."""
    return "".join(_outside_comments(text))


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        yield text[at:start]
        end = text.find("-->", start)
        if end < 0:
            return
        at = end + len("-->")
    yield text[at:]
