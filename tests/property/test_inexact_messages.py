"""Whatever the capabilities of a client hold, `initialize` is answered."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptls.lsp import create_server

Place = tuple[Any, ...]
"""Keys and indices that lead to a value in a message."""

CLIENTS = [
    json.loads(file.read_text())["initialize"]["capabilities"]
    for file in sorted((Path(__file__).parents[1] / "protocol" / "clients").glob("*.json"))
    if "extends" not in file.read_text()
]
VALUES = st.sampled_from(
    (None, True, 0, -1, 1 << 40, 1.5, 2.0, "", "?", "7", "http://[x", [], {}, [None], ["?"], [{}], {"?": None})
)


def places(value: Any, start: Place = ()) -> Iterator[Place]:
    """Yield the places of all values in a message."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*start, key)
        yield from places(inner, (*start, key))


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """Return the capabilities of a client with another or a missing value in up to three places."""
    capabilities = copy.deepcopy(draw(st.sampled_from(CLIENTS)))
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(list(places(capabilities))))
        target = capabilities
        for key in parents:
            target = target[key]
        if (new := draw(VALUES | st.just(...))) is ...:
            del target[last]
        else:
            target[last] = copy.deepcopy(new)  # the values are shared by all examples
    return capabilities


def initialize(params: Any) -> Any:
    """Return the response of a new server to `initialize`."""
    server, sent = create_server(), []

    class Writer:
        def write(self, data: bytes) -> None:
            sent.append(data)

        def close(self) -> None: ...

    async def send() -> None:
        server.protocol.set_writer(Writer())  # type: ignore[arg-type]
        server.protocol.handle_message({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})

    try:
        asyncio.run(send())
    finally:
        server.stop()
    return json.loads(sent[-1].partition(b"\r\n\r\n")[2])


@given(mutated())
def test_initialize_with_any_capabilities_is_answered(capabilities: Any) -> None:
    params = {"processId": None, "rootUri": None, "capabilities": capabilities, "workspaceFolders": None}
    assert "textDocumentSync" in initialize(params)["result"]["capabilities"]
