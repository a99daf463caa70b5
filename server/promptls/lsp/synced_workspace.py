"""pygls workspace whose documents follow LSP strictly and never read the disk."""

from __future__ import annotations

import logging
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec, TextDocument, Workspace

from promptls.util.text.line_index import LineIndex

log = logging.getLogger(__name__)


class SyncedDocument(TextDocument):
    """A document whose text comes from the editor alone.

    pygls differs in four ways: it fails for a URI that urllib cannot parse, it reads the disk for a document that was
    never opened (a named pipe would block), it treats form feeds and U+2028 as line ends, and it loses edits whose range
    is reversed.
    """

    def __init__(
        self, uri: str, source: str | None, version: int | None, language_id: str | None, position_codec: PositionCodec
    ) -> None:
        """Create a document; unlike pygls, without parsing the URI, which fails for some."""
        self.uri, self.version, self.language_id = uri, version, language_id
        self._source = source
        self._is_sync_kind_full, self._is_sync_kind_incremental, self._is_sync_kind_none = False, True, False
        self._position_codec = position_codec

    @property
    def source(self) -> str:
        """Text of the document."""
        return self._source or ""

    def _apply_incremental_change(self, change: lsp.TextDocumentContentChangePartial) -> None:
        encoding = self.position_codec.encoding
        lines = LineIndex(self.source, str(getattr(encoding, "value", encoding)))
        offsets = [lines.offset(edge.line, edge.character) for edge in (change.range.start, change.range.end)]
        self._source = lines.text[: min(offsets)] + change.text + lines.text[max(offsets) :]


class SyncedWorkspace(Workspace):
    """The pygls workspace with documents of class `SyncedDocument`."""

    def update_text_document(
        self, text_doc: lsp.VersionedTextDocumentIdentifier, change: lsp.TextDocumentContentChangeEvent
    ) -> None:
        """Apply a change of a document; pygls fails for one that is not open."""
        if unquote(text_doc.uri) in self.text_documents:
            super().update_text_document(text_doc, change)

    def update_notebook_document(self, params: lsp.DidChangeNotebookDocumentParams) -> None:
        """Apply a change of a notebook; changes of a notebook or a cell that is not open are ignored."""
        if self.get_notebook_document(notebook_uri=params.notebook_document.uri) is None:
            log.warning("ignored a change of %s, which is not open", params.notebook_document.uri)
            return
        cells = params.change.cells
        if cells is not None and cells.text_content:
            opened = {cell.uri for cell in (cells.structure.did_open or ())} if cells.structure is not None else set()
            known = [
                change
                for change in cells.text_content
                if change.document.uri in opened or unquote(change.document.uri) in self.text_documents
            ]
            cells.text_content = known
        super().update_notebook_document(params)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return SyncedDocument(doc_uri, source, version, language_id, position_codec=self.position_codec)
