"""Readers of finished prompts, one a layout, written from what README.md and protocol.md say and not from the renderer.

`outside(layout, prompt)` gives the lines that a model may take for ours or the user's own: everything that is not
between fences, behind a ">", or in the label of something quoted.  Each reader is as lax as a model could be: what
might close a fence for somebody closes it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

LABEL = re.compile(r"\[P\d+\] source: ")
"""The line that gives a passage its number."""


class Broken(AssertionError):
    """A prompt that does not follow its own grammar."""


def outside(layout: str, prompt: str) -> list[str]:
    """The lines that are no data."""
    return list(_READERS[layout](re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", prompt)))


def tagged(lines: list[str], boundary: str) -> Iterator[str]:
    """Elements whose tags end in the boundary, nested or not; a tag is a line of its own."""
    opening = re.compile(rf'<([a-z_]+)-{boundary}((?: [a-z]+="[^"<>]*")*)(/?)>')
    closing = re.compile(rf"</([a-z_]+)-{boundary}>")
    open_: list[str] = []
    for line in lines:
        begin, end = opening.fullmatch(line), closing.fullmatch(line)
        if boundary in line and not (begin or end) and open_:
            raise Broken(f"the boundary stands in data: {line!r}")
        if begin and not begin[3]:
            open_.append(begin[1])
        elif end:
            if not open_ or open_.pop() != end[1]:
                raise Broken(f"{line!r} closes what is not open")
        elif not open_ and not begin and not LABEL.match(line):
            yield line
    if open_:
        raise Broken(f"{open_} is never closed")


def default(lines: list[str]) -> Iterator[str]:
    """ "Boundary: …" names it, at its first place, which is before any data."""
    said = next((line for line in lines if line.startswith("Boundary: ")), "")
    if not re.fullmatch(r"Boundary: [0-9a-f]{12}", said):
        if any("<context-" in line for line in lines):
            raise Broken("there are elements and no boundary")
        return iter(lines)
    return tagged(lines, said.removeprefix("Boundary: "))


def prompto(lines: list[str]) -> Iterator[str]:
    said = next((m for line in lines if (m := re.search(r"tags that end in ([0-9a-f]{12}) is data", line))), None)
    if said is None:
        raise Broken("no boundary is told")
    kept = [line for line in lines if not line.startswith("Text between tags that end in ")]
    return tagged(kept, said[1])


def markdown(lines: list[str], labels: re.Pattern[str], titles: re.Pattern[str] | None = None) -> Iterator[str]:
    """Code blocks as CommonMark has them, quotations, and lines that only label what is quoted.

    The line after one of `titles` says where something stands, and belongs to it.
    """
    fence, opened, titled = "", "", False
    for line in lines:
        if fence:
            closes = re.fullmatch(r" {0,3}(`{3,}|~{3,})[ \t]*", line)
            if closes and closes[1][0] == fence[0] and len(closes[1]) >= len(fence):
                fence = ""
            continue
        opens = re.match(r" {0,3}(`{3,}(?!.*`)|~{3,})", line)
        is_place, titled = titled and bool(line), (titled and not line) or bool(titles and titles.fullmatch(line))
        if opens:
            fence, opened = opens[1], line
        elif not line.startswith(">") and not labels.match(line) and not LABEL.match(line) and not is_place:
            yield line
    if fence:
        raise Broken(f"a block is never closed: {fence} {opened!r}")


def codebuddy(lines: list[str]) -> Iterator[str]:
    return markdown(lines, re.compile(r"### File: |#### [a-z]+ "))


def cody(lines: list[str]) -> Iterator[str]:
    return markdown(lines, re.compile(r"(?:Context from|Selected lines of) "))


GRAPH = re.compile(
    r"# Project: |Languages: |Frameworks: |Description: |### .* \([a-z_ ]+\)$|- (?:File|Complexity|Summary|Tags|Language|Layer|Calls|Path): "
    r"|- .* --\[[a-z_]+\]--> "
)


def understand(lines: list[str]) -> Iterator[str]:
    """What describes the project is data too: labelled lines, and the sentence below its name."""
    return markdown(lines, GRAPH, re.compile(r"### .* \([a-z_ ]+\)|# Project: .*"))


def attune(lines: list[str]) -> Iterator[str]:
    """Passages; whatever looks like one of their sentinels to a lax eye counts as one."""
    sentinel = re.compile(r"<\s*(/?)\s*passage\b", re.IGNORECASE)
    open_ = False
    for line in lines:
        found = sentinel.match(line)
        if open_ and not found and sentinel.search(line):
            raise Broken(f"a sentinel stands in a passage: {line!r}")
        if found:
            if line not in ("<passage>", "</passage>") or open_ == (not found[1]):
                raise Broken(f"{line!r} is no sentinel of ours")
            open_ = not found[1]
        elif not open_ and not line.startswith(">"):
            yield line
    if open_:
        raise Broken("a passage is never closed")


_READERS: dict[str, Callable[[list[str]], Iterator[str]]] = {
    "attune": attune,
    "codebuddy": codebuddy,
    "cody": cody,
    "default": default,
    "prompto": prompto,
    "understand": understand,
}
