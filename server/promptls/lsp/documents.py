"""Open prompt documents, as synchronized by the editor, and the pages that it shows.

The index treats them as questions: they are never retrieved as content for a prompt. A document is a prompt document
because of its language ID (`promptls`, or one that the setting `documents.languages` adds) or its name (`*.promptls.md`, `*.prompt.md`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from msgspec import Struct, structs

from promptls.lsp.open_pages import OpenPages
from promptls.model.files import is_instruction_file, is_prompt_document

EXPORTED_LANGUAGE = "promptls-built"
"""LSP language ID of a built prompt that the editor shows as a document."""
EXPORTED_SUFFIX = ".built.md"
"""File name suffix of a built prompt that was exported to a file."""


class PromptDocument(Struct, frozen=True):
    """One version of an open document that may contain mentions."""

    uri: str
    language: str
    version: int
    text: str
    edit_end: int = -1  # offset of the end of the last edit; -1 before the first edit
    edited_at: float = 0.0  # time of the last edit, as time.monotonic()


class OpenDocuments:
    """The open documents of one editor; thread-safe.

    Prompt documents and exported prompts are kept with their text. Of all other documents only the order of use is kept.
    """

    def __init__(self) -> None:
        self.pages = OpenPages()
        self._lock = threading.Lock()
        self._prompts: dict[str, PromptDocument] = {}
        self._exported: dict[str, PromptDocument] = {}
        self._instructions: dict[str, PromptDocument] = {}
        self._recent: dict[str, None] = {}

    def put(self, document: PromptDocument, extra_languages: Collection[str] = ()) -> None:
        """Store a document that was opened, edited or reclassified."""
        uri = document.uri
        with self._lock:
            self._recent.pop(uri, None)
            if is_prompt_document(uri, document.language, extra_languages):
                self._exported.pop(uri, None)
                self._prompts[uri] = _with_edit(self._prompts.get(uri), document)
                return
            self._prompts.pop(uri, None)
            if document.language == EXPORTED_LANGUAGE or uri.endswith(EXPORTED_SUFFIX):
                self._exported[uri] = document
            else:
                self._exported.pop(uri, None)
                self._recent[uri] = None
            if is_instruction_file(uri):
                self._instructions[uri] = document

    def remove(self, uri: str) -> None:
        """Remove a document that was closed."""
        with self._lock:
            for documents in (self._prompts, self._exported, self._instructions, self._recent):
                documents.pop(uri, None)

    def get(self, uri: str) -> PromptDocument | None:
        """Return an open prompt document, None if the URI is not open or not a prompt document."""
        with self._lock:
            return self._prompts.get(uri)

    def exported(self, uri: str) -> PromptDocument | None:
        """Return an exported prompt that is open as a document."""
        with self._lock:
            return self._exported.get(uri)

    def instruction_file(self, uri: str) -> PromptDocument | None:
        """Return an instruction file that is open."""
        with self._lock:
            return self._instructions.get(uri)

    def instruction_files(self) -> tuple[PromptDocument, ...]:
        """Return all instruction files that are open."""
        with self._lock:
            return tuple(self._instructions.values())

    def all(self) -> tuple[PromptDocument, ...]:
        """Return all prompt documents in the order in which they were opened."""
        with self._lock:
            return tuple(self._prompts.values())

    @property
    def recent(self) -> tuple[str, ...]:
        """URIs of the other documents, most recently opened or edited first."""
        with self._lock:
            return tuple(reversed(self._recent))


def _with_edit(previous: PromptDocument | None, document: PromptDocument) -> PromptDocument:
    """Return a new version of a document with the position and the time of its last edit."""
    if previous is None:
        return document
    if previous.text == document.text:
        return structs.replace(document, edit_end=previous.edit_end, edited_at=previous.edited_at)
    edit_end = len(document.text) - _common_suffix_length(previous.text, document.text)
    return structs.replace(document, edit_end=edit_end, edited_at=time.monotonic())


def _common_suffix_length(a: str, b: str) -> int:
    """Return the length of the common suffix, by binary search with comparisons of whole strings."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.endswith(b[len(b) - middle :]):
            low = middle
        else:
            high = middle - 1
    return low
