"""Forms of an item in a prompt: full, partial, signature, outline and reference.

A form is rendered and counted when it is first requested.  Lines of code are verbatim, after `sanitize.clean`.  A line
that starts with "…" replaces omitted lines and names them.  Reads no files: text is passed as `FileText`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import log2

from msgspec.structs import replace

from promptls.index import is_virtual
from promptls.languages.kinds import CALLABLE_KINDS, TITLED_KINDS, TYPE_KINDS
from promptls.model import EXPLICIT_ORIGINS, FileText, FormName, Item, RenderedItem, Span, Symbol
from promptls.prompt.rendering.definitions import (
    definition_of,
    enclosing_headers,
    member_headers,
    start_of_cut_function,
)
from promptls.prompt.rendering.renderer import Renderer, clean_symbol_name
from promptls.prompt.rendering.spans import (
    count_lines,
    cut_position,
    elision_lines,
    first_lines,
    intersect_spans,
    largest_fitting,
    merge_spans,
    subtract_spans,
)
from promptls.prompt.sanitize import clean, header_text
from promptls.redaction.place import origin_of
from promptls.redaction.secrets import Finding, redact
from promptls.util.text.display import plural

MAX_DOC_LINES, SHORT_DOC_LINES = 12, 6
"""Maximum lines of a comment above a definition that is shown in full; of a longer one, the first lines are shown."""

MAX_FENCE_TOKENS = 80
"""Maximum tokens of a fence and its header without the names in it; the estimate counts 68 for the longest one."""

MAX_RANGE_TOKENS = 12
"""Maximum tokens of the line range and the name in a header, without the characters of the name."""

MAX_CHARACTERS_PER_TOKEN = 12
"""More characters than any line of code has per token."""

_MAX_SIGNATURE_LINES = 20

_DIVISIBLE_KINDS = TITLED_KINDS - CALLABLE_KINDS
"""Kinds of symbols that may be cut between paragraphs or statements."""


def item_forms(item: Item, file: FileText | Sequence[FileText], renderer: Renderer) -> ItemForms:
    """Return the forms of an item.  `file` is its file, or for a folder the files in it, in the order to be shown."""
    if isinstance(file, FileText):
        return ItemForms(item, file, (), renderer)
    return ItemForms(item, None, tuple(file), renderer)


class ItemForms:
    """The forms of one item, each rendered at most once; None for a form that the item does not have."""

    __slots__ = (
        "_full",
        "_full_spans",
        "_outline",
        "_signature",
        "clamped_item",
        "file",
        "item",
        "members",
        "region",
        "renderer",
        "symbol",
    )

    def __init__(self, item: Item, file: FileText | None, members: tuple[FileText, ...], renderer: Renderer) -> None:
        self.item = item
        self.file = file
        self.members = members  # files of a folder
        self.renderer = renderer
        self.symbol = definition_of(item, file, renderer) if file else None
        self.region = self._region()
        """Lines of the item: clamped to the file, with the comment above a definition."""
        self.clamped_item = self._clamped_item()
        """The item with its span clamped to the file, as in every form."""
        self._full: RenderedItem | None = None
        self._full_spans: tuple[Span, ...] | None = None
        self._outline: RenderedItem | None = None
        self._signature: RenderedItem | None = None

    def _region(self) -> Span:
        count = len(self.file.lines) if self.file else 0
        start = self.symbol.doc_start if self.symbol else self.item.span.start
        return Span(min(max(0, start), count), min(self.item.span.end, count))

    def _clamped_item(self) -> Item:
        clamped = Span(max(0, self.item.span.start), min(self.item.span.end, self.region.end))
        return replace(self.item, span=clamped) if self.region and clamped != self.item.span else self.item

    # ------------------------------------------------------------ forms

    def full(self) -> RenderedItem | None:
        """Return all lines of the item."""
        if self._full is None and self._has_full():
            self._full = self.render_lines(self.full_spans(), self.region)
        return self._full

    def _has_full(self) -> bool:
        return self.file is not None and (bool(self.region) or not self.file.text)

    def full_spans(self) -> tuple[Span, ...]:
        """Return the spans of the full form: the region without notes and the end of a long comment above it."""
        if self._full_spans is None:
            start, end = self.region.start, self.region.end
            spans: tuple[Span, ...] = (self.region,) if self.region else ()
            if self.symbol and self.symbol.span.start - start > MAX_DOC_LINES:
                spans = (Span(start, start + SHORT_DOC_LINES), Span(self.symbol.span.start, end))
            self._full_spans = self._without_notes(spans)
        return self._full_spans

    def _without_notes(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """Return the spans without notes; explicit ranges and definitions, and items of nothing else, keep theirs."""
        is_requested = self.item.origin in EXPLICIT_ORIGINS and self.item.kind != "file"
        notes = () if is_requested or self.file is None else self.renderer.notes(self.file)
        inside = [note.span for note in notes if any(span.contains(note.span) for span in spans)]
        if not inside:
            return spans
        rest = tuple(subtract_spans(spans, inside))
        has_text = any(map(str.strip, chain.from_iterable(self.raw_lines[s.start : s.end] for s in rest)))
        return rest if has_text else spans

    @property
    def is_definition(self) -> bool:
        """True for a definition in code, unlike a section, a key, or lines between definitions."""
        return self.symbol is not None and self.symbol.kind not in _DIVISIBLE_KINDS

    def partial(
        self, max_tokens: int, spans: Sequence[Span] | None = None, whole_definitions: bool = False
    ) -> RenderedItem | None:
        """Return the first lines of the item, or of `spans` in it, that cost at most `max_tokens`; the rest is elided.

        The cut is before a statement with the least indentation, and not inside the signature of a definition.  Of an
        item with call sites, the signature and the lines around the call sites are shown.  With `whole_definitions`,
        neither the item nor a function in it is cut if it is a definition.
        """
        spans = merge_spans(self.full_spans() if spans is None else spans)
        if not spans:
            return None
        region = Span(spans[0].start, max(spans[-1].end, self.region.end))
        all_lines = self.full() if spans == self.full_spans() else self.render_lines(spans, region)
        if all_lines is None or all_lines.tokens <= max_tokens:
            return all_lines
        if self.item.call_sites and (excerpt := self._around_call_sites(spans, region, max_tokens)) is not None:
            return excerpt
        if whole_definitions and self.is_definition:
            return self._with_members(spans, region, max_tokens)
        min_count = 1
        if self.symbol and region.start <= self.symbol.span.start and self.symbol.body_start < region.end:
            min_count = count_lines(first_lines(spans, until=self.symbol.body_start)) + 1
        count = self._largest_count(spans, region, min_count, max_tokens, all_lines.tokens)
        if count is None:
            return None
        shown = first_lines(spans, count)
        if shown != spans:
            last = shown[-1]
            earliest = max(last.start + 1, last.end - (count - min_count))
            shown = (*shown[:-1], Span(last.start, cut_position(self.sanitized_lines, last.start, earliest, last.end)))
        if whole_definitions:
            shown = first_lines(shown, until=start_of_cut_function(self.file, self.region, shown[-1].end))
        return self.render_lines(shown, region) if shown else None

    def _with_members(self, spans: Sequence[Span], region: Span, max_tokens: int) -> RenderedItem | None:
        """Return the signatures of a class and of its members; None if they do not fit or there are none."""
        headers = member_headers(self.file, self.symbol)
        shown = intersect_spans([*self.signature_spans(), *headers], spans)
        if not headers or not shown:
            return None
        rendered = self.render_lines(shown, region, "partial")
        return rendered if rendered.tokens <= max_tokens else None

    def _around_call_sites(self, spans: Sequence[Span], region: Span, max_tokens: int) -> RenderedItem | None:
        """Return the signature and the first call sites that fit; if all fit, with the largest context that fits."""
        call_sites = self.item.call_sites

        def excerpt(count: int, context_lines: int) -> RenderedItem | None:
            sites = [Span(max(0, site - context_lines), site + 1 + context_lines) for site in call_sites[:count]]
            shown = intersect_spans([*self.signature_spans(), *sites], spans)
            rendered = self.render_lines(shown, region) if shown else None
            return rendered if rendered is not None and rendered.tokens <= max_tokens else None

        without_context = largest_fitting(1, len(call_sites), lambda count: excerpt(count, 0))
        return largest_fitting(1, len(region), lambda lines: excerpt(len(call_sites), lines)) or without_context

    def trim(self, rendered: RenderedItem, max_tokens: int) -> RenderedItem | None:
        """Return a rendered form of this item cut to `max_tokens`, its last lines first; None if nothing is left."""
        if rendered.form == "outline":
            return self.outline(max_tokens)
        return self.partial(max_tokens, rendered.spans) if rendered.spans else None

    def signature(self) -> RenderedItem | None:
        """Return the decorators, the signature and the first line of the documentation of a definition."""
        if self._signature is None and self.symbol is not None and self.region:
            spans = self.signature_spans()
            self._signature = self.render_lines(spans, Span(spans[0].start, self.region.end), "signature")
        return self._signature

    def signature_spans(self) -> tuple[Span, ...]:
        """Return the spans of the signature, with the docstring inside the definition or the comment above it."""
        symbol, lines = self.symbol, self.sanitized_lines
        if symbol is None:
            return ()
        start = symbol.span.start
        end = min(max(symbol.body_start, start + 1), start + _MAX_SIGNATURE_LINES, self.region.end)
        if end == symbol.body_start < self.region.end and re.match(r"\s*[rRuU]?(\"\"\"|'''|\"|')", lines[end]):
            quotes_only = lines[end].strip(" \trRuU\"'") == ""  # the text starts on the next line
            return (Span(start, min(end + 1 + quotes_only, self.region.end)),)
        with_text = [n for n in range(self.region.start, start) if re.search(r"\w{2}", lines[n])]
        is_short = len(with_text) > 0 and start - with_text[0] <= 2
        comment = Span(with_text[0], start if is_short else with_text[0] + 1) if with_text else Span(0, 0)
        return merge_spans([comment, Span(start, end)])

    def outline(self, max_tokens: int | None = None) -> RenderedItem | None:
        """Return the nested definitions of the item, one line each; if not all fit, the outermost ones."""
        if self._outline is None:
            entries = self._outline_entries()
            if not entries:
                return None
            self._outline = self._render_outline(entries, 0)
        if max_tokens is None or self._outline.tokens <= max_tokens:
            return self._outline
        return self._fit_outline(self._outline_entries(), max_tokens)

    def _outline_entries(self) -> list[tuple[int, str]]:
        if self.file is None:
            return folder_entries(self.item.path, self.members, self.renderer)
        return file_entries(self.file, self.region, 0, self.renderer)

    def _render_outline(self, entries: Sequence[tuple[int, str]], omitted: int) -> RenderedItem:
        rows = ["  " * depth + text for depth, text in entries]
        if omitted:
            rows.append(f"… {omitted} more {'entries' if omitted > 1 else 'entry'}")
        body = "\n".join(clean("\n".join(rows)).lines)
        return self.renderer.render(self.clamped_item, "outline", body)

    def _fit_outline(self, entries: list[tuple[int, str]], max_tokens: int) -> RenderedItem | None:
        outermost_first = sorted(range(len(entries)), key=lambda n: (entries[n][0], n))

        def outline_of(count: int) -> RenderedItem | None:
            shown = [entries[n] for n in sorted(outermost_first[:count])]
            rendered = self._render_outline(shown, len(entries) - count)
            return rendered if rendered.tokens <= max_tokens else None

        return largest_fitting(1, len(entries) - 1, outline_of)

    def reference(self, reason: str = "") -> RenderedItem:
        """Return one line with the name of the item and the reason why it is in the prompt."""
        location = self.renderer.label(self.item.path)
        if self.region and not (self.item.kind == "file" and len(self.region) == len(self.sanitized_lines)):
            location += f":{self.region.label}"
        symbol = clean_symbol_name(self.item.symbol)
        text = " ".join(filter(None, [location, symbol])) + f" - {reason or self.item.origin.value}"
        return self.renderer.render(self.clamped_item, "reference", text)

    def render_lines(
        self, spans: Sequence[Span], region: Span | None = None, form: FormName | None = None
    ) -> RenderedItem:
        """Render lines of the file; other lines between them and around them in `region` are elided.

        Without `region`, nothing is elided before the first and after the last line.
        """
        return self.renderer.count_tokens([self.uncounted_lines(spans, region, form)])[0]

    def uncounted_lines(
        self, spans: Sequence[Span], region: Span | None = None, form: FormName | None = None
    ) -> RenderedItem:
        """Render lines as `render_lines` does, without counting tokens."""
        spans = merge_spans(spans)
        region = region or Span(spans[0].start, spans[-1].end) if spans else Span(0, 0)
        lines = self.sanitized_lines
        numbered = self.renderer.line_numbers and not is_virtual(self.item.path)
        body: list[str] = []
        at = region.start
        for span in spans:
            body += self._elision(Span(at, span.start))
            shown = lines[span.start : span.end]
            body += (f"{n}\t{line}" for n, line in enumerate(shown, span.start + 1)) if numbered else shown
            at = span.end
        body += self._elision(Span(at, region.end))
        if form is None:
            form = "full" if spans == self.full_spans() else "partial"
        return RenderedItem(self.clamped_item, form, "\n".join(body), tuple(spans), 0)

    def _elision(self, gap: Span) -> list[str]:
        """Return the line that replaces a gap, which names notes if nothing else is left out."""
        notes = self.renderer.notes(self.file) if gap and self.file is not None else ()
        inside = [note for note in notes if gap.contains(note.span)]
        if inside:
            rest = subtract_spans([gap], [note.span for note in inside])
            if not any(map(str.strip, chain.from_iterable(self.raw_lines[s.start : s.end] for s in rest))):
                return elision_lines(gap, " and ".join(dict.fromkeys(note.name for note in inside)))
        return elision_lines(gap)

    # ------------------------------------------------------------ lines and findings

    def header_allowance(self) -> int:
        """Return a number of tokens that fence and header seldom exceed; the header may contain the path twice."""
        return MAX_FENCE_TOKENS + len(self.renderer.label(self.item.path)) + len(self.item.symbol) // 2

    def saved_tokens(self) -> int:
        """Return a number of tokens that a part seldom saves in the fence of its file."""
        return self.renderer.fence_tokens(self.item.path) + MAX_RANGE_TOKENS + len(self.item.symbol) // 2

    @property
    def sanitized_lines(self) -> Sequence[str]:
        """Sanitized lines of the item's file."""
        return self.renderer.sanitized_lines(self.file) if self.file else ()

    @property
    def raw_lines(self) -> Sequence[str]:
        """Lines of the item's file as they are; only to see which ones are blank."""
        return self.file.lines if self.file else ()

    def enclosing_headers(self, span: Span) -> list[Span]:
        """Return the lines that open the definitions around `span`, each without decorators and documentation."""
        inside = self.symbol if self.symbol is not None and self.region.contains(span) else None
        return enclosing_headers(self.file, span, inside)

    def injections(self, rendered: RenderedItem) -> list[Finding]:
        """Return prompt injections in the rendered lines; they are shown unchanged."""
        return self.renderer.sanitized_lines(self.file).injections(rendered.spans) if self.file else []

    def findings(self, rendered: RenderedItem) -> list[Finding]:
        """Return redacted secrets and escaped characters in the rendered lines."""
        return self.renderer.sanitized_lines(self.file).findings(rendered.spans) if self.file else []

    def for_span(self, span: Span) -> ItemForms:
        """Return the forms of another region of the same file, with this item's origin and score."""
        item = replace(self.item, span=span, symbol="", kind="text")
        symbol = definition_of(item, self.file, self.renderer) if self.file else None
        if symbol:
            item = replace(item, symbol=symbol.qualified, kind=symbol.kind)
        return ItemForms(item, self.file, (), self.renderer)

    def _largest_count(
        self, spans: tuple[Span, ...], region: Span, min_count: int, max_tokens: int, all_tokens: int
    ) -> int | None:
        """Return the largest number of first lines of `spans` that fits, None if `min_count` lines do not fit.

        All lines together cost `all_tokens` and do not fit.  Interpolation search by characters.
        """

        def cost(count: int) -> int:
            return self.render_lines(first_lines(spans, count), region).tokens

        low, low_tokens = min_count, cost(min_count)
        if low_tokens > max_tokens:
            return None
        ends = [0]  # characters up to the end of each line
        for line in chain.from_iterable(self.sanitized_lines[span.start : span.end] for span in spans):
            ends.append(ends[-1] + len(line) + 1)
            if ends[-1] > MAX_CHARACTERS_PER_TOKEN * max_tokens:
                break
        high, probes = len(ends) - 1, 0
        high_tokens = all_tokens if ends[-1] <= MAX_CHARACTERS_PER_TOKEN * max_tokens else 4 * max_tokens
        while high - low > 1:
            # Every third probe bisects, which bounds the number of probes.
            share = (max_tokens - low_tokens) / max(1, high_tokens - low_tokens) if probes % 3 < 2 else 0.5
            middle = bisect_right(ends, ends[low] + share * (ends[high] - ends[low])) - 1
            middle, probes = min(max(middle, low + 1), high - 1), probes + 1
            tokens = cost(middle)
            if tokens <= max_tokens:
                low, low_tokens = middle, tokens
            else:
                high, high_tokens = middle, tokens
        return low


def render_full_forms(forms: Iterable[ItemForms], renderer: Renderer) -> None:
    """Render the full forms of many items at once; counting them together is faster."""
    missing = [f for f in forms if f._full is None and f._has_full()]
    rendered = renderer.count_tokens([f.uncounted_lines(f.full_spans(), f.region) for f in missing])
    for item_forms_, full in zip(missing, rendered, strict=True):
        item_forms_._full = full


# ---------------------------------------------------------------- outlines


def file_entries(file: FileText, region: Span, base_depth: int, renderer: Renderer) -> list[tuple[int, str]]:
    """Return (depth, "12-40  def name(...)") for each symbol in the region."""
    symbols = file.entry.outline.symbols if file.entry.outline else ()
    depths: dict[int, int] = {-1: base_depth - 1}
    entries: list[tuple[int, str]] = []
    symbol_lines = renderer.symbol_lines(file)
    for i, symbol in enumerate(symbols):
        if not region.contains(symbol.span):
            continue
        depths[i] = depths.get(symbol.parent, base_depth - 1) + 1
        entries.append((depths[i], f"{symbol.span.label}  {symbol_lines[i]}"))
    return entries


def folder_entries(path: str, files: Sequence[FileText], renderer: Renderer) -> list[tuple[int, str]]:
    """Return (0, file) for each file of the folder, followed by its symbols, one level deeper."""
    prefix = renderer.label(path).rstrip("/") + "/"
    entries: list[tuple[int, str]] = []
    for file in files:
        entries.append((0, header_text(renderer.label(file.entry.path).removeprefix(prefix))))
        entries += file_entries(file, Span(0, len(file.lines)), 1, renderer)
    return entries


# ---------------------------------------------------------------- outline of definitions


MAX_MEMBERS = 5
"""Maximum number of members shown of a type: those that the most files mention, in the order of the file."""
MAX_SIGNATURE_CHARACTERS = 90
"""Maximum number of characters of a signature."""
MAX_TYPE_PARAMETERS = 24
"""Maximum number of characters of a list of type parameters."""
MAX_DOC_CHARACTERS = 160
"""Maximum number of characters of documentation."""


_NOT_PUBLIC = re.compile(r"pub\(|private\b|protected\b|internal\b|fileprivate\b|#")
"""Start of the signature of a member that is not public."""


class DefinitionOutline(ItemForms):
    """Forms of some definitions of one file; the outline is the only one."""

    __slots__ = ("definitions", "mention_count")

    def __init__(
        self,
        item: Item,
        file: FileText,
        definitions: Sequence[Item],
        renderer: Renderer,
        mention_count: Callable[[str], int],
    ) -> None:
        self.definitions = tuple(definitions)
        self.mention_count = mention_count
        super().__init__(item, file, (), renderer)

    def _has_full(self) -> bool:
        return False

    def full_spans(self) -> tuple[Span, ...]:
        """Return no spans: the code is not shown."""
        return ()

    def partial(
        self, max_tokens: int, spans: Sequence[Span] | None = None, whole_definitions: bool = False
    ) -> RenderedItem | None:
        """Return None: the code is not shown."""
        return None

    def signature(self) -> RenderedItem | None:
        """Return None: the outline has the signature."""
        return None

    def trim(self, rendered: RenderedItem, max_tokens: int) -> RenderedItem | None:
        """Return the outline cut to `max_tokens`, or None if nothing of it fits."""
        return self.outline(max_tokens)

    def _outline_entries(self) -> list[tuple[int, str]]:
        outline = self.file.entry.outline if self.file is not None else None
        if outline is None or self.file is None:
            return []
        wanted = {(item.symbol, item.span.start) for item in self.definitions}
        symbols, lines = outline.symbols, self.renderer.symbol_lines(self.file)
        entries: list[tuple[int, str]] = []
        for index, symbol in enumerate(symbols):
            if (symbol.qualified, symbol.span.start) not in wanted:
                continue
            doc = redact(symbol.doc, origin_of(self.file.entry))[0]
            entries.append((0, f"{_line(symbol, lines[index])}{_documentation(doc)}"))
            members = _members(symbols, index) if symbol.kind in TYPE_KINDS or symbol.kind == "module" else []
            main = sorted(members, key=lambda i: (-self._importance(symbols[i]), i))[:MAX_MEMBERS]
            entries += [(1, _line(symbols[i], lines[i])) for i in sorted(main)]
            if len(members) > MAX_MEMBERS:
                entries.append((1, f"… {plural(len(members) - MAX_MEMBERS, 'more member')}"))
        return entries

    def _importance(self, member: Symbol) -> float:
        return self.mention_count(member.name) * log2(1 + len(member.span))


def outline_definitions(
    items: Iterable[Item], file: FileText, renderer: Renderer, mention_count: Callable[[str], int]
) -> DefinitionOutline:
    """Return the outline of some definitions of a file, as one item with the highest score of them.

    Args:
        items: The definitions.
        file: Their file.
        renderer: Renderer of the request.
        mention_count: Number of files that mention a name.
    """
    definitions = sorted(items, key=lambda item: -item.score)
    item = definitions[0]
    if len(definitions) > 1:
        item = replace(item, span=Span(0, len(file.lines)), kind="file", symbol="")
    return DefinitionOutline(item, file, definitions, renderer, mention_count)


def _line(symbol: Symbol, signature: str) -> str:
    signature = without_type_parameters(signature)
    cut = signature if len(signature) <= MAX_SIGNATURE_CHARACTERS else f"{signature[: MAX_SIGNATURE_CHARACTERS - 1]}…"
    return f"{symbol.span.label}  {cut}"


def without_type_parameters(signature: str) -> str:
    """Remove a long list of type parameters that follows the name of a definition."""
    start = signature.find("<")
    if start <= 0 or not (signature[start - 1].isalnum() or signature[start - 1] == "_") or "(" in signature[:start]:
        return signature
    depth = 0
    for at in range(start, len(signature)):
        depth += (signature[at] == "<") - (signature[at] == ">" and signature[at - 1] not in "=-")
        if depth == 0:
            end = at + 1
            return signature if end - start <= MAX_TYPE_PARAMETERS else signature[:start] + signature[end:]
    return f"{signature[:start]}<…"


def _documentation(doc: str) -> str:
    text = " ".join(doc.split())
    if len(text) > MAX_DOC_CHARACTERS:
        end = text.rfind(". ", 0, MAX_DOC_CHARACTERS)
        text = text[: end + 1] if end > 0 else f"{text[: MAX_DOC_CHARACTERS - 1].rstrip()}…"
    return f" - {text}" if text else ""


def _members(symbols: Sequence[Symbol], index: int) -> list[int]:
    """Return the public members of a type, also those defined outside of its body: methods, else fields."""
    prefix = f"{symbols[index].qualified}."
    members = [
        i
        for i, symbol in enumerate(symbols)
        if symbol.name
        and not symbol.name.startswith("_")
        and (symbol.parent == index or symbol.qualified == prefix + symbol.name)
        and symbol.kind not in TYPE_KINDS
        and symbol.kind != "type"
        and _NOT_PUBLIC.match(symbol.signature) is None
    ]
    members = list({symbols[i].name: i for i in reversed(members)}.values())[::-1]  # overloads and accessors once
    callables = [i for i in members if symbols[i].kind in CALLABLE_KINDS]
    exported = [i for i in callables if symbols[i].exported]
    return exported or callables or members
