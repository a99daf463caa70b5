"""Storage of anchors: one file per prompt document in the cache folder, sealed with a checksum.

Documents without a file (untitled buffers) have anchors in memory only.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from hashlib import blake2b
from logging import getLogger
from pathlib import Path

import msgspec

from promptls.mentions.anchors import Anchor
from promptls.util.decode import decode_msgpack

log = getLogger(__name__)

CHECKSUM_BYTES = 8
"""Bytes of the checksum in front of the encoded anchors."""


class DocumentAnchors:
    """Anchors of one prompt document, by the text of the mention."""

    def __init__(self, store: AnchorStore, document: str) -> None:
        self._store = store
        self.document = document

    def get(self, text: str) -> Anchor | None:
        """Return the anchor of a mention, if it has one."""
        return self._store.get(self.document, text)

    def put(self, text: str, anchor: Anchor) -> None:
        """Set the anchor of a mention."""
        self._store.put(self.document, text, anchor)

    def retain(self, texts: Collection[str]) -> None:
        """Drop the anchors of all other mentions and write the rest to disk."""
        self._store.retain(self.document, texts)


class AnchorStore:
    """Anchors of all prompt documents, persisted in a folder.  Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._anchors: dict[str, dict[str, Anchor]] = {}
        self._written: dict[str, dict[str, Anchor]] = {}

    def for_document(self, document: str) -> DocumentAnchors:
        """Return the anchors of the document with this URI."""
        return DocumentAnchors(self, document)

    def get(self, document: str, text: str) -> Anchor | None:
        """Return the anchor of a mention in a document, if it has one."""
        with self._lock:
            return self._load(document).get(text)

    def put(self, document: str, text: str, anchor: Anchor) -> None:
        """Set the anchor of a mention in a document."""
        with self._lock:
            self._load(document)[text] = anchor

    def retain(self, document: str, texts: Collection[str]) -> None:
        """Drop the anchors of all other mentions of a document and write the rest to disk."""
        with self._lock:
            anchors = self._load(document)
            for text in [t for t in anchors if t not in texts]:
                del anchors[text]
            if document.startswith("file:") and anchors != self._written.get(document, {}):
                self._written[document] = dict(anchors)
                self._write(document, anchors)

    def _load(self, document: str) -> dict[str, Anchor]:
        anchors = self._anchors.get(document)
        if anchors is None:
            anchors = self._anchors[document] = self._read(document)
            self._written[document] = dict(anchors)
        return anchors

    def _file(self, document: str) -> Path:
        name = blake2b(document.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        return self._folder / f"{name}.anchors"

    def _read(self, document: str) -> dict[str, Anchor]:
        if not document.startswith("file:"):
            return {}
        try:
            data = self._file(document).read_bytes()
            checksum, body = data[:CHECKSUM_BYTES], data[CHECKSUM_BYTES:]
            if _checksum(body) != checksum:
                raise ValueError("checksum mismatch")
            return decode_msgpack(body, dict[str, Anchor])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            log.warning("cannot read the anchors of %s, starting without: %s", document, error)
            return {}

    def _write(self, document: str, anchors: dict[str, Anchor]) -> None:
        file = self._file(document)
        try:
            if not anchors:
                file.unlink(missing_ok=True)
                return
            body = msgspec.msgpack.encode(anchors)
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = file.with_suffix(".new")
            temporary.write_bytes(_checksum(body) + body)
            temporary.replace(file)
        except OSError as error:
            log.warning("cannot write the anchors of %s: %s", document, error)


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=CHECKSUM_BYTES).digest()
