"""In-memory files for the tests of prompt/, with outlines made by Python's `ast` module."""

from __future__ import annotations

import ast

from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.model import FileEntry, FileText, Item, Origin, Outline, Span, Symbol, encode_outline
from promptls.prompt.profile import profile, profile_names
from promptls.prompt.rendering.forms import ItemForms, item_forms
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.tokens import counter

ROOT = "/w"
LAYOUTS = {name: profile(name).layout for name in profile_names()}
"""Layout functions by name of the profile."""

SECRET = b"a secret for tests only, 32 bytes"


def text_file(text: str, name: str = "a.py") -> FileText:
    """Return a file of the workspace with this text; Python files get an outline."""
    lines = tuple(split_lines(text))
    symbols = tuple(_symbols(text, lines)) if name.endswith(".py") else ()
    outline = Outline("python" if name.endswith(".py") else "text", len(lines), symbols)
    return FileText(FileEntry(f"{ROOT}/{name}", ROOT, name, encoded_outline=encode_outline(outline)), text, lines)


def item(
    file: FileText, first_line: int = 1, last_line: int = 0, *, score: float = 0.5, origin: Origin = Origin.SYMBOL
) -> Item:
    """Return lines `first_line` to `last_line` (1-based, inclusive; default: the whole file) as an item."""
    span = Span(first_line - 1, last_line or len(file.lines))
    kind = "file" if span == Span(0, len(file.lines)) else "text"
    return Item(file.entry.path, span, kind, origin, score)


def symbol_item(file: FileText, name: str, *, score: float = 0.5, origin: Origin = Origin.SYMBOL) -> Item:
    """Return the symbol with this qualified name as an item."""
    assert file.entry.outline is not None
    found = next(s for s in file.entry.outline.symbols if s.qualified == name)
    return Item(file.entry.path, found.span, found.kind, origin, score, symbol=name)


def label(path: str) -> str:
    return path.removeprefix(f"{ROOT}/")


def renderer(
    name: str = "chars4", *, citations: bool = False, omit_notes: bool = False, line_numbers: bool = False
) -> Renderer:
    return Renderer(counter(name), label, citations=citations, omit_notes=omit_notes, line_numbers=line_numbers)


def forms_of(item: Item, file: FileText, using: Renderer | None = None) -> ItemForms:
    return item_forms(item, file, using or renderer())


def _symbols(text: str, lines: tuple[str, ...]) -> list[Symbol]:
    out: list[Symbol] = []

    def visit(node: ast.AST, parent: int, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                visit(child, parent, prefix)
                continue
            start = min([child.lineno, *(d.lineno for d in child.decorator_list)]) - 1
            above = start
            while above > 0 and lines[above - 1].lstrip().startswith("#"):
                above -= 1
            head = child.lineno
            while head < child.body[0].lineno - 1 and not lines[head - 1].endswith(":"):
                head += 1
            kind = "class" if isinstance(child, ast.ClassDef) else "method" if prefix else "function"
            signature = " ".join(" ".join(lines[child.lineno - 1 : head]).split()).rstrip(":")
            doc = (ast.get_docstring(child) or "").split("\n\n")[0]
            span, name = Span(start, child.end_lineno or head), f"{prefix}{child.name}"
            out.append(Symbol(child.name, kind, name, signature, doc, span, above, head, parent))
            visit(child, len(out) - 1, f"{name}.")

    visit(ast.parse(text), -1, "")
    return out


LINES = st.lists(
    st.sampled_from(
        [
            "", "def f():", "    x = (", "        1,", "    )", "\treturn x", "}", "class A:", "# comment",
            "# licence", ".. versionadded:: 1", '    """doc"""', "é 中",
        ]
    ),
    max_size=40,
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn, name: str = "a.py") -> FileText:
    """Generate a file with randomly nested symbols; the outline need not match the text."""
    text = draw(st.sampled_from(["\n", "\r\n"])).join(draw(LINES)) + draw(st.sampled_from(["", "\n"]))
    lines = tuple(split_lines(text))
    symbols: list[Symbol] = []
    for n in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(lines) - 1))
        end = draw(st.integers(start + 1, len(lines)))
        above = draw(st.integers(max(0, start - 15), start))
        head = draw(st.integers(start + 1, end))
        parent = draw(st.integers(-1, n - 1))
        symbols.append(Symbol(f"s{n}", "function", f"s{n}", f"def s{n}()", "", Span(start, end), above, head, parent))
    symbols.sort(key=lambda s: (s.span.start, -s.span.end))
    outline = draw(st.sampled_from([None, Outline("python", len(lines), tuple(symbols))]))
    return FileText(FileEntry(f"{ROOT}/{name}", ROOT, name, encoded_outline=encode_outline(outline)), text, lines)
