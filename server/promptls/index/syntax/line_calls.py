"""Calls in the lines of languages without a grammar, or whose grammar does not show them: `Language.call_patterns`.

The patterns are data of a language, and see one line of code at a time, without the comment at its end. All steps are
linear in the size of the text, because only lines of at most `MAX_LINE_CHARS` are matched. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.model import CALL

MAX_LINE_CHARS = 300
"""Longest line that can begin a definition or contain a call; longer ones are data."""

_COMMENT_OPENERS = {
    "/*": "*/",
    "(*": "*)",
    "{-": "-}",
    "<!--": "-->",
    '"""': '"""',
    "'''": "'''",
    "=begin": "=end",
    "#|": "|#",
    "#=": "=#",
}
_LINE_COMMENTS = ("//", "--", ";", "%", "'", "!", "# ", "##", "rem ", "REM ", "::")
_KEYWORDS = frozenset(
    "abstract as begin break class const continue def dim do else elseif elsif end enum export extends final for friend"
    " function if implements import imports in int interface let module namespace new private property protected public"
    " return static string struct sub super then unless until var void while".split()
)
"""Words of many languages that begin statements, in lower case; they are not calls."""
_ONLY_FIRST = "*"
"""A marker that begins a comment at the beginning of a line only; elsewhere it multiplies."""


def code_lines(lines: Sequence[str], language: Language) -> Iterator[tuple[int, bool]]:
    """Yield (line, whether it is a comment) for the lines that are not blank, too long or in a block comment."""
    line_comments = language.line_comments or _LINE_COMMENTS
    openers = dict(language.block_comments) or _COMMENT_OPENERS
    last_closer = {closer: _last_line_with(lines, closer) for closer in openers.values()}
    closer = ""
    for i, text in enumerate(lines):
        code = text.strip()
        if closer:
            if closer in code:
                closer = ""
            continue
        if not code or len(text) > MAX_LINE_CHARS:
            continue
        opener = next((o for o in openers if code.startswith(o)), None)
        if opener is not None:
            end = openers[opener]
            if end not in code[len(opener) :] and last_closer[end] > i:
                closer = end
            continue
        yield i, code.startswith(line_comments)


def _last_line_with(lines: Sequence[str], text: str) -> int:
    return next((i for i in range(len(lines) - 1, -1, -1) if text in lines[i]), -1)


def find_calls(source: SourceText, language: Language) -> list[tuple[int, int, int]]:
    """Return (first byte, end byte, kind) of the calls that the patterns of a language match."""
    calls: list[tuple[int, int, int]] = []
    if not language.call_patterns:
        return calls
    marks = [marker for marker in language.line_comments if marker.strip() != _ONLY_FIRST]
    marks += [opener for opener, _ in language.block_comments]
    patterns, comment = _compiled(language.call_patterns), _comment_pattern(tuple(marks))
    lines = source.code_lines()
    for i, is_comment in code_lines(lines, language):
        if is_comment:
            continue
        text = lines[i]
        end = next((token.start() for token in comment.finditer(text) if token.lastgroup), len(text))
        for match in (match for pattern in patterns for match in pattern.finditer(text, 0, end)):
            if match["name"].lower() in _KEYWORDS:
                continue
            start = source.line_starts[i] + len(text[: match.start("name")].encode("utf-8", "surrogatepass"))
            calls.append((start, start + len(match["name"].encode("utf-8", "surrogatepass")), CALL))
    return calls


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


@lru_cache(maxsize=64)
def _comment_pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of strings and, as its group, the beginning of a comment."""
    strings = [f"{quote}[^{quote}]*{quote}" for quote in "\"'" if quote not in marks]
    comments = [f"(?P<comment>{'|'.join(map(re.escape, marks))})"] if marks else []
    return re.compile("|".join([*strings, *comments]) or "(?!)")
