"""Golden tests of the protocol: every case of cases.json gets the response recorded in golden/.

`PROMPTLS_RECORD=1` records the responses again; review the difference before committing it. Values that differ between
runs are masked: boundary, times, sizes, location of the workspace. One client sends the cases in order, because some
depend on earlier ones.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import git, write_tree
from lsp import Client, ResponseError, indexed_client

HERE = Path(__file__).parent
CASES = json.loads((HERE / "cases.json").read_text())
MASKED = {
    "ms": 0,
    "generation": 0,
    "memoryBytes": 0,
    "bytes": 0,
    "versions": 0,
    "fragments": 0,
    "embedded": 0,
    "created": "DATE",
    "updated": "DATE",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("golden")
    root = write_tree(folder / "workspace", (HERE / "workspace.txt").read_text())
    git(root, "init", "-q")
    with indexed_client(folder / "cache", root) as client:
        yield client


def masked(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {k: MASKED[k] if k in MASKED and v is not None else masked(v, root) for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, root) for v in value]
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, str):
        value = re.sub(r"(context-|Boundary: |<\/?[a-z_]+-|that end in )[0-9a-f]{12}", r"\1BOUNDARY", value)
        value = re.sub(r"^[0-9a-f]{10}$", "ID", value)
        return value.replace(root, "file:///workspace").replace(root.removeprefix("file://"), "/workspace")
    return value


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_response_equals_golden_file(client: Client, case: dict[str, Any]) -> None:
    root = client.request("promptls/status")["roots"][0]["uri"]
    params = json.loads(json.dumps(case["params"]).replace("ROOT", root))
    try:
        answer: dict[str, Any] = {"result": client.request(case["method"], params)}
    except ResponseError as error:
        answer = {"error": {"code": error.code, "message": str(error), "data": error.data}}
    if case["method"] == "promptls/reindex":
        client.wait_indexed()
    got = masked(answer, root)
    file = HERE / "golden" / f"{case['name']}.json"
    if os.environ.get("PROMPTLS_RECORD"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(got, indent=1, ensure_ascii=False) + "\n")
    assert got == json.loads(file.read_text())
