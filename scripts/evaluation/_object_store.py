"""Read-only S3 server with latency: serves a folder as a bucket.

`python -m evaluation._object_store FOLDER MILLISECONDS` prints its port. A request waits for one round trip, and the
first request of a connection for two more, which TCP and TLS would take. It answers what Lance asks of an index that
does not change: HEAD, GET with a range, and lists. It does not check signatures.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from subprocess import PIPE, Popen
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import urlopen
from xml.sax.saxutils import escape

from promptls.extensions.team.storage import Storage

BUCKET = "index"
COUNTERS = "/-/counters"
SETUP_ROUND_TRIPS = 2
"""Round trips before the first request of a connection: one of TCP and one of TLS 1.3."""


class ObjectStore:
    """The server in a process of its own, so that the interpreter lock does not delay the measured process."""

    def __init__(self, folder: Path, latency_ms: float) -> None:
        command = [sys.executable, "-m", __spec__.name, str(folder), str(latency_ms)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = Popen(command, stdout=PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self._address = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        secrets = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        options = {"aws_region": "us-east-1", "aws_endpoint": self._address, "allow_http": "true", **secrets}
        self.storage = Storage(f"s3://{BUCKET}", options)

    def counters(self) -> tuple[int, int]:
        """Return the numbers of requests and of bytes so far."""
        with urlopen(self._address + COUNTERS) as response:
            requests, sent = json.load(response)
        return requests, sent

    def close(self) -> None:
        """Stop the server."""
        self._process.kill()
        self._process.wait()


class _Connection(asyncio.Protocol):
    requests = sent = 0

    def __init__(self, root: Path, latency_s: float) -> None:
        self._root = root
        self._latency_s = latency_s
        self._is_new = True
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._answer(head.decode())

    def _answer(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if target == COUNTERS:
            self._transport.write(_response(200, json.dumps([_Connection.requests, _Connection.sent]).encode()))
            return
        response = _respond(self._root, method, target, headers.get("range", ""))
        _Connection.requests += 1
        _Connection.sent += len(response)
        trips, self._is_new = 1 + SETUP_ROUND_TRIPS * self._is_new, False
        asyncio.get_running_loop().call_later(trips * self._latency_s, self._transport.write, response)


def _respond(root: Path, method: str, target: str, byte_range: str) -> bytes:
    address = urlsplit(target)
    key = unquote(address.path).removeprefix(f"/{BUCKET}").lstrip("/")
    if "list-type" in address.query:
        return _response(200, _listing(root, parse_qs(address.query).get("prefix", [""])[0]))
    opened = _opened(root / key) if key else None
    if opened is None:
        return _response(404, b"<Error><Code>NoSuchKey</Code></Error>")
    file, size, modified = opened
    headers = {"Last-Modified": modified, "ETag": f'"{size:x}"', "Accept-Ranges": "bytes"}
    if method == "HEAD":
        return _response(200, b"", headers | {"Content-Length": str(size)})
    if not byte_range:
        return _response(200, os.pread(file, size, 0), headers)
    begin, _, end = byte_range.removeprefix("bytes=").partition("-")
    start = int(begin) if begin else size - int(end)
    stop = min(int(end) + 1, size) if begin and end else size
    return _response(
        206, os.pread(file, stop - start, start), headers | {"Content-Range": f"bytes {start}-{stop - 1}/{size}"}
    )


@lru_cache(maxsize=4096)
def _opened(path: Path) -> tuple[int, int, str] | None:
    if not path.is_file():
        return None
    file = os.open(path, os.O_RDONLY)
    return file, os.fstat(file).st_size, formatdate(os.fstat(file).st_mtime, usegmt=True)


def _listing(root: Path, prefix: str) -> bytes:
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(_entries(root, prefix))}</ListBucketResult>".encode()


def _entries(root: Path, prefix: str) -> Iterator[str]:
    folder = root / prefix.rpartition("/")[0]
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        key = escape(entry.relative_to(root).as_posix())
        if entry.is_dir():
            yield f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>"
        elif key.startswith(prefix):
            size = entry.stat().st_size
            yield (
                f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                f"<ETag>&quot;{size:x}&quot;</ETag><Size>{size}</Size></Contents>"
            )


def _response(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = {"Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} \r\n{head}\r\n".encode() + body


async def _serve(root: Path, latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(root, latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), float(sys.argv[2]) / 1000))
