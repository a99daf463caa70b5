"""Live anchors: lines and definitions that were mentioned stay the ones that were meant.

When a mention in a prompt document is first resolved it is bound to the text that it then stood for.  From then on
the text is followed through edits, by comparing lines, and through renames, by the hash of the file; what cannot
be followed is reported as changed or deleted, and never becomes other lines.  `Anchors` owns what is bound and
keeps it over restarts; `held` is where a resolver's outcome meets it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from logging import getLogger
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import Request
from promptls.mentions.grammar import LAST_LINE
from promptls.mentions.outcomes import file_outcome, included
from promptls.mentions.path_lookup import name_for
from promptls.model import CancelToken, Item, MentionOutcome, Origin, Span, TextView
from promptls.util.line_diff import aligned

log = getLogger(__name__)

WIDTH = 6
"""Bytes of a line's hash: among a million lines two of one hash are improbable."""

KINDS = frozenset({"file", "symbol"})
"""Kinds whose mentions are bound."""

TELLING = 2
"""Lines with a word in them that a passage must have to be looked for elsewhere in its file."""

Fate = Literal["same", "moved", "changed", "deleted"]


class Anchor(Struct, frozen=True, array_like=True):
    """What a mention is bound to."""

    path: str
    span: Span  # where it stood when it was last seen
    lines: bytes  # hashes of all lines of the file at that time, WIDTH bytes each
    digest: bytes  # of the whole text at that time
    content: bytes  # hash of the lines as they were when the mention was bound
    symbol: str = ""  # qualified name of the definition, "" for lines


def bind(view: TextView, span: Span, symbol: str = "") -> Anchor:
    """An anchor at these lines of a text."""
    span = Span(min(span.start, len(view.lines)), min(span.end, len(view.lines)))
    lines = hashes(view.lines)
    return Anchor(view.entry.path, span, lines, view.entry.digest, _content(lines, span), symbol)


def hashes(lines: Sequence[str]) -> bytes:
    """The hashes of lines, one after the other; white space at the end of a line does not count."""
    return b"".join(
        blake2b(line.rstrip().encode("utf-8", "surrogatepass"), digest_size=WIDTH).digest() for line in lines
    )


def _content(lines: bytes, span: Span) -> bytes:
    return blake2b(lines[span.start * WIDTH : span.end * WIDTH], digest_size=8).digest()


def follow(anchor: Anchor, view: TextView, token: CancelToken | None = None) -> tuple[Fate, Anchor]:
    """What has become of an anchor's lines in a text, and the anchor there; the old one where they are deleted."""
    if anchor.digest == view.entry.digest:
        return _fate(anchor, anchor), replace(anchor, path=view.entry.path)
    now = hashes(view.lines)
    span, whole = _mapped(anchor, _split(anchor.lines), _split(now), token)
    if not whole:
        elsewhere = _elsewhere(anchor, now, view.lines)
        span = elsewhere or span
    if span is None:
        return "deleted", anchor
    moved = replace(anchor, path=view.entry.path, span=span, lines=now, digest=view.entry.digest)
    return _fate(anchor, moved), moved


def _fate(before: Anchor, now: Anchor) -> Fate:
    if _content(now.lines, now.span) != now.content:
        return "changed"
    return "same" if before.span == now.span else "moved"


def _split(lines: bytes) -> list[bytes]:
    return [lines[i : i + WIDTH] for i in range(0, len(lines), WIDTH)]


def _mapped(anchor: Anchor, old: list[bytes], new: list[bytes], token: CancelToken | None) -> tuple[Span | None, bool]:
    """(where the lines are now, whether all of them are there as they were)."""
    span = anchor.span
    start = end = -1
    kept = 0
    survives = False
    for run in aligned(old, new, token):
        if not run.old.overlaps(span):
            continue
        first, last = max(run.old.start, span.start), min(run.old.end, span.end)
        shift = run.new.start - run.old.start
        if run.same or len(run.old) == len(run.new):
            # Lines that were edited in place; of others that stand where they stood nothing is known.
            kept += last - first if run.same else 0
            survives = True
            place = (first + shift, last + shift)
        elif run.new:
            place = (run.new.start, run.new.end)
        else:
            continue
        start = place[0] if start < 0 else start
        end = place[1]
    if not survives or start < 0 or end <= start:
        return None, False
    return Span(start, end), kept == len(span) == end - start


def _elsewhere(anchor: Anchor, now: bytes, lines: Sequence[str]) -> Span | None:
    """The one place where the same passage stands now; None if there are several, or if it says too little."""
    count = len(anchor.span)
    wanted = anchor.lines[anchor.span.start * WIDTH : anchor.span.end * WIDTH]
    if _content(anchor.lines, anchor.span) != anchor.content or not count:
        return None
    found: list[int] = []
    at = now.find(wanted)
    while at >= 0 and len(found) < 2:
        if at % WIDTH == 0:
            found.append(at // WIDTH)
        at = now.find(wanted, at + 1)
    if len(found) != 1:
        return None
    passage = lines[found[0] : found[0] + count]
    if sum(any(c.isalnum() for c in line) for line in passage) < min(TELLING, count):
        return None
    return Span(found[0], found[0] + count)


# ---------------------------------------------------------------- what is bound


class Bound:
    """The anchors of one prompt document, by the text of the mention."""

    def __init__(self, owner: Anchors, document: str) -> None:
        self._owner = owner
        self.document = document

    def get(self, text: str) -> Anchor | None:
        return self._owner.get(self.document, text)

    def put(self, text: str, anchor: Anchor) -> None:
        self._owner.put(self.document, text, anchor)

    def keep(self, texts: Collection[str]) -> None:
        """Forget the anchors of mentions that are no longer in the document, and remember the others for good."""
        self._owner.keep(self.document, texts)


class Anchors:
    """The anchors of all prompt documents; those of files are kept in `folder`.  Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, Anchor]] = {}
        self._written: dict[str, dict[str, Anchor]] = {}

    def of(self, document: str) -> Bound:
        """The anchors of the document of this URI."""
        return Bound(self, document)

    def get(self, document: str, text: str) -> Anchor | None:
        with self._lock:
            return self._of(document).get(text)

    def put(self, document: str, text: str, anchor: Anchor) -> None:
        with self._lock:
            self._of(document)[text] = anchor

    def keep(self, document: str, texts: Collection[str]) -> None:
        with self._lock:
            held = self._of(document)
            for text in [t for t in held if t not in texts]:
                del held[text]
            if document.startswith("file:") and held != self._written.get(document, {}):
                self._written[document] = dict(held)
                self._write(document, held)

    def _of(self, document: str) -> dict[str, Anchor]:
        held = self._held.get(document)
        if held is None:
            held = self._held[document] = self._read(document)
            self._written[document] = dict(held)
        return held

    def _file(self, document: str) -> Path:
        return (
            self._folder / f"{blake2b(document.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}.anchors"
        )

    def _read(self, document: str) -> dict[str, Anchor]:
        if not document.startswith("file:"):
            return {}
        try:
            data = self._file(document).read_bytes()
            seal, body = data[:8], data[8:]
            if blake2b(body, digest_size=8).digest() != seal:
                raise ValueError("its seal is broken")
            return msgspec.msgpack.decode(body, type=dict[str, Anchor])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            log.warning("the anchors of %s are lost: %s", document, error)
            return {}

    def _write(self, document: str, held: dict[str, Anchor]) -> None:
        file = self._file(document)
        try:
            if not held:
                file.unlink(missing_ok=True)
                return
            body = msgspec.msgpack.encode(held)
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = file.with_suffix(".new")
            new.write_bytes(blake2b(body, digest_size=8).digest() + body)
            new.replace(file)
        except OSError as error:
            log.warning("the anchors of %s are not kept: %s", document, error)


# ---------------------------------------------------------------- where outcomes meet them


def held(outcome: MentionOutcome, bound: Bound, request: Request) -> MentionOutcome:
    """The outcome of a mention of a file or definition as its anchor has it; binds what is mentioned first."""
    mention = outcome.mention
    anchor = bound.get(mention.text)
    if mention.kind == "symbol":
        return _definition(outcome, anchor, bound, request)
    if mention.lines is not None:
        return _lines(outcome, anchor, bound, request)
    return _file(outcome, anchor, bound, request)


def _lines(outcome: MentionOutcome, anchor: Anchor | None, bound: Bound, request: Request) -> MentionOutcome:
    mention = outcome.mention
    if anchor is None:
        whole = mention.lines is None or mention.lines.end == LAST_LINE
        if outcome.status == "included" and len(outcome.targets) == 1 and not whole:
            _bind(outcome, outcome.targets[0].span, None, bound, request)
        return outcome
    view = _view(anchor, request)
    label = request.snapshot.label(anchor.path)
    if view is None:
        gone = f"{label} is gone, and with it the lines that {mention.text} meant."
        return replace(outcome, status="unresolved", targets=(), reason=gone, anchor="deleted")
    fate, now = follow(anchor, view, request.token)
    if fate == "deleted":
        gone = f"The lines that {mention.text} meant are no longer in {label}."
        return replace(
            outcome, status="unresolved", targets=(), candidates=(), suggestion="", reason=gone, anchor="deleted"
        )
    bound.put(mention.text, now)
    here = replace(mention, lines=now.span)
    found = replace(file_outcome(here, request, now.path), mention=mention)
    written = mention.lines is not None and Span(mention.lines.start, min(mention.lines.end, len(view.lines)))
    if fate == "changed" or written != now.span or now.path != (outcome.targets[0].path if outcome.targets else ""):
        name = name_for(request.snapshot, now.path, lines=now.span) or ""
        where = f"{request.snapshot.label(now.path)}:{now.span.label}"
        if fate == "changed":
            said = f"The lines that {mention.text} meant have been edited; they are {where} now."
            return replace(found, reason=said, anchor="changed", suggestion=name if name != mention.text else "")
        return replace(found, reason=f"The lines have moved to {where}.", anchor="moved", suggestion=name)
    return found


def _definition(outcome: MentionOutcome, anchor: Anchor | None, bound: Bound, request: Request) -> MentionOutcome:
    mention = outcome.mention
    if outcome.status == "included":
        _bind(outcome, outcome.targets[0].span, anchor, bound, request)
        return outcome
    view = _view(anchor, request) if anchor is not None else None
    if anchor is None or outcome.status not in ("unresolved", "ambiguous"):
        return outcome
    label = request.snapshot.label(anchor.path)
    if view is None:
        return replace(outcome, anchor="deleted") if outcome.status == "unresolved" else outcome
    symbols = view.entry.outline.symbols if view.entry.outline is not None else ()
    if outcome.status == "ambiguous":
        same = [s for s in symbols if s.qualified == anchor.symbol]
        if len(same) != 1:
            return outcome
        item = Item(view.entry.path, same[0].span, same[0].kind, Origin.MENTION, 1.0, same[0].qualified)
        return included(mention, [item], f"Of several the one in {label}, which was meant first.")
    fate, now = follow(anchor, view, request.token)
    there = [s for s in symbols if s.name and s.span.start == now.span.start] if fate != "deleted" else []
    if not there:
        return replace(outcome, reason=f"{anchor.symbol} is no longer in {label}.", anchor="deleted")
    symbol = there[0]
    item = Item(view.entry.path, symbol.span, symbol.kind, Origin.MENTION, 1.0, symbol.qualified)
    name = name_for(request.snapshot, view.entry.path, symbol=symbol.qualified) if mention.scope else None
    return replace(
        included(mention, [item], f"{anchor.symbol} is called {symbol.qualified} now."),
        anchor="moved",
        suggestion=name or name_for(request.snapshot, view.entry.path, symbol=symbol.qualified) or "",
    )


def _file(outcome: MentionOutcome, anchor: Anchor | None, bound: Bound, request: Request) -> MentionOutcome:
    mention = outcome.mention
    if outcome.status == "included":
        if len(outcome.targets) == 1 and outcome.targets[0].kind == "file":
            _bind(outcome, Span(0, 0), anchor, bound, request)
        return outcome
    if anchor is None or outcome.status != "unresolved":
        return outcome
    view = _view(anchor, request)
    if view is None or view.entry.path == anchor.path:
        return replace(outcome, anchor="deleted")
    label = request.snapshot.label(view.entry.path)
    return replace(
        file_outcome(mention, request, view.entry.path, f"The file is {label} now."),
        anchor="moved",
        suggestion=name_for(request.snapshot, view.entry.path) or "",
    )


def _bind(outcome: MentionOutcome, span: Span, anchor: Anchor | None, bound: Bound, request: Request) -> None:
    """Bind a mention to the first thing it stands for, unless it is bound to exactly this text already."""
    target = outcome.targets[0]
    view = request.sources.read(target.path, explicit=True)
    if isinstance(view, TextView) and (
        anchor is None or (anchor.path, anchor.digest) != (target.path, view.entry.digest)
    ):
        bound.put(outcome.mention.text, bind(view, span, target.symbol))


def _view(anchor: Anchor, request: Request) -> TextView | None:
    """The text of an anchor's file, or of the file that has the very same text now; None if there is none."""
    for path in (anchor.path, *_twins(anchor, request)):
        view = request.sources.read(path, explicit=True)
        if isinstance(view, TextView):
            return view
    return None


def _twins(anchor: Anchor, request: Request) -> Iterator[str]:
    """Files with the text that an anchor's file had, one of the same name first."""
    name = anchor.path.rsplit("/", 1)[-1]
    found = [path for path, entry in request.snapshot.files.items() if entry.digest == anchor.digest]
    yield from sorted(found, key=lambda path: (path.rsplit("/", 1)[-1] != name, path))
