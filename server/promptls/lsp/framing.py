"""Messages out of a stream of bytes, as LSP frames them: headers, a blank line, a body of the length they tell.

Header names are read in any case and with any blanks around the value, unknown headers are passed over.  Where it
cannot be told any more where a message begins there is nothing to resynchronise by, since a body may look like a
header: `Lost` says what was wrong, and the connection ends.
"""

from __future__ import annotations

from typing import BinaryIO

MOST_BODY = 1 << 29
"""Bytes of a message: half a gigabyte."""
MOST_HEADER = 4096
"""Bytes of a header line."""
MOST_HEADERS = 32


class Lost(Exception):
    """The stream cannot be read on; the text says why."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next message, None at the end of the stream; waits for it.  Raises `Lost`."""
    length = _length(stream)
    if length is None:
        return None
    body = stream.read(length)
    if len(body) < length:
        raise Lost(f"the stream ended {length - len(body):,} bytes before the end of a message")
    return body


def _length(stream: BinaryIO) -> int | None:
    """The length that the next headers tell, None at the end of the stream."""
    length: int | None = None
    count = 0
    while line := stream.readline(MOST_HEADER):
        if not line.endswith(b"\n"):
            what = "is too long" if len(line) >= MOST_HEADER else "has no end"
            raise Lost(f"a header line {what}: {_shown(line)}")
        if not line.strip():
            if length is not None:
                return length
            if count:
                raise Lost("headers without Content-Length")
            continue  # a line end too many after the message before
        count += 1
        name, colon, value = line.partition(b":")
        if not colon or count > MOST_HEADERS:
            raise Lost(f"{_shown(line)} is no header")
        if name.strip().lower() == b"content-length":
            told = _number(value.strip())
            if length not in (None, told):
                raise Lost("two headers tell different lengths")
            length = told
    if count:
        raise Lost("the stream ended among headers")
    return None


def _number(value: bytes) -> int:
    if not value.isdigit() or len(value) > 12:
        raise Lost(f"Content-Length is {_shown(value)}, which is no length")
    if int(value) > MOST_BODY:
        raise Lost(f"a message of {int(value):,} bytes is announced, more than the {MOST_BODY:,} that are read")
    return int(value)


def _shown(data: bytes) -> str:
    return ascii(data[:60].decode("utf-8", "replace"))
