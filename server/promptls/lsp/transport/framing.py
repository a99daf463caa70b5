"""Message framing of LSP: reads header block and body of one message from a byte stream.

Header names are case-insensitive, white space around values is ignored, unknown headers are skipped. A body may contain
text that resembles a header, so the reader cannot resynchronize after an error. It raises `FramingError`, and the
connection ends.
"""

from __future__ import annotations

from typing import BinaryIO

MAX_BODY_BYTES = 1 << 29
"""Maximum size of a message body in bytes: 512 MiB, far above any document, below what exhausts memory."""
MAX_HEADER_BYTES = 4096
"""Maximum length of a header line in bytes; real headers are below 100."""
MAX_HEADERS = 32
"""Maximum number of header lines of a message; LSP defines two."""


class FramingError(Exception):
    """Raised when the stream cannot be split into messages any longer."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read the body of the next message, blocking until it has arrived.

    Returns:
        The body, None at the end of the stream.

    Raises:
        FramingError: The headers are invalid or the stream ends within a message.
    """
    length = _read_headers(stream)
    if length is None:
        return None
    body = stream.read(length)
    if len(body) < length:
        raise FramingError(f"the stream ended {length - len(body):,} bytes before the end of a message")
    return body


def _read_headers(stream: BinaryIO) -> int | None:
    """Read one header block and return its Content-Length, None at the end of the stream."""
    length: int | None = None
    count = 0
    while line := stream.readline(MAX_HEADER_BYTES):
        if not line.endswith(b"\n"):
            problem = "is too long" if len(line) >= MAX_HEADER_BYTES else "is not terminated"
            raise FramingError(f"a header line {problem}: {_excerpt(line)}")
        if not line.strip():
            if length is not None:
                return length
            if count:
                raise FramingError("the Content-Length header is missing")
            continue  # an extra line break after the previous message
        count += 1
        name, colon, value = line.partition(b":")
        if not colon or count > MAX_HEADERS:
            raise FramingError(f"invalid header line: {_excerpt(line)}")
        if name.strip().lower() == b"content-length":
            parsed = _parse_length(value.strip())
            if length not in (None, parsed):
                raise FramingError("two Content-Length headers differ")
            length = parsed
    if count:
        raise FramingError("the stream ended within the headers")
    return None


def _parse_length(value: bytes) -> int:
    if not value.isdigit() or len(value) > 12:
        raise FramingError(f"invalid Content-Length: {_excerpt(value)}")
    if int(value) > MAX_BODY_BYTES:
        raise FramingError(f"the message has {int(value):,} bytes; the limit is {MAX_BODY_BYTES:,}")
    return int(value)


def _excerpt(data: bytes) -> str:
    return ascii(data[:60].decode("utf-8", "replace"))
