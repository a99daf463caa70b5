"""Parses a message once, and resolves its mentions: one outcome per mention, in text order.

`message_syntax` parses without the workspace, so that the request can wait for the files that it needs.
`locate_message` adds what the snapshot decides, and `resolve_message` calls the resolvers.

A failing mention never affects the others.  An `@word` that resolves to nothing and has the form of a handle,
decorator or npm package is plain text and produces no outcome.  Text that something in the workspace has the name of
is reported apart, with the mention to write instead.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from logging import getLogger

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import Snapshot, is_virtual
from promptls.mentions.anchors import DocumentAnchors, create_anchor, track
from promptls.mentions.context import ResolveContext
from promptls.mentions.extent import locate_mentions
from promptls.mentions.kinds import LOCATION_ARGUMENTS, KindRegistry, MentionKind
from promptls.mentions.lookalikes import keyword_as_text, path_as_text, words_in_code
from promptls.mentions.outcomes import file_outcome
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.registry import BUILT_IN, registry
from promptls.mentions.resolvers.symbol import split_name
from promptls.mentions.syntax.code_ranges import CodeRanges
from promptls.mentions.syntax.grammar import (
    LAST_LINE,
    MessageSyntax,
    full_argument,
    is_explicit_reference,
    is_package_like,
    parse_syntax,
    strip_mentions,
)
from promptls.mentions.syntax.lexer import MAX_MENTIONS
from promptls.model import Cancelled, FileText, Item, Mention, MentionOutcome, Span
from promptls.util.cancellation import check_each

log = getLogger(__name__)

INDEXING_NOTE = "Indexing is in progress; try again in a moment."

MAX_SYMBOL_NAMES = 16
"""Maximum number of symbol names per message for which unparsed files are searched."""

MAX_NAME_LENGTH = 200
"""Maximum number of characters of such a name."""

_LOCATION_KINDS = ("file", "symbol", "folder", "workspace")
_SYMBOL_ARGUMENTS = ("symbol", "target")
_MAX_LISTED_OWNERS = 3
_MAX_INDENTATION = 200
_BLANKS_BEFORE = re.compile(r"(?:\A|\n)[^\S\n]*\Z")
_BLANKS_TO_LINE_END = re.compile(r"[^\S\n]*(?:\n|\Z)")


class ParsedMessage(Struct, frozen=True):
    """A message, parsed once per request with the names of the workspace."""

    text: str
    code: CodeRanges = CodeRanges()
    mentions: tuple[Mention, ...] = ()  # in text order, without overlaps
    lookalikes: Mapping[int, str] = {}  # offset of a mention that is text → why, such as "in code"

    @property
    def question(self) -> str:
        """The text without its mentions, as a query."""
        return strip_mentions(self.text, [m for m in self.mentions if m.start not in self.lookalikes])


class Resolution(Struct, frozen=True):
    """The outcomes of a message: its mentions and its lookalikes."""

    message: ParsedMessage
    outcomes: tuple[MentionOutcome, ...]
    texts: tuple[MentionOutcome, ...] = ()  # status "text", with a reason, and a suggestion if there is one

    @property
    def question(self) -> str:
        """The text without its mentions, as a query; a handle or decorator that resolves to nothing is part of it."""
        return strip_mentions(self.message.text, [outcome.mention for outcome in self.outcomes])


def message_syntax(message: str, kinds: KindRegistry | None = None) -> MessageSyntax:
    """Parse a message with the keywords of all kinds, before a snapshot is available."""
    return parse_syntax(message, (kinds or registry()).keywords())


def locate_message(syntax: MessageSyntax, context: ResolveContext, kinds: KindRegistry | None = None) -> ParsedMessage:
    """Return a message with its mentions as far as they reach in this workspace."""
    mentions = locate_mentions(syntax, context, kinds)
    return ParsedMessage(syntax.text, syntax.code, mentions, words_in_code(syntax.text, mentions, syntax.code))


def parse_message(message: str, context: ResolveContext, kinds: KindRegistry | None = None) -> ParsedMessage:
    """Parse a message with the names of the workspace."""
    return locate_message(message_syntax(message, kinds), context, kinds)


def many_mentions_warning(message: ParsedMessage) -> list[str]:
    """Return a warning if a message has as many mentions as are read."""
    is_full = len(message.mentions) >= MAX_MENTIONS
    return [f"Only the first {MAX_MENTIONS} mentions of the message are read; the others are text."] if is_full else []


def resolve_mentions(
    message: str, context: ResolveContext, kinds: KindRegistry | None = None
) -> tuple[MentionOutcome, ...]:
    """Parse a message and return the outcomes of its mentions."""
    return resolve_message(parse_message(message, context, kinds), context, kinds).outcomes


def resolve_message(message: ParsedMessage, context: ResolveContext, kinds: KindRegistry | None = None) -> Resolution:
    """Resolve the mentions of a message.

    `Item.mention` is the index of the first outcome that contains the item.  A later outcome with the same item
    keeps it and notes "Same as …", so `collect_items` returns every item once.  A file that is mentioned, and also
    represented by a folder or a file set, is an item of its own in both outcomes.

    Args:
        message: The parsed message.
        context: Sources and services to resolve with.
        kinds: Mention kinds, by default all installed ones.

    Raises:
        Cancelled: The token of the context was cancelled.
    """
    kinds = kinds or registry()
    outcomes: list[MentionOutcome] = []
    texts: list[MentionOutcome] = []
    first_owner: dict[tuple[str, Span, str], int] = {}
    resolved: dict[Mention, MentionOutcome] = {}  # a pasted log may repeat one mention a thousand times
    is_partial = cache(context.is_partial)  # checks all files
    context = replace(context, question=message.question)
    for mention in message.mentions:
        context.token.check()
        kind = kinds.get(mention.kind)
        if kind is None:
            continue
        mention = replace(mention, kind=kind.name)
        place = message.lookalikes.get(mention.start, "")
        if place and kind.keyword:
            texts.append(keyword_as_text(mention, place))
            continue
        key = replace(mention, start=0, end=len(mention.text))
        if key not in resolved:
            outcome = _resolve_cached(kind, key, context) if kind.expensive else _resolve_one(kind, key, context)
            if context.anchors is not None and mention.kind == "file" and not place:
                outcome = apply_anchor(outcome, context.anchors, context)
            resolved[key] = outcome
        found = resolved[key].mention
        found = replace(found, start=found.start + mention.start, end=found.end + mention.start)
        outcome = replace(resolved[key], mention=found)
        if place or not _is_mention(message.text, outcome):
            texts += path_as_text(outcome, place, context)
            continue
        if (outcome.status == "unresolved" or kind.argument_type in _SYMBOL_ARGUMENTS) and is_partial():
            outcome = replace(outcome, reason=f"{outcome.reason} {INDEXING_NOTE}".strip())
        outcomes.append(_assign_items(outcome, len(outcomes), first_owner, outcomes))
    if context.anchors is not None:
        context.anchors.retain({o.mention.text for o in outcomes if o.mention.lines is not None})
    return Resolution(message, tuple(outcomes), tuple(texts))


def has_location_mentions(mentions: Sequence[Mention]) -> bool:
    """Return whether mentions refer to files, folders or symbols."""
    return any(
        kind.name in _LOCATION_KINDS or kind.argument_type in LOCATION_ARGUMENTS for _, kind in _with_kinds(mentions)
    )


def undefined_symbol_names(mentions: Sequence[Mention], snapshot: Snapshot) -> frozenset[str]:
    """Return the mentioned symbol names without a definition in the snapshot."""
    names: dict[str, None] = {}
    for mention, kind in _with_kinds(mentions):
        if kind.name == "symbol" or kind.argument_type in _SYMBOL_ARGUMENTS:
            target = full_argument(mention) if kind.argument_type else mention.target
            names |= dict.fromkeys(split_name(target)[-1:])
    undefined = [name for name in names if len(name) <= MAX_NAME_LENGTH and name.lower() not in snapshot.names]
    return frozenset(undefined[:MAX_SYMBOL_NAMES])


def collect_items(outcomes: tuple[MentionOutcome, ...]) -> tuple[Item, ...]:
    """Return the items of all outcomes, each one once, in text order."""
    return tuple(item for i, outcome in enumerate(outcomes) for item in outcome.targets if item.mention == i)


def _with_kinds(mentions: Sequence[Mention]) -> Iterator[tuple[Mention, MentionKind]]:
    kinds = registry()
    for mention in check_each(mentions):
        kind = kinds.get(mention.kind)
        if kind is not None:
            yield mention, kind


def _resolve_cached(kind: MentionKind, mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention through the cache of the context, if it has one."""
    cache = context.cache
    if cache is None:
        return _resolve_one(kind, mention, context)
    question = context.question if not mention.target else ""
    entry = cache.get(mention.text, question)
    if entry is not None and context.sources.share_virtual_documents(entry.virtual_documents):
        return entry.outcome
    start = time.monotonic()
    outcome = _resolve_one(kind, mention, context)
    documents = context.sources.virtual_documents
    referenced = {item.path: documents[item.path] for item in outcome.targets if item.path in documents}
    cache.put(mention.text, question, outcome, referenced, time.monotonic() - start)
    return outcome


def _resolve_one(kind: MentionKind, mention: Mention, context: ResolveContext) -> MentionOutcome:
    if kind in BUILT_IN:
        return kind.resolve(mention, context)
    try:
        outcome = kind.resolve(mention, context)
        if not isinstance(outcome, MentionOutcome):
            raise TypeError(f"expected a MentionOutcome, got {outcome!r}")
        return outcome
    except Cancelled:
        raise
    except Exception as error:
        # A bug of a plugin must not fail the prompt.
        log.exception("the mention kind %s failed for %r", kind.name, mention.text)
        return MentionOutcome(mention, "omitted", reason=f'The mention kind "{kind.name}" failed: {error}.')


def _is_mention(message: str, outcome: MentionOutcome) -> bool:
    """Return whether a token that is not in code is a mention, as opposed to plain text.

    A resolved token is a mention.  An unresolved token is one if it has the form of a path or symbol.  A plain word
    is one if it is a file name without its extension and not alone on its line, as decorators are.  An npm package is
    one only if something similar exists in the workspace.
    """
    mention = outcome.mention
    if outcome.status != "unresolved" or is_explicit_reference(mention):
        return True
    if mention.kind != "file" or mention.root or not outcome.suggestion or outcome.suggestion.startswith("@#"):
        return False
    return is_package_like(mention.target) or not _is_alone_on_line(message, mention)


def _is_alone_on_line(message: str, mention: Mention) -> bool:
    before = _BLANKS_BEFORE.search(message, max(0, mention.start - _MAX_INDENTATION), mention.start)
    return before is not None and _BLANKS_TO_LINE_END.match(message, mention.end) is not None


def _assign_items(
    outcome: MentionOutcome, index: int, first_owner: dict[tuple[str, Span, str], int], earlier: list[MentionOutcome]
) -> MentionOutcome:
    """Set `Item.group`, and `Item.mention` to the first outcome with the item; note items of earlier outcomes."""
    folders = [item.path for item in outcome.targets if item.kind == "folder"]
    groups = ["" if item.kind == "folder" else _group_of(item, folders) for item in outcome.targets]
    items = tuple(
        replace(item, group=group, mention=first_owner.setdefault((item.path, item.span, group), index))
        for item, group in zip(outcome.targets, groups, strict=True)
    )
    owners = {item.mention for item in items}
    if not items or (index in owners and len(owners) > _MAX_LISTED_OWNERS) or owners == {index}:
        return replace(outcome, targets=items)
    if index not in owners:
        # The first target is the folder or file itself; the files of a folder follow.
        note = f"Same as {earlier[items[0].mention].mention.text}."
    else:
        note = f"Partly the same as {', '.join(earlier[i].mention.text for i in sorted(owners - {index}))}."
    return replace(outcome, targets=items, reason=f"{note} {outcome.reason}".strip())


def _group_of(item: Item, folders: Sequence[str]) -> str:
    """Return the path of the folder or file set of the same outcome that represents an item, "" for none."""
    return next((f for f in folders if is_virtual(f) or item.path.startswith(f.rstrip("/") + "/")), "")


# ---------------------------------------------------------------- anchor resolution


def apply_anchor(outcome: MentionOutcome, anchors: DocumentAnchors, context: ResolveContext) -> MentionOutcome:
    """Return the outcome at the position of the mention's anchor; create the anchor if there is none."""
    mention = outcome.mention
    if mention.lines is None or mention.more_lines:
        return outcome  # an anchor has one span
    anchor = anchors.get(mention.text)
    if anchor is None:
        if outcome.status == "included" and mention.lines.end != LAST_LINE:
            view = context.sources.read(outcome.targets[0].path, explicit=True)
            if isinstance(view, FileText):
                anchors.put(mention.text, create_anchor(view, outcome.targets[0].span))
        return outcome
    view = context.sources.read(anchor.path, explicit=True)
    label = context.snapshot.label(anchor.path)
    if not isinstance(view, FileText):
        reason = f"{label} was deleted, and with it the lines of {mention.text}."
        return replace(outcome, status="unresolved", targets=(), reason=reason, anchor="deleted")
    state, tracked = track(anchor, view, context.token)
    if state == "deleted":
        reason = f"The lines of {mention.text} were deleted from {label}."
        return replace(
            outcome, status="unresolved", targets=(), candidates=(), suggestion="", reason=reason, anchor="deleted"
        )
    anchors.put(mention.text, tracked)
    resolved = file_outcome(replace(mention, lines=tracked.span), context, tracked.path)
    resolved = replace(resolved, mention=mention)
    written = Span(mention.lines.start, min(mention.lines.end, len(view.lines)))
    same_path = tracked.path == (outcome.targets[0].path if outcome.targets else "")
    if state != "changed" and written == tracked.span and same_path:
        return resolved
    current = mention_for(context.snapshot, tracked.path, lines=tracked.span) or ""
    position = f"{label}:{tracked.span.label}"
    if state == "changed":
        reason = f"The lines of {mention.text} were edited; they are now {position}."
        suggestion = current if current != mention.text else ""
        return replace(resolved, reason=reason, anchor="changed", suggestion=suggestion)
    return replace(resolved, reason=f"The lines have moved to {position}.", anchor="moved", suggestion=current)
