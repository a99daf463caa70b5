"""Explicit context: items of mentions, the selection and the active document, and the final outcome of mentions.

Explicit context has priority over implicit context.  A folder is represented by its outline.  The files in it are
requested only through it, so they compete with retrieved items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, islice

from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import access_denied_reason
from promptls.mentions.resolve import collect_items, resolve_mentions
from promptls.model import FileText, Item, MentionOutcome, MentionStatus, Origin, Problem, RenderedItem, Span
from promptls.prompt.assemble import AssembledPrompt
from promptls.prompt.packing.pack import MAX_COUNTED_OMITTED, PackingCandidate
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.rendering.spans import merge_spans, subtract_spans
from promptls.util.text.display import truncate_words

MAX_DEFINITIONS = 12
"""Maximum number of relevant definitions that come first of a mentioned file that does not fit."""
MAX_OTHER_DEFINITIONS = 200
"""Maximum number of other definitions of such a file that may fill the budget."""
MAX_FOLDER_FILES = 40
"""Maximum number of files in the outline of a mentioned folder."""
MAX_UNRESOLVED = 10
"""Maximum number of mentions without a target that the prompt names."""
MAX_MENTION_CHARACTERS = 80
"""Maximum length of such a mention."""

_DEICTIC = re.compile(r"\b(?:this|current|active) (?:file|document|module|buffer|class|function)\b|\bhere\b", re.I)
"""A reference to the active document in the message."""

_Region = tuple[str, Span]
"""Path and lines of an item."""

UnreadableItems = dict[_Region, str]
"""Why an item cannot be shown, by path and span."""


def active_context(message: str, context: ResolveContext) -> tuple[list[Item], list[str]]:
    """Return the selection, else the active document if the message refers to it; and warnings."""
    client = context.client
    warnings: list[str] = []
    if client.selection is not None and not _hidden_reason(client.selection[0], context):
        path, span = client.selection
        view = context.sources.read(path, explicit=True)
        if isinstance(view, Problem) or span.start < len(view.lines):
            return [_with_symbol(Item(path, span, "text", Origin.SELECTION, 1.0), context)], []
        location = f"{context.snapshot.label(path)}:{span.label}"
        warnings = [f"The selected lines {location} are no longer in the file; select them again."]
    if client.active_document and _DEICTIC.search(message):
        hidden = _hidden_reason(client.active_document, context)
        if not hidden:
            return [Item(client.active_document, Span(0, 1 << 30), "file", Origin.ACTIVE, 1.0)], warnings
        warnings.append(f"The active document is not included: {hidden}")
    return [], warnings


def _hidden_reason(path: str, context: ResolveContext) -> str:
    """Return why a document of the editor cannot be shown, "" for an indexed file and for an open document."""
    if path in context.snapshot.files:
        return ""
    return access_denied_reason(context, path) or (
        "" if path in context.snapshot.documents else f"{context.snapshot.label(path)} is not indexed."
    )


def recipe_items(mentions: Sequence[str], context: ResolveContext, first: int) -> tuple[list[Item], list[str]]:
    """Return the items of a recipe's mentions, and a warning for each mention without items.

    The mentions are numbered from `first`, the number of mentions in the message.
    """
    items: list[Item] = []
    warnings: list[str] = []
    for text in mentions:
        outcomes = resolve_mentions(text, context)
        resolved = [replace(item, mention=first + item.mention) for item in collect_items(outcomes)]
        first += len(outcomes)
        items += resolved
        if not resolved:
            reason = next((o.reason for o in outcomes if o.reason), "there is no such kind of mention.")
            warnings.append(f"The recipe mentions {text}: {reason}")
    return items, warnings


def pinned_items(regions: Iterable[_Region], context: ResolveContext) -> list[Item]:
    """Return the regions that were pinned as items; files that may not be shown are left out."""
    readable = (region for region in regions if not _hidden_reason(region[0], context))
    return [_with_symbol(Item(path, span, "text", Origin.PINNED, 1.0), context) for path, span in readable]


def is_dropped(item: Item, dropped: Iterable[_Region]) -> bool:
    """Return whether at least half of an item is in regions that the user has dropped."""
    start, end = item.span.start, item.span.end
    shared = [min(end, span.end) - max(start, span.start) for path, span in dropped if path == item.path]
    return any(lines > 0 and 2 * lines >= end - start for lines in shared)


def _with_symbol(item: Item, context: ResolveContext) -> Item:
    """Return the item with the name of the innermost definition that encloses it."""
    entry = context.snapshot.files.get(item.path)
    symbols = entry.outline.symbols if entry and entry.outline else ()
    enclosing = [symbol for symbol in symbols if symbol.span.contains(item.span)]
    if not enclosing:
        return item
    innermost = min(enclosing, key=lambda symbol: len(symbol.span))
    kind = innermost.kind if innermost.span == item.span else item.kind
    return replace(item, symbol=innermost.qualified, kind=kind)


def top_level_items(items: Iterable[Item]) -> list[Item]:
    """Return the items that are mentioned themselves, folders and file sets included, not as a part of another item."""
    return [item for item in items if not item.group]


def packing_candidates(
    items: Sequence[Item], retrieved: Sequence[Item], context: ResolveContext, renderer: Renderer
) -> tuple[list[PackingCandidate], UnreadableItems]:
    """Return candidates for explicit items in their order, and the items that cannot be shown.

    `retrieved` are ranked items; those inside of an explicit item may represent it.
    """
    candidates: list[PackingCandidate] = []
    unreadable: UnreadableItems = {}
    for item in top_level_items(items):
        context.token.check()
        if item.kind == "folder":
            files = _files_of(item, items, retrieved)
            views = [view for path in files if isinstance(view := context.sources.read(path), FileText)]
            candidates.append(PackingCandidate(item_forms(item, views, renderer)))
            continue
        view = context.sources.read(item.path, explicit=True)
        if isinstance(view, Problem):
            unreadable[item.path, item.span] = view.message
            continue
        inside = [r for r in retrieved if r.path == item.path and item.span.contains(r.span)][:MAX_DEFINITIONS]
        relevant = [located for r in inside if (located := locate_item(r, view, context))]
        definitions, rest = (
            tuple(item_forms(definition, view, renderer) for definition in some)
            for some in (relevant, _other_definitions(item, view, relevant) if relevant else ())
        )
        candidates.append(PackingCandidate(item_forms(item, view, renderer), definitions, rest))
    return candidates, unreadable


def _other_definitions(item: Item, view: FileText, relevant: Sequence[Item]) -> Iterator[Item]:
    """Yield the innermost definitions of an item that are not in the relevant ones, in the order of the file."""
    symbols = view.entry.outline.symbols if view.entry.outline else ()
    parents = {symbol.parent for symbol in symbols}
    innermost = (s for n, s in enumerate(symbols) if n not in parents and s.name and item.span.contains(s.span))
    for symbol in islice(innermost, MAX_OTHER_DEFINITIONS):
        if not any(other.span.contains(symbol.span) for other in relevant):
            yield replace(item, span=symbol.span, kind=symbol.kind, symbol=symbol.qualified)


def _files_of(folder: Item, items: Sequence[Item], retrieved: Sequence[Item]) -> list[str]:
    """Return the files of a folder or file set: first by the rank of retrieved items, then in its own order."""
    members = [item.path for item in items if item.group == folder.path]
    known, prefix = set(members), f"{folder.path}/"
    relevant = [r.path for r in retrieved if r.path in known or (r.path.startswith(prefix) and r.kind != "folder")]
    paths = (*relevant, *members)
    return list(dict.fromkeys(paths))[:MAX_FOLDER_FILES]


def locate_item(item: Item, view: FileText, context: ResolveContext) -> Item | None:
    """Return the item in the current text of its file; if the file has changed, the definition of the same name."""
    entry = context.snapshot.files.get(item.path)
    if entry is not None and entry.content_hash == view.entry.content_hash:
        return item
    outline = view.entry.outline
    same = [s for s in outline.symbols if s.qualified == item.symbol] if outline and item.symbol else []
    if item.origin is Origin.TASK:
        # Some tasks select definitions in the snapshot, others lines in the current text.
        inside = any(Span(s.doc_start, s.span.end).contains(item.span) for s in same)
        is_current = entry is None or not item.symbol or inside
        if is_current:
            return item
    return replace(item, span=same[0].span) if same else None


# ---------------------------------------------------------------- outcomes


def unresolved_mentions(outcomes: Sequence[MentionOutcome]) -> tuple[str, ...]:
    """Return the mentions that have no target, as written in the message but shortened, each once."""
    texts = dict.fromkeys(
        truncate_words(" ".join(o.mention.text.split()), MAX_MENTION_CHARACTERS)
        for o in outcomes
        if o.status not in ("included", "partial") and not o.targets
    )
    shown = tuple(texts)[:MAX_UNRESOLVED]
    return (*shown, f"{len(texts) - len(shown)} more") if len(texts) > len(shown) else shown


def final_outcome(
    outcome: MentionOutcome,
    assembled: AssembledPrompt,
    unreadable: UnreadableItems,
    candidates: Sequence[PackingCandidate],
    dropped: Sequence[_Region] = (),
) -> MentionOutcome:
    """Return a mention's outcome with the status and the cost that its targets have in the finished prompt."""
    if outcome.status not in ("included", "partial") or not outcome.targets:
        return outcome
    targets = top_level_items(outcome.targets)
    wanted = {_region(target) for target in targets}
    parts = _parts_of(wanted, assembled)
    complete, incomplete = _regions_by_lines(wanted, assembled, candidates)
    rest = _parts_of(wanted - complete, assembled)
    forms = sorted({rendered.form for rendered, is_folder in rest if _is_reduced(rendered, is_folder)})
    if rest and not forms and incomplete:
        forms = ["partial"]  # a full part of another item shows some of its lines
    shown = wanted.intersection(_region(source) for p in assembled.items for source in p.sources)
    problems = [unreadable[t.path, t.span] for t in targets if (t.path, t.span) in unreadable]
    reason = outcome.reason
    status: MentionStatus = "included"
    if not shown:
        status = "omitted"
        is_out = all(is_dropped(target, dropped) for target in targets)
        reason = problems[0] if problems else "It was dropped." if is_out else "The budget leaves no room for it."
    elif forms or len(shown) < len(wanted):
        status = "partial"
    tokens = sum(rendered.tokens for rendered, _ in parts)
    full_tokens = tokens if status == "included" else max(tokens, _full_tokens(targets, candidates))
    if status == "partial":
        share = f": {tokens:,} of {full_tokens:,} tokens" if full_tokens > tokens else ""
        allowed = f"The budget allows {' and '.join(_FORM_TEXT[form] for form in forms)}{share}."
        reason = f"{reason} {allowed if forms else 'Not all of it could be shown.'}".strip()
    return replace(outcome, status=status, reason=reason, tokens=tokens, full_tokens=full_tokens)


def _parts_of(regions: Set[_Region], assembled: AssembledPrompt) -> list[tuple[RenderedItem, bool]]:
    """Return the parts of the prompt that show items with these regions, each with whether it is a folder's."""
    return [
        (part, packed.parts[0].sources[0][1].kind == "folder")
        for packed in assembled.items
        for part in packed.parts_showing(lambda source: _region(source) in regions)
    ]


def _regions_by_lines(
    regions: Set[_Region], assembled: AssembledPrompt, candidates: Sequence[PackingCandidate]
) -> tuple[set[_Region], set[_Region]]:
    """Return the regions whose lines are all shown, be it by parts of other items, and those with other lines."""
    complete: set[_Region] = set()
    incomplete: set[_Region] = set()
    for forms in (candidate.forms for candidate in candidates if _region(candidate.forms.item) in regions):
        packed = (p.rendered for p in assembled.items if p.rendered.item.path == forms.item.path)
        shown = merge_spans(span for rendered in packed for span in rendered.spans)
        missing = subtract_spans(forms.full_spans(), shown)
        if forms.full_spans():
            has_all = not any(map(str.strip, chain(*(forms.raw_lines[s.start : s.end] for s in missing))))
            (complete if has_all else incomplete).add(_region(forms.item))
    return complete, incomplete


def _full_tokens(targets: Sequence[Item], candidates: Sequence[PackingCandidate]) -> int:
    """Return the tokens of whole targets; at most `MAX_COUNTED_OMITTED` of them are counted."""
    wanted = {_region(target) for target in targets}
    forms = (c.forms for c in candidates if _region(c.forms.item) in wanted)
    whole = (form.full() for form in islice(forms, MAX_COUNTED_OMITTED))
    return sum(rendered.tokens for rendered in whole if rendered is not None)


_FORM_TEXT = {
    "partial": "a part of it",
    "signature": "its signature",
    "outline": "an outline of it",
    "reference": "a reference to it",
    "full": "all of it",
}


def _region(item: Item) -> _Region:
    """Return what identifies an item; a symbol that spans its whole file is the same item as the file."""
    return item.path, item.span


def _is_reduced(rendered: RenderedItem, is_folder: bool) -> bool:
    """Return whether less than the full form is shown; the full form of a folder is its outline."""
    return rendered.form != "full" and not (is_folder and rendered.form == "outline")
