"""Verification of the citations in a model's answer against the prompt.

A citation is a label of an item, such as [P1], [P2, P5] or [P1-P3], or a location, such as src/a.py:10-20.  Labels in
code are ignored.  Only facts are checked: whether a label was assigned, whether a location exists and was shown,
whether the cited items contain the quoted code, and which sentences have no citation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.languages import language_of
from promptls.model import Span

MAX_RANGE_LABELS = 100
"""Maximum number of labels in a range; a longer range is invalid."""

MIN_CLAIM_WORDS = 3
"""Minimum number of words of a sentence that makes a claim."""

MIN_QUOTE_CHARACTERS = 3
"""Minimum number of characters of quoted code that is searched in the cited items; shorter code is everywhere."""


Status = Literal["ok", "unknown", "not shown", "no such lines", "no such file"]
"""ok: in the prompt; unknown: no item has the label; not shown: in the workspace, but not in the prompt."""


class CitableItem(Struct, frozen=True):
    """An item of the prompt that an answer may cite."""

    citation: str  # "P1"
    path: str  # as shown in the prompt
    span: Span  # from the first line to the last
    text: str = ""  # shown text, "" if unknown
    spans: tuple[Span, ...] | None = None  # shown lines; None: all of `span`

    @property
    def shown_spans(self) -> tuple[Span, ...]:
        """Lines in the prompt."""
        return (self.span,) if self.spans is None else self.spans


class Citation(Struct, frozen=True):
    """One citation in the answer; a list or a range of labels has one for each label."""

    text: str  # as written
    start: int  # offset in the answer, in code points
    status: Status
    citation: str = ""  # "P1"; of a location, the item that shows it, or ""
    path: str = ""
    span: Span | None = None  # cited lines
    reason: str = ""  # why the status is not "ok"
    missing: tuple[str, ...] = ()  # code quoted in the sentence that none of its citations shows


class CitationReport(Struct, frozen=True):
    """The verified citations of an answer."""

    citations: tuple[Citation, ...]  # in order
    unknown: tuple[str, ...]  # cited labels and locations that do not exist, each once
    unused: tuple[str, ...]  # labels of items that are not cited
    uncited: tuple[tuple[int, int], ...]  # offsets of sentences with a claim but without a valid citation
    cited_share: float  # share of the sentences with a claim that have a valid citation; 1 without claims


_CODE_BLOCK = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_BACKTICKS_OR_NEWLINE = re.compile(r"`+|\n")
_LABEL_LIST = re.compile(r"(?<![\w)])\[\s*(P\d{1,9}(?:\s*(?:[,;]|[-–—]|\bto\b)\s*P?\d{1,9})*)\s*\]")
_LABEL_RANGE = re.compile(r"P?(\d+)(?:\s*(?:[-–—]|\bto\b)\s*P?(\d+))?")
_PATH = r"[\w.@+/-]+"
"""A path of common characters; other paths are recognized if the prompt shows them."""
_LOCATION = r"(?<![\w.@+/:$)\]-])({paths})(?::|#L)(\d{{1,9}})(?:\s?[-–]\s?L?(\d{{1,9}}))?(?![\w:])"
_SENTENCE_END = re.compile(
    r"(?<![.!?])[.!?]+[\"')\]]*(?:\s*\[P\d[^\[\]\n]*\])*(?=\s+[^a-z\s]|\s*\Z)|\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)"
)


def verify(
    answer: str, items: Sequence[CitableItem], lines_of: Callable[[str], int | None] = lambda path: None
) -> CitationReport:
    """Verify every citation of an answer.

    `lines_of` returns the number of lines of a workspace file by its path in the prompt, None if there is no such file.
    By default, only files in the prompt exist.
    """
    text = _CODE_BLOCK.sub(_blank_match, answer)
    prose = _blank_spans(text, [(start, end) for start, end, _ in _inline_code(text)])
    citations = sorted([*_find_labels(prose, items), *_find_locations(text, items, lines_of)], key=lambda c: c.start)
    sentences = list(_split_sentences(text))
    starts = [start for start, _ in sentences]
    by_sentence: dict[int, list[int]] = {}  # indexes into `citations`
    for i, citation in enumerate(citations):
        by_sentence.setdefault(bisect_right(starts, citation.start) - 1, []).append(i)
    valid = {n for n, members in by_sentence.items() if any(citations[i].status == "ok" for i in members)}
    for n, members in by_sentence.items():
        missing = _missing_code(text[slice(*sentences[n])], [citations[i] for i in members], items)
        for i in members:
            if missing and citations[i].status == "ok":
                citations[i] = replace(citations[i], missing=missing)
    claims = [n for n, sentence in enumerate(sentences) if n in by_sentence or _is_claim(text[slice(*sentence)])]
    used = {c.citation for c in citations}
    return CitationReport(
        tuple(citations),
        tuple(dict.fromkeys(c.citation or c.text for c in citations if c.status not in ("ok", "not shown"))),
        tuple(dict.fromkeys(item.citation for item in items if item.citation not in used)),
        tuple(sentences[n] for n in claims if n not in valid),
        len(valid) / len(claims) if claims else 1.0,
    )


def _blank_match(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _blank_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _inline_code(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, code) of each inline code: between runs of backticks of one length on one line."""
    out: list[tuple[int, int, str]] = []
    open_runs: dict[int, tuple[int, int]] = {}  # by length, the first run that may start inline code
    for match in _BACKTICKS_OR_NEWLINE.finditer(text):
        if match.group() == "\n":
            open_runs = {}
            continue
        length = match.end() - match.start()
        if length in open_runs:
            start, inner = open_runs[length]
            out.append((start, match.end(), text[inner : match.start()]))
            open_runs = {}
        else:
            open_runs[length] = match.span()
    return out


# ---------------------------------------------------------------- labels


def _find_labels(prose: str, items: Sequence[CitableItem]) -> Iterator[Citation]:
    by_label = {item.citation: item for item in reversed(items)}
    for match in _LABEL_LIST.finditer(prose):
        for labels in _LABEL_RANGE.finditer(match.group(1)):
            first, last = sorted((int(labels.group(1)), int(labels.group(2) or labels.group(1))))
            if last - first >= MAX_RANGE_LABELS:
                reason = f"the range has more than {MAX_RANGE_LABELS} labels"
                yield Citation(match.group(), match.start(), "unknown", f"P{first}-P{last}", reason=reason)
                continue
            for number in range(first, last + 1):
                yield _check_label(match, f"P{number}", by_label)


def _check_label(match: re.Match[str], citation: str, by_label: dict[str, CitableItem]) -> Citation:
    text, start, item = match.group(), match.start(), by_label.get(citation)
    if item is None:
        return Citation(text, start, "unknown", citation, reason=f"the prompt has no item {citation}")
    return Citation(text, start, "ok", citation, item.path, item.span)


# ---------------------------------------------------------------- locations


def _find_locations(
    text: str, items: Sequence[CitableItem], lines_of: Callable[[str], int | None]
) -> Iterator[Citation]:
    names = _path_by_name(items)
    unusual = [name for name in names if name and not re.fullmatch(_PATH, name) and name in text]
    paths = "|".join([*map(re.escape, sorted(unusual, key=len, reverse=True)), _PATH])
    for match in re.finditer(_LOCATION.format(paths=paths), text):
        written = match.group(1)
        path = names.get(written.removeprefix("./"), "")
        if path or lines_of(written) is not None or _has_known_extension(written):
            yield _check_location(match, path or written, items, lines_of)


def _check_location(
    match: re.Match[str], path: str, items: Sequence[CitableItem], lines_of: Callable[[str], int | None]
) -> Citation:
    text, start = match.group(), match.start()
    low, high = sorted((int(match.group(2)), int(match.group(3) or match.group(2))))
    if low == 0:
        return Citation(text, start, "no such lines", "", path, None, "lines are counted from 1")
    lines = Span(low - 1, high)
    in_file = [item for item in items if item.path == path]
    if _covers([span for item in in_file for span in item.shown_spans], lines):
        containing = (i for i in in_file if any(span.contains(lines) for span in i.shown_spans))
        overlapping = (i for i in in_file if any(span.overlaps(lines) for span in i.shown_spans))
        item = next(chain(containing, overlapping))
        return Citation(text, start, "ok", item.citation, path, lines)
    count = lines_of(path)
    if count is None and not in_file:
        return Citation(text, start, "no such file", "", path, lines, f"there is no file {path} in the workspace")
    if count is not None and lines.end > count:
        reason = f"{path} has {count} line{'' if count == 1 else 's'}"
        return Citation(text, start, "no such lines", "", path, lines, reason)
    return Citation(text, start, "not shown", "", path, lines, "these lines were not in the prompt")


def _path_by_name(items: Sequence[CitableItem]) -> dict[str, str]:
    """Return the path of an item by the path itself and by its suffixes; "" for a suffix of several paths."""
    paths = dict.fromkeys(item.path for item in items)
    names: dict[str, str] = {}
    for path in paths:
        for separator in re.finditer("[:/]", path):
            suffix = path[separator.end() :]
            names[suffix] = "" if suffix in names else path
    return {**names, **{path: path for path in paths}}


def _has_known_extension(written: str) -> bool:
    name = written.rpartition("/")[2]
    return "." in name.strip(".") and language_of(written, "") != "text"


def _covers(shown: Iterable[Span], lines: Span) -> bool:
    at = lines.start
    for span in sorted(shown):
        if span.start <= at < span.end:
            at = span.end
    return at >= lines.end


# ---------------------------------------------------------------- sentences


def _split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of sentences; list items and paragraphs end them too, and labels after the period belong."""
    start = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if text[start:end].strip():
            yield start, end
        start = end


def _is_claim(sentence: str) -> bool:
    """Return whether a sentence makes a claim, unlike a heading, a question or an announcement."""
    text = sentence.strip().lstrip("-*+>0123456789.) ")
    if sentence.lstrip().startswith("#") or text.endswith(("?", ":")):
        return False
    return len(re.findall(r"\w+", text)) >= MIN_CLAIM_WORDS


def _missing_code(sentence: str, citations: Sequence[Citation], items: Sequence[CitableItem]) -> tuple[str, ...]:
    """Return code quoted in a sentence that none of its citations shows; () if a cited text is unknown."""
    labels = {citation.citation for citation in citations}
    texts = [item.text for item in items if item.citation in labels]
    if not texts or not all(texts):
        return ()
    shown = " ".join(" ".join(texts).split())
    names = {item.path for item in items} | {citation.text for citation in citations}
    quotes = (quote.strip() for _, _, quote in _inline_code(sentence))
    return tuple(
        dict.fromkeys(
            quote
            for quote in quotes
            if len(quote) >= MIN_QUOTE_CHARACTERS
            and quote not in names
            and " ".join(quote.removesuffix("()").split()) not in shown
        )
    )
