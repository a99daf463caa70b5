"""Files of one string for the tests of prompt/: a TextView with the outline that Python's own `ast` sees."""

from __future__ import annotations

import ast

from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.model import FileEntry, Item, Origin, Outline, Span, Symbol, TextView, pack
from promptls.prompt.render import Forms, Renderer, forms
from promptls.prompt.tokens import counter

ROOT = "/w"
SECRET = b"a secret for tests only, 32 bytes"


def view(text: str, name: str = "a.py") -> TextView:
    """The file `name` of the workspace with this text; Python files get an outline."""
    lines = tuple(split_lines(text))
    symbols = tuple(_symbols(text, lines)) if name.endswith(".py") else ()
    outline = Outline("python" if name.endswith(".py") else "text", len(lines), symbols)
    return TextView(FileEntry(f"{ROOT}/{name}", ROOT, name, outlined=pack(outline)), text, lines)


def item(of: TextView, first: int = 1, last: int = 0, *, score: float = 0.5, origin: Origin = Origin.SYMBOL) -> Item:
    """Lines `first` to `last` (1-based, inclusive; the whole file without) as a candidate."""
    span = Span(first - 1, last or len(of.lines))
    kind = "file" if span == Span(0, len(of.lines)) else "text"
    return Item(of.entry.path, span, kind, origin, score)


def symbol(of: TextView, name: str, *, score: float = 0.5, origin: Origin = Origin.SYMBOL) -> Item:
    """The definition with this qualified name as a candidate."""
    assert of.entry.outline is not None
    found = next(s for s in of.entry.outline.symbols if s.qualified == name)
    return Item(of.entry.path, found.span, found.kind, origin, score, symbol=name)


def label(path: str) -> str:
    return path.removeprefix(f"{ROOT}/")


def renderer(name: str = "chars4", *, citations: bool = False) -> Renderer:
    return Renderer(counter(name), label, citations=citations)


def of(of_item: Item, of_view: TextView, using: Renderer | None = None) -> Forms:
    return forms(of_item, of_view, using or renderer())


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
            "",
            "def f():",
            "    x = (",
            "        1,",
            "    )",
            "\treturn x",
            "}",
            "class A:",
            "# comment",
            '    """doc"""',
            "é 中",
        ]
    ),
    max_size=40,
)


@st.composite
def files(draw: st.DrawFn, name: str = "a.py") -> TextView:
    """A file with definitions that nest somehow; the outline need not make sense."""
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
    return TextView(FileEntry(f"{ROOT}/{name}", ROOT, name, outlined=pack(outline)), text, lines)
