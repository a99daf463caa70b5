"""From a message to what became of each of its mentions.

One outcome for each mention, in text order; none is lost and none stops the others.  What only looked like a
mention (a handle, a decorator, an npm package) and names nothing is text and has no outcome.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from logging import getLogger

from msgspec.structs import replace

from promptls.index.snapshot import Snapshot
from promptls.mentions import anchors
from promptls.mentions.context import Request
from promptls.mentions.grammar import argument, is_package, is_reference, looks_like_path, parse, strip
from promptls.mentions.registry import BUILT_IN, Kind, Registry, registry
from promptls.mentions.resolvers.symbol import split
from promptls.model import Cancelled, Item, Mention, MentionOutcome, Span

log = getLogger(__name__)

STILL_READING = "The workspace is still being read; ask again in a moment."
MOST_NAMES, LONGEST_NAME = 16, 200
"""Names that files are looked through for, and characters of one."""
_OF_PLACES = ("file", "symbol", "folder", "workspace")


def resolve_all(message: str, request: Request, kinds: Registry | None = None) -> tuple[MentionOutcome, ...]:
    """The outcomes of a message's mentions.

    Each item carries in `mention` the index of the first outcome that asked for it; an outcome that asks for the
    same again keeps the item and says "same as", so `items` gives every region once.
    """
    kinds = kinds or registry()
    outcomes: list[MentionOutcome] = []
    seen: dict[tuple[str, Span], int] = {}
    known: dict[Mention, MentionOutcome] = {}  # a pasted log says the same a thousand times
    partial = cache(request.around.partial)  # it looks at all files
    found = parse(message, kinds.words())
    request = replace(request, question=strip(message, found))
    for mention in found:
        request.token.check()
        kind = kinds.named(mention.kind)
        if kind is None:
            continue
        mention = replace(mention, kind=kind.name)
        same = replace(mention, start=0, end=len(mention.text))
        if same not in known:
            outcome = _recalled(kind, same, request) if kind.costly else _resolved(kind, same, request)
            if request.around.anchors is not None and mention.kind in anchors.KINDS:
                outcome = anchors.held(outcome, request.around.anchors, request)
            known[same] = outcome
        outcome = _moved(known[same], mention.start)
        if not _meant(message, outcome):
            continue
        if (outcome.status == "unresolved" or kind.takes == "symbol") and partial():
            outcome = replace(outcome, reason=f"{outcome.reason} {STILL_READING}".strip())
        outcomes.append(_numbered(outcome, len(outcomes), seen, outcomes))
    if request.around.anchors is not None:
        request.around.anchors.keep({o.mention.text for o in outcomes if o.mention.kind in anchors.KINDS})
    return tuple(outcomes)


def asks_for_places(message: str) -> bool:
    """Whether a message has mentions of files, folders or definitions."""
    return any(kind.name in _OF_PLACES or kind.takes for _, kind in _kinds_in(message))


def names_wanted(message: str, snapshot: Snapshot) -> frozenset[str]:
    """Names that a message's mentions ask the definitions of, and that nothing defines which was read so far."""
    names: dict[str, None] = {}
    for mention, kind in _kinds_in(message):
        if kind.name == "symbol" or kind.takes == "symbol":
            names |= dict.fromkeys(split(argument(mention) if kind.takes else mention.target)[-1:])
    wanted = [name for name in names if len(name) <= LONGEST_NAME and name.lower() not in snapshot.names]
    return frozenset(wanted[:MOST_NAMES])


def _kinds_in(message: str) -> Iterator[tuple[Mention, Kind]]:
    kinds = registry()
    for mention in parse(message, kinds.words()):
        kind = kinds.named(mention.kind)
        if kind is not None:
            yield mention, kind


def items(outcomes: tuple[MentionOutcome, ...]) -> tuple[Item, ...]:
    """What the mentions asked for, each region once, in text order."""
    return tuple(item for i, outcome in enumerate(outcomes) for item in outcome.targets if item.mention == i)


def _moved(outcome: MentionOutcome, start: int) -> MentionOutcome:
    """The outcome for the same mention at another place."""
    mention = outcome.mention
    return replace(outcome, mention=replace(mention, start=mention.start + start, end=mention.end + start))


def _recalled(kind: Kind, mention: Mention, request: Request) -> MentionOutcome:
    """The outcome of a moment ago, where the request may have it."""
    recall = request.around.recall
    if recall is None:
        return _resolved(kind, mention, request)
    question = request.question if not mention.target else ""
    known = recall.get(mention.text, question)
    if known is not None and request.sources.lend(known.exhibits):
        return known.outcome
    start = time.monotonic()
    outcome = _resolved(kind, mention, request)
    exhibits = request.sources.exhibits
    shown = {item.path: exhibits[item.path] for item in outcome.targets if item.path in exhibits}
    recall.put(mention.text, question, outcome, shown, time.monotonic() - start)
    return outcome


def _resolved(kind: Kind, mention: Mention, request: Request) -> MentionOutcome:
    if kind in BUILT_IN:
        return kind.resolve(mention, request)
    try:
        outcome = kind.resolve(mention, request)
        if not isinstance(outcome, MentionOutcome):
            raise TypeError(f"it gave {outcome!r} and no outcome")
        return outcome
    except Cancelled:
        raise
    except Exception as error:
        # Somebody else's code: its bug costs its own mention, not the prompt.
        log.exception("the mention kind %s failed on %r", kind.name, mention.text)
        return MentionOutcome(mention, "omitted", reason=f'The mention kind "{kind.name}" failed: {error}.')


def _meant(message: str, outcome: MentionOutcome) -> bool:
    """Whether this was a mention at all.

    What names something is one, except a folder's name before a parenthesis ("@test(…)"), which is a decorator.
    What names nothing is one if it looks like a path or symbol; a bare word also if it is the name of a file
    without its ending, unless it stands alone on its line as decorators do; an npm package only if there is
    something in the workspace that it nearly is.
    """
    mention = outcome.mention
    called = message[mention.end : mention.end + 1] == "("
    if called and mention.kind not in _OF_PLACES and not mention.target:
        return False  # "@open(…)" is a decorator
    bare = mention.kind == "file" and not mention.root and not looks_like_path(mention.target)
    if outcome.status != "unresolved":
        return not (called and bare and any(item.kind == "folder" for item in outcome.targets))
    if is_reference(mention):
        return True
    if called or not bare or not outcome.suggestion:
        return False
    return is_package(mention.target) or not _alone(message, mention)


def _alone(message: str, mention: Mention) -> bool:
    start = message.rfind("\n", 0, mention.start) + 1
    end = message.find("\n", mention.end)
    return message[start : end if end >= 0 else len(message)].strip() == mention.text


def _numbered(
    outcome: MentionOutcome, index: int, seen: dict[tuple[str, Span], int], before: list[MentionOutcome]
) -> MentionOutcome:
    """The outcome with its items numbered, and a word on those that were asked for before."""
    numbered = tuple(replace(item, mention=seen.setdefault((item.path, item.span), index)) for item in outcome.targets)
    owners = {item.mention for item in numbered}
    if not numbered or (index in owners and len(owners) > 3) or owners == {index}:
        return replace(outcome, targets=numbered)
    if index not in owners:
        # The first target is the thing itself, a folder's files come behind it.
        note = f"Same as {before[numbered[0].mention].mention.text}."
    else:
        note = f"Partly the same as {', '.join(before[i].mention.text for i in sorted(owners - {index}))}."
    return replace(outcome, targets=numbered, reason=f"{note} {outcome.reason}".strip())
