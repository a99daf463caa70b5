"""Content hashes: 16 bytes of BLAKE2b that identify texts, chunks and rows."""

from __future__ import annotations

from hashlib import blake2b


def content_hash(text: str, person: bytes = b"") -> bytes:
    """Return the hash of a text; `person` separates hashes of different kinds of content."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest()
