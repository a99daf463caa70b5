"""Will rename files: updates mentions of files and folders that the client is about to rename."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_client_context
from promptls.api.messages.params import Json
from promptls.index import Snapshot, document_path, is_file_path, to_uri
from promptls.lsp.documents import PromptDocument
from promptls.lsp.session import PromptDocumentSession, offset_range
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.syntax.grammar import format_mention
from promptls.model import CancelToken, FileText, MentionOutcome
from promptls.model.files import PROMPT_SUFFIX
from promptls.util.text.positions import LineIndex

MAX_CLOSED_DOCUMENTS = 200
"""Maximum number of prompt documents on disk that are searched; the client waits for the answer."""


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
    for document in _prompt_documents(session, snapshot, token):
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


def _prompt_documents(
    session: PromptDocumentSession, snapshot: Snapshot, token: CancelToken
) -> Iterator[PromptDocument]:
    """Yield the open prompt documents, then those of the workspace that are closed."""
    yield from session.documents.all()
    sources = session.engine.index.source_reader(snapshot, session.engine.settings.secrets.allow_files)
    closed = [p for p in snapshot.files if p.endswith(PROMPT_SUFFIX) and p not in snapshot.documents]
    for path in closed[:MAX_CLOSED_DOCUMENTS]:
        token.check()
        text = sources.read(path, explicit=True)
        if isinstance(text, FileText):
            yield PromptDocument(to_uri(path), "", 0, text.text)


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
