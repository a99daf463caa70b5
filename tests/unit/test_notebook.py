"""Notebooks as text: cells in the percent format, magics, outputs, kernels, and notebooks that are not valid."""

from __future__ import annotations

import ast
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from promptls.index.files.notebooks import Cell, kernel_language, notebook_text, render_cells
from promptls.index.files.read import FileContent, FileLimits, UnreadableFile, read_text
from promptls.languages import LANGUAGES, language_of
from promptls.util.text.positions import Span
from workspaces import outline_of

Json = dict[str, Any]

PICTURE = base64.b64encode(bytes(range(256)) * 200).decode()
PYTHON = {"kernelspec": {"language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def code(source: str | list[str], *outputs: Json, **fields: Any) -> Json:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": list(outputs), **fields}


def markdown(source: str) -> Json:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def stream(text: str | list[str]) -> Json:
    return {"output_type": "stream", "name": "stdout", "text": text}


def result(**data: Any) -> Json:
    return {"output_type": "execute_result", "data": {k.replace("_", "/", 1): v for k, v in data.items()}}


def notebook(*cells: Json, metadata: Any = PYTHON, **fields: Any) -> str:
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5, **fields})


def text_of(*cells: Json, metadata: Any = PYTHON) -> str:
    """Return the text of a notebook without its header."""
    text = notebook_text("a.ipynb", notebook(*cells, metadata=metadata))
    assert text is not None
    return text.partition("\n")[2].strip("\n")


def test_cells_become_a_script() -> None:
    cells = [
        markdown("# Tides\n\nThe *year*."),
        code("%matplotlib inline\nprint(tides())\n", stream("42\n")),
        code(""),
        {"cell_type": "raw", "metadata": {}, "source": "---\n"},
        code(["def f(x):\n", "    return x"]),
    ]
    text = notebook_text("a.ipynb", notebook(*cells))
    assert text is not None
    assert (
        text.splitlines()
        == """\
# Jupyter notebook (python)

# %% [markdown] cell 1
# # Tides
#
# The *year*.

# %% cell 2
# %matplotlib inline
print(tides())
# Output: 42

# %% [raw] cell 4
# ---

# %% cell 5
def f(x):
    return x""".split("\n")
    )
    outline = outline_of("a.ipynb", text)
    assert outline.language == "python"
    assert [(s.qualified, s.span.start, s.doc) for s in outline.symbols] == [("f", 16, "")]


MAGICS = {
    "%timeit f()\nx = 1": "# %timeit f()\nx = 1",
    "!pip install numpy \\\n  pandas\nimport numpy": "# !pip install numpy \\\n  # pandas\nimport numpy",
    "files = !ls *.csv": "# files = !ls *.csv",
    "t, u = %timeit -o f()": "# t, u = %timeit -o f()",
    "?sorted\nnp.sort?\nf??": "# ?sorted\n# np.sort?\n# f??",
    "pip install rich": "# pip install rich",
    "if colab:\n    !apt-get install x \\\n      y\n    %cd z": (
        "if colab:\n    pass  # !apt-get install x \\\n      # y\n    pass  # %cd z"
    ),
    "!echo (\nx = 1": "# !echo (\nx = 1",
    "x = (a\n     % b)\ny = 1": "x = (a\n     % b)\ny = 1",
    "x = '#' # (\n!ls": "x = '#' # (\n# !ls",
    "a != b\na == '%x'\nd = {'a': 1}\nprint('%d' % a)": "a != b\na == '%x'\nd = {'a': 1}\nprint('%d' % a)",
    # magics of a whole cell
    "%%time\nx = 1\n!ls": "# %%time\nx = 1\n# !ls",
    "\n%%capture out\ndef f(): pass": "\n# %%capture out\ndef f(): pass",
    "%%measure_everything --now\nx = 1": "# %%measure_everything --now\nx = 1",
    "%%python3\nx = 1": "# %%python3\nx = 1",
}
FOREIGN = {
    "%%bash\nfor i in 1 2; do\n\n  echo $i\ndone": "bash",
    "%%R -i frame\nx <- 1": "R",
    "%%javascript\nlet x = 1": "javascript",
    "%%html\n<b>x</b>": "html",
    "%%sql\nselect 1": "sql",
    "%%cython\ncdef int f(): pass": "cython",
    "%%writefile a.yaml\nx: 1": "writefile",
    "%%! \nls": "shell",
}


@pytest.mark.parametrize("source", MAGICS)
def test_magics_are_comments(source: str) -> None:
    assert text_of(code(source)) == "# %% cell 1\n" + MAGICS[source]


@pytest.mark.parametrize("source", FOREIGN)
def test_cell_in_another_language_is_a_comment(source: str) -> None:
    expected = "\n".join(f"# {line}".rstrip() for line in source.rstrip().split("\n"))
    assert text_of(code(source)) == f"# %% [{FOREIGN[source]}] cell 1\n{expected}"


def test_all_magics_together_parse() -> None:
    cells = [code(source) for source in [*MAGICS, *FOREIGN]]
    text = notebook_text("a.ipynb", notebook(markdown('"""'), *cells))
    assert text is not None
    ast.parse(text)


OUTPUTS = {
    "number": ([result(text_plain="42")], ["# Output: 42"]),
    "lines": ([stream(["a\n", "\n", "  b\n"])], ["# Output:", "#   a", "#     b"]),
    "many lines": (
        [stream("".join(f"{i}\n" for i in range(1_000)))],
        ["# Output:", "#   0", "#   1", "#   2", "#   3", "#   … (996 more lines)"],
    ),
    "long line": ([stream("x" * 500)], ["# Output: " + "x" * 119 + "…"]),
    "picture": ([result(image_png=PICTURE, text_plain="<Figure size 640x480>")], []),
    "HTML only": ([result(text_html=["<table>\n", "<tr>\n"])], []),
    "table": ([result(text_html="<table>", text_plain=["   a\n", "0  1"])], ["# Output:", "#      a", "#   0  1"]),
    "error": (
        [{"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["\x1b[0;31mKeyError"]}],
        ["# Output: KeyError: 'a'"],
    ),
    "colours and a progress bar": (
        [stream("\x1b[1;32mok\x1b[0m \x08\n 1%|#  |\r 99%|###|\n")],
        ["# Output:", "#   ok", "#    99%|###|"],
    ),
    "invalid": ([{"output_type": 3}, "x", None, {"data": 4}, stream("good")], ["# Output: good"]),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_are_short_texts(case: str) -> None:
    outputs, expected = OUTPUTS[case]
    assert text_of(code("f()", *outputs)).split("\n")[2:] == expected


KERNELS: dict[str, tuple[Json, str, str]] = {
    "python": (PYTHON, "def f(): pass", "f"),
    "no metadata": ({}, "def f(): pass", "f"),
    "metadata of other types": ({"kernelspec": None, "language_info": [1]}, "def f(): pass", "f"),
    "julia": ({"kernelspec": {"name": "julia-1.9"}}, "function f(x)\n  x\nend", "f"),
    "go": ({"language_info": {"file_extension": ".go"}}, "func f() {}", "f"),
}


@pytest.mark.parametrize("case", KERNELS)
def test_language_is_that_of_the_kernel(case: str) -> None:
    metadata, source, name = KERNELS[case]
    cells = [markdown("# A *) title */\n*text*"), code(source, stream("1 *) */"))]
    text = notebook_text("a.ipynb", notebook(*cells, metadata=metadata))
    assert text is not None
    outline = outline_of("a.ipynb", text)
    assert outline.language == language_of("a.ipynb", text) == (case if case in LANGUAGES else "python")
    assert name in [symbol.name for symbol in outline.symbols]
    assert {symbol.doc for symbol in outline.symbols} == {""}


def test_unknown_kernel_is_plain_text() -> None:
    text = notebook_text("a.ipynb", notebook(code("x = 1"), metadata={"kernelspec": {"language": "gap"}}))
    assert text == "# Jupyter notebook (text)\n\n# %% cell 1\nx = 1\n"
    assert outline_of("a.ipynb", text).language == "text"


def test_cells_of_other_kernels_have_no_ipython_magics() -> None:
    r = {"kernelspec": {"language": "R"}}
    assert text_of(code("x %>% f\n  %in% y"), metadata=r) == "# %% cell 1\nx %>% f\n  %in% y"
    assert text_of(code("%%bash\nls"), metadata=r) == "# %% [bash] cell 1\n# %%bash\n# ls"


def test_cell_with_a_language_of_its_own_is_a_comment() -> None:
    metadata = {"vscode": {"languageId": "sql"}}
    assert text_of(code("select 1", metadata=metadata)) == "# %% [sql] cell 1\n# select 1"


def test_embedded_pictures_and_long_data_are_shortened() -> None:
    source = f"![a](data:image/png;base64,{PICTURE}) text\n"
    assert text_of(markdown(source)) == "# %% [markdown] cell 1\n# ![a](data:image/png;base64,…) text"
    text = text_of(code(f"show('data:image/svg+xml;base64,{PICTURE}')\nx = '{'0' * 30_000}'\ndef f(): pass"))
    assert len(text) < 500 and "def f(): pass" in text
    ast.parse(text)


NOT_NOTEBOOKS = {
    "empty": "",
    "not JSON": '{"cells": [',
    "another object": '{"a": 1}',
    "nbformat 3": '{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1"}]}]}',
    "a cell of another type": '{"cells": [1]}',
    "a source of another type": '{"cells": [{"cell_type": "code", "source": {"a": 1}}]}',
    "nested deeply": '{"cells": [' + "[\n" * 100_000,
}


@pytest.mark.parametrize("case", NOT_NOTEBOOKS)
def test_invalid_notebook_stays_as_it_is(tmp_path: Path, case: str) -> None:
    content = NOT_NOTEBOOKS[case]
    (tmp_path / "a.ipynb").write_text(content)
    assert notebook_text("a.ipynb", content) is None
    got = read_text((tmp_path / "a.ipynb").as_posix(), FileLimits(max_line=1_000_000))
    assert isinstance(got, FileContent)
    assert got.text == content
    assert notebook_text("a.json", notebook()) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_nonstandard_numbers(encoding: str) -> None:
    content = notebook(code("x = 'é😀'", result(application_json={"a": float("nan")})), metadata={"a": float("inf")})
    assert notebook_text("a.ipynb", content.encode(encoding)) == (
        "# Jupyter notebook (python)\n\n# %% cell 1\nx = 'é😀'\n"
    )


def test_size_limit_applies_to_the_text(tmp_path: Path) -> None:
    path, limits = tmp_path / "a.ipynb", FileLimits(max_file_size=10_000)
    plot = code("def plot_tides(): pass", result(image_png=PICTURE))
    path.write_text(notebook(plot))
    got = read_text(path.as_posix(), limits)
    assert isinstance(got, FileContent)
    assert got.text == "# Jupyter notebook (python)\n\n# %% cell 1\ndef plot_tides(): pass\n"
    assert got.size == path.stat().st_size > 60_000
    for content, reason in [
        (notebook(code("x = 1\n" * 3_000)), "18.041 kB is over the limit of 10 kB"),
        (notebook(*[plot] * 10), "687 kB is over the limit of 500 kB"),
        ("{" + " " * 20_000, "20 kB is over the limit of 10 kB"),
    ]:
        path.write_text(content)
        got = read_text(path.as_posix(), limits)
        assert isinstance(got, UnreadableFile)
        assert got.reason.split(" ", 1)[1] == reason.split(" ", 1)[1], got.reason


def test_prose_of_a_notebook_is_not_minified(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(*[markdown("A long paragraph. " * 60)] * 40))
    assert isinstance(read_text(path.as_posix(), FileLimits()), FileContent)


def test_lines_of_cells() -> None:
    cells = [Cell("markdown", "a\nb"), Cell("code", " \n"), Cell("code", "x\r\ny\n\n", outputs=("1",))]
    rendered = render_cells(cells, kernel_language(["python"]))
    assert rendered.cells == (Span(2, 5), Span(5, 5), Span(6, 10))
    assert rendered.text.split("\n")[6:10] == ["# %% cell 3", "x", "y", "# Output: 1"]
