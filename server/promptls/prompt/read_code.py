"""Regions as text for a reader: complete definitions with line numbers, within a token budget.

Each region has a heading, the imports that it uses, the lines that open the definitions around it, its lines, and one
line of relations.  A region that costs less than its share of the budget leaves the rest to the others.  Text that the
session has received unchanged is not sent again.
"""

from __future__ import annotations

import math
import re
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import accumulate, islice

from msgspec import Struct
from msgspec.structs import replace

from promptls.graph.graph import GraphView
from promptls.graph.node_explanation import relation_line, short_path
from promptls.index import Snapshot
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import split_root
from promptls.mentions.resolvers import file as file_resolver
from promptls.mentions.resolvers import symbol as symbol_resolver
from promptls.mentions.syntax.grammar import mention_to_argument, parse_lines
from promptls.model import AnyOutline, FileText, Item, Mention, MentionOutcome, Span, Symbol
from promptls.prompt.region_list import ELISION
from promptls.prompt.rendering.definitions import definition_of, enclosing_headers, member_headers
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.rendering.spans import cut_position, merge_spans
from promptls.prompt.sanitize import clean, one_line
from promptls.prompt.tokens import Counter, count_all, fair_limit
from promptls.util.hashing import content_hash
from promptls.util.text.display import plural, truncate_words

MAX_SESSIONS = 32
"""Maximum number of sessions that are remembered; of more, the least recently used is forgotten."""
MAX_REGIONS = 4_000
"""Maximum number of regions remembered of one session; a session that reads more starts again."""


class ReceivedRegion(Struct, frozen=True):
    """Lines that a session has received."""

    path: str
    span: Span
    text_hash: bytes


class Received:
    """Regions that each session has received.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, dict[str, dict[Span, bytes]]] = OrderedDict()

    def has(self, session: str, path: str, span: Span, lines: Sequence[str]) -> bool:
        """Return whether a session has received exactly these lines, alone or in a larger region.

        Args:
            session: Name of the session, "" for none.
            path: Path of the file.
            span: Lines of the region.
            lines: All lines of the current text of the file.
        """
        with self._lock:
            regions = self._sessions.get(session, {}).get(path, {}) if session else {}
            known = [(other, text_hash) for other, text_hash in regions.items() if other.contains(span)]
        return any(text_hash == hash_lines(lines, other) for other, text_hash in known)

    def add(self, session: str, regions: Sequence[ReceivedRegion]) -> None:
        """Remember regions that a session receives."""
        if not session:
            return
        with self._lock:
            paths = self._sessions.setdefault(session, {})
            self._sessions.move_to_end(session)
            if sum(map(len, paths.values())) + len(regions) > MAX_REGIONS:
                paths.clear()
            for region in regions:
                paths.setdefault(region.path, {})[region.span] = region.text_hash
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)


def hash_lines(lines: Sequence[str], span: Span) -> bytes:
    """Return the hash of the lines of a span."""
    return content_hash("\n".join(lines[span.start : span.end]))


READ_BUDGET = 8_000
"""Default size of the text in tokens: more than a question needs on average."""
MAX_EXTENDED_LINES = 150
"""Maximum number of lines of a definition that lines are extended to; a longer one is shown as far as requested."""
MAX_IMPORT_CHARACTERS = 200
"""Maximum characters of the line of imports."""
MAX_RELATIONS = 3
"""Maximum number of definitions in one region whose relations are shown."""
RELATIONS_S = 0.05
"""Seconds of processor time for the relations of a read, of which each takes 1 ms; later ones are left out."""
CUT_TOKENS = 24
"""Tokens reserved for the line that names what is left out, without the path."""
MAX_LISTED = 10
"""Maximum number of names in a message."""
_LISTED_LINES = re.compile(r"(?P<path>.+):(?P<lines>\d{1,9}(?:,\d{1,9})+)")
_WORD = re.compile(r"[^\W\d]\w*")


class ReadRegion(Struct, frozen=True):
    """A region of the result."""

    path: str
    span: Span
    kind: str
    symbol: str
    is_complete: bool  # False if the budget has cut it
    is_repeated: bool  # whether the session has it already, so that its text is left out


class ReadResult(Struct, frozen=True):
    """Regions as text."""

    text: str
    tokens: int
    regions: tuple[ReadRegion, ...]
    problems: tuple[str, ...]  # one sentence for each place that cannot be read
    changed: int  # files that have changed since they were indexed; the text is the present one, without relations
    received: tuple[ReceivedRegion, ...]  # what the reader knows afterwards


class _Region(Struct, frozen=True):
    """A region before the budget is applied."""

    file: FileText
    item: Item
    symbol: Symbol | None
    span: Span  # with the comment above a definition


class _Block(Struct, frozen=True):
    """The text of a region: heading, lines, the line that names what is left out, relations."""

    region: _Region
    head: str
    lines: list[str]
    tail: str = ""
    cut: str = ""
    is_repeated: bool = False
    cut_at: int = -1  # line before which the text is cut, -1 if it is whole

    @property
    def shown(self) -> Span:
        """The lines of the region that the text has without a gap."""
        span = self.region.span
        return span if self.cut_at < 0 else Span(span.start, self.cut_at)


def read_places(
    places: Sequence[str],
    context: ResolveContext,
    counter: Counter,
    budget: int,
    graph: Callable[[], GraphView | None],
    has_received: Callable[[str, Span, Sequence[str]], bool] = lambda path, span, lines: False,
) -> ReadResult:
    """Return the text of places: "path", "path:10-60", "path#Name", "#Name".

    Args:
        places: The places, in the order of the result.
        context: Sources and services.
        counter: Counts the tokens, line numbers included.
        budget: Maximum tokens of the text.
        graph: Returns the knowledge graph, None if it is not ready.
        has_received: Whether the reader has lines (path, span, all lines of the file) already.
    """
    renderer = Renderer(counter, context.snapshot.label, line_numbers=True)
    regions, problems = _resolve_places(places, context, renderer)
    view = graph() if regions else None
    known = [has_received(region.item.path, region.span, region.file.lines) for region in regions]
    relations = iter(
        _relations([region for region, is_known in zip(regions, known, strict=True) if not is_known], view)
    )
    blocks = [
        _repeated(region, context)
        if is_known
        else _Block(
            region,
            _heading(region, context, renderer),
            _numbered(region, renderer, region.span),
            next(relations),
        )
        for region, is_known in zip(regions, known, strict=True)
    ]
    costs = count_all(counter, ["\n".join([block.head, *block.lines, block.tail, ""]) for block in blocks])
    limit = fair_limit(costs, budget - counter.count("\n\n".join(problems)))
    fitted = [
        block if cost <= limit else _fit(block, limit, context, renderer)
        for block, cost in zip(blocks, costs, strict=True)
    ]
    text = "\n\n".join([*problems, *map(_text_of, fitted)])
    return ReadResult(
        text,
        counter.count(text),
        tuple(
            ReadRegion(
                b.region.item.path, b.region.span, b.region.item.kind, b.region.item.symbol, not b.cut, b.is_repeated
            )
            for b in fitted
        ),
        tuple(problems),
        len({region.item.path for region in regions if not _is_indexed(region, context.snapshot)}),
        tuple(
            ReceivedRegion(b.region.item.path, b.shown, hash_lines(b.region.file.lines, b.shown))
            for b in fitted
            if b.shown and not b.is_repeated
        ),
    )


def _text_of(block: _Block) -> str:
    return "\n".join(filter(None, [block.head, *block.lines, block.cut, block.tail]))


# ---------------------------------------------------------------- places


def _resolve_places(
    places: Sequence[str], context: ResolveContext, renderer: Renderer
) -> tuple[list[_Region], list[str]]:
    regions: list[_Region] = []
    problems: list[str] = []
    for place in places:
        context.token.check()
        outcome = resolve_place(place, context)
        items = () if any(item.kind == "folder" for item in outcome.targets) else outcome.targets
        files = [(item, context.sources.read(item.path, explicit=True)) for item in items]
        found = [_region(item, file, renderer) for item, file in files if isinstance(file, FileText)]
        if not found:
            problems.append(_problem(place, outcome, context))
        regions += [
            r for r in found if not any(o.item.path == r.item.path and o.span.contains(r.span) for o in regions)
        ]
    return regions, problems


def resolve_place(place: str, context: ResolveContext) -> MentionOutcome:
    """Return the outcome of a place; a word that is not a file may be a name."""
    text = place.strip().removeprefix("@")
    path, lines, name = split_place(text)
    root, path = split_root(context.snapshot, _with_folders(path, context.snapshot))
    if name:
        return symbol_resolver.resolve(Mention(text, 0, len(text), "symbol", name, root=root, scope=path), context)
    mention = Mention(text, 0, len(text), "file", path, lines[0] if lines else None, root, more_lines=lines[1:])
    outcome = file_resolver.resolve_file(mention, context)
    if outcome.status == "unresolved" and not lines and "/" not in path:
        as_name = symbol_resolver.resolve(Mention(text, 0, len(text), "symbol", path, root=root), context)
        return as_name if as_name.status != "unresolved" else outcome
    return outcome


def _with_folders(path: str, snapshot: Snapshot) -> str:
    """Return a path with the folders that "…" stands for in a list, if one file matches."""
    head, elision, tail = path.partition(f"{ELISION}/")
    if not elision:
        return path
    labels = map(snapshot.label, snapshot.basenames.get(path.rpartition("/")[2].lower(), ()))
    found = [label for label in labels if label.startswith(head) and label.endswith(f"/{tail}")]
    return found[0] if len(found) == 1 else path


def split_place(text: str) -> tuple[str, tuple[Span, ...], str]:
    """Return (path, lines, name) of a place; one of lines and name is empty.

    "a.py:10,20" are two lines, as in relations; in a mention, it is a range.
    """
    listed = _LISTED_LINES.fullmatch(text)
    if listed is not None:
        numbers = [max(1, int(digits)) for digits in listed["lines"].split(",")]
        return listed["path"], tuple(Span(number - 1, number) for number in numbers), ""
    for match in re.finditer(r"[:#]", text):
        reference = parse_lines(text, match.start())
        if reference is not None and reference.end == len(text):
            return text[: match.start()], reference.spans, ""
    path, _, name = text.partition("#")
    return path, (), name


def _problem(place: str, outcome: MentionOutcome, context: ResolveContext) -> str:
    """Return one sentence on why a place cannot be read, with the nearest existing names."""
    folders = [item.path for item in outcome.targets if item.kind == "folder"]
    if folders:
        prefix = folders[0].rstrip("/") + "/"
        files = sorted(path for path in context.snapshot.files if path.startswith(prefix))
        names = ", ".join(map(context.snapshot.label, files[:MAX_LISTED]))
        more = f" and {len(files) - MAX_LISTED} more" if len(files) > MAX_LISTED else ""
        return f"{place} is a folder; read a file of it: {names}{more}."
    near = [mention_to_argument(name) for name in (outcome.suggestion, *outcome.candidates[:MAX_LISTED]) if name]
    reason = outcome.reason or f"Nothing is called {place}."
    nearest = f" Nearest: {', '.join(dict.fromkeys(near))}." if near else ""
    return one_line(f"{place}: {reason}{nearest}")


def _region(item: Item, file: FileText, renderer: Renderer) -> _Region:
    symbol = definition_of(item, file, renderer)
    if symbol is None and item.kind != "file" and file.entry.outline is not None:
        item = replace(item, span=_extend(item.span, file.entry.outline))
        symbol = definition_of(item, file, renderer)
        if symbol is not None:
            item = replace(item, kind=symbol.kind, symbol=symbol.qualified)
    start, count = symbol.doc_start if symbol is not None else item.span.start, len(file.lines)
    return _Region(file, item, symbol, Span(min(max(0, start), count), min(item.span.end, count)))


def _extend(span: Span, outline: AnyOutline) -> Span:
    """Return the lines with the whole functions that their first and last line are in, unless these are long."""
    start, end = span.start, span.end
    for symbol in outline.symbols:
        if symbol.kind in CALLABLE_KINDS and len(symbol.span) <= MAX_EXTENDED_LINES and symbol.span.overlaps(span):
            start, end = min(start, symbol.span.start), max(end, symbol.span.end)
    return Span(start, end)


# ---------------------------------------------------------------- text


def _repeated(region: _Region, context: ResolveContext) -> _Block:
    """Return the block of a region that the reader has: one line."""
    label = one_line(context.snapshot.label(region.item.path))
    return _Block(region, f"unchanged since it was read: {label}:{region.span.label}", [], is_repeated=True)


def _heading(region: _Region, context: ResolveContext, renderer: Renderer) -> str:
    """Return the lines before a region: its place, the imports it uses, and the lines that open definitions around it."""
    label = one_line(context.snapshot.label(region.item.path))
    kind = "" if region.item.kind == "text" else f" {region.item.kind}"
    name = clean(region.item.symbol).lines[0]
    headers = merge_spans(enclosing_headers(region.file, region.span, region.symbol))
    return "\n".join(
        filter(
            None,
            [
                f"{label}:{region.span.label}{kind}{f' {name}' if name else ''}",
                _imports_in_use(region),
                *(line for header in headers for line in _numbered(region, renderer, header)),
            ],
        )
    )


def _numbered(region: _Region, renderer: Renderer, span: Span) -> list[str]:
    width = len(str(max(1, region.span.end)))
    lines = renderer.sanitized_lines(region.file)[span.start : span.end]
    return [f"{n:>{width}}\t{line}" for n, line in enumerate(lines, span.start + 1)]


def _imports_in_use(region: _Region) -> str:
    """Return the imported names that occur in a region, with their modules."""
    outline = region.file.entry.outline
    if outline is None:
        return ""
    other = [s.span for s in outline.symbols if s.kind in CALLABLE_KINDS and not s.span.overlaps(region.span)]
    outside = [i for i in outline.imports if i.line not in region.span and not any(i.line in span for span in other)]
    words = set(_WORD.findall(region.file.slice(region.span)))
    used: dict[str, dict[str, None]] = {}  # names by module, each once
    for imported in outside:
        names = imported.names or (re.split(r"[./:\\]+", imported.module)[-1],)
        local = imported.local_names or names
        for name, alias in zip(names, local, strict=False):
            if alias in words and name != "*":
                used.setdefault(imported.module, {})[name if name == alias else f"{name} as {alias}"] = None
    text = ", ".join(
        module if len(names) == 1 and module.endswith(next(iter(names))) else f"{module} {' '.join(names)}"
        for module, names in used.items()
    )
    return f"imports {truncate_words(clean(text).lines[0], MAX_IMPORT_CHARACTERS)}" if text else ""


def _relations(regions: Sequence[_Region], view: GraphView | None) -> list[str]:
    """Return the relations of the definitions in each region, within `RELATIONS_S` after the first definition."""
    if view is None:
        return ["relations are not ready"] * len(regions)
    deadline = math.inf
    texts: list[str] = []
    for region in regions:
        rows: list[str] = []
        for i, name in _definitions(region, view):
            if time.thread_time() > deadline:
                rows.append("relations take longer; explain the symbol")
                break
            line = relation_line(view, (region.item.path, i))
            rows += [clean(name + line).lines[0]] if line else []
            deadline = min(deadline, time.thread_time() + RELATIONS_S)
        texts.append("\n".join(rows))
    return texts


def _is_indexed(region: _Region, snapshot: Snapshot) -> bool:
    """Return whether the index has the present text of a region's file."""
    entry = snapshot.files.get(region.item.path)
    return entry is not None and entry.content_hash in (b"", region.file.entry.content_hash)


def _definitions(region: _Region, view: GraphView) -> list[tuple[int, str]]:
    """Return index and prefix of the region's definition, or of the first functions in it."""
    outline = view.snapshot.outline(region.item.path)
    if outline is None or not _is_indexed(region, view.snapshot):
        return []
    if region.symbol is not None:
        return [(i, "") for i, symbol in enumerate(outline.symbols) if symbol == region.symbol][:1]
    if region.item.kind == "file":
        return []
    inside = (
        (i, f"{symbol.qualified} ")
        for i, symbol in enumerate(outline.symbols)
        if symbol.kind in CALLABLE_KINDS and region.span.contains(symbol.span)
    )
    return [*islice(inside, MAX_RELATIONS)]


# ---------------------------------------------------------------- cuts


def _fit(block: _Block, share: int, context: ResolveContext, renderer: Renderer) -> _Block:
    """Return a block that costs at most its share: the first lines, or the members of a file or class.

    A line names what is left out, the definition that it is in, and the place to read.
    """
    region, count = block.region, renderer.counter.count
    label = one_line(short_path(context.snapshot, region.item.path))
    left = share - count(f"{block.head}\n{block.tail}\n") - CUT_TOKENS - count(label)
    members = _members(block, renderer)
    if members:
        lines = _first_fitting(members, left, renderer.counter)
        missing = f", {len(members) - len(lines)} more" if len(lines) < len(members) else ""
        cut = f"… only definitions are shown{missing}; read {label}#NAME or {label}:FIRST-LAST"
        return replace(block, lines=lines, cut=cut, cut_at=region.span.start)
    lines = _first_fitting(block.lines, left, renderer.counter)
    start = region.span.start
    end = cut_position(renderer.sanitized_lines(region.file), start, start, start + len(lines)) if lines else start
    rest = Span(end, region.span.end)
    outline = region.file.entry.outline
    around = [s for s in outline.symbols if s.span.start < end < s.span.end and s.name] if outline is not None else []
    where = f" of {clean(around[-1].qualified).lines[0]}" if around else ""
    cut = f"… {plural(len(rest), 'line')}{where} left out; read {label}:{rest.label}"
    return replace(block, lines=block.lines[: end - start], cut=cut, cut_at=end)


def _members(block: _Block, renderer: Renderer) -> list[str]:
    """Return the lines that open the definitions in a file or class, [] for other regions."""
    region = block.region
    outline = region.file.entry.outline
    if outline is None:
        return []
    if region.symbol is not None:
        last = Span(region.symbol.span.end - 1, region.symbol.span.end)
        own = [h for h in enclosing_headers(region.file, last, region.symbol) if region.span.contains(h)]
        members = member_headers(region.file, region.symbol)
        spans = merge_spans([*own, *members]) if members else ()
        return [line for span in spans for line in _numbered(region, renderer, span)]
    if region.item.kind != "file":
        return []
    names = [s for s in outline.symbols if s.kind in TYPE_KINDS | CALLABLE_KINDS | {"section"} and s.name]
    return [f"{s.span.label} {s.kind} {clean(s.qualified).lines[0]}" for s in names]


def _first_fitting(lines: list[str], budget: int, counter: Counter) -> list[str]:
    """Return the first lines that cost at most the budget."""
    end = bisect_right(list(accumulate(count_all(counter, [f"{line}\n" for line in lines]))), budget)
    return lines[:end]
