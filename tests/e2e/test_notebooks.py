"""Notebooks from end to end: on disk, open as JSON, and open as cells (notebook synchronization of LSP 3.17)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from lsp import Client, Json, Start

CAPABILITIES = {"notebookDocument": {"synchronization": {}}}
PICTURE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 200_000}}
NUMBER = {"output_type": "stream", "name": "stdout", "text": ["7341\n"]}
CLEAN = "import pandas as pd\n\ndef drop_faulty_gauges(frame):\n    return frame\n"
PLOT = "%matplotlib inline\ndef plot_tides(frame):\n    return frame.plot()\n"

TEXT = """\
# Jupyter notebook (python)

# %% [markdown] cell 1
# # Tides of the year

# %% cell 2
import pandas as pd

def drop_faulty_gauges(frame):
    return frame
# Output: 7341

# %% cell 3
# %matplotlib inline
def plot_tides(frame):
    return frame.plot()
"""


def notebook(*sources: str) -> str:
    outputs: list[list[Json]] = [[], [NUMBER], [PICTURE]]
    cells = [
        {
            "cell_type": "code" if i else "markdown",
            "metadata": {},
            **({"outputs": outputs[i], "execution_count": 1} if i else {}),
            "source": source.splitlines(keepends=True),
        }
        for i, source in enumerate(sources)
    ]
    metadata = {"kernelspec": {"language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "gauges" / "analysis"
    folder.mkdir(parents=True)
    (folder / "tides.ipynb").write_text(notebook("# Tides of the year", CLEAN, PLOT))
    (folder / "empty.py").write_text("nothing = 1\n")
    return folder.parent


class OpenNotebook:
    """A notebook that the editor shows as cells; a cell is given by its number."""

    def __init__(self, client: Client, path: Path, sources: Sequence[str]) -> None:
        self.client, self.uri, self.version = client, path.as_uri(), 1
        items = [self.item(i, source) for i, source in enumerate(sources, 1)]
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": self.cells(items)}
        params = {"notebookDocument": document, "cellTextDocuments": items}
        client.notify("notebookDocument/didOpen", params)

    def cell(self, number: int) -> str:
        return f"vscode-notebook-cell:{self.uri.removeprefix('file://')}#W{number}sZmlsZQ%3D%3D"

    def item(self, number: int, source: str, language: str = "") -> Json:
        language = language or ("markdown" if source.startswith("#") else "python")
        return {"uri": self.cell(number), "languageId": language, "version": 1, "text": source}

    def cells(self, items: Sequence[Json]) -> list[Json]:
        return [{"kind": 1 if i["languageId"] == "markdown" else 2, "document": i["uri"]} for i in items]

    def change(self, **cells: object) -> None:
        self.version += 1
        params = {"notebookDocument": {"uri": self.uri, "version": self.version}, "change": {"cells": cells}}
        self.client.notify("notebookDocument/didChange", params)

    def edit(self, number: int, text: str) -> None:
        document = {"uri": self.cell(number), "version": self.version + 1}
        self.change(textContent=[{"document": document, "changes": [{"text": text}]}])

    def insert(self, at: int, number: int, source: str, language: str = "") -> None:
        item = self.item(number, source, language)
        self.change(
            structure={"array": {"start": at, "deleteCount": 0, "cells": self.cells([item])}, "didOpen": [item]}
        )

    def delete(self, at: int, number: int) -> None:
        closed = [{"uri": self.cell(number)}]
        self.change(structure={"array": {"start": at, "deleteCount": 1}, "didClose": closed})

    def close(self, *numbers: int) -> None:
        documents = [{"uri": self.cell(number)} for number in numbers]
        params = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": documents}
        self.client.notify("notebookDocument/didClose", params)


def lines(first: int, last: int) -> Json:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


def content(client: Client, message: str = "@analysis/tides.ipynb explain", **context: object) -> str:
    """Return the content of the first fence of a prompt."""
    sections = {"retrieval": False}
    prompt = client.build(message, context=context, sections=sections, budget={"tokens": 4000})["prompt"]
    return str(prompt.partition("\n<context-")[2].partition(">\n")[2].partition("</context-")[0])


def test_notebook_on_disk(start: Start, root: Path) -> None:
    client = start(root)
    status = client.wait_indexed()["roots"][0]
    assert (status["files"], status["skipped"]) == (2, 0)
    assert client.request("promptls/explainIgnore", {"uri": (root / "analysis/tides.ipynb").as_uri()})["indexed"]
    assert content(client) == TEXT
    node = client.request("promptls/explain", {"symbol": "plot_tides"})["node"]
    assert (node["path"], node["range"]["start"]["line"]) == ("analysis/tides.ipynb", 14)
    hit = client.search("which gauges are faulty")[0]
    assert (hit["path"], hit["symbol"]) == ("analysis/tides.ipynb", "drop_faulty_gauges")
    in_json = (root / "analysis/tides.ipynb").read_text().split("\n")[hit["location"]["range"]["start"]["line"]]
    assert "drop_faulty_gauges" in in_json
    assert "iVBOR" not in client.build("@analysis/tides.ipynb:1- explain")["prompt"]


def test_open_cells_are_the_overlay(start: Start, root: Path) -> None:
    client = start(root, capabilities=CAPABILITIES)
    client.wait_indexed()
    opened = OpenNotebook(client, root / "analysis/tides.ipynb", ["# Tides of the year", CLEAN, PLOT])
    assert content(client) == TEXT  # with the outputs of the file
    assert content(client, "@recent") == ""
    opened.edit(3, "def plot_surges():\n    return 1")
    opened.insert(1, 4, "storm_limit = 3")
    opened.insert(2, 5, "select 1", "sql")
    opened.insert(5, 6, "")
    assert (
        content(client)
        == """\
# Jupyter notebook (python)

# %% [markdown] cell 1
# # Tides of the year

# %% cell 2
storm_limit = 3

# %% [sql] cell 3
# select 1

# %% cell 4
import pandas as pd

def drop_faulty_gauges(frame):
    return frame
# Output: 7341

# %% cell 5
def plot_surges():
    return 1
"""
    )
    assert client.request("promptls/explain", {"symbol": "plot_surges"})["found"]
    assert not client.request("promptls/explain", {"symbol": "plot_tides"})["found"]
    opened.delete(3, 2)
    assert not client.request("promptls/explain", {"symbol": "drop_faulty_gauges"})["found"]
    opened.change(textContent=[{"document": {"uri": "vscode-notebook-cell:/x#1", "version": 1}, "changes": []}])
    opened.close(1, 3, 4, 5, 6)
    assert content(client) == TEXT


def test_saved_outputs_and_new_notebook(start: Start, root: Path) -> None:
    client = start(root, capabilities=CAPABILITIES)
    client.wait_indexed()
    path = root / "analysis/new.ipynb"
    opened = OpenNotebook(client, path, ["# New", "def moon_phase(): pass"])
    assert client.search("phase of the moon")[0]["path"] == "analysis/new.ipynb"
    path.write_text(notebook("# New", "def moon_phase(): pass"))
    client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": opened.uri}})
    assert content(client, "@analysis/new.ipynb").endswith("def moon_phase(): pass\n# Output: 7341\n")
    unknown = {"notebookDocument": {"uri": "file:///x.ipynb", "version": 2}, "change": {}}
    client.notify("notebookDocument/didChange", unknown)
    client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": "file:///x.ipynb"}})
    opened.close(1, 2)
    assert client.search("phase of the moon")[0]["path"] == "analysis/new.ipynb"


def test_positions_in_cells(start: Start, root: Path) -> None:
    client = start(root, capabilities=CAPABILITIES)
    client.wait_indexed()
    opened = OpenNotebook(client, root / "analysis/tides.ipynb", ["# Tides of the year", CLEAN, PLOT])
    cell = opened.cell(3)
    selection = {"uri": cell, "range": lines(1, 3)}
    assert content(client, "@selection", selection=selection) == TEXT[TEXT.index("# %% cell 3") :]
    assert content(client, "@active", activeDocument=cell, openDocuments=[cell, opened.cell(2)]) == TEXT
    diagnostics = [{"uri": cell, "diagnostics": [{"range": lines(2, 3), "message": "no plot"}]}]
    prompt = client.build("@diagnostics", context={"diagnostics": diagnostics})["prompt"]
    assert "analysis/tides.ipynb:16: no plot" in prompt
    position = {"line": 1, "character": 6}
    assert client.request("promptls/explain", {"uri": cell, "position": position})["node"]["name"] == "plot_tides"
    assert client.request("promptls/explainIgnore", {"uri": cell})["indexed"]

    result = client.build("see @#plot_tides", sections={"retrieval": False})
    target, item = result["mentions"][0]["targets"][0], result["items"][0]
    assert (target["uri"], target["range"]["start"]["line"]) == (opened.uri, 14)
    assert target["location"] == {"uri": cell, "range": lines(1, 3)}
    assert item["location"] == {"uri": cell, "range": lines(0, 3)}  # with the magic above the function
    client.open(
        root / "q.prompt.md", "@#drop_faulty_gauges @analysis/tides.ipynb @analysis/empty.py:1", language="promptls"
    )
    document = {"uri": (root / "q.prompt.md").as_uri()}
    position = {"line": 0, "character": 6}
    definition = client.request("textDocument/definition", {"textDocument": document, "position": position})
    assert definition == [{"uri": opened.cell(2), "range": lines(2, 4)}]
    links = client.request("textDocument/documentLink", {"textDocument": document})
    uris = [opened.cell(2), opened.uri, (root / "analysis/empty.py").as_uri()]
    assert [link["target"] for link in links] == uris
