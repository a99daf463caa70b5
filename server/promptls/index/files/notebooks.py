"""Jupyter notebooks as text: the cells in the percent format, in the language of the kernel.

A notebook is indexed, shown and compared as this text, never as JSON.  Everything that is not code of the kernel is a
comment, so that the text parses as a file of the kernel's language:

    # Jupyter notebook (python)

    # %% [markdown] cell 1
    # # Tides

    # %% cell 2
    # %matplotlib inline
    print(tides())
    # Output: 42

The percent format is the one of Jupytext and VS Code.  Cells are numbered from 1.  Pictures, HTML, widgets and empty
cells are left out.  The conversion is deterministic, and linear in the size of the notebook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from promptls.languages import NOTEBOOK_HEADER, PLAIN_TEXT, Language, language_by_alias, language_named
from promptls.util.decode import decode_json
from promptls.util.text.display import shorten_line
from promptls.util.text.positions import Span

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


class _Notebook(Struct):
    cells: list[Raw]
    metadata: Raw = _NO_METADATA


class _Cell(Struct):
    cell_type: str
    source: Text = ""
    metadata: Raw = _NO_METADATA
    outputs: Raw = Raw(b"[]")


class _EncodedSource(Struct):
    source: Raw = Raw(b"")


class _Output(Struct):
    output_type: str = ""
    text: Text | None = None
    data: dict[str, Raw] = {}
    ename: str = ""
    evalue: str = ""


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
    for raw in decode_json(content, _Notebook).cells:
        encoded = bytes(raw)
        start = content.find(encoded, at)
        line += content.count(b"\n", at, start)
        lines.append([line + below for below in _source_line_numbers(encoded)])
        at = start + len(encoded)
        line += encoded.count(b"\n")
    return lines


def _source_line_numbers(cell: bytes) -> Iterator[int]:
    """Yield the line of a cell's JSON that contains each line of its source."""
    source = bytes(decode_json(cell, _EncodedSource).source)
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


def _decode(content: bytes | str) -> DecodedNotebook:
    notebook = decode_json(content, _Notebook)
    cells = tuple(_decoded_cell(decode_json(encoded, _Cell)) for encoded in notebook.cells)
    names = kernel_names(_decode_object(notebook.metadata))
    return DecodedNotebook(cells, tuple(dict.fromkeys(filter(None, names))))


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
    source = _joined(cell.source)
    if cell.cell_type == "code":
        vscode = _decode_object(cell.metadata).get("vscode")
        language = vscode.get("languageId") if isinstance(vscode, dict) else ""
        return Cell("code", source, language if isinstance(language, str) else "", tuple(_outputs(cell.outputs)))
    return Cell("markdown" if cell.cell_type == "markdown" else "raw", source)


def _outputs(outputs: Raw) -> Iterator[str]:
    """Yield the texts of outputs; outputs that cannot be decoded are left out."""
    try:
        encoded_outputs = decode_json(outputs, list[Raw])
    except _ERRORS:
        return
    for encoded in encoded_outputs:
        try:
            output = decode_json(encoded, _Output)
            if output.output_type == "error":
                yield f"{output.ename}: {output.evalue}"
            elif any(key.startswith(_PICTURES) for key in output.data):
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


_CELL_MAGIC = re.compile(r"%%(!|\w[\w.]*)")
_FOREIGN_MAGICS = frozenset("! script sx svg cython writefile file".split())
"""Cell magics of IPython whose body is not code of the kernel, besides those with the name of a language."""

_MAGIC_LINE = re.compile(
    r"\s*(?:[%!?]{1,2}[\w.*/$\"'{-]"  # %matplotlib inline, !ls, ?name
    r"|[\w.*%]+\?{1,2}\s*$"  # name?, name??
    r"|[^=\s'\"(#][^='\"(#]*=\s*(?:![^=]|%[A-Za-z_])"  # files = !ls
    r"|(?:pip|conda|mamba)\s+(?:un)?install\b)"  # IPython runs it without the "%"
)
"""A line of IPython that is not Python."""


def foreign_language(lines: Sequence[str], kernel: Language) -> str:
    """Return the name of the cell magic if it makes the cell something else than code of the kernel, "" otherwise."""
    first = next((line for line in lines if line.strip()), "")
    magic = _CELL_MAGIC.match(first)
    if magic is None:
        return ""
    language = language_by_alias(magic[1])
    is_foreign = language.name != kernel.name if language is not None else magic[1] in _FOREIGN_MAGICS
    return magic[1].replace("!", "shell") if is_foreign else ""


def comment_magics(lines: Sequence[str], comment: Callable[[str], str]) -> list[str]:
    """Return the lines of a code cell with IPython's magics as comments; every line stays one line."""
    commented: list[str] = []
    in_magic = False
    for line in lines:
        code = line.lstrip()
        indent = line[: len(line) - len(code)]
        starts_magic = not in_magic and _MAGIC_LINE.match(line) is not None
        if starts_magic or in_magic:
            # A block needs a statement.
            commented.append(f"{indent}{'pass  ' if indent and starts_magic else ''}{comment(code)}")
            in_magic = line.endswith("\\")
        else:
            commented.append(line)
    return commented


NOTEBOOK_SUFFIX = ".ipynb"

MAX_SIZE_FACTOR = 50
"""Maximum size of a notebook file, in units of the limit for its text; most of a notebook are outputs."""

MAX_OUTPUT_LINES, MAX_OUTPUT_CHARS = 5, 120
"""Lines of a cell's output that are kept, and characters of each: a number, an error or the head of a table."""

_KERNELS = {"ir": "r", "ipython": "python", "pyspark": "python", "xcpp": "cpp"}
"""Names of kernels that do not name a language."""

_DATA_URI = re.compile(r"(data:[a-z]{1,20}/[\w.+-]{1,80};base64,)[A-Za-z0-9+/=]{100,}")
"""An embedded picture or font of more than a few characters."""

_OBJECT_NAME = re.compile(r"\s*\[?<[^<>]*(?:<[^<>]*>[^<>]*)?>[\],]*$")
"""An output line that only names an object, such as "<Figure size 640x480>"."""

_ESCAPES = re.compile(
    r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Escape sequences and control characters of terminals."""

_UNSAFE_IN_MARKER = re.compile(r"[^\w+#.-]")


class NotebookText(Struct, frozen=True):
    """The text of a notebook and the lines of its cells."""

    text: str
    cells: tuple[Span, ...]  # from the marker of each cell, which its source follows, to its last output


def is_notebook(path: str) -> bool:
    """Return whether a path names a Jupyter notebook."""
    return path[-len(NOTEBOOK_SUFFIX) :].lower() == NOTEBOOK_SUFFIX


def max_raw_size(path: str, max_size: int) -> int:
    """Return the maximum size of a file whose text may have `max_size` characters."""
    return max_size * MAX_SIZE_FACTOR if is_notebook(path) else max_size


def notebook_text(path: str, content: bytes | str) -> str | None:
    """Return the text of a notebook's cells; None if it is not a notebook, by its path or its content.

    An invalid notebook is treated as the plain text that it is.
    """
    notebook = decode_notebook(content) if is_notebook(path) else None
    return render_cells(notebook.cells, kernel_language(notebook.language_names)).text if notebook else None


def kernel_language(names: Sequence[str]) -> Language:
    """Return the first known language among the names of a kernel; without names, Python."""
    for name in names:
        language = language_by_alias(_KERNELS.get(name.lower().rstrip("0123456789."), name))
        if language is not None:
            return language
    return PLAIN_TEXT if names else language_named("python")


def render_cells(cells: Iterable[Cell], kernel: Language) -> NotebookText:
    """Return the text of cells in the percent format; each line of a source stays one line."""
    writer = _Commenter(kernel)
    lines = [writer.comment(f"{NOTEBOOK_HEADER} ({kernel.name})")]
    spans: list[Span] = []
    for number, cell in enumerate(cells, 1):
        source = _source_lines(cell.source)
        start = len(lines) + 1
        if not source:
            spans.append(Span(len(lines), len(lines)))
            continue
        label, body = _cell_body(cell, source, kernel, writer)
        lines += ["", writer.comment(f"%% {label}cell {number}"), *body]
        lines += map(writer.comment, _output_lines(cell.outputs))
        spans.append(Span(start, len(lines)))
    return NotebookText("\n".join(lines) + "\n", tuple(spans))


class _Commenter:
    """Writer of comment lines in the language of the kernel."""

    __slots__ = ("_close", "_open")

    def __init__(self, kernel: Language) -> None:
        if kernel.line_comments or not kernel.block_comments:
            self._open, self._close = min(kernel.line_comments or ("#",), key=len), ""
        else:
            self._open, self._close = kernel.block_comments[0]

    def comment(self, line: str) -> str:
        """Return a line as a comment of its own."""
        if self._close:
            line = line.replace(self._close, " ".join(self._close))
            return f"{self._open} {line} {self._close}"
        return f"{self._open} {line}".rstrip()


def _cell_body(cell: Cell, source: Sequence[str], kernel: Language, writer: _Commenter) -> tuple[str, list[str]]:
    """Return (label of the cell in its marker, lines of its source)."""
    label = cell.kind
    if cell.kind == "code":
        language = kernel_language([cell.language]) if cell.language else kernel
        label = cell.language if language.name != kernel.name else foreign_language(source, kernel)
        if not label:
            return "", comment_magics(source, writer.comment) if kernel.name == "python" else list(source)
    return f"[{_UNSAFE_IN_MARKER.sub('', label)[:30]}] ", [writer.comment(line) for line in source]


def _source_lines(source: str) -> list[str]:
    """Return the lines of a source up to the last one with text, without embedded pictures."""
    if ";base64," in source:
        source = _DATA_URI.sub(r"\1…", source)
    return [shorten_line(line) for line in _split_lines(source.rstrip())] if source.strip() else []


def _split_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _output_lines(outputs: Iterable[str]) -> Iterator[str]:
    """Yield the first lines of a cell's outputs, without lines that only name an object."""
    lines = [line for output in outputs for line in _visible_lines(output)]
    shown = lines if len(lines) <= MAX_OUTPUT_LINES else lines[: MAX_OUTPUT_LINES - 1]
    shown = [line if len(line) <= MAX_OUTPUT_CHARS else f"{line[: MAX_OUTPUT_CHARS - 1]}…" for line in shown]
    if len(lines) == 1:
        yield f"Output: {shown[0].strip()}"
    elif lines:
        yield "Output:"
        yield from (f"  {line}" for line in shown)
        if len(lines) > len(shown):
            yield f"  … ({len(lines) - len(shown):,} more lines)"


def _visible_lines(output: str) -> Iterator[str]:
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    for line in text.split("\n"):
        line = line.rstrip().rpartition("\r")[2]  # what a progress bar shows in the end
        if line and not _OBJECT_NAME.match(line):
            yield line


class OpenCell(Struct, frozen=True):
    """A cell in an editor, and its lines in the notebook text."""

    uri: str  # "" for a cell in the JSON of the notebook
    lines: Span  # from its marker, which its source follows, to its last output; empty for an empty cell
    source_lines: tuple[int, ...] = ()  # of the JSON, for each line of the source; () if the document is the source


def json_cells(path: str, content: bytes | str) -> tuple[OpenCell, ...]:
    """Return the cells in the JSON of a notebook; none if it is not a valid notebook."""
    content = content.encode("utf-8", "replace") if isinstance(content, str) else content
    notebook = decode_notebook(content) if is_notebook(path) else None
    if notebook is None:
        return ()
    rendered = render_cells(notebook.cells, kernel_language(notebook.language_names))
    try:
        lines_by_cell = source_lines(content)
    except msgspec.DecodeError:  # JSON with NaN
        return ()
    return tuple(
        OpenCell("", lines, tuple(in_json)) for lines, in_json in zip(rendered.cells, lines_by_cell, strict=True)
    )


def to_cell(cells: Sequence[OpenCell], span: Span) -> tuple[str, Span] | None:
    """Return (URI of the cell in which a span of the notebook text begins, lines in its document).

    Returns None for the whole notebook and for a notebook without text.
    """
    filled = [cell for cell in cells if cell.lines]
    if not filled or (span.start <= filled[0].lines.start and span.end >= filled[-1].lines.end and len(filled) > 1):
        return None
    cell = next((cell for cell in reversed(filled) if cell.lines.start <= span.start), filled[0])
    first = max(0, span.start - cell.lines.start - 1)
    last = max(first, min(span.end, cell.lines.end) - cell.lines.start - 2)
    if cell.source_lines:
        first, last = (cell.source_lines[min(line, len(cell.source_lines) - 1)] for line in (first, last))
    return cell.uri, Span(first, last + 1)


def from_cell(cells: Sequence[OpenCell], uri: str, span: Span) -> Span | None:
    """Return the lines of the notebook text that a span of an editor's document shows; None if it shows none.

    With the URI "", the document is the JSON of the notebook.
    """
    lines: list[int] = []
    for cell in cells:
        first, last = cell.lines.start + 1, cell.lines.end - 1
        if cell.uri != uri or first > last:
            continue
        if not uri:
            lines += [min(first + i, last) for i, line in enumerate(cell.source_lines) if line in span]
            continue
        start = min(first + span.start, last)
        return Span(start, max(start, min(first + span.end - 1, last)) + 1)
    return Span(min(lines), max(lines) + 1) if lines else None
