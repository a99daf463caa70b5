"""Checks that keep pathological input away from the parser and the query engine.

Some grammars overflow their fixed scanner state, or run out of memory, on nesting that no hand-written code has. Such a
crash ends the process, and no timeout helps. Nesting is therefore checked in the text before it is parsed, with
operations that cost a small fraction of a parse.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from promptls.util.text.long_lines import is_minified

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_OPEN_BRACKETS = 250
"""Brackets open at a time."""

MAX_ANONYMOUS_RUN = 10_000
"""Adjacent tokens of a node without a named node between them."""

MAX_TREE_DEPTH = 1000
"""Depth of a tree, not counting subtrees of at most `MAX_ANONYMOUS_RUN` nodes."""

MAX_OPEN_INDENTS = 90
"""Levels of indentation open at a time; Python itself stops at 100."""

_GENERATED_LINE_CHARS = 1000
"""Mean length of a line above which a large text counts as generated."""

_GENERATED_BYTES = 50_000
"""Size below which a text never counts as generated."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_DEPTH_CHANGE = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_BLOCK_MARKERS = re.compile(rb"^[ \t]*(?:>[ \t]*|(?:[-*+?:]|\d{1,9}[.)])[ \t]+){60}", re.MULTILINE)
"""Nested blocks opened in one line, which overflow the scanners of Markdown and YAML: "> - - - …"."""
_INDENT = re.compile(rb"^([ \t]*)\S", re.MULTILINE)


def unparsable_reason(data: bytes) -> str:
    r"""Return the reason why a text with "\n" line ends is not parsed; "" if it can be parsed."""
    if b"\0" in data:
        return "it holds NUL characters"
    if (
        len(data) > _GENERATED_BYTES
        and len(data) > _GENERATED_LINE_CHARS * (data.count(b"\n") + 1)
        and is_minified(data.decode("utf-8", "replace"))
    ):
        return "its lines are too long to be written by hand"
    if _exceeds_open_brackets(data) or _exceeds_open_indents(data) or _BLOCK_MARKERS.search(data):
        return "it is nested too deeply"
    return ""


def _exceeds_open_brackets(data: bytes) -> bool:
    """Return whether more than `MAX_OPEN_BRACKETS` are open at once, including those in strings and comments."""
    brackets = data.translate(None, _NO_BRACKETS)
    for _ in range(MAX_OPEN_BRACKETS):
        if len(brackets) <= MAX_OPEN_BRACKETS:
            return False
        inner = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(inner) == len(brackets):
            break  # the remaining brackets do not match
        brackets = inner
    level = lowest = 0
    for level in accumulate(map(_DEPTH_CHANGE.__getitem__, brackets)):
        if level - lowest > MAX_OPEN_BRACKETS:
            return True
        lowest = min(lowest, level)
    return False


def _exceeds_open_indents(data: bytes) -> bool:
    """Return whether more than `MAX_OPEN_INDENTS` levels of indentation are open at once."""
    if b" " * MAX_OPEN_INDENTS not in data and b"\t" * MAX_OPEN_INDENTS not in data:
        return False
    widths = [0]
    for match in _INDENT.finditer(data):
        width = len(match.group(1))
        while widths and widths[-1] > width:
            widths.pop()
        if not widths or widths[-1] < width:
            widths.append(width)
            if len(widths) > MAX_OPEN_INDENTS:
                return True
    return False


def is_pathological(root: Node) -> bool:
    """Return whether a tree is so deep, or has so many anonymous tokens in a row, that a query would take too long.

    The time of the query engine grows with the square of both. Such trees come from broken or generated files. Only
    nodes with many descendants are visited.
    """
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_TREE_DEPTH:
            return True
        children = node.children
        if node.child_count - node.named_child_count > MAX_ANONYMOUS_RUN:
            run = 0
            for child in children:
                run = 0 if child.is_named else run + 1
                if run > MAX_ANONYMOUS_RUN:
                    return True
        stack += [(child, depth + 1) for child in children if child.descendant_count > MAX_ANONYMOUS_RUN]
    return False
