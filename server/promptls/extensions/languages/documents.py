"""Documents with code: headings are symbols, and so are the definitions in blocks that are run or tangled.

Blocks of documents that only show code, such as a README, have no symbols.
"""

from __future__ import annotations

from msgspec.structs import replace

from promptls.languages.data_formats import MARKDOWN
from promptls.languages.ecmascript import JAVASCRIPT
from promptls.languages.haskell_ocaml import HASKELL
from promptls.languages.language import Language

R_MARKDOWN = replace(
    MARKDOWN,
    name="rmarkdown",
    aliases=("rmd", "quarto", "qmd"),
    extensions=("rmd", "qmd"),
    embedded=tuple(("chunks", name) for name in ("r", "python", "julia", "bash", "javascript")),
    family="r",
    names_without_import=True,
)

MDX = replace(
    MARKDOWN,
    name="mdx",
    aliases=(),
    extensions=("mdx",),
    embedded=(("modules", "jsx"),),
    imports=JAVASCRIPT.imports,
    family="ecmascript",
)

ORG = Language(
    name="org",
    extensions=("org",),
    scanner="headings",
    embedded=tuple(("source_blocks", name) for name in ("elisp", "python", "bash", "javascript", "r", "c")),
    line_comments=("# ",),
)

LITERATE_HASKELL = replace(
    HASKELL,
    shebangs=(),
    name="literate_haskell",
    dialect_of="haskell",
    aliases=("lhs",),
    extensions=("lhs",),
    mask="bird_tracks",
)

RESTRUCTURED_TEXT = Language(
    name="restructuredtext", aliases=("rst",), extensions=("rst", "rest"), scanner="headings", line_comments=(".. ",)
)

ASCIIDOC = Language(
    name="asciidoc",
    aliases=("adoc",),
    extensions=("adoc", "asciidoc", "asc"),
    scanner="headings",
    line_comments=("//",),
)

LATEX = Language(name="latex", aliases=("tex",), extensions=("tex", "ltx"), scanner="headings", line_comments=("%",))
