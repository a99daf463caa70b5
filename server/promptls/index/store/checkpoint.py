"""The rows of a store as searches need them, in one file that is read in one go at the next start.

A log of parts: the first holds nearly all, each write to the store appends one with what it wrote.  Every part is
sealed and names the version of the table (`table.version_of`) whose rows are those up to it.  The image is a copy:
where it is missing, damaged or of another version, the table is read instead and the image made anew.
"""

from __future__ import annotations

import logging
import os
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.store.directories import without_folder

log = logging.getLogger(__name__)

FORMAT = 1
MOST_PARTS = 64
"""After so many, or when they make up half of it, the image is written anew."""
LEFT_S = 600.0
"""An image that was begun so long ago is nobody's."""
_HEAD = struct.Struct("<4sII")
_MAGIC = b"pls" + bytes([FORMAT])
_DTYPES = {
    "vectors": np.int8,
    "scale": np.float32,
    "length": np.int32,
    "ids": np.int32,
    "start": np.int64,
    "rows": np.int32,
    "counts": np.uint8,
}


class Part(Struct, frozen=True):
    """Rows as arrays; see `columns`."""

    keys: tuple[bytes, ...]
    vectors: NDArray[np.int8]  # [rows, dimension]
    scale: NDArray[np.float32]  # [rows]
    length: NDArray[np.int32]  # [rows], terms of the text
    words: tuple[str, ...]  # the terms that occur
    ids: NDArray[np.int32]  # indexes into `words`, ascending
    start: NDArray[np.int64]  # [ids + 1]: the postings of each
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]


class _Header(Struct, frozen=True, array_like=True):
    identity: bytes
    version: bytes
    rows: int
    sizes: tuple[int, ...]  # bytes of each section
    seal: int  # crc32 of all sections


def write(file: Path, identity: bytes, version: bytes, part: Part) -> None:
    """Make the image anew, with one part.  Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(file.name + f".{os.getpid()}")
    try:
        with fresh.open("wb") as stream:
            _write(stream, identity, version, part)
        fresh.replace(without_folder(file))
    finally:
        fresh.unlink(missing_ok=True)


def sweep(file: Path) -> None:
    """Remove what servers have left that were killed while they made an image."""
    for left in file.parent.glob(f"{file.name}.*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT_S:
                left.unlink()


def append(file: Path, identity: bytes, version: bytes, part: Part) -> None:
    """Add a part.  Raises OSError."""
    with file.open("ab") as stream:
        _write(stream, identity, version, part)


def read(file: Path, identity: bytes, version: bytes) -> list[Part] | None:
    """All parts, None if they are not the rows of exactly this version of the table."""
    try:
        with file.open("rb") as stream:
            found = list(_read(stream, identity))
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("the image %s is not used: %s", file, error)
        return None
    if not found or found[-1][0] != version:
        return None
    return [part for _, part in found]


def _write(stream: BinaryIO, identity: bytes, version: bytes, part: Part) -> None:
    sections: list[Any] = [b"".join(part.keys), "\n".join(part.words).encode("utf-8", "surrogatepass")]
    sections += [
        np.ascontiguousarray(getattr(part, name), kind).reshape(-1).view(np.uint8) for name, kind in _DTYPES.items()
    ]
    header = _Header(identity, version, len(part.keys), tuple(map(len, sections)), _seal(sections))
    body = msgspec.msgpack.encode(header)
    stream.write(_HEAD.pack(_MAGIC, len(body), zlib.crc32(body)))
    stream.write(body)
    for section in sections:
        stream.write(section)


def _read(stream: BinaryIO, identity: bytes) -> Iterator[tuple[bytes, Part]]:
    while head := stream.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise ValueError("it is cut off")
        magic, size, seal = _HEAD.unpack(head)
        body = stream.read(size) if magic == _MAGIC and size < 1 << 20 else b""
        if zlib.crc32(body) != seal or not body:
            raise ValueError("a header is damaged")
        header = msgspec.msgpack.decode(body, type=_Header)
        if header.identity != identity:
            raise ValueError("it is of another identity")
        sections = [stream.read(size) for size in header.sizes]
        if _seal(sections) != header.seal:
            raise ValueError("a part is damaged")
        keys, words, *rest = sections
        arrays = {name: np.frombuffer(data, kind) for (name, kind), data in zip(_DTYPES.items(), rest, strict=True)}
        arrays["vectors"] = arrays["vectors"].reshape(header.rows, -1) if header.rows else np.zeros((0, 0), np.int8)
        text = words.decode("utf-8", "surrogatepass")
        width = len(keys) // header.rows if header.rows else 0
        yield (
            header.version,
            Part(
                keys=tuple(keys[i : i + width] for i in range(0, len(keys), width or 1)),
                words=tuple(text.split("\n")) if text else (),
                **arrays,
            ),
        )


def _seal(sections: Iterable[Any]) -> int:
    seal = 0
    for section in sections:
        seal = zlib.crc32(section, seal)
    return seal
