"""Team indices for tests: small repositories, a shared folder, and an S3 server on loopback."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lancedb  # noqa: F401 (in full, before another test of the process imports it with stubs)
import pytest

from conftest import write_tree
from promptls.extensions.team.team_config import TeamConfig, read_config
from trees import git as run_git

PACKAGES = ("ray", "lance", "moto", "flask_cors", "boto3")
"""Import names that the tests of writing need."""
S3_VARIABLES = {"TEAM_TEST_KEY_ID": "test-key", "TEAM_TEST_SECRET": "test-secret"}
BUCKET = "code"

SHOP = """
-- shop/cart.py --
class Cart:
    def total(self):
        "Sum of all prices, before any discount."
        return sum(price for _, price in self.items)

    def apply_voucher(self, voucher):
        "Reduce the total by the value of a voucher."
        self.discount = voucher.value
-- shop/tax.py --
def value_added_tax(amount, country):
    "Value added tax of an amount in a country."
    return amount * RATES[country]
-- .gitignore --
build/
-- .env --
PASSWORD=hunter2hunter2
-- shop/client.py --
API_TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def connect(address):
    "Open a connection to the payment provider."
    return Connection(address, API_TOKEN)
"""
MAIL = """
-- mail/queue.go --
package mail

// Enqueue puts a letter into the queue of outgoing letters.
func Enqueue(letter Letter) error {
	return queue.Push(letter)
}
-- mail/bounce.go --
package mail

// HandleBounce marks the address of a returned letter as undeliverable.
func HandleBounce(letter Letter) {
	addresses.Disable(letter.To)
}
"""


def require_team_packages(names: Sequence[str] = PACKAGES) -> None:
    """Skip a module without packages of the extra `team`; import them before promptls imports stubs of their parts."""
    for name in names:
        pytest.importorskip(name, reason=f"needs {name}, which the extra dev installs")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    return run_git(folder, *arguments).decode().strip()


def commit_tree(folder: Path, tree: str) -> str:
    """Write files into a repository, which is created if necessary, and commit them; return the commit."""
    write_tree(folder, tree)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--force", "--all")
    git(folder, "commit", "--quiet", "--message", "change")
    return git(folder, "rev-parse", "HEAD")


def write_config(file: Path, uri: str, repositories: Mapping[str, Path], storage: str = "") -> Path:
    """Write the configuration of a team index."""
    entries = "".join(f'[[repositories]]\nname = "{name}"\npath = "{path}"\n' for name, path in repositories.items())
    file.write_text(f'uri = "{uri}"\n{storage}{entries}')
    return file


def s3_options(port: int) -> str:
    """Return the lines of a configuration for the S3 server."""
    endpoint = f'endpoint = "http://127.0.0.1:{port}"'
    return (
        f'storage = {{ region = "us-east-1", {endpoint}, allow_http = "true" }}\n'
        'storage_env = { access_key_id = "TEAM_TEST_KEY_ID", secret_access_key = "TEAM_TEST_SECRET" }\n'
    )


@contextmanager
def s3_server() -> Iterator[int]:
    """Run an S3 server with an empty bucket; yield its port."""
    import logging

    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id=S3_VARIABLES["TEAM_TEST_KEY_ID"],
            aws_secret_access_key=S3_VARIABLES["TEAM_TEST_SECRET"],
        )
        client.create_bucket(Bucket=BUCKET)
        yield port
    finally:
        server.stop()


def build_index(file: Path, cache: Path) -> TeamConfig:
    """Build the index of a configuration in this process, without Ray."""
    from promptls.extensions.team import indices
    from promptls.extensions.team.index_repository import index_repository
    from promptls.extensions.team.table import commit_build, publish

    config = read_config(file, {**os.environ, **S3_VARIABLES})
    assert isinstance(config, TeamConfig), config
    results = [index_repository(one, config.storage, config.index, str(cache)) for one in config.repositories]
    commit_build(config.storage, results[0].identity, [one for result in results for one in result.fragments])
    indices.build_indices(config.storage)
    publish(config.storage)
    return config


class FaultyProxy:
    """A proxy in front of an S3 server that can refuse and withhold responses."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.status = 0  # HTTP status of every response, 0 to forward requests
        self.hangs = False
        self.requests = 0
        self._released = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                proxy.requests += 1
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if proxy.hangs:
                    proxy._released.wait(120)
                    self.close_connection = True
                    return
                status, headers, data = (proxy.status, [], b"") if proxy.status else proxy.forward(self, body)
                with suppress(OSError):
                    self.send_response(status)
                    for name, value in headers:
                        if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                            self.send_header(name, value)
                    if self.command != "HEAD":
                        self.send_header("Content-Length", str(len(data)))
                    else:
                        self.send_header("Content-Length", dict(headers).get("Content-Length", "0"))
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - names of the base class

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection("127.0.0.1", self.target, timeout=60)
        try:
            connection.request(handler.command, handler.path, body, dict(handler.headers))
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
