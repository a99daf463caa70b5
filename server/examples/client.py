"""A minimal client: start the server, build one prompt, print it.

Usage: python client.py FOLDER QUESTION
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO


def write(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one JSON-RPC message with its LSP header."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def read(stream: BinaryIO) -> dict[str, Any]:
    """Read one JSON-RPC message."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(stream.read(length))


def main(folder: str, question: str) -> None:
    """Print the prompt for a question about a folder."""
    command = os.environ.get("PROMPTLS", "promptls serve").split()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ids = count(1)

    def request(method: str, params: Any) -> Any:
        number = next(ids)
        write(server.stdin, {"id": number, "method": method, "params": params})
        while True:
            message = read(server.stdout)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    sys.exit(message["error"]["message"])
                return message["result"]
            if "id" in message:  # a request from the server, such as workspace/configuration
                write(server.stdin, {"id": message["id"], "result": None})

    root = Path(folder).resolve()
    folders = [{"uri": root.as_uri(), "name": root.name}]
    request("initialize", {"processId": os.getpid(), "capabilities": {}, "rootUri": None, "workspaceFolders": folders})
    write(server.stdin, {"method": "initialized", "params": {}})
    answer = request("promptls/buildPrompt", {"message": question, "budget": {"tokens": 4000}})
    print(answer["prompt"])
    print(answer["trace"]["line"], file=sys.stderr)
    request("shutdown", None)
    write(server.stdin, {"method": "exit"})
    server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:3])
