"""Checkpoint file: the rows of a store in the form that searches need, read sequentially at the next start.

A log of segments. The first segment holds nearly all rows, and each write to the store appends one. Each segment has a
checksum and names the version of the table (`lance_table.table_version`) that the segments up to it represent. The
checkpoint is a copy: if it is missing, damaged or outdated, the table is read instead.
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

from promptls.index.search.row_batch import Segment
from promptls.index.store.cache_dir import remove_directory_at
from promptls.util.decode import decode_msgpack

log = logging.getLogger(__name__)

FORMAT = 1
"""Version of the file format; a file of another version is ignored."""
MAX_SEGMENTS = 64
"""Appended segments after which the checkpoint is rewritten: a bound on the work at the next start."""
STALE_FILE_AGE_S = 600.0
"""Age from which a temporary file is treated as left over from a killed server."""
_SEGMENT_HEAD = struct.Struct("<4sII")
_MAGIC = b"pls" + bytes([FORMAT])
_MAX_HEADER_BYTES = 1 << 20
_ARRAY_TYPES = {
    "vectors": np.int8,
    "scales": np.float32,
    "lengths": np.int32,
    "ids": np.int32,
    "offsets": np.int64,
    "rows": np.int32,
    "counts": np.uint8,
}
"""Arrays of a `Segment` in the order of the file."""


class _Header(Struct, frozen=True, array_like=True):
    identity: bytes
    version: bytes
    rows: int
    sizes: tuple[int, ...]  # bytes of each section
    checksum: int  # CRC-32 of all sections


def write(file: Path, identity: bytes, version: bytes, segment: Segment) -> None:
    """Replace the checkpoint by one segment. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + f".{os.getpid()}")
    try:
        with temporary.open("wb") as stream:
            _write_segment(stream, identity, version, segment)
        temporary.replace(remove_directory_at(file))
    finally:
        temporary.unlink(missing_ok=True)


def remove_stale_files(file: Path) -> None:
    """Remove temporary files of servers that were killed while they wrote a checkpoint."""
    for temporary in file.parent.glob(f"{file.name}.*"):
        with suppress(OSError):
            if time.time() - temporary.stat().st_mtime > STALE_FILE_AGE_S:
                temporary.unlink()


def append(file: Path, identity: bytes, version: bytes, segment: Segment) -> None:
    """Append a segment. Raises OSError."""
    with file.open("ab") as stream:
        _write_segment(stream, identity, version, segment)


def read(file: Path, identity: bytes, version: bytes) -> list[Segment] | None:
    """Return all segments, or None unless they represent exactly this version of the table."""
    try:
        with file.open("rb") as stream:
            segments = list(_read_segments(stream, identity))
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("Ignoring the checkpoint %s: %s", file, error)
        return None
    if not segments or segments[-1][0] != version:
        return None
    return [segment for _, segment in segments]


def _write_segment(stream: BinaryIO, identity: bytes, version: bytes, segment: Segment) -> None:
    sections: list[Any] = [b"".join(segment.keys), "\n".join(segment.terms).encode("utf-8", "surrogatepass")]
    sections += [
        np.ascontiguousarray(getattr(segment, name), dtype).reshape(-1).view(np.uint8)
        for name, dtype in _ARRAY_TYPES.items()
    ]
    header = _Header(identity, version, len(segment.keys), tuple(map(len, sections)), _checksum(sections))
    body = msgspec.msgpack.encode(header)
    stream.write(_SEGMENT_HEAD.pack(_MAGIC, len(body), zlib.crc32(body)))
    stream.write(body)
    for section in sections:
        stream.write(section)


def _read_segments(stream: BinaryIO, identity: bytes) -> Iterator[tuple[bytes, Segment]]:
    """Yield (table version, segment). Raises ValueError for a damaged file or another identity."""
    while head := stream.read(_SEGMENT_HEAD.size):
        if len(head) < _SEGMENT_HEAD.size:
            raise ValueError("the file is truncated")
        magic, size, checksum = _SEGMENT_HEAD.unpack(head)
        body = stream.read(size) if magic == _MAGIC and size < _MAX_HEADER_BYTES else b""
        if zlib.crc32(body) != checksum or not body:
            raise ValueError("a header is damaged")
        header = decode_msgpack(body, _Header)
        if header.identity != identity:
            raise ValueError("the store has another identity")
        sections = [stream.read(size) for size in header.sizes]
        if _checksum(sections) != header.checksum:
            raise ValueError("a segment is damaged")
        keys, terms, *rest = sections
        arrays = {
            name: np.frombuffer(data, dtype) for (name, dtype), data in zip(_ARRAY_TYPES.items(), rest, strict=True)
        }
        arrays["vectors"] = arrays["vectors"].reshape(header.rows, -1) if header.rows else np.zeros((0, 0), np.int8)
        text = terms.decode("utf-8", "surrogatepass")
        key_bytes = len(keys) // header.rows if header.rows else 0
        yield (
            header.version,
            Segment(
                keys=tuple(keys[i : i + key_bytes] for i in range(0, len(keys), key_bytes or 1)),
                terms=tuple(text.split("\n")) if text else (),
                **arrays,
            ),
        )


def _checksum(sections: Iterable[Any]) -> int:
    checksum = 0
    for section in sections:
        checksum = zlib.crc32(section, checksum)
    return checksum
