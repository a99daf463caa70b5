"""Matching brackets in the declarations of a C file. Pure functions; each is linear in what it passes over."""

from __future__ import annotations

import re

_BRACE = re.compile(rb"[{}]")
_PARENTHESIS = re.compile(rb"[()]")
_ANGLE = re.compile(rb"[<>()]")
_SPACE = re.compile(rb"\s*")


def block_end(text: bytes, position: int) -> int:
    """Return the position after the brace that closes the block which begins before a position."""
    depth = 1
    for match in _BRACE.finditer(text, position):
        depth += 1 if match[0] == b"{" else -1
        if depth == 0:
            return match.end()
    return len(text)


def close_parenthesis(text: bytes, start: int, end: int) -> int:
    """Return the position after the parenthesis that closes the one at a position, -1 if there is none."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start, end):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return match.end()
    return -1


def close_angle(text: bytes, start: int, end: int) -> int:
    """Return the position after the template arguments that begin at a position, -1 if they do not end."""
    depth = parentheses = 0
    for match in _ANGLE.finditer(text, start, end):
        if match[0] in b"()":
            parentheses += 1 if match[0] == b"(" else -1
        elif parentheses == 0:
            depth += 1 if match[0] == b"<" else -1
            if depth == 0:
                return match.end()
    return -1


def parenthesis_after(text: bytes, position: int, end: int) -> int:
    """Return the position of a parenthesis that follows directly, -1 without one."""
    opened = _SPACE.match(text, position, end).end()  # type: ignore[union-attr]
    return opened if opened < end and text[opened] == ord("(") else -1
