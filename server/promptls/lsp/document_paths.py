"""Paths of the open documents in the index.

The path is recorded when a document is opened: until it is closed, its file may be deleted or become a link. Several
open documents can have one path, because editors open a file through a link and through its real path as two documents.
Runs on the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from promptls.index import document_path
from promptls.model import Root


class DocumentPaths:
    """The path of each open document by its URI, most recently opened or edited last."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def record(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the path of a document that is open, recording it if it is new."""
        path = self._paths.pop(uri, None) or _path(uri, roots)
        self._paths[uri] = path
        return path

    def path(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the path of a document, which may be closed."""
        return self._paths.get(uri) or _path(uri, roots)

    def opened_uri(self, uri: str, roots: Iterable[Root]) -> str:
        """Return the URI under which a document is open; the URI itself if it is not open."""
        if uri in self._paths:
            return uri
        return self._last_opened(_path(uri, roots)) or uri

    def close(self, uri: str) -> tuple[str | None, str | None]:
        """Remove a document; return its path, and the URI of another open document with this path."""
        path = self._paths.pop(uri, None)
        return path, self._last_opened(path) if path is not None else None

    def moved(self, roots: Iterable[Root]) -> list[str]:
        """Return the URIs of the open documents whose path differs with these roots."""
        roots = tuple(roots)
        return [uri for uri, path in self._paths.items() if _path(uri, roots) != path]

    def _last_opened(self, path: str) -> str | None:
        return next((uri for uri, other in reversed(self._paths.items()) if other == path), None)


def _path(uri: str, roots: Iterable[Root]) -> str:
    return document_path(uri, [root.path for root in roots])
