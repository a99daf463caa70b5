"""Parsers of finished prompts, one for each layout, written from the documentation and not from the renderer.

`unquoted_lines(layout, prompt)` returns the lines that a model may attribute to promptls or the user: lines outside
of fences, quotations and labels. The parsers are lenient: a line that might close a fence is treated as closing it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

CHUNK_LABEL = re.compile(r"\[P\d+\] source: ")
"""Label that numbers a quoted chunk."""


class MalformedPrompt(AssertionError):
    """A prompt that violates the grammar of its layout."""


def unquoted_lines(layout: str, prompt: str) -> list[str]:
    """Return the lines that are not quoted content."""
    return list(_PARSERS[layout](re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", prompt)))


def lines_outside_tags(lines: list[str], boundary: str) -> Iterator[str]:
    """Yield the lines outside of elements whose tags end in the boundary; each tag is a separate line."""
    opening = re.compile(rf'<([a-z_]+)-{boundary}((?: [a-z]+="[^"<>]*")*)(/?)>')
    closing = re.compile(rf"</([a-z_]+)-{boundary}>")
    open_: list[str] = []
    for line in lines:
        begin, end = opening.fullmatch(line), closing.fullmatch(line)
        if boundary in line and not (begin or end) and open_:
            raise MalformedPrompt(f"the boundary occurs in quoted content: {line!r}")
        if begin and not begin[3]:
            open_.append(begin[1])
        elif end:
            if not open_ or open_.pop() != end[1]:
                raise MalformedPrompt(f"{line!r} closes an element that is not open")
        elif not open_ and not begin and not CHUNK_LABEL.match(line):
            yield line
    if open_:
        raise MalformedPrompt(f"{open_} is never closed")


def default_lines(lines: list[str]) -> Iterator[str]:
    """Yield unquoted lines of the default layout, which declares its boundary before any content."""
    declaration = next((line for line in lines if line.startswith("Boundary: ")), "")
    if not re.fullmatch(r"Boundary: [0-9a-f]{12}", declaration):
        if any("<context-" in line for line in lines):
            raise MalformedPrompt("elements without a declared boundary")
        return iter(lines)
    return lines_outside_tags(lines, declaration.removeprefix("Boundary: "))


def prompto_lines(lines: list[str]) -> Iterator[str]:
    declaration = next(
        (m for line in lines if (m := re.search(r"tags that end in ([0-9a-f]{12}) is data", line))), None
    )
    if declaration is None:
        raise MalformedPrompt("no boundary is declared")
    content = [line for line in lines if not line.startswith("Text between tags that end in ")]
    return lines_outside_tags(content, declaration[1])


def lines_outside_code_blocks(
    lines: list[str], labels: re.Pattern[str], titles: re.Pattern[str] | None = None
) -> Iterator[str]:
    """Yield the lines outside of CommonMark code blocks, block quotations and labels.

    The line after a title that matches `titles` is a location and belongs to the title.
    """
    fence, opened, titled = "", "", False
    for line in lines:
        if fence:
            closes = re.fullmatch(r" {0,3}(`{3,}|~{3,})[ \t]*", line)
            if closes and closes[1][0] == fence[0] and len(closes[1]) >= len(fence):
                fence = ""
            continue
        opens = re.match(r" {0,3}(`{3,}(?!.*`)|~{3,})", line)
        is_location, titled = titled and bool(line), (titled and not line) or bool(titles and titles.fullmatch(line))
        if opens:
            fence, opened = opens[1], line
        elif not line.startswith(">") and not labels.match(line) and not CHUNK_LABEL.match(line) and not is_location:
            yield line
    if fence:
        raise MalformedPrompt(f"a code block is never closed: {fence} {opened!r}")


def codebuddy_lines(lines: list[str]) -> Iterator[str]:
    return lines_outside_code_blocks(lines, re.compile(r"### File: |#### [a-z]+ "))


def cody_lines(lines: list[str]) -> Iterator[str]:
    return lines_outside_code_blocks(lines, re.compile(r"(?:Context from|Selected lines of) "))


GRAPH = re.compile(
    r"# Project: |Languages: |Frameworks: |Description: |### .* \([a-z_ ]+\)$|- (?:File|Complexity|Summary|Tags|Language|Layer|Calls|Path): "
    r"|- .* --\[[a-z_]+\]--> "
)


def understand_lines(lines: list[str]) -> Iterator[str]:
    """Yield unquoted lines; the project description (labels, and the sentence after the name) counts as quoted."""
    return lines_outside_code_blocks(lines, GRAPH, re.compile(r"### .* \([a-z_ ]+\)|# Project: .*"))


def attune_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of passages; anything similar to a sentinel counts as a sentinel."""
    sentinel = re.compile(r"<\s*(/?)\s*passage\b", re.IGNORECASE)
    open_ = False
    for line in lines:
        found = sentinel.match(line)
        if open_ and not found and sentinel.search(line):
            raise MalformedPrompt(f"a sentinel occurs inside a passage: {line!r}")
        if found:
            if line not in ("<passage>", "</passage>") or open_ == (not found[1]):
                raise MalformedPrompt(f"{line!r} is not a valid sentinel")
            open_ = not found[1]
        elif not open_ and not line.startswith(">"):
            yield line
    if open_:
        raise MalformedPrompt("a passage is never closed")


_PARSERS: dict[str, Callable[[list[str]], Iterator[str]]] = {
    "attune": attune_lines,
    "codebuddy": codebuddy_lines,
    "cody": cody_lines,
    "default": default_lines,
    "prompto": prompto_lines,
    "understand": understand_lines,
}
