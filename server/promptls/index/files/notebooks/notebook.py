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

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from promptls.index.files.notebooks.json_text import Cell, decode_notebook
from promptls.index.files.notebooks.magics import comment_magics, foreign_language
from promptls.languages import NOTEBOOK_HEADER, PLAIN_TEXT, Language, language_by_alias, language_named
from promptls.util.text.long_lines import shorten_line
from promptls.util.text.span import Span

NOTEBOOK_SUFFIX = ".ipynb"

MAX_SIZE_FACTOR = 50
"""Maximum size of a notebook file, in units of the limit for its text; most of a notebook are outputs."""

MAX_OUTPUT_LINES, MAX_OUTPUT_CHARS = 5, 120
"""Lines of a cell's output that are kept, and characters of each: a number, an error or the head of a table."""

_KERNELS = {
    "ir": "r", "irkernel": "r", "sparkr": "r", "sparkrkernel": "r", "ipython": "python", "ipykernel": "python",
    "xpython": "python", "sage": "python", "sagemath": "python", "pyspark": "python", "pysparkkernel": "python",
    "pyodide": "python", "spark": "scala", "sparkkernel": "scala", "almond": "scala", "xcpp": "cpp", "evcxr": "rust",
    "tslab": "typescript", "deno": "typescript", "ijavascript": "javascript", "jslab": "javascript",
    "gophernotes": "go", "iruby": "ruby", "ihaskell": "haskell", "ijulia": "julia", "sqlite": "sql", "mysql": "sql",
    "postgresql": "sql", "mssql": "sql", "ir-kernel": "r", "pwsh": "powershell",
}  # fmt: skip
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
            return "", comment_magics(source, kernel, writer.comment)
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
