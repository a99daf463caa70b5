"""Magics of notebooks: lines and cells that the kernel runs, but that are not code of its language.

`%magic`, `!command` and `help?` lines become comments, so that the rest of the cell parses.  A cell magic such as
`%%bash` makes the whole cell a comment, unless its body is code of the kernel, as after `%%time`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from promptls.languages import Language, language_by_alias, language_of

_CELL_MAGIC = re.compile(r"%%(!|\w[\w.]*)[ \t]*(.*)", re.DOTALL)
_WRITE_FILE = ("writefile", "file")
_FOREIGN_MAGICS = frozenset(
    "! script system sx cmd latex svg markdown sql bigquery sparksql spark_sql configure graphql mermaid dot graphviz "
    "cu cython fortran octave matlab ai prompt heading raw text pyspark_sql template writetemplate".split()
)
"""Cell magics whose body is not code of the kernel, besides those with the name of a language.

From the documentation of IPython, sparkmagic, BigQuery, Cython and Jupyter AI.  The body after any other cell magic, such
as `%%time`, `%%capture` or one of the user's own, is code.
"""

_PYTHON_MAGIC = re.compile(
    r"[%!?]{1,2}\s*[\w.*%/~$\"'{-]"  # %matplotlib inline, !ls, ?name
    r"|[\w.*%]+\?{1,2}\s*(?:#.*)?$"  # name?, name??
    r"|[^=\s'\"(#][^='\"(#]*=\s*(?:![^=]|%[A-Za-z_])"  # files = !ls
    r"|(?:pip|conda|mamba)\s+(?:un)?install\b"  # IPython runs it without the "%"
)
"""A statement of IPython that is not Python."""

_JULIA_MAGIC = re.compile(r"[;?\]]\s*\S")
_OTHER_MAGIC = re.compile(r"%{1,2}[A-Za-z]")
_TOKEN = re.compile(r"#|'''|\"\"\"|'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?|[()\[\]{}]")


def foreign_language(lines: Sequence[str], kernel: Language) -> str:
    """Return the name of the cell magic if it makes the cell something else than code of the kernel, "" otherwise."""
    first = next((line for line in lines if line.strip()), "")
    magic = _CELL_MAGIC.match(first.rstrip())
    if magic is None:
        return ""
    name, arguments = magic[1], magic[2]
    if name in _WRITE_FILE:
        words = arguments.split()
        written = language_of(words[-1]) if words else ""
        return "" if written == kernel.name else written or "text"
    language = language_by_alias(name)
    is_foreign = language.name != kernel.name if language is not None else name.lower() in _FOREIGN_MAGICS
    return ("shell" if name == "!" else name) if is_foreign else ""


def comment_magics(lines: Sequence[str], kernel: Language, comment: Callable[[str], str]) -> list[str]:
    """Return the lines of a code cell with magics as comments; every line stays one line."""
    comment_lines = _COMMENTERS.get(kernel.name, _comment_leading_magics)
    return comment_lines(lines, comment)


def _comment_leading_magics(
    lines: Sequence[str], comment: Callable[[str], str], pattern: re.Pattern[str] = _OTHER_MAGIC
) -> list[str]:
    commented: list[str] = []
    for i, line in enumerate(lines):
        # Only leading lines: elsewhere, a "%" or "]" may continue an expression.
        if line.strip() and not pattern.match(line) and not _OTHER_MAGIC.match(line):
            return [*commented, *lines[i:]]
        commented.append(comment(line) if line.strip() else line)
    return commented


def _comment_python_magics(lines: Sequence[str], comment: Callable[[str], str]) -> list[str]:
    """Comment the magics out that begin a statement, hence not those inside of a string or an expression."""
    commented: list[str] = []
    quote, depth, continues, in_magic, in_shell = "", 0, False, False, False
    for line in lines:
        code = line.lstrip()
        indent = line[: len(line) - len(code)]
        starts_magic = not (quote or depth or continues) and _PYTHON_MAGIC.match(code) is not None
        if starts_magic or in_magic:
            # A block needs a statement.
            commented.append(f"{indent}{'pass  ' if indent and starts_magic else ''}{comment(code)}")
            in_shell = code.startswith("!") if starts_magic else in_shell
            if not in_shell:  # "%timeit f(" continues, but "!echo (" does not
                quote, depth = _scan_python(line, quote, depth)
            continues = line.endswith("\\")
            in_magic = bool(quote or depth or continues)
            continue
        commented.append(line)
        quote, depth = _scan_python(line, quote, depth)
        continues = line.endswith("\\")
    return commented


def _scan_python(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Return (open triple quote, open brackets) after a line, from those before it."""
    at = 0
    while at < len(line):
        if quote:
            end = line.find(quote, at)
            while end > at and _is_escaped(line, end, at):
                end = line.find(quote, end + 1)
            if end < 0:
                return quote, depth
            quote, at = "", end + 3
            continue
        token = _TOKEN.search(line, at)
        if token is None or token[0] == "#":
            break
        at = token.end()
        if token[0] in ("'''", '"""'):
            quote = token[0]
        elif token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth = max(0, depth - 1)
    return quote, depth


def _is_escaped(line: str, at: int, start: int) -> bool:
    """Return whether an odd number of backslashes is before a position, counted back to `start`."""
    first = at
    while first > start and line[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


_COMMENTERS: dict[str, Callable[[Sequence[str], Callable[[str], str]], list[str]]] = {
    "python": _comment_python_magics,
    "julia": partial(_comment_leading_magics, pattern=_JULIA_MAGIC),
}
