"""An item of the workspace as it can stand in a prompt: in full, in part, or only named.

Each form is built and counted when it is first asked for.  Lines of code stand verbatim, after
`sanitize.clean`; a line that starts with "…" stands for lines left out and says which.
Reads no files: texts come in as `TextView`s.  Knows nothing of budgets beyond the `room` it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain

from msgspec.structs import replace

from promptls.model import AnyOutline, Block, FormName, Item, Span, Symbol, TextView
from promptls.prompt.fences import SPECIMEN, fence
from promptls.prompt.sanitize import Finding, clean, header_text, redact
from promptls.prompt.sanitized_lines import Page
from promptls.prompt.tokens import Counter, count_all

SEPARATOR = "\n\n"
"""Between two elements; counted with the element before it."""

DOC_MAX, DOC_HEAD = 12, 6
"""A comment above a definition is shown whole up to `DOC_MAX` lines, else its first `DOC_HEAD`."""

FENCE_MOST = 80
"""Tokens of a fence and its header beside the names in it; the estimate counts 68 for the longest one."""

_HEAD_MAX = 20  # lines of a signature
_NAME_MAX = 120  # characters of a symbol's name in a header: a section's heading can be a paragraph
_CITATION = "P10"  # stands for the citation while blocks are measured


class Renderer:
    """What forms share in one request: the counter, how paths are written, the cleaned files."""

    __slots__ = ("_ending", "_heads", "_pages", "citations", "counter", "label")

    def __init__(self, counter: Counter, label: Callable[[str], str], *, citations: bool = False) -> None:
        self.counter = counter
        self.label = lru_cache(label)
        self.citations = citations
        self._pages: dict[tuple[str, str], Page] = {}
        self._heads: dict[tuple[str, str], list[str]] = {}
        self._ending: dict[tuple[str, str], dict[int, list[Symbol]]] = {}

    def page(self, view: TextView) -> Page:
        """The view's lines as they may be shown."""
        key = (view.entry.path, view.text)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = Page(view)
        return page

    def heads(self, view: TextView) -> list[str]:
        """What an outline says of each symbol of the view's file."""
        key = (view.entry.path, view.text)
        heads = self._heads.get(key)
        if heads is None:
            symbols = view.entry.outline.symbols if view.entry.outline else ()
            said = "\n".join(" ".join((s.signature or s.name or s.kind).split("\n")) for s in symbols)
            heads = self._heads[key] = redact(said, view.entry.path)[0].split("\n")  # it is known here which file it is
        return heads

    def ending(self, view: TextView, line: int) -> Sequence[Symbol]:
        """The symbols of the view's file that end before a line."""
        key = (view.entry.path, view.text)
        known = self._ending.get(key)
        if known is None:
            known = self._ending[key] = {}
            for symbol in view.entry.outline.symbols if view.entry.outline else ():
                known.setdefault(symbol.span.end, []).append(symbol)
        return known.get(line, ())

    def block(self, item: Item, form: FormName, body: str, spans: Iterable[Span] = ()) -> Block:
        """A block with its cost in the prompt: fence, header and the separator after it included."""
        return self.priced([Block(item, form, body, tuple(spans), 0)])[0]

    def priced(self, blocks: Sequence[Block]) -> list[Block]:
        """Blocks with their costs in the prompt."""
        citation = _CITATION if self.citations else ""
        texts = [element(block, self.label, SPECIMEN, citation) + SEPARATOR for block in blocks]
        costs = count_all(self.counter, texts)
        return [replace(block, tokens=cost) for block, cost in zip(blocks, costs, strict=True)]


def element(block: Block, label: Callable[[str], str], boundary: str, citation: str = "") -> str:
    """The block as it stands in the prompt; `citation` ("P1") puts "[P1] source: path:lines" on a line before it."""
    item = block.item
    path, symbol = label(item.path), named(item.symbol)
    lines = ", ".join(span.label for span in block.spans)
    if block.form == "outline" and item.kind != "folder":
        lines = item.span.label
    if block.form == "reference":
        text = fence([("see", block.body), ("cite", citation)], None, boundary)
    else:
        form = block.form if block.form in ("outline", "signature") else ""
        attributes = [("path", path), ("lines", lines), ("symbol", symbol), ("form", form), ("cite", citation)]
        text = fence(attributes, block.body, boundary)
    if not citation or block.form == "reference":
        return text
    return f"[{citation}] source: {header_text(path)}{':' if lines else ''}{lines}\n{text}"


@lru_cache(maxsize=1 << 12)
def named(symbol: str) -> str:
    """A symbol's name as it may stand in a prompt; it is cut when it holds no secret any more."""
    return clean(symbol).lines[0][:_NAME_MAX] if symbol else ""


def forms(item: Item, view: TextView | Sequence[TextView], renderer: Renderer) -> Forms:
    """The forms of an item.  `view` is its file, or for a folder the files in it, in the order wanted."""
    if isinstance(view, TextView):
        return Forms(item, view, (), renderer)
    return Forms(item, None, tuple(view), renderer)


class Forms:
    """One item in all its forms, each made at most once.  A form that the item has not is None."""

    __slots__ = ("_full", "_outline", "_signature", "item", "members", "region", "renderer", "shown", "symbol", "view")

    def __init__(self, item: Item, view: TextView | None, members: tuple[TextView, ...], renderer: Renderer) -> None:
        self.item = item
        self.view = view
        self.members = members
        self.renderer = renderer
        self.symbol = _definition(item, view, renderer) if view else None
        self.region = self._region()
        """The lines that the item stands for: clamped to the file, with the comment above a definition."""
        self.shown = self._shown()
        """The item with its span clamped to the file: that of every block."""
        self._full: Block | None = None
        self._outline: Block | None = None
        self._signature: Block | None = None

    def _region(self) -> Span:
        count = len(self.view.lines) if self.view else 0
        start = self.symbol.doc_start if self.symbol else self.item.span.start
        return Span(min(max(0, start), count), min(self.item.span.end, count))

    def _shown(self) -> Item:
        clamped = Span(max(0, self.item.span.start), min(self.item.span.end, self.region.end))
        return replace(self.item, span=clamped) if self.region and clamped != self.item.span else self.item

    # ------------------------------------------------------------ forms

    def full(self) -> Block | None:
        """All lines of the item."""
        if self._full is None and self._has_full():
            self._full = self.lines(self.whole())
        return self._full

    def _has_full(self) -> bool:
        return self.view is not None and (bool(self.region) or self._is_empty_file())

    def whole(self) -> tuple[Span, ...]:
        """The spans of the full form: all of the region but the end of a long comment above it."""
        if self.symbol and self.symbol.span.start - self.region.start > DOC_MAX:
            start = self.region.start
            return (Span(start, start + DOC_HEAD), Span(self.symbol.span.start, self.region.end))
        return (self.region,) if self.region else ()

    def partial(self, room: int, spans: Sequence[Span] | None = None) -> Block | None:
        """The first lines of the item (or of the `spans` of it) that cost at most `room` tokens, the rest elided.

        Cut before a statement that stands as far out as possible; not cut inside a definition's head.  Of an item with
        sites its head and the lines around those.
        """
        spans = _joined(self.whole() if spans is None else spans)
        if not spans:
            return None
        region = Span(spans[0].start, max(spans[-1].end, self.region.end))
        everything = self.full() if spans == self.whole() else self.lines(spans, region)
        if everything is None or everything.tokens <= room:
            return everything
        if self.item.sites and (around := self._around_sites(spans, region, room)) is not None:
            return around
        least = 1
        if self.symbol and region.start <= self.symbol.span.start and self.symbol.body_start < region.end:
            least = sum(len(s) for s in _first(spans, until=self.symbol.body_start)) + 1
        most = self._largest(spans, region, least, room, everything.tokens)
        if most is None:
            return None
        shown = _first(spans, most)
        if shown != spans:
            last = shown[-1]
            floor = max(last.start + 1, last.end - (most - least))
            shown = (*shown[:-1], Span(last.start, _cut(self.page, last.start, floor, last.end)))
        return self.lines(shown, region)

    def _around_sites(self, spans: Sequence[Span], region: Span, room: int) -> Block | None:
        """The head, the first sites that fit, and where all do as much around each as fits; None if not even one does."""
        sites = self.item.sites

        def around(count: int, reach: int) -> Block | None:
            near = [Span(max(0, site - reach), site + 1 + reach) for site in sites[:count]]
            shown = _within([*self.head(), *near], spans)
            block = self.lines(shown, region) if shown else None
            return block if block is not None and block.tokens <= room else None

        best = _most(1, len(sites), lambda count: around(count, 0))
        return _most(1, len(region), lambda reach: around(len(sites), reach)) or best

    def trimmed(self, block: Block, room: int) -> Block | None:
        """A block of this item cut down to `room` tokens, its last lines first; None if nothing is left."""
        if block.form == "outline":
            return self.outline(room)
        return self.partial(room, block.spans) if block.spans else None

    def signature(self) -> Block | None:
        """Decorators, head and the first line of the documentation of a definition."""
        if self._signature is None and self.symbol is not None and self.region:
            spans = self.head()
            self._signature = self.lines(spans, Span(spans[0].start, self.region.end), "signature")
        return self._signature

    def head(self) -> tuple[Span, ...]:
        """The spans of the signature: the documentation inside the definition, else what stands above it."""
        symbol, lines = self.symbol, self.page
        if symbol is None:
            return ()
        end = min(max(symbol.body_start, symbol.span.start + 1), symbol.span.start + _HEAD_MAX, self.region.end)
        if end == symbol.body_start < self.region.end and re.match(r"\s*[rRuU]?(\"\"\"|'''|\"|')", lines[end]):
            bare = lines[end].strip(" \trRuU\"'") == ""
            return (Span(symbol.span.start, min(end + 1 + bare, self.region.end)),)
        said = [n for n in range(self.region.start, symbol.span.start) if re.search(r"\w{2}", lines[n])]
        near = len(said) > 0 and symbol.span.start - said[0] <= 2
        above = Span(said[0], symbol.span.start if near else said[0] + 1) if said else Span(0, 0)
        return _joined([above, Span(symbol.span.start, end)])

    def outline(self, room: int | None = None) -> Block | None:
        """The definitions inside, nested, one line each; the outermost first if `room` does not hold them all."""
        if self._outline is None:
            entries = self._entries()
            if not entries:
                return None
            self._outline = self._listed(entries, 0)
        if room is None or self._outline.tokens <= room:
            return self._outline
        return self._fitted(self._entries(), room)

    def _entries(self) -> list[tuple[int, str]]:
        if self.view is None:
            return _folder_entries(self)
        return _entries(self.view, self.region, 0, self.renderer)

    def reference(self, why: str = "") -> Block:
        """One line that names the item and says why it is here."""
        where = self.renderer.label(self.item.path)
        if self.region and not (self.item.kind == "file" and len(self.region) == len(self.page)):
            where += f":{self.region.label}"
        symbol = named(self.item.symbol)
        text = " ".join(filter(None, [where, symbol])) + f" - {why or self.item.origin.value}"
        return self.renderer.block(self.shown, "reference", text)

    def lines(self, spans: Sequence[Span], region: Span | None = None, form: FormName | None = None) -> Block:
        """These lines of the file, what lies between them and around them in `region` elided.

        Without `region` nothing is elided before the first and after the last line.
        """
        return self.renderer.priced([self.unpriced(spans, region, form)])[0]

    def unpriced(self, spans: Sequence[Span], region: Span | None = None, form: FormName | None = None) -> Block:
        """`lines`, before its tokens are counted."""
        spans = _joined(spans)
        region = region or Span(spans[0].start, spans[-1].end) if spans else Span(0, 0)
        page = self.page
        body: list[str] = []
        at = region.start
        for span in spans:
            body += _elision(Span(at, span.start))
            body += page[span.start : span.end]
            at = span.end
        body += _elision(Span(at, region.end))
        if form is None:
            form = "full" if spans == self.whole() else "partial"
        return Block(self.shown, form, "\n".join(body), tuple(spans), 0)

    # ------------------------------------------------------------ what they are made of

    def heading_allowance(self) -> int:
        """Tokens that the header of a block and its fence seldom exceed; a path may stand there twice."""
        return FENCE_MOST + len(self.renderer.label(self.item.path)) + len(self.item.symbol) // 2

    @property
    def page(self) -> Sequence[str]:
        """The lines of the item's file as they may be shown."""
        return self.renderer.page(self.view) if self.view else ()

    @property
    def raw(self) -> Sequence[str]:
        """The same lines as they are: enough to see which are blank."""
        return self.view.lines if self.view else ()

    def orders(self, block: Block) -> list[Finding]:
        """What reads like instructions to a model in the lines that the block shows; it stands there unchanged."""
        return self.renderer.page(self.view).orders(block.spans) if self.view else []

    def findings(self, block: Block) -> list[Finding]:
        """What was redacted or made visible in the lines that the block shows."""
        return self.renderer.page(self.view).findings(block.spans) if self.view else []

    def at(self, span: Span) -> Forms:
        """The forms of another region of the same file, with this item's origin and score."""
        item = replace(self.item, span=span, symbol="", kind="text")
        symbol = _definition(item, self.view, self.renderer) if self.view else None
        if symbol:
            item = replace(item, symbol=symbol.qualified, kind=symbol.kind)
        return Forms(item, self.view, (), self.renderer)

    def _is_empty_file(self) -> bool:
        return self.view is not None and not self.view.text

    def _largest(self, spans: tuple[Span, ...], region: Span, least: int, room: int, whole: int) -> int | None:
        """The largest number of first lines of `spans` that fits into `room`, None if not even `least` does.

        `whole` tokens, those of all lines, do not fit.  Where the last line that fits will be, characters tell.
        """

        def cost(count: int) -> int:
            return self.lines(_first(spans, count), region).tokens

        low, paid = least, cost(least)
        if paid > room:
            return None
        ends = [0]
        for line in chain.from_iterable(self.page[span.start : span.end] for span in spans):
            ends.append(ends[-1] + len(line) + 1)
            if ends[-1] > 12 * room:  # no code has that many characters to a token
                break
        high, probes = len(ends) - 1, 0
        price = whole if ends[-1] <= 12 * room else 4 * room  # about what so many characters cost
        while high - low > 1:
            share = (room - paid) / max(1, price - paid) if probes % 3 < 2 else 0.5  # halved: few steps, come what may
            middle = bisect_right(ends, ends[low] + share * (ends[high] - ends[low])) - 1
            middle, probes = min(max(middle, low + 1), high - 1), probes + 1
            tokens = cost(middle)
            if tokens <= room:
                low, paid = middle, tokens
            else:
                high, price = middle, tokens
        return low

    def _listed(self, entries: Sequence[tuple[int, str]], left_out: int) -> Block:
        rows = ["  " * depth + text for depth, text in entries]
        if left_out:
            rows.append(f"… {left_out} more {'entries' if left_out > 1 else 'entry'}")
        body = "\n".join(clean("\n".join(rows)).lines)
        return self.renderer.block(self.shown, "outline", body)

    def _fitted(self, entries: list[tuple[int, str]], room: int) -> Block | None:
        outermost = sorted(range(len(entries)), key=lambda n: (entries[n][0], n))

        def listed(count: int) -> Block | None:
            block = self._listed([entries[n] for n in sorted(outermost[:count])], len(entries) - count)
            return block if block.tokens <= room else None

        return _most(1, len(entries) - 1, listed)


def make_full(every: Iterable[Forms], renderer: Renderer) -> None:
    """Make the full forms of many items at once, which is faster than one by one."""
    lacking = [f for f in every if f._full is None and f._has_full()]
    for forms_, block in zip(lacking, renderer.priced([f.unpriced(f.whole()) for f in lacking]), strict=True):
        forms_._full = block


def bodies(whole: Forms, inside: Sequence[Forms], room: int) -> Block | None:
    """The definitions `inside` of a file that fit into `room`, best first, in the order of the file.

    One that does not fit in full is shown by its signature.  None if not even one signature fits.
    """
    if whole.view is None:
        return None
    count, page = whole.renderer.counter.count, whole.page
    left = room - whole.lines((), whole.region).tokens
    chosen: list[tuple[Forms, bool]] = []  # (definition, whether in full)
    for forms_ in inside:
        for in_full, spans in ((True, forms_.whole()), (False, forms_.head())):
            cost = sum(count("\n".join([*page[s.start : s.end], *_elision(s), ""])) for s in spans)
            if spans and cost <= left:
                chosen.append((forms_, in_full))
                left -= cost
                break
    while chosen:
        shown = [span for forms_, in_full in chosen for span in (forms_.whole() if in_full else forms_.head())]
        block = whole.lines(shown, whole.region, "partial")
        if block.tokens <= room:
            return block
        last, in_full = chosen.pop()  # costs were added up one by one: the sum can be a little short
        if in_full and last.head() and last.head() != last.whole():
            chosen.append((last, False))
    return None


def _definition(item: Item, view: TextView, renderer: Renderer) -> Symbol | None:
    """The symbol that the item is: of its span, with or without the comment above, by its name if several."""
    if item.kind == "file" or view.entry.outline is None:
        return None
    found = _beginning(item, _chunked(view.entry.outline, item.span.end))
    if item.symbol and (found is None or found.qualified != item.symbol):
        found = _beginning(item, renderer.ending(view, item.span.end))  # few have no chunk; reading all takes its time
    return found


def _beginning(item: Item, symbols: Iterable[Symbol]) -> Symbol | None:
    """Of the symbols those that begin with the item: that of its name, else the first."""
    at = [s for s in symbols if item.span.start in (s.span.start, s.doc_start)]
    return next((s for s in at if s.qualified == item.symbol), at[0] if at else None)


def _chunked(outline: AnyOutline, line: int) -> list[Symbol]:
    """The symbols that end before a line, of those that the chunk there belongs to."""
    at = bisect_left(outline.chunks, line, key=lambda chunk: chunk.span.start) - 1
    number = outline.chunks[at].symbol if at >= 0 else -1
    found: list[Symbol] = []
    while number >= 0 and (symbol := outline.symbols[number]).span.end <= line:
        found += [symbol] if symbol.span.end == line else []
        number = symbol.parent
    return found[::-1]


def _elision(span: Span) -> list[str]:
    if not span:
        return []
    return [f"… {len(span)} more line{'s' if len(span) > 1 else ''} ({span.label})"]


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sorted, disjoint, not touching, none empty."""
    out: list[Span] = []
    for span in sorted(s for s in spans if s):
        if out and span.start <= out[-1].end:
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return tuple(out)


def _most(low: int, high: int, make: Callable[[int], Block | None]) -> Block | None:
    """What is made of the largest number that anything is made of, if it is so for all smaller ones."""
    best = None
    while low <= high:
        middle = (low + high) // 2
        block = make(middle)
        if block is not None:
            best, low = block, middle + 1
        else:
            high = middle - 1
    return best


def _within(spans: Iterable[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """What of the spans lies in others."""
    return _joined(Span(max(a.start, b.start), min(a.end, b.end)) for a in spans for b in others if a.overlaps(b))


def _first(spans: Sequence[Span], count: int | None = None, until: int | None = None) -> tuple[Span, ...]:
    """The first `count` lines of `spans`, or those before the line `until`."""
    out: list[Span] = []
    for span in spans:
        end = span.end if until is None else min(span.end, until)
        if count is not None:
            end = min(end, span.start + count)
            count -= max(0, end - span.start)
        if end <= span.start:
            break
        out.append(Span(span.start, end))
    return tuple(out)


def _entries(view: TextView, region: Span, base: int, renderer: Renderer) -> list[tuple[int, str]]:
    """(depth, "12-40  def name(...)") of each symbol in the region."""
    symbols = view.entry.outline.symbols if view.entry.outline else ()
    depths: dict[int, int] = {-1: base - 1}
    entries: list[tuple[int, str]] = []
    said = renderer.heads(view)
    for i, symbol in enumerate(symbols):
        if not region.contains(symbol.span):
            continue
        depths[i] = depths.get(symbol.parent, base - 1) + 1
        entries.append((depths[i], f"{symbol.span.label}  {said[i]}"))
    return entries


def _folder_entries(forms_: Forms) -> list[tuple[int, str]]:
    """(0, file) and, one level deeper, its symbols; for each file of the folder."""
    label = forms_.renderer.label
    prefix = label(forms_.item.path).rstrip("/") + "/"
    entries: list[tuple[int, str]] = []
    for view in forms_.members:
        entries.append((0, header_text(label(view.entry.path).removeprefix(prefix))))
        entries += _entries(view, Span(0, len(view.lines)), 1, forms_.renderer)
    return entries


_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;)")
_GOES_ON = re.compile(r"^\s*[)\]}>.,:;|&+*/%=?-]|^\s*(?:else|elif|except|finally|catch|and|or|end)\b")
_UNFINISHED = re.compile(r"[(\[{,\\+*/%=&|<?:-]\s*$|\b(?:and|or|not|return|in|is)\s*$")


def _cut(lines: Sequence[str], start: int, least: int, most: int) -> int:
    """Where to end in [least, most]: before the least indented line that starts something, the later the better.

    Looks back at most over 30 % of the lines.  Blank lines at the end are not shown.
    """
    best, best_rank = most, (-1, 0, 0)
    for end in range(most, max(least, most - max(3, (most - start) * 3 // 10)) - 1, -1):
        after = next((line for line in lines[end : end + 3] if line.strip()), "")
        before = next((line for line in reversed(lines[max(start, end - 3) : end]) if line.strip()), "")
        whole = not (_GOES_ON.match(after) or _UNFINISHED.search(before) or _COMMENT.match(before))
        rank = (int(whole), -(len(after) - len(after.lstrip())), end)
        if rank > best_rank:
            best, best_rank = end, rank
    while best > least and not lines[best - 1].strip():
        best -= 1
    return best
