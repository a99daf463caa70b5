"""Decoding of the JSON of notebooks: the few fields that are text, of nbformat 2 to 4.

The fields are decoded with msgspec.  The library nbformat would validate the file against its schema, build Python
objects of all pictures first, and bring a schema validator as a dependency.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from promptls.util.decode import decode_json

_ERRORS = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
_PICTURES = ("image/", "application/vnd.jupyter.widget", "application/javascript", "video/", "audio/")
"""Beginnings of MIME types whose plain text is only the name of an object."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_METADATA = Raw(b"{}")
Text = str | list[str]
"""A text, or its lines with their line ends."""


class Cell(Struct, frozen=True):
    """One cell of a notebook."""

    kind: str  # "code", "markdown" or "raw"
    source: str
    language: str = ""  # name of its language as in the notebook, "" for that of the kernel
    outputs: tuple[str, ...] = ()  # texts


class DecodedNotebook(Struct, frozen=True):
    """Cells of a notebook file, and the names that it has for the language of its kernel, best first."""

    cells: tuple[Cell, ...]
    language_names: tuple[str, ...]


class _Worksheet(Struct):
    cells: list[Raw] = []


class _Notebook(Struct):
    cells: list[Raw] | None = None
    worksheets: list[_Worksheet] | None = None  # nbformat 2 and 3
    metadata: Raw = _NO_METADATA


class _Cell(Struct):
    cell_type: str
    source: Text = ""
    input: Text | None = None  # source of code in nbformat 2 and 3
    level: int = 1  # of a heading in nbformat 2 and 3
    language: str = ""  # in nbformat 2 and 3
    metadata: Raw = _NO_METADATA
    outputs: Raw = Raw(b"[]")


class _EncodedSource(Struct):
    source: Raw = Raw(b"")
    input: Raw = Raw(b"")


class _Output(Struct):
    output_type: str = ""
    text: Text | None = None
    data: dict[str, Raw] = {}
    ename: str = ""
    evalue: str = ""
    png: Any = None  # nbformat 2 and 3
    jpeg: Any = None
    svg: Any = None


def decode_notebook(content: bytes | str) -> DecodedNotebook | None:
    """Decode the content of a notebook file; return None if it is not a valid notebook."""
    try:
        return _decode(content)
    except _ERRORS:
        pass
    try:  # Python's decoder accepts NaN, which Python's encoder writes, and detects UTF-16
        return _decode(msgspec.json.encode(json.loads(content)))
    except _ERRORS:
        return None


def source_lines(content: bytes) -> list[list[int]]:
    """Return, for each cell of a valid notebook, the line of the JSON that contains each line of its source."""
    lines: list[list[int]] = []
    at = line = 0
    for raw in _encoded_cells(decode_json(content, _Notebook)) or ():
        encoded = bytes(raw)
        start = content.find(encoded, at)
        line += content.count(b"\n", at, start)
        lines.append([line + below for below in _source_lines(encoded)])
        at = start + len(encoded)
        line += encoded.count(b"\n")
    return lines


def _source_lines(cell: bytes) -> Iterator[int]:
    """Yield the line of a cell's JSON that contains each line of its source."""
    fields = decode_json(cell, _EncodedSource)
    source = bytes(fields.input) or bytes(fields.source)
    at = cell.rfind(source)  # the writers of notebooks sort the fields, so that the source is the last one
    line = cell.count(b"\n", 0, at)
    parts = decode_json(source, list[Raw]) if source.startswith(b"[") else [Raw(source)]
    position, is_continued = 0, False
    for part in parts:
        encoded = bytes(part)
        start = source.find(encoded, position)
        line += source.count(b"\n", position, start)
        position = start
        for text in _LINE.findall(decode_json(encoded, str)):
            if not is_continued:
                yield line
            is_continued = not text.endswith("\n")


def _decode(content: bytes | str) -> DecodedNotebook | None:
    notebook = decode_json(content, _Notebook)
    encoded_cells = _encoded_cells(notebook)
    if encoded_cells is None:
        return None
    cells = [decode_json(encoded, _Cell) for encoded in encoded_cells]
    # A worksheet has the language in each cell instead of in the metadata.
    names = [*kernel_names(_decode_object(notebook.metadata)), *(cell.language for cell in cells)]
    return DecodedNotebook(tuple(map(_decoded_cell, cells)), tuple(dict.fromkeys(filter(None, names))))


def _encoded_cells(notebook: _Notebook) -> list[Raw] | None:
    if notebook.cells is None and notebook.worksheets is not None:
        return [cell for sheet in notebook.worksheets for cell in sheet.cells]
    return notebook.cells


def kernel_names(metadata: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the kernel's language in the metadata of a notebook, best first."""
    for key, field in (
        ("language_info", "name"),
        ("kernelspec", "language"),
        ("language_info", "file_extension"),
        ("kernelspec", "name"),
    ):
        value = metadata.get(key)
        name = value.get(field) if isinstance(value, dict) else None
        if isinstance(name, str):
            yield name


def _decoded_cell(cell: _Cell) -> Cell:
    source = _joined(cell.source if cell.input is None else cell.input)
    if cell.cell_type == "code":
        return Cell("code", source, _cell_language(_decode_object(cell.metadata)), tuple(_outputs(cell.outputs)))
    if cell.cell_type == "heading":
        return Cell("markdown", f"{'#' * max(1, min(cell.level, 6))} {source}")
    return Cell("markdown" if cell.cell_type in ("markdown", "html") else "raw", source)


def _cell_language(metadata: dict[str, Any]) -> str:
    """Return the language of a cell that may differ from that of the kernel: VS Code, .NET Interactive and SoS."""
    for key, field in (
        ("vscode", "languageId"),
        ("polyglot_notebook", "kernelName"),
        ("dotnet_interactive", "language"),
    ):
        value = metadata.get(key)
        name = value.get(field) if isinstance(value, dict) else None
        if isinstance(name, str):
            return name
    kernel = metadata.get("kernel")
    return kernel if isinstance(kernel, str) else ""


def _outputs(outputs: Raw) -> Iterator[str]:
    """Yield the texts of outputs; outputs that cannot be decoded are left out."""
    try:
        encoded_outputs = decode_json(outputs, list[Raw])
    except _ERRORS:
        return
    for encoded in encoded_outputs:
        try:
            output = decode_json(encoded, _Output)
            if output.output_type in ("error", "pyerr"):
                yield f"{output.ename}: {output.evalue}"
            elif output.png or output.jpeg or output.svg or any(key.startswith(_PICTURES) for key in output.data):
                continue
            elif output.text is not None:
                yield _joined(output.text)
            elif (plain := output.data.get("text/plain")) is not None:
                yield _joined(decode_json(plain, str | list[str]))  # type: ignore[arg-type]
        except _ERRORS:
            continue


def _decode_object(raw: Raw) -> dict[str, Any]:
    try:
        return decode_json(raw, dict[str, Any])
    except _ERRORS:
        return {}


def _joined(text: Text) -> str:
    return text if isinstance(text, str) else "".join(text)
