"""Will rename files: updates mentions of files and folders that are about to be renamed, in open prompt documents."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_client_context
from promptls.api.messages.params import Json
from promptls.index import Snapshot, document_path, is_file_path
from promptls.lsp.session import PromptDocumentSession, offset_range
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.syntax.grammar import format_mention
from promptls.model import CancelToken, MentionOutcome
from promptls.util.text.positions import LineIndex


def will_rename_files(
    session: PromptDocumentSession, params: protocol.RenameFilesParams, token: CancelToken
) -> Json | None:
    """Return the edits that keep mentions valid; computed before the files are moved."""
    snapshot = session.engine.snapshot(token)
    roots = [root.path for root in snapshot.roots]
    paths = [(document_path(f.old_uri, roots), document_path(f.new_uri, roots)) for f in params.files]
    moves = [(old, new) for old, new in paths if is_file_path(old) and is_file_path(new)]
    if not moves:
        return None
    changes: Json = {}
    for document in session.documents.all():
        lines = LineIndex(document.text, session.engine.encoding)
        client = decode_client_context(session.client_context(document.uri), session.engine.workspace)
        context = session.engine.resolve_context(client, snapshot, token, document.uri)
        edits = []
        for outcome in resolve_mentions(document.text, context):
            new_text = _moved_mention(outcome, moves, snapshot)
            if new_text and new_text != outcome.mention.text:
                span = offset_range(lines, outcome.mention.start, outcome.mention.end)
                edits.append({"range": span, "newText": new_text})
        if edits:
            changes[document.uri] = edits
    return {"changes": changes} if changes else None


def _moved_mention(outcome: MentionOutcome, moves: Sequence[tuple[str, str]], snapshot: Snapshot) -> str:
    """Return the mention with the new path of its target, "" if the target does not move."""
    mention = outcome.mention
    if outcome.status not in ("included", "partial", "omitted", "refused") or not outcome.targets:
        return ""
    if mention.kind not in ("file", "folder") and not (mention.kind == "symbol" and mention.scope):
        return ""
    path = outcome.targets[0].path
    for old, new in moves:
        if path == old or path.startswith(old + "/"):
            new_path = new + path[len(old) :]
            root = snapshot.root_of(new_path)
            if root is None:
                return ""
            text = format_mention(
                new_path[len(root.path.rstrip("/")) + 1 :],
                root.name if len(snapshot.roots) > 1 or mention.root else "",
                folder=mention.kind == "folder" or outcome.targets[0].kind == "folder",
                lines=mention.lines,
                symbol=mention.target if mention.kind == "symbol" else "",
            )
            return text or ""
    return ""
