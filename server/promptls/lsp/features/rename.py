"""Renames: of files, which mentions follow, and of a mention, in all prompt documents that are open."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.api import params as protocol
from promptls.api.params import InvalidParams, Json
from promptls.documents import ENDING, PromptDocument, Text
from promptls.index import files
from promptls.index.snapshot import Snapshot
from promptls.lsp.session import Desk, Reading, range_of
from promptls.mentions.format import spell
from promptls.mentions.grammar import parse
from promptls.mentions.resolve import resolve_all
from promptls.model import CancelToken, MentionOutcome, TextView

MOST_FILES = 200
"""Prompt documents on disk that are looked at."""


def will_rename_files(desk: Desk, params: protocol.RenameFilesParams, token: CancelToken) -> Json | None:
    """The edits with which mentions follow files and folders to their new names."""
    moves = [(files.from_uri(f.old_uri), files.from_uri(f.new_uri)) for f in params.files]
    pairs = [(old.rstrip("/"), new.rstrip("/")) for old, new in moves if old and new]
    if not pairs:
        return None
    snapshot = desk.engine.view(token)
    changes: Json = {}
    for document in _documents(desk, snapshot, token):
        text = Text(document.text, desk.engine.encoding)
        request = desk.engine.request(desk.context(document.uri), snapshot, token, document.uri)
        edits = []
        for outcome in resolve_all(document.text, request):
            name = _renamed(outcome, pairs, snapshot)
            if name and name != outcome.mention.text:
                where = range_of(text, outcome.mention.start, outcome.mention.end)
                edits.append({"range": where, "newText": name})
        if edits:
            changes[document.uri] = edits  # made before anything moves
    return {"changes": changes} if changes else None


def _documents(desk: Desk, snapshot: Snapshot, token: CancelToken) -> Iterator[PromptDocument]:
    """Open prompt documents, and those of the workspace that are not open."""
    seen = set()
    for document in desk.documents.all():
        seen.add(document.uri)
        yield document
    sources = desk.engine.request(protocol.Context(), snapshot, token).sources
    closed = [path for path in snapshot.files if path.endswith(ENDING) and files.to_uri(path) not in seen]
    for path in closed[:MOST_FILES]:
        token.check()
        view = sources.read(path, explicit=True)
        if isinstance(view, TextView):
            yield PromptDocument(files.to_uri(path), "", 0, view.text)


def _renamed(outcome: MentionOutcome, pairs: list[tuple[str, str]], snapshot: Snapshot) -> str:
    """The mention with the new name of what it leads to, "" if that does not move."""
    mention = outcome.mention
    if outcome.status not in ("included", "partial", "omitted", "refused") or not outcome.targets:
        return ""
    if mention.kind not in ("file", "folder") and not (mention.kind == "symbol" and mention.scope):
        return ""
    path = outcome.targets[0].path
    for old, new in pairs:
        if path == old or path.startswith(old + "/"):
            place = new + path[len(old) :]
            root = snapshot.root_of(place)
            if root is None:
                return ""
            name = place[len(root.path.rstrip("/")) + 1 :]
            several = len(snapshot.roots) > 1
            return (
                spell(
                    name,
                    root.name if several or mention.root else "",
                    folder=mention.kind == "folder" or outcome.targets[0].kind == "folder",
                    lines=mention.lines,
                    symbol=mention.target if mention.kind == "symbol" else "",
                )
                or ""
            )
    return ""


def prepare_rename(desk: Desk, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """The mention at a position, if there is one."""
    reading = desk.read(params.text_document.uri, token)
    outcome = reading.at(params.position.line, params.position.character) if reading is not None else None
    if reading is None or outcome is None:
        return None
    return {"range": reading.range(outcome), "placeholder": outcome.mention.text}


def rename(desk: Desk, params: protocol.RenameParams, token: CancelToken) -> Json | None:
    """Put another mention in the place of one, wherever the same stands in an open prompt document.

    Raises InvalidParams if the new name is no mention.
    """
    reading = desk.read(params.text_document.uri, token)
    outcome = reading.at(params.position.line, params.position.character) if reading is not None else None
    if reading is None or outcome is None:
        return None
    name = params.new_name if params.new_name.startswith("@") else "@" + params.new_name
    found = parse(name + " x")
    if len(found) != 1 or found[0].text != name:
        raise InvalidParams(f"newName: {params.new_name!r} is not one mention.", "newName")
    changes: Json = {}
    for document in desk.documents.all():
        other = desk.read(document.uri, token)
        edits = [{"range": other.range(o), "newText": name} for o in _same(other, outcome)] if other else []
        if edits:
            changes[document.uri] = edits
    return {"changes": changes}


def _same(reading: Reading, outcome: MentionOutcome) -> Iterator[MentionOutcome]:
    return (o for o in reading.mentions if o.mention.text == outcome.mention.text)
