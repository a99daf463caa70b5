"""What is not worth, or not safe, to hand to a parser.

Some grammars run out of their fixed scanner state, or out of memory, on nesting that no one writes by
hand; a crash there takes the process with it and no time limit helps.  So nesting is looked at first,
in the text, with operations that cost a small part of a parse.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_BRACKETS = 250  # open at a time
MAX_CROWD = 10_000  # tokens side by side without a node among them
MAX_DEPTH = 1000  # of a tree, not counting its last MAX_CROWD nodes
MAX_INDENTS = 90  # levels of indentation open at a time; Python itself stops at 100

_LONG_LINES = 1000  # mean characters a line above which a large text is taken for generated
_LARGE = 50_000  # characters
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_STEP = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_MARKS = re.compile(  # blocks in blocks, on one line, of Markdown and YAML
    rb"^[ \t]*(?:>[ \t]*|(?:[-*+?:]|\d{1,9}[.)])[ \t]+){60}", re.MULTILINE
)
_MARKED = frozenset({"markdown", "yaml"})
_INDENT = re.compile(rb"^([ \t]*)\S", re.MULTILINE)


def unparsable(data: bytes, language: str) -> str:
    """Why a text, with "\\n" for line ends, is not parsed; "" if it is."""
    if b"\0" in data:
        return "it holds NUL characters"
    if len(data) > _LARGE and len(data) > _LONG_LINES * (data.count(b"\n") + 1):
        return "its lines are too long to be written by hand"
    if _deep_brackets(data) or _deep_indents(data) or (language in _MARKED and _MARKS.search(data)):
        return "it is nested too deeply"
    return ""


def _deep_brackets(data: bytes) -> bool:
    """Whether more than MAX_BRACKETS are open at once, those in strings and comments included."""
    left = data.translate(None, _NO_BRACKETS)
    for _ in range(MAX_BRACKETS):
        if len(left) <= MAX_BRACKETS:
            return False
        inner = left.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(inner) == len(left):
            break  # what is left does not match
        left = inner
    level = lowest = 0
    for level in accumulate(map(_STEP.__getitem__, left)):
        if level - lowest > MAX_BRACKETS:
            return True
        lowest = min(lowest, level)
    return False


def _deep_indents(data: bytes) -> bool:
    """Whether more than MAX_INDENTS levels of indentation are open at once."""
    if b" " * MAX_INDENTS not in data and b"\t" * MAX_INDENTS not in data:
        return False
    stack = [0]
    for match in _INDENT.finditer(data):
        width = len(match.group(1))
        while stack and stack[-1] > width:
            stack.pop()
        if not stack or stack[-1] < width:
            stack.append(width)
            if len(stack) > MAX_INDENTS:
                return True
    return False


def misshapen(root: Node) -> bool:
    """Whether a tree is so deep, or has so many bare tokens in a row, that a query of it would take too long.

    The query engine's time grows with the square of both.  Such trees are the wreck of a broken file, or
    the work of a generator.  Only nodes with many descendants are looked at.
    """
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        children = node.children
        if node.child_count - node.named_child_count > MAX_CROWD:
            run = 0
            for child in children:
                run = 0 if child.is_named else run + 1
                if run > MAX_CROWD:
                    return True
        stack += [(child, depth + 1) for child in children if child.descendant_count > MAX_CROWD]
    return False
