"""Content addresses: 16 bytes of BLAKE2b.  The identity of texts, chunks and rows everywhere."""

from __future__ import annotations

from hashlib import blake2b


def digest_of(text: str, person: bytes = b"") -> bytes:
    """16-byte address of a text; `person` keeps addresses of different things apart (at most 16 bytes)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest()
