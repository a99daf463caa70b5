"""Limits of nesting: parsers and queries need time that grows with the square of the depth.

Code that is nested more deeply comes from generators and from broken files. The part below the limit is blanked before
the parse, so that the rest of the file keeps its definitions. All steps are linear in the size of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING

from promptls.index.syntax.c_masks import BLANK

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_OPEN_BRACKETS = 250
"""Brackets open at a time."""

MAX_ANONYMOUS_RUN = 10_000
"""Adjacent tokens of a node without a named node between them."""

MAX_TREE_DEPTH = 1000
"""Depth of a tree, not counting subtrees of at most `MAX_ANONYMOUS_RUN` nodes."""

KEPT_TREE_DEPTH = 400
"""Depth below which a deeper subtree is blanked."""

MAX_BLANKED_PARTS = 50
"""Maximum number of deep subtrees; a text with more of them is not parsed."""

MAX_OPEN_INDENTS = 90
"""Levels of indentation open at a time; Python itself stops at 100."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_DEPTH_CHANGE = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_BLOCK_MARKERS = re.compile(rb"^[ \t]*(?:>[ \t]*|(?:[-*+?:]|\d{1,9}[.)])[ \t]+){60}", re.MULTILINE)
"""Nested blocks opened in one line, which overflow the scanners of Markdown and YAML: "> - - - …"."""
_ALIKE, _BETWEEN_MARKERS = bytes.maketrans(b">*+?:.)", b"-------"), b" \t0123456789"
"""Translation of such a line to 60 hyphens in a row, which are found in a tenth of the time."""
_INDENTED_LINE = re.compile(rb"^([ \t]*)\S[^\n]*", re.MULTILINE)
_BRACKET = re.compile(rb"[()\[\]{}]")


def without_deep_text(code: bytes) -> bytes:
    """Blank the text inside of too many brackets, indented too often, or after too many block markers."""
    if _exceeds_open_brackets(code):
        code = _without_deep_brackets(code)
    if b"-" * 60 in code.translate(_ALIKE, _BETWEEN_MARKERS):
        code = _BLOCK_MARKERS.sub(lambda match: match[0].translate(BLANK), code)
    return _without_deep_indents(code)


def parse_shallow(code: bytes, tree: Tree, parse: Callable[[bytes], Tree | None]) -> tuple[bytes, Tree] | None:
    """Return a text without its deep subtrees and the tree of the rest; None if it is still too deep."""
    while (deep := _deep_subtrees(tree.root_node)) and len(deep) <= MAX_BLANKED_PARTS:
        shallow = bytearray(code)
        for start, end, filler in deep:
            shallow[start:end] = filler + code[start:end].translate(BLANK)[len(filler) :]
        if bytes(shallow) == code or (parsed := parse(bytes(shallow))) is None:
            return None
        code, tree = bytes(shallow), parsed
    return None if deep or is_pathological(tree.root_node) else (code, tree)


def _deep_subtrees(root: Node) -> list[tuple[int, int, bytes]]:
    """Return (start, end, filler) of the topmost subtrees at `KEPT_TREE_DEPTH` that are too deep."""
    found: dict[tuple[int, int], bytes] = {}
    stack: list[tuple[Node, int, Node | None]] = [(root, 0, None)]
    while stack:
        node, depth, kept = stack.pop()
        kept = node if depth == KEPT_TREE_DEPTH else kept
        if kept is not None and (kept.start_byte, kept.end_byte) in found:
            continue
        if depth > MAX_TREE_DEPTH and kept is not None:
            filler = b";" if "statement" in kept.type else b"x"
            found[kept.start_byte, kept.end_byte] = filler
            continue
        stack += [
            (child, depth + 1, kept) for child in node.children if child.descendant_count > MAX_TREE_DEPTH - depth
        ]
    return [(start, end, filler) for (start, end), filler in found.items()]


def _without_deep_brackets(code: bytes) -> bytes:
    shallow = bytearray(code)
    level = lowest = hole = 0
    for match in _BRACKET.finditer(code):
        level += _DEPTH_CHANGE[code[match.start()]]
        lowest = min(lowest, level)
        if not hole and level - lowest > MAX_OPEN_BRACKETS:
            hole = match.start()
        elif hole and level - lowest <= MAX_OPEN_BRACKETS:
            shallow[hole : match.end()] = b"x" + code[hole + 1 : match.end()].translate(BLANK)  # a value
            hole = 0
    if hole:
        shallow[hole:] = code[hole:].translate(BLANK)
    return bytes(shallow)


def _without_deep_indents(code: bytes) -> bytes:
    if b" " * MAX_OPEN_INDENTS not in code and b"\t" * MAX_OPEN_INDENTS not in code:
        return code
    shallow = bytearray(code)
    widths = [0]
    for match in _INDENTED_LINE.finditer(code):
        width = len(match[1])
        while widths and widths[-1] > width:
            widths.pop()
        if not widths or widths[-1] < width:
            widths.append(width)
        if len(widths) > MAX_OPEN_INDENTS:
            shallow[match.start() : match.end()] = match[0].translate(BLANK)
    return bytes(shallow)


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
