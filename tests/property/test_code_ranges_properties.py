"""Code in a message: CommonMark decides what is code, with markdown-it-py as the reference."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from promptls.mentions.syntax.code_ranges import markdown_code

REFERENCE = MarkdownIt("commonmark", {"maxNesting": 1000})
RAW_HTML = re.compile(r"\s*<(?:script|style|textarea)(?:\s|>|\Z)", re.IGNORECASE)
MARK = re.compile(r"[0-9]+Q")

# Not covered: tabs after list items, which the reference treats differently from the specification, link reference
# definitions and link destinations, which are text here, and HTML elements for code, which are code here.
PIECES = [
    "Q", "Q", "Q", " Q", "x", "py", "`", "``", "```", "~~~", "````", "\n", "\n", "\n\n", "\r\n", "\r", " ", "  ", "    ",
    ">", "> ", "- ", "* ", "1. ", "2) ", "10. ", "#", "# ", "---", "===", "***", "\\", "<a>", "<div>", "</div>", "<!--",
    "-->", "<textarea>", "</textarea>", "<a href='", "'>", "<http://a.b", "'", '"',
]  # fmt: skip


@st.composite
def marked_texts(draw: st.DrawFn) -> str:
    """Texts with numbered marks; the first line is not indented, so that lines share no indentation."""
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=30))
    numbered = (f"{i}Q" if piece == "Q" else piece for i, piece in enumerate(pieces))
    return "first\n\n" + "".join(numbered)


def reference_marks(text: str) -> set[str]:
    """Return the marks in code blocks, code spans and raw HTML according to the reference."""
    code = []
    for block in REFERENCE.parse(text):
        for token in (block, *(block.children or ())):
            is_raw = token.type == "html_block" and RAW_HTML.match(token.content)
            if is_raw or token.type in ("fence", "code_block", "code_inline"):
                code.append(f"{token.info} {token.content}")
    return {mark for part in code for mark in MARK.findall(part)}


@given(marked_texts())
@settings(max_examples=3000)
def test_code_is_what_commonmark_says(text: str) -> None:
    code = markdown_code(text)
    marks = {mark.group() for mark in MARK.finditer(text) if code.contains(mark.start())}
    assert marks == reference_marks(text)
