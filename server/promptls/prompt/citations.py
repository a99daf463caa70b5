"""The citations in a model's answer, checked against the prompt that it answers.

Two kinds are read: labels of passages, as [P1], [P2, P5] or [P1-P3], and places, as src/a.py:10-20.  Labels in
code are none.  Nothing is judged but what can be looked up: whether a label was given, whether a place
exists and was shown, whether what the sentence quotes stands there, and which sentences cite nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.languages.table import language_of
from promptls.model import Span

MOST_LABELS = 100
"""Labels that one range may stand for; a longer one is wrong as a whole."""

CLAIM = 3
"""Words from which a sentence claims something."""

QUOTE = 3
"""Characters from which quoted code says something about where it comes from."""


Status = Literal["ok", "unknown", "not shown", "no such lines", "no such file"]
"""ok: given, and in the prompt; unknown: no passage has the label; not shown: there, but not in the prompt."""


class Cited(Struct, frozen=True):
    """A piece of the prompt that an answer may cite."""

    citation: str  # "P1"
    path: str  # as the prompt shows it
    span: Span  # from the first line to the last
    text: str = ""  # what is shown, "" if it is not known
    spans: tuple[Span, ...] | None = None  # lines shown; None: all of them

    @property
    def shown(self) -> tuple[Span, ...]:
        """The lines that stand in the prompt."""
        return (self.span,) if self.spans is None else self.spans


class Citation(Struct, frozen=True):
    """One citation of the answer; a list or a range of labels gives one for each."""

    text: str  # as written
    start: int  # offset into the answer, in code points
    status: Status
    citation: str = ""  # "P1"; of a place the passage that shows it, or ""
    path: str = ""
    span: Span | None = None  # the lines that are meant
    reason: str = ""  # why the status is not "ok"
    missing: tuple[str, ...] = ()  # code that the sentence quotes and none of its citations shows


class Verdict(Struct, frozen=True):
    """What became of the citations of an answer."""

    citations: tuple[Citation, ...]  # in order
    unknown: tuple[str, ...]  # what was cited and does not exist, each once
    unused: tuple[str, ...]  # passages that nothing cites
    uncited: tuple[tuple[int, int], ...]  # offsets of sentences that claim something and cite nothing that holds
    share: float  # of the sentences that claim something: those with a citation that holds; 1 without claims


_BLOCK = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_TICKS = re.compile(r"`+|\n")
_LABELS = re.compile(r"(?<![\w)])\[\s*(P\d{1,9}(?:\s*(?:[,;]|[-–—]|\bto\b)\s*P?\d{1,9})*)\s*\]")
_LABEL = re.compile(r"P?(\d+)(?:\s*(?:[-–—]|\bto\b)\s*P?(\d+))?")
_PATH = r"[\w.@+/-]+"
"""A path that is seen to be one; others are known where the prompt shows them."""
_PLACE = r"(?<![\w.@+/:$)\]-])({paths})(?::|#L)(\d{{1,9}})(?:\s?[-–]\s?L?(\d{{1,9}}))?(?![\w:])"
_END = re.compile(
    r"(?<![.!?])[.!?]+[\"')\]]*(?:\s*\[P\d[^\[\]\n]*\])*(?=\s+[^a-z\s]|\s*\Z)|\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)"
)


def verify(answer: str, items: Sequence[Cited], lines_of: Callable[[str], int | None] = lambda path: None) -> Verdict:
    """Look up every citation of an answer.

    `lines_of` says how many lines a file of the workspace has, by its path as prompts show it, None for no such
    file; without it only what was shown is known to exist.
    """
    code = _BLOCK.sub(_blank, answer)
    prose = _without(code, [(start, end) for start, end, _ in _inline(code)])
    found = sorted([*_labels(prose, items), *_places(code, items, lines_of)], key=lambda c: c.start)
    sentences = list(_sentences(code))
    starts = [start for start, _ in sentences]
    inside: dict[int, list[int]] = {}
    for i, citation in enumerate(found):
        inside.setdefault(bisect_right(starts, citation.start) - 1, []).append(i)
    holds = {n for n, members in inside.items() if any(found[i].status == "ok" for i in members)}
    for n, members in inside.items():
        missing = _missing(code[slice(*sentences[n])], [found[i] for i in members], items)
        for i in members:
            if missing and found[i].status == "ok":
                found[i] = replace(found[i], missing=missing)
    claims = [n for n, sentence in enumerate(sentences) if n in inside or _claims(code[slice(*sentence)])]
    used = {c.citation for c in found}
    return Verdict(
        tuple(found),
        tuple(dict.fromkeys(c.citation or c.text for c in found if c.status not in ("ok", "not shown"))),
        tuple(dict.fromkeys(item.citation for item in items if item.citation not in used)),
        tuple(sentences[n] for n in claims if n not in holds),
        len(holds) / len(claims) if claims else 1.0,
    )


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _inline(text: str) -> list[tuple[int, int, str]]:
    """Inline code: (start, end, what is between the backticks), between runs of one length on one line."""
    out: list[tuple[int, int, str]] = []
    waiting: dict[int, tuple[int, int]] = {}  # by length, the first run since the last piece that may begin one
    for found in _TICKS.finditer(text):
        if found.group() == "\n":
            waiting = {}
            continue
        length = found.end() - found.start()
        if length in waiting:
            start, inner = waiting[length]
            out.append((start, found.end(), text[inner : found.start()]))
            waiting = {}
        else:
            waiting[length] = found.span()
    return out


# ---------------------------------------------------------------- labels


def _labels(prose: str, items: Sequence[Cited]) -> Iterator[Citation]:
    by_label = {item.citation: item for item in reversed(items)}
    for found in _LABELS.finditer(prose):
        for part in _LABEL.finditer(found.group(1)):
            first, last = sorted((int(part.group(1)), int(part.group(2) or part.group(1))))
            if last - first >= MOST_LABELS:
                reason = f"the range is longer than {MOST_LABELS} passages"
                yield Citation(found.group(), found.start(), "unknown", f"P{first}-P{last}", reason=reason)
                continue
            for number in range(first, last + 1):
                yield _label(found, f"P{number}", by_label)


def _label(found: re.Match[str], citation: str, by_label: dict[str, Cited]) -> Citation:
    text, start, item = found.group(), found.start(), by_label.get(citation)
    if item is None:
        return Citation(text, start, "unknown", citation, reason=f"the prompt has no passage {citation}")
    return Citation(text, start, "ok", citation, item.path, item.span)


# ---------------------------------------------------------------- places


def _places(code: str, items: Sequence[Cited], lines_of: Callable[[str], int | None]) -> Iterator[Citation]:
    names = _names(items)
    odd = [name for name in names if name and not re.fullmatch(_PATH, name) and name in code]
    paths = "|".join([*map(re.escape, sorted(odd, key=len, reverse=True)), _PATH])
    for found in re.finditer(_PLACE.format(paths=paths), code):
        written = found.group(1)
        path = names.get(written.removeprefix("./"), "")
        if path or lines_of(written) is not None or _looks_like_a_file(written):
            yield _place(found, path or written, items, lines_of)


def _place(found: re.Match[str], path: str, items: Sequence[Cited], lines_of: Callable[[str], int | None]) -> Citation:
    text, start = found.group(), found.start()
    low, high = sorted((int(found.group(2)), int(found.group(3) or found.group(2))))
    if low == 0:
        return Citation(text, start, "no such lines", "", path, None, "lines are counted from 1")
    lines = Span(low - 1, high)
    there = [item for item in items if item.path == path]
    if _covers([span for item in there for span in item.shown], lines):
        whole = (i for i in there if any(span.contains(lines) for span in i.shown))
        first = (i for i in there if any(span.overlaps(lines) for span in i.shown))
        shows = next(chain(whole, first))
        return Citation(text, start, "ok", shows.citation, path, lines)
    count = lines_of(path)
    if count is None and not there:
        return Citation(text, start, "no such file", "", path, lines, f"there is no file {path} here")
    if count is not None and lines.end > count:
        reason = f"{path} has {count} line{'' if count == 1 else 's'}"
        return Citation(text, start, "no such lines", "", path, lines, reason)
    return Citation(text, start, "not shown", "", path, lines, "these lines were not in the prompt")


def _names(items: Sequence[Cited]) -> dict[str, str]:
    """Path of a passage by what it may be called: as it is, or by an ending that no other has; "" for several."""
    paths = dict.fromkeys(item.path for item in items)
    names: dict[str, str] = {}
    for path in paths:
        for mark in re.finditer("[:/]", path):
            ending = path[mark.end() :]
            names[ending] = "" if ending in names else path
    return {**names, **{path: path for path in paths}}


def _looks_like_a_file(written: str) -> bool:
    name = written.rpartition("/")[2]
    return "." in name.strip(".") and language_of(written, "") != "text"


def _covers(shown: Iterable[Span], lines: Span) -> bool:
    at = lines.start
    for span in sorted(shown):
        if span.start <= at < span.end:
            at = span.end
    return at >= lines.end


# ---------------------------------------------------------------- sentences


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of the sentences; list items and paragraphs end one too, and a label after the point belongs to it."""
    start = 0
    for end in [*(found.end() for found in _END.finditer(text)), len(text)]:
        if text[start:end].strip():
            yield start, end
        start = end


def _claims(sentence: str) -> bool:
    """Whether a sentence says something that a passage could show: no heading, question or announcement."""
    text = sentence.strip().lstrip("-*+>0123456789.) ")
    if sentence.lstrip().startswith("#") or text.endswith(("?", ":")):
        return False
    return len(re.findall(r"\w+", text)) >= CLAIM


def _missing(sentence: str, citations: Sequence[Citation], items: Sequence[Cited]) -> tuple[str, ...]:
    """Code quoted in a sentence that none of its citations shows; () where a text is not known."""
    labels = {citation.citation for citation in citations}
    texts = [item.text for item in items if item.citation in labels]
    if not texts or not all(texts):
        return ()
    shown = " ".join(" ".join(texts).split())
    names = {item.path for item in items} | {citation.text for citation in citations}
    quotes = (quote.strip() for _, _, quote in _inline(sentence))
    return tuple(
        dict.fromkeys(
            quote
            for quote in quotes
            if len(quote) >= QUOTE and quote not in names and " ".join(quote.removesuffix("()").split()) not in shown
        )
    )
