"""Scanner for languages without a grammar: lines that begin a definition in most programming languages.

A line begins a definition if it has a keyword such as "function" or "class", a name, and code after the name. Words
that are common in prose, such as "type" or "message", need a bracket or an assignment. The extent is the more indented
code below, with the line that closes it; without indentation, braces and end words decide. All steps are linear in the
size of the text, because only lines of at most `MAX_LINE_CHARS` are matched.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from promptls.index.syntax.line_calls import code_lines
from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.languages.kinds import REPEATED_KINDS

MAX_HEAD_LINES = 8
"""Lines at the indentation of the definition that can continue its head: closed parameter lists, "begin", "{"."""

_CLOSER = re.compile(r"[})\]]|(?:end\w*|fi|done|esac|od|next|loop|wend|qed|defined|admitted)\b", re.IGNORECASE)
_CONTINUES_HEAD = re.compile(
    r"[{(]\s*$|\)[^;]*[{:=]\s*$|(?:begin|is|as|then|do|where|declare|var|implicit none|proof\.?)\s*$|(?:requires|ensures)\b",
    re.IGNORECASE,
)
_END_WORD = re.compile(r"\s*(end)[ \t_]?(\w*)", re.IGNORECASE)
_INCOMPLETE = re.compile(r"(?:[{(\[=,]|[-=]>)\s*$")
_KEYWORD = re.compile(r"[^\W\d]+")


class Extents:
    """Precomputed lines that end blocks; each is found in constant or logarithmic time."""

    __slots__ = ("_brace_end", "_end_words", "_indents", "_lines", "_next_outer")

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._indents = [_indent(line) for line in lines]
        self._next_outer = _next_not_above(self._indents)
        self._brace_end: list[int] | None = None
        self._end_words: dict[str, list[int]] | None = None

    def of(self, line: int, is_value: bool = False) -> tuple[int, int]:
        """Return (line after the definition, first line of the body) of a definition that begins at a line.

        Args:
            line: The line.
            is_value: Whether it defines a value, which has further lines only if the first one is incomplete.
        """
        if is_value and not _INCOMPLETE.search(self._lines[line]):
            return line + 1, line + 1
        lines, indents = self._lines, self._indents
        end, body = self._next_outer[line], line + 1
        for _ in range(MAX_HEAD_LINES):
            if end >= len(lines) or indents[end] != indents[line] or not _CONTINUES_HEAD.match(lines[end].strip()):
                break
            end, body = self._next_outer[end], end + 1
        if end < len(lines) and indents[end] == indents[line] and _CLOSER.match(lines[end].strip()):
            return end + 1, body
        by_braces = self._end_by_braces(line)
        if by_braces > end:
            return by_braces, body
        if end == line + 1 or not any(lines[i].strip() for i in range(line + 1, min(end, line + 3))):
            by_words = self._end_by_words(line)
            if by_words > line:
                return by_words, body
        while end > line + 1 and not lines[end - 1].strip():
            end -= 1
        return end, min(body, end)

    def _end_by_braces(self, line: int) -> int:
        """Return the line after the brace that closes the block of a line; 0 if the line opens none."""
        if self._lines[line].count("{") <= self._lines[line].count("}"):
            return 0
        if self._brace_end is None:
            depths = [0]
            for text in self._lines:
                depths.append(depths[-1] + text.count("{") - text.count("}"))
            self._brace_end = _next_not_above(depths)
        end = self._brace_end[line]
        return end if end <= len(self._lines) else 0

    def _end_by_words(self, line: int) -> int:
        """Return the line after the words that end a block, such as "end sub", where nothing is indented; 0 if there are none."""
        if self._end_words is None:
            self._end_words = {}
            for i, text in enumerate(self._lines):
                match = _END_WORD.match(text)
                if match is not None:
                    self._end_words.setdefault(match[2].lower(), []).append(i)
        for keyword in _KEYWORD.findall(self._lines[line])[:4]:
            ends = self._end_words.get(keyword.lower(), [])
            index = bisect_right(ends, line)
            if index < len(ends):
                return ends[index] + 1
        return 0


def _indent(line: str) -> int:
    """Return the width of the indentation, a large number for a blank line, which ends nothing."""
    code = line.lstrip()
    return len(line[: len(line) - len(code)].expandtabs(4)) if code else 1 << 30


def _next_not_above(values: Sequence[int]) -> list[int]:
    """Return for each position the next one whose value is not greater; the length if there is none."""
    result = [len(values)] * len(values)
    stack: list[int] = []
    for i, value in enumerate(values):
        while stack and values[stack[-1]] >= value:
            result[stack.pop()] = i
        stack.append(i)
    return result


_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|export|default|pub|extern|inline|virtual|override|async"
    r"|partial|sealed|open|global|local|shared|friend|pure|impure|recursive|elemental|unsafe|external|friendly|readonly"
    r"|overloads|mutable|declare|exported|noncomputable|cdef|cpdef)[ \t]+){0,6}"
)
_NAME = r"(?P<name>[^\W\d][\w$]*(?:(?:::|[.:\-'])[\w$]+)*[!?']?)"
_FUNCTIONS = "function|func|fun|fn|def|sub|subroutine|procedure|proc|method|macro|defmacro|cdef|cpdef|handler|predicate|lemma|theorem"
_TYPES = "class|struct|interface|trait|enum|union|protocol|contract|namespace|module|mixin|typeclass|actor|structure"
_WORDS_OF_PROSE = "type|record|object|package|entity|model|message|service|component|resource|data|newtype|newclass|library|program|unit|table|view|schema|role|task|rule|instance|impl|extension|property|event|definition|datatype|typedef|alias"
_KIND_BY_KEYWORD = {
    "namespace": "namespace", "module": "module", "package": "module", "library": "module", "unit": "module",
    "program": "module", "enum": "enum", "union": "union", "interface": "interface", "trait": "trait", "protocol": "interface",
    "struct": "struct", "structure": "struct", "record": "struct", "object": "object", "type": "type", "typedef": "type",
    "alias": "type", "datatype": "type", "newtype": "type", "data": "type", "table": "table", "view": "view",
    "macro": "macro", "defmacro": "macro", "task": "function", "rule": "function", "event": "function", "property": "constant",
    "impl": "class", "instance": "class", "role": "class", "definition": "function",
}  # fmt: skip

_AFTER_NAME = r"[ \t]*(?:$|[(\[<{=;|:]|->|=>|//|#|--|\bis\b|\bas\b|\bdo\b)"
_OPENER_AT_END = r"[^\n]*(?:[({=:]|\b(?:do|is|as|begin|then|where))[ \t]*$"
_DEFINITION = re.compile(
    rf"\(?{_MODIFIERS}(?:(?P<function>{_FUNCTIONS})[ \t]+(?:\([^()\n]{{0,80}}\)[ \t]*)?{_NAME}(?={_AFTER_NAME}|{_OPENER_AT_END})"
    rf"|(?P<type>{_TYPES})[ \t]+(?P<type_name>[^\W\d][\w$]*(?:(?:::|[.])[\w$]+)*)(?={_AFTER_NAME}|{_OPENER_AT_END})"
    rf"|(?P<prose>{_WORDS_OF_PROSE})[ \t]+(?P<prose_name>[^\W\d][\w$]*(?:(?:::|[.\-])[\w$]+)*)(?=[ \t]*(?:[{{(=<]|:=|\bis\b[ \t]*$)|[^\n.]*(?:\{{|\bdo)[ \t]*$))",
    re.IGNORECASE,
)
_LISP = re.compile(r"\((?P<keyword>def[\w*\-]*|define[\w\-]*)[ \t]+\(?(?P<name>[^\s()\[\]{}'\"`,;]+)")
_CONSTANT = re.compile(
    r"(?:(?:public|private|export|pub|static|global)[ \t]+){0,3}(?:const|let|val|var|constant|define|#[ \t]*define)[ \t]+(?P<name>[^\W\d][\w$]*)[ \t]*(?P<rest>$|[=:(]|:=|[\w\"'])",
    re.IGNORECASE,
)
_DOUBLE_COLON = re.compile(r"(?P<name>[^\W\d][\w']*)[ \t]*::[ \t]*(?P<what>[a-z]+\b)?")
_ASSIGNED_FUNCTION = re.compile(
    r"(?P<name>[^\W\d][\w$]*)[ \t]*(?::=|[=:])[ \t]*(?:(?:function|func|fn|fun|proc|lambda)\b|(?:async[ \t]*)?\([^()\n]{0,120}\)[ \t]*[-=]>)"
)
_C_NAME = re.compile(r"([^\W\d]\w*(?:::~?\w+)*)[ \t]*$")
_NOT_A_TYPE = re.compile(
    r"^(?:return|if|else|for|while|switch|case|do|throw|new|delete|and|or|not|elif|when|until|unless|with|catch)\b|[=\"'()+/.!?]"
)
_DATA = frozenset(
    {"struct": "struct", "enum": "enum", "union": "union", "proc": "function", "func": "function"}.items()
)

_KEYWORD_NAMES = frozenset(
    "if else for while do end begin return then is as of the a an to in on and or not with that this from by it are was "
    "will can be has have which when where into for".split()
)
"""Words that are never the name of a definition; most of them reveal prose."""


class _Head(NamedTuple):
    """A line that begins a definition; the columns are in characters."""

    line: int
    kind: str
    name: str
    column: int
    end: int  # line after the definition, -1 if its indentation, braces and words decide


def scan_lines(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the definitions of a text."""
    lines = source.code_lines()
    extents = Extents(lines)
    drafts: list[SymbolDraft] = []
    for head in _heads(lines, language):
        if head.end >= 0:
            end, body_line = head.end, head.line + 1
            while end > head.line + 1 and not lines[end - 1].strip():
                end -= 1
        else:
            end, body_line = extents.of(head.line, head.kind in REPEATED_KINDS)
        text = lines[head.line]
        indent = len(text) - len(text.lstrip())
        start = source.line_starts[head.line] + _size(text[:indent])
        last = source.line_starts[end] - 1
        name_start = source.line_starts[head.line] + _size(text[: head.column])
        body = source.line_starts[body_line] - 1 if head.line < body_line < end else -1
        drafts.append(new_draft(head.kind, head.name, name_start, start, last, body))
    return drafts


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class _Pattern(NamedTuple):
    """A compiled row of `Language.definition_patterns`."""

    kind: str
    begin: re.Pattern[str]
    end: re.Pattern[str] | None
    extends_to_next: bool


@lru_cache(maxsize=64)
def _compiled(rows: tuple[tuple[str, ...], ...]) -> tuple[_Pattern, ...]:
    return tuple(
        _Pattern(
            kind.rstrip("+"),
            re.compile(begin, re.IGNORECASE),
            re.compile(end[0], re.IGNORECASE) if end else None,
            kind.endswith("+"),
        )
        for kind, begin, *end in rows
    )


def _heads(lines: Sequence[str], language: Language) -> list[_Head]:
    """Return the lines that begin a definition, with the ends that the patterns of the language determine."""
    patterns = _compiled(language.definition_patterns)
    bounded = (n for n, pattern in enumerate(patterns) if pattern.end is not None or pattern.extends_to_next)
    pending: dict[int, list[int]] = {n: [] for n in bounded}  # heads without an end by pattern, the innermost last
    heads: list[_Head] = []
    for i, is_comment in code_lines(lines, language):
        text = lines[i]
        number, match = next(
            ((n, match) for n, pattern in enumerate(patterns) if (match := pattern.begin.match(text))), (-1, None)
        )
        ended = [n for n, inside in pending.items() if (inside or n == number) and _ends(patterns[n], text)]
        for n in pending:
            if patterns[n].extends_to_next and (n == number or n in ended):
                _end(heads, pending[n], i)
            if n == number:
                pending[n].append(len(heads))
        if match is not None:
            heads.append(_Head(i, patterns[number].kind, match["name"], match.start("name"), -1))
        elif not is_comment and (general := _match_general(text, lines[i + 1] if i + 1 < len(lines) else "")):
            heads.append(_Head(i, *general, -1))
        for n in ended:
            if not patterns[n].extends_to_next:
                _end(heads, pending[n], i + 1)
    for n in pending:
        if patterns[n].extends_to_next:
            _end(heads, pending[n], len(lines))
    return heads


def _ends(pattern: _Pattern, text: str) -> bool:
    return pattern.end is not None and pattern.end.match(text) is not None


def _end(heads: list[_Head], pending: list[int], end: int) -> None:
    """End the innermost pending definition before a line."""
    if pending:
        last = pending.pop()
        heads[last] = heads[last]._replace(end=end)


def _match_general(text: str, next_line: str) -> tuple[str, str, int] | None:
    """Return (kind, name, column of the name) if a line begins a definition."""
    indent = len(text) - len(text.lstrip())
    match = _LISP.match(text, indent)
    if match is not None:
        return _lisp_kind(match["keyword"], text[match.start("name") - 1]), match["name"], match.start("name")
    match = _DEFINITION.match(text, indent)
    if match is not None:
        group = "name" if match["function"] else "type_name" if match["type"] else "prose_name"
        keyword = (match["function"] or match["type"] or match["prose"]).lower()
        default = "function" if match["function"] else "class"
        kind, name, column = _KIND_BY_KEYWORD.get(keyword, default), match[group], match.start(group)
        is_called = text.startswith("(", column + len(name))
        return None if name.lower() in _KEYWORD_NAMES and not is_called else (kind, name, column)
    if indent:
        return None
    match = _CONSTANT.match(text)
    if match is not None and match["name"].lower() not in _KEYWORD_NAMES:
        is_macro = text.startswith("#") and match["rest"] == "("
        if "define" in text[:9] or match["rest"] in ("=", ":", ":="):
            return "macro" if is_macro else "constant", match["name"], match.start("name")
    match = _ASSIGNED_FUNCTION.match(text)
    if match is not None:
        return "function", match["name"], 0
    match = _DOUBLE_COLON.match(text)
    if match is not None:
        return dict(_DATA).get(match["what"] or "", "function"), match["name"], 0
    return _c_function(text, next_line)


def _lisp_kind(keyword: str, before: str) -> str:
    if keyword.endswith(("macro", "syntax", "syntax-rule")):
        return "macro"
    if any(word in keyword for word in ("record", "struct", "class", "type", "protocol", "interface")):
        return "class"
    is_value = keyword in ("def", "defvar", "defconstant", "defparameter", "defonce") or (
        keyword == "define" and before != "("
    )
    return "constant" if is_value else "function"


def _c_function(text: str, next_line: str) -> tuple[str, str, int] | None:
    """Return a function as in C: a type, a name and parameters, with a brace at the end or on the next line."""
    line = text.rstrip()
    if not (line.endswith("{") or (line.endswith(")") and next_line.strip() == "{")):
        return None
    before, parenthesis, _ = line.partition("(")
    name = _C_NAME.search(before[-100:])
    if not parenthesis or name is None:
        return None
    column = len(before) - len(before[-100:]) + name.start()
    type_text = before[:column]
    if not type_text.strip() or _NOT_A_TYPE.search(type_text) or name.group(1).lower() in _KEYWORD_NAMES:
        return None
    return "function", name.group(1), column
