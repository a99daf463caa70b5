"""List of ranked regions, one line each, from which a reader chooses what to read.

A line has a number, lines, kind, qualified name and a note that distinguishes the region.  Lines are grouped by folder and
file, so that no path is repeated.  The budget is in tokens; only the regions that can fit in it are described.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from promptls.graph.nodes import first_sentence, parameter_names
from promptls.index import SourceReader, tokenize
from promptls.knowledge.project.file_kind import is_peripheral, is_prose_path, is_test_path
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TITLED_KINDS
from promptls.model import AnyOutline, Chunk, FileText, Item, Span, Symbol
from promptls.prompt.rendering.sanitized_lines import SanitizedLines
from promptls.prompt.sanitize import clean, one_line
from promptls.prompt.tokens import Counter
from promptls.retrieval.candidates import is_data_file, is_translation
from promptls.retrieval.query import Query
from promptls.util.mappings import GenerationalCache
from promptls.util.text.display import plural

LIST_BUDGET = 2200
"""Default size of a list in tokens as estimated, 1,850 of a model: 120 regions, with three quarters of what a question needs."""
TOKENS_PER_ITEM = 3
"""Tokens of the budget per item that is considered; a line has about 18 tokens, and merging removes some items."""
TOKENS_PER_LINE = 18
"""Tokens of an average line with its share of the headings; the first guess of how many fit."""
MARKED_SHARE, MIN_MARKED = 3, 5
"""At most one of three regions, or five of a short list, are marked: tests, documents, examples and data."""
MAX_NOTE, MAX_SHORT_NOTE, MAX_NAME = 44, 20, 60
"""Maximum characters of a note of the best regions, of other notes, and of a name.

Without notes, 135 regions fit in the default budget, with notes of 20 characters 110, with notes of 44 characters 80.
"""
BEST_REGIONS = 20
"""Number of regions with long notes; a quarter of what questions need is among the first ten."""
MAX_SIBLINGS = 6
"""Maximum number of ranges in the line of several definitions of one name."""
ELISION = "…"
"""Stands for adjacent folders in paths; promptls/read accepts it."""
MIN_ELIDED_FOLDERS, MIN_SAVED_CHARACTERS = 3, 150
"""Minimum number of folders that are left out, and of characters that this saves; it costs a line."""
MIN_COPY_LINES = 3
"""Minimum number of lines of a region that is recognized as a copy; shorter ones are alike by chance."""
MAX_COMPARED = 300
"""Maximum number of regions that are compared with others; later ones seldom fit."""
MAX_COPIES = 2
"""Maximum number of files with copies that are named."""
MAX_MATCHED_LINES = 400
"""Maximum number of lines of a region that are compared with the query."""
MAX_LINE_CHARACTERS = 500
"""Characters of a line that are checked for words."""
MAX_CACHED_NOTES = 60_000
"""Notes of definitions that are cached, about 100 bytes each."""

_DEFINITION_NOTES: GenerationalCache[bytes, str] = GenerationalCache(MAX_CACHED_NOTES // 2, lambda key: 1)
"""Notes of definitions by the content hash of their chunk."""
_BLANK = re.compile(r"\s+")
_UNTELLING = re.compile(r"\W*(?:(?:import|from|use|using|package|include|require|namespace)\b.*)?\W*")
_WORD = re.compile(r"[^\W_]+")
_PACKAGE_FOLDERS = re.compile(r"((?:^|/)src/\w+/(?:java|kotlin|scala|groovy)/).*/")
_OPENING = re.compile(r"^(?:Returns?|Yields?|Gets?) (?:(?:the|an?) )?(?=\w)")
"""Words at the start of many sentences, which tell nothing apart."""
_INHERITED = re.compile(r"\W*(?:@?inheritdoc|see also|@see)\b", re.IGNORECASE)
"""Documentation that is elsewhere."""
_RECEIVER = re.compile(r"^\((?:self|cls|&self|&mut self)\b(?:,\s*)?")


class ListedRegion(Struct, frozen=True):
    """One line of a list; several spans are definitions of one name."""

    number: int
    path: str
    spans: tuple[Span, ...]
    kind: str
    symbol: str
    note: str
    mark: str  # "test", "docs", "example", "data", or "" for the code of the project


class _Description(Struct, frozen=True):
    """What a line says about a region in addition to its place."""

    name: str
    note: str  # with its separator; "" without one
    is_whole: bool  # whether the region is a whole definition
    is_telling: bool = True  # False for imports beside other code


class RegionList(Struct, frozen=True):
    """A list of regions as text."""

    text: str
    tokens: int
    regions: tuple[ListedRegion, ...]
    found: int  # regions that the search has found, merged
    hidden: int  # regions in marked files that the share of marked files leaves out


def list_regions(
    items: Sequence[Item],
    query: Query,
    sources: SourceReader,
    counter: Counter,
    budget: int,
    *,
    all_marked: bool = False,
    snippet_lines: int = 0,
    first_number: int = 1,
) -> RegionList:
    """List the best regions that fit in a token budget.

    Args:
        items: Regions, best first.
        query: The question, for the lines that match it.
        sources: Reader of the texts.
        counter: Counts the tokens.
        budget: Maximum tokens of the text.
        all_marked: Whether regions in tests, documents, examples and data may take more than their share.
        snippet_lines: Number of lines shown around the line of each region that matches the query best.
        first_number: Number of the first region.
    """
    considered = max(1, budget // TOKENS_PER_ITEM)
    describer = _Describer(query, sources, snippet_lines)
    merged, copies = _without_copies(_merge(items[:considered]), describer.content_key)
    ranked = merged if all_marked else _limit_marked(merged, describer.mark)
    describer.shorten_paths(ranked[: budget // TOKENS_PER_LINE])
    describer.best = {(item.path, item.span) for item in ranked[:BEST_REGIONS]}
    found = len(merged) + max(0, len(items) - considered)

    def layout(count: int) -> tuple[str, tuple[ListedRegion, ...], int]:
        regions = _group(ranked[:count], describer, first_number)
        text = _render(regions, describer, copies)
        return text, regions, counter.count(text)

    text, regions, tokens = _largest_fitting(layout, len(ranked), budget)
    return RegionList(text, tokens, regions, found, len(merged) - len(ranked))


def _largest_fitting(
    layout: Callable[[int], tuple[str, tuple[ListedRegion, ...], int]], most: int, budget: int
) -> tuple[str, tuple[ListedRegion, ...], int]:
    """Return the layout of the most regions that fit, or nearly so: it uses 98 % of the budget or all regions."""
    best: tuple[str, tuple[ListedRegion, ...], int] = ("", (), 0)
    low, high, guess = 0, most + 1, min(most, max(1, budget // TOKENS_PER_LINE))
    while high - low > 1:
        laid_out = layout(guess)
        tokens = laid_out[2]
        if tokens <= budget:
            best, low = laid_out, guess
            if tokens >= 0.98 * budget:
                break
        else:
            high = guess
        guess = min(high - 1, max(low + 1, int(guess * budget / max(1, tokens))))
    return best


# ---------------------------------------------------------------- selection


def _merge(items: Iterable[Item]) -> list[Item]:
    """Return the regions, best first; those that overlap become one at the better rank."""
    merged: list[Item | None] = []
    by_path: dict[str, list[int]] = defaultdict(list)
    for item in items:
        places = by_path[item.path]
        overlapping = [i for i in places if (other := merged[i]) is not None and other.span.overlaps(item.span)]
        if not overlapping:
            places.append(len(merged))
            merged.append(item)
            continue
        first = overlapping[0]
        for i in overlapping:
            other = merged[i]
            assert other is not None
            item = _union(other, item)
            merged[i] = None
        merged[first] = item
        by_path[item.path] = [i for i in places if i == first or i not in overlapping]
    return [item for item in merged if item is not None]


def _union(first: Item, second: Item) -> Item:
    """Return the region of both, with the name of the one that contains the other, else of the first."""
    if first.span.contains(second.span):
        return first
    outer = second if second.span.contains(first.span) else first
    span = Span(min(first.span.start, second.span.start), max(first.span.end, second.span.end))
    return replace(outer, span=span, score=first.score)


def _limit_marked(items: Sequence[Item], mark: Callable[[Item], str]) -> list[Item]:
    """Return the regions with at most `MIN_MARKED`, or a third of any first ones, marked; all if there are no others."""
    limited: list[Item] = []
    deferred: list[Item] = []
    count = 0

    def has_room() -> bool:
        return count < MIN_MARKED or MARKED_SHARE * (count + 1) <= len(limited) + 1

    for item in items:
        if mark(item):
            deferred.append(item)
        else:
            limited.append(item)
        while deferred and has_room():
            limited.append(deferred.pop(0))
            count += 1
    return limited if count < len(limited) else list(items)


def _without_copies(
    items: Sequence[Item], content_key: Callable[[Item], bytes]
) -> tuple[list[Item], dict[str, list[Item]]]:
    """Return the regions without copies in other files, and for each file with copies their originals."""
    first: dict[bytes, Item] = {}
    copies: dict[str, list[Item]] = defaultdict(list)
    kept: list[Item] = []
    for i, item in enumerate(items):
        key = content_key(item) if len(item.span) >= MIN_COPY_LINES and i < MAX_COMPARED else b""
        original = first.setdefault(key, item) if key else item
        if original.path == item.path:
            kept.append(item)
        else:
            copies[item.path].append(original)
    return kept, copies


@lru_cache(maxsize=1 << 14)
def _mark_of_path(label: str) -> str:
    """Return why a file is marked; the folders of a Java package say nothing about it."""
    label = _PACKAGE_FOLDERS.sub(r"\1", label)
    if is_test_path(label):
        return "test"
    if is_prose_path(label):
        return "docs"
    if is_data_file(label) or is_translation(label):
        return "data"
    return "example" if is_peripheral(label) else ""


# ---------------------------------------------------------------- description


class _Describer:
    """Describes regions for one list; each file is looked up, and each region described, at most once."""

    def __init__(self, query: Query, sources: SourceReader, snippet_lines: int) -> None:
        self._sources = sources
        self._snapshot = sources.snapshot
        self.snippet_lines = snippet_lines
        self.best: set[tuple[str, Span]] = set()  # regions with long notes
        self.elided = ""  # folders that `short` leaves out
        self._terms = tuple(term.lower() for term in query.terms if len(term) > 1)  # stems, so words may go on
        self._labels: dict[str, str] = {}
        self._lines: dict[str, SanitizedLines | None] = {}
        self._described: dict[tuple[str, Span], _Description] = {}

    def label(self, path: str) -> str:
        """Return the display name of a path."""
        label = self._labels.get(path)
        if label is None:
            label = self._labels[path] = one_line(self._snapshot.label(path))
        return label

    def shorten_paths(self, items: Iterable[Item]) -> None:
        """Choose the folders that `short` leaves out, such as those of a Java package."""
        folders = dict.fromkeys(self.label(item.path).rpartition("/")[0] for item in items)
        self.elided = _repeated_folders([*folders])

    def short(self, label: str) -> str:
        """Return a path with "…" for the folders that many paths have."""
        return label.replace(f"{self.elided}/", f"{ELISION}/", 1) if self.elided else label

    def mark(self, item: Item) -> str:
        """Return why a region is marked, "" if it is not."""
        return "test" if item.kind == "test" else _mark_of_path(self.label(item.path))

    def describe(self, item: Item) -> _Description:
        """Return the description of a region."""
        key = (item.path, item.span)
        described = self._described.get(key)
        if described is None:
            described = self._describe(item)
            note = _cut(described.note, MAX_NOTE if key in self.best else MAX_SHORT_NOTE)
            described = self._described[key] = replace(described, note=note)
        return described

    def _describe(self, item: Item) -> _Description:
        outline = self._snapshot.outline(item.path)
        chunk, symbol = _definition(outline, item) if outline is not None else (None, None)
        if outline is None or symbol is None:
            at, file = self.best_line(item.path, item.span), self._sources.read(item.path)
            is_only = outline is None or len(outline.chunks) < 2
            is_telling = is_only or not isinstance(file, FileText) or at < 0 or not _is_untelling(file.lines[at])
            return _Description(
                _shown_name(item.symbol), self._matching_note(item), is_whole=False, is_telling=is_telling
            )
        is_whole = item.span.start <= symbol.span.start and symbol.span.end <= item.span.end
        if symbol.kind in TITLED_KINDS and symbol.kind != "test":
            name = symbol.qualified if symbol.kind == "key" else symbol.name
            return _Description(
                _shown_name(name, symbol.kind == "key"), "" if is_whole else self._matching_note(item), is_whole
            )
        name = _shown_name(_own_name(outline, symbol))
        if symbol.body_start < item.span.start:
            return _Description(name, self._matching_note(item), is_whole)
        note = _DEFINITION_NOTES.get(chunk.key) if chunk is not None else None
        if note is None:
            note = _definition_note(symbol, outline.language)
            if chunk is not None:
                _DEFINITION_NOTES.put(chunk.key, note)
        body = replace(item, span=Span(max(item.span.start, symbol.body_start), item.span.end))
        return _Description(name, note or self._matching_note(body), is_whole)

    def content_key(self, item: Item) -> bytes:
        """Return the content hash of a region that is one chunk, b"" for others."""
        outline = self._snapshot.outline(item.path)
        chunk = _definition(outline, item)[0] if outline is not None else None
        return chunk.key if chunk is not None and item.span.contains(chunk.span) else b""

    def _matching_note(self, item: Item) -> str:
        lines = self.lines(item.path)
        at = self.best_line(item.path, item.span)
        return "" if lines is None or at < 0 else f" | {_folded(lines[at])}"

    def best_line(self, path: str, span: Span) -> int:
        """Return the line of a region that matches the query best, else its first telling line; -1 without one."""
        file = self._sources.read(path)
        if not isinstance(file, FileText):
            return -1
        lines = file.lines[span.start : min(span.end, span.start + MAX_MATCHED_LINES)]
        matched = _matches_by_line(lines, self._terms)
        telling = (n for n in sorted(matched, key=lambda n: (-matched[n], n)) if not _is_untelling(lines[n]))
        best = next(telling, None)
        if best is None:
            best = next((n for n, line in enumerate(lines) if not _is_untelling(line)), None)
        if best is None:
            best = next((n for n, line in enumerate(lines) if _WORD.search(line)), None)
        return span.start + best if best is not None else -1

    def lines(self, path: str) -> SanitizedLines | None:
        """Return the sanitized lines of a file, None if it cannot be read."""
        if path not in self._lines:
            file = self._sources.read(path)
            self._lines[path] = SanitizedLines(file) if isinstance(file, FileText) else None
        return self._lines[path]

    def snippet(self, region: ListedRegion) -> list[str]:
        """Return the numbered lines around the best line of a region."""
        span = region.spans[0]
        lines = self.lines(region.path)
        at = self.best_line(region.path, span)
        if lines is None or at < 0:
            return []
        start = max(span.start, min(at - self.snippet_lines // 2, span.end - self.snippet_lines))
        end = min(span.end, len(lines), start + self.snippet_lines)
        return [f"{n}\t{line}" for n, line in enumerate(lines[start:end], start + 1)]


def _is_untelling(line: str) -> bool:
    """Return whether a line is an import or has no words."""
    return _UNTELLING.fullmatch(line, 0, MAX_LINE_CHARACTERS) is not None


def _matches_by_line(lines: Sequence[str], terms: Iterable[str]) -> dict[int, int]:
    """Return the number of different terms in each line that has any; a search for one string is fast."""
    text = "\n".join(lines).lower()
    ends: list[int] = []
    matched: dict[int, int] = defaultdict(int)
    for term in terms:
        at = text.find(term)
        while at >= 0:
            if not ends:
                ends = [*accumulate(len(line.lower()) + 1 for line in lines)]
            line = bisect_right(ends, at)
            matched[line] += 1
            at = text.find(term, ends[line])
    return matched


def _definition(outline: AnyOutline, item: Item) -> tuple[Chunk | None, Symbol | None]:
    """Return the chunk at the start of a region, and its definition."""
    at = bisect_right(outline.chunks, item.span.start, key=lambda chunk: chunk.span.start) - 1
    for i in (at, at + 1):
        chunk = outline.chunks[i] if 0 <= i < len(outline.chunks) else None
        if chunk is not None and chunk.symbol >= 0 and chunk.span.overlaps(item.span):
            symbol = outline.symbols[chunk.symbol]
            if symbol.qualified == item.symbol:
                return chunk, symbol
    if item.symbol:  # a definition without a chunk of its own
        inside = (s for s in outline.symbols if s.qualified == item.symbol and s.span.overlaps(item.span))
        return None, next(inside, None)
    return (outline.chunks[at] if at >= 0 else None), None


def _own_name(outline: AnyOutline, symbol: Symbol) -> str:
    """Return the name of a definition with that of its class, without namespaces."""
    parent = outline.symbols[symbol.parent] if symbol.parent >= 0 else None
    if parent is None:  # the methods of Go and the definitions of C++ are not inside of their class
        return ".".join(symbol.qualified.split(".")[-2:])
    name = symbol.name or symbol.qualified.rpartition(".")[2]
    return name if parent.kind in SPACE_KINDS or not parent.name else f"{parent.name}.{name}"


def _definition_note(symbol: Symbol, language: str) -> str:
    """Return the first sentence of the documentation, else the signature behind the name; "" without both."""
    sentence = first_sentence(symbol.doc) if symbol.doc else ""
    if sentence:
        text = _folded(clean(sentence).lines[0]).removeprefix(f"{symbol.name} ")
        telling = set(tokenize(text)).difference(tokenize(symbol.qualified), ("set", "get"))
        if telling and not _INHERITED.match(text):
            return f": {_OPENING.sub('', text).rstrip('.')}"
    signature = clean(_folded(symbol.signature)).lines[0]
    named = re.search(rf"(?<!\w){re.escape(symbol.name)}(?=\s*[(<\[])", signature) if symbol.name else None
    text = signature[named.end() :] if named else signature.partition(symbol.name or " ")[2]
    text = _RECEIVER.sub("(", text.strip()).rstrip("{: ").removesuffix("-> None").rstrip()
    if len(text) > MAX_SHORT_NOTE and text[0] == "(" and language != "go":
        text = f"({', '.join(parameter_names(text))})"
    if text in ("", "()"):
        return ""
    return text if text[0] in "([<" else f" {text}"


def _cut(note: str, length: int) -> str:
    """Return the first whole words of a note; an ellipsis would cost a token in most lines."""
    if len(note) <= length + 3:
        return note
    words = note[: length + 1].rpartition(" ")[0]
    return (words if len(words) > length // 2 else note[:length]).rstrip(" ,;:(-")


def _folded(text: str) -> str:
    return _BLANK.sub(" ", text.strip())


# ---------------------------------------------------------------- layout


def _group(items: Sequence[Item], describer: _Describer, first_number: int) -> tuple[ListedRegion, ...]:
    """Return the regions in the order of the list: folders and files by their best region, then by line."""
    folders: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        if not describer.describe(item).is_telling:
            continue
        folder = describer.label(item.path).rpartition("/")[0]
        folders.setdefault(folder, {}).setdefault(item.path, []).append(item)
    regions: list[ListedRegion] = []
    for files in folders.values():
        for in_file in files.values():
            for siblings in _siblings(sorted(in_file, key=lambda item: item.span), describer):
                item = siblings[0]
                described = describer.describe(item)
                note = f" ×{len(siblings)}" if len(siblings) > 1 else described.note
                spans = tuple(one.span for one in siblings)
                number = first_number + len(regions)
                regions.append(
                    ListedRegion(number, item.path, spans, item.kind, described.name, note, describer.mark(item))
                )
    return tuple(regions)


def _siblings(items: Sequence[Item], describer: _Describer) -> Iterable[list[Item]]:
    """Yield the regions of a file, overloads of one definition together."""
    overloads: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        if item.symbol and item.kind in CALLABLE_KINDS and describer.describe(item).is_whole:
            overloads[item.kind, item.symbol].append(item)
    for item in items:
        together = overloads.get((item.kind, item.symbol), [item])
        if item not in together:
            yield [item]
        elif together[0] is item:
            yield together


@lru_cache(maxsize=1 << 14)
def _shown_name(name: str, from_end: bool = False) -> str:
    """Return a name of limited length; a key path is cut at its start."""
    name = _folded(clean(name).lines[0])
    if len(name) <= MAX_NAME:
        return name
    return f"…{name[-MAX_NAME:]}" if from_end else f"{name[:MAX_NAME].rstrip()}…"


def _repeated_folders(folders: Sequence[str]) -> str:
    """Return the adjacent folders whose repetition costs most characters, "" if they are few."""
    counts: dict[str, int] = defaultdict(int)
    for folder in folders:
        parts = folder.split("/")
        for start in range(len(parts)):
            for end in range(start + MIN_ELIDED_FOLDERS, len(parts) + 1):
                counts["/".join(parts[start:end])] += 1
    saved, best = max(((len(path) * (count - 1), path) for path, count in counts.items()), default=(0, ""))
    return best if saved >= MIN_SAVED_CHARACTERS else ""


def _render(regions: Sequence[ListedRegion], describer: _Describer, copies: Mapping[str, Sequence[Item]]) -> str:
    files_in: dict[str, set[str]] = defaultdict(set)
    for region in regions:
        files_in[describer.label(region.path).rpartition("/")[0]].add(region.path)
    rows = [f"{ELISION} is {describer.elided}"] if describer.elided and regions else []
    folder, path, stem, last = "", "", "", ("", "", "")
    for region in regions:
        label = describer.label(region.path)
        if region.path != path:
            path = region.path
            own, _, name = label.rpartition("/")
            stem = name.partition(".")[0]
            if len(files_in[own]) == 1 or not own:
                rows.append(describer.short(label))
            else:
                if own != folder:
                    rows.append(describer.short(f"{own}/"))
                rows.append(name)
            folder = own
            mark = _mark_of_path(label)
            rows[-1] += f" ({mark})" if mark else ""
        lines = ", ".join(span.label for span in region.spans[:MAX_SIBLINGS])
        lines += "…" if len(region.spans) > MAX_SIBLINGS else ""
        owner, _, own_name = ("", "", "") if region.kind in TITLED_KINDS else region.symbol.rpartition(".")
        is_repeated = owner and (owner == stem or (region.path == last[0] and owner in last[1:]))
        name = f".{own_name}" if is_repeated else region.symbol
        last = (region.path, region.symbol, owner)
        kind = "" if region.kind == "text" or (is_repeated and region.kind == "method") else f" {region.kind}"
        rows.append(f"{region.number} {lines}{kind}{f' {name}' if name else ''}{region.note}")
        if describer.snippet_lines:
            rows += describer.snippet(region)
    shown = {(region.path, span) for region in regions for span in region.spans}
    files = sorted(
        (
            describer.short(describer.label(path))
            for path, originals in copies.items()
            if any((item.path, item.span) in shown for item in originals)
        ),
        key=len,
    )
    if files:
        more = f" and {plural(len(files) - MAX_COPIES, 'more file')}" if len(files) > MAX_COPIES else ""
        rows.append(f"copies of these regions are in {', '.join(files[:MAX_COPIES])}{more}")
    return "\n".join(rows)
