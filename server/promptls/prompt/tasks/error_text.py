"""Error messages in a text, and the places in the workspace that raise them.

A message is compared with the string literals of the code: the fixed parts of a literal, between its placeholders,
must occur in the message in this order.  The keyword index selects the few chunks whose literals are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from promptls.index import IndexReader, tokenize
from promptls.knowledge.project.file_kind import is_test_path
from promptls.mentions.context import ResolveContext
from promptls.model import FileText, Span
from promptls.model.files import is_prompt_document
from promptls.prompt.tasks.stack_trace import Frame, numbered_lines

MAX_ERRORS = 8
"""Maximum number of distinct error messages of one text; the first and the last ones count."""

MAX_ERROR_CHARACTERS = 400
"""Maximum number of characters of a line that are scanned for an error message."""

MAX_TERMS, MAX_CHUNKS, MAX_POSTINGS = 8, 24, 20_000
"""Rarest search terms of a message, chunks that are compared with it, and chunks with one term that are considered."""

MAX_SITES = 2
"""Maximum number of places that raise one message; more are alike by chance."""

MIN_MATCHED_LETTERS, MIN_MATCHED_SHARE = 8, 0.4
"""Minimum letters of a message that literals contain, and their minimum share in its fixed letters."""

MIN_WORD_SHARE = 0.6
"""Minimum share of a literal without a space in the fixed letters of a message: single words occur by chance."""

MAX_LITERAL_LINES = 3
"""Number of lines over which the literals of one message may extend."""

_NAME = r"[A-Za-z_][\w.$\\:]*"
_TYPED = re.compile(rf"(?<![\w.$\\:])({_NAME}(?:Error|Exception|Warning|Failure|Fault|Panic|Interrupt|Exit)):\s+(.+)")
_LABELLED = re.compile(
    r"(?<!\w)(?:(?:Caused by|panic|fatal(?: error)?|[Ee]rror(?:\[\w{1,20}\])?|Exception|Unhandled exception)[:.]"
    r"|(?:FATAL|ERROR|CRITICAL|SEVERE|npm ERR!|E  )(?![\w.])[\]:!\s-]*|Uncaught|Exception in thread \"[^\"]{0,80}\")"
    r"\s*(\S.*)"
)
_CAMEL_CASE = re.compile(r"(?:[\w.$\\]*[.$\\])?([A-Z][a-z0-9]+[A-Z]\w*): (\S.*)")
_RUBY = re.compile(r":in [`'][^'\n]{1,200}': (.+) \(([\w:]+)\)$")
_REPORTED = re.compile(r"\b(?:error|exception|fail\w*|crash\w*|panic\w*|message|warning)\b", re.I)
_QUOTED = re.compile(r"\"([^\"\n]{8,300})\"|`([^`\n]{8,300})`|“([^”\n]{8,300})”")
_TYPE_PREFIX = re.compile(rf"({_NAME}):\s+(\S.*)")
_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S*[/\\]\S*|\S*\d\S*")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.){3,400})"')
_LITERALS = (_LITERAL, re.compile(_LITERAL.pattern.replace('"', "'")), re.compile(_LITERAL.pattern.replace('"', "`")))
_PLACEHOLDER = re.compile(
    r"[$#]?\{[^{}]*\}|%\([^()]*\)[a-z]|%[-+#0-9.*]*[a-zA-Z]|%\{[^{}]*\}|\\\([^()]*\)|\$[A-Za-z_]\w*|\\."
)
_TYPE_SEPARATOR = re.compile(r"[.:\\$]+")
_RAISES = re.compile(r"\b(?:raise|throw|panic|bail|ensure|abort|die|exit|fail|error|fatal|Err|Error\w*|\w+Exception)\b")


class ErrorMessage(Struct, frozen=True):
    """An error message as printed."""

    text: str
    type: str = ""  # name of the exception, "" if not given


class RaiseSite(Struct, frozen=True):
    """Lines of a file that contain the text of an error message."""

    path: str
    lines: tuple[int, ...]  # 0-based, ascending


def error_messages(message: str, frames: Sequence[Frame] = ()) -> tuple[ErrorMessage, ...]:
    """Return the distinct error messages in a text, in their order; `frames` are the frames of the same text."""
    found: dict[ErrorMessage, None] = {}
    traced = [frame for frame in frames if frame.traced]
    frame_lines = {frame.at for frame in traced}
    after_python = {frame.at + n for frame in traced if frame.language == "python" for n in (1, 2, 3)}
    previous = ""
    for i, text in numbered_lines(message):
        line = text[:MAX_ERROR_CHARACTERS].strip()
        error = _error_in_line(line)
        if error is None and i not in frame_lines and _TYPE_PREFIX.match(line):
            is_adjacent = i + 1 in frame_lines or (i in after_python and not text[:1].isspace())
            error = _typed(line) if is_adjacent else None
        if error is None and "panicked at " in previous and line:
            error = ErrorMessage(line)
        previous = line
        if error is not None and len(tokenize(error.text)) + bool(error.type) > 0:
            found.setdefault(error)
    errors = tuple(found)
    return errors if len(errors) <= MAX_ERRORS else (*errors[: MAX_ERRORS // 2], *errors[-MAX_ERRORS // 2 :])


def _error_in_line(line: str) -> ErrorMessage | None:
    """Return the error message that a line has in one of the usual formats."""
    ruby = _RUBY.search(line)
    if ruby:
        return ErrorMessage(ruby[1], ruby[2])
    typed = _TYPED.search(line)
    if typed:
        return ErrorMessage(typed[2].strip(), typed[1])
    custom = _CAMEL_CASE.match(line)
    if custom:
        return ErrorMessage(custom[2], custom[1])
    labelled = _LABELLED.search(line)
    if labelled:
        return _typed(labelled[1].strip())
    quoted = _QUOTED.search(line) if _REPORTED.search(line) else None
    text = next((group for group in quoted.groups() if group), "") if quoted else ""
    return _typed(text) if " " in text else None


def _typed(text: str) -> ErrorMessage:
    """Return a message with the name of the exception that it may start with."""
    match = _TYPE_PREFIX.match(text)
    return ErrorMessage(match[2].strip(), match[1]) if match else ErrorMessage(text)


# ---------------------------------------------------------------- raise sites


def raise_sites(error: ErrorMessage, context: ResolveContext) -> tuple[RaiseSite, ...]:
    """Return the places in the workspace that contain the text of an error message; none if there are too many."""
    if context.services.index is None:
        return ()
    reader = context.index.reader()
    text = _VARIABLE.sub(" ", error.text)
    fixed_letters = _count_letters(text)
    min_letters = max(MIN_MATCHED_LETTERS, MIN_MATCHED_SHARE * fixed_letters)
    by_text = {
        RaiseSite(view.entry.path, lines): (letters, raises)
        for view, span in _code_chunks(reader, tokenize(text), context)
        for lines, letters, raises in _matches(view, span, error, MIN_WORD_SHARE * fixed_letters)
        if letters >= min_letters
    }
    best = max(by_text.values(), default=None)
    sites = [site for site, quality in by_text.items() if quality == best]
    name = _TYPE_SEPARATOR.split(error.type)[-1]
    if not sites and name.lower() in context.snapshot.names:
        raises_type = re.compile(rf"\b(?:raise|throw|panic|Err|return|fail)\b.*\b{re.escape(name)}\b")
        sites = [
            RaiseSite(view.entry.path, (n,))
            for view, span in _code_chunks(reader, tokenize(name), context)
            for n in range(span.start, min(span.end, len(view.lines)))
            if raises_type.search(view.lines[n][:MAX_ERROR_CHARACTERS])
        ]
    sites = list(dict.fromkeys(sites))
    return tuple(sites) if len(sites) <= MAX_SITES else ()


def _code_chunks(reader: IndexReader, terms: Sequence[str], context: ResolveContext) -> Iterator[tuple[FileText, Span]]:
    """Yield the chunks of code, without tests, that contain most of these terms."""
    for path, chunk in _chunks_with_terms(reader, terms):
        if path not in context.snapshot.files or is_prompt_document(path) or is_test_path(context.snapshot.label(path)):
            continue
        context.token.check()
        view = context.sources.read(path)
        outline = view.entry.outline if isinstance(view, FileText) else None
        if isinstance(view, FileText) and outline is not None and outline.language not in ("markdown", "text"):
            chunks = outline.chunks
            yield view, chunks[chunk].span if chunk < len(chunks) else Span(0, len(view.lines))


def _chunks_with_terms(reader: IndexReader, terms: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield (path, chunk) of the chunks with most of the rarest terms, weighted by their inverse frequency."""
    distinct = list(dict.fromkeys(terms))
    frequencies = reader.document_frequencies(distinct)
    order = np.argsort(frequencies, kind="stable")
    rarest = [distinct[n] for n in order if 0 < frequencies[n] <= MAX_POSTINGS][:MAX_TERMS]
    if not rarest:
        return
    postings = [reader.postings(term).rows for term in rarest]
    weights = np.concatenate(
        [np.full(len(rows), reader.idf(term)) for term, rows in zip(rarest, postings, strict=True)]
    )
    rows, inverse = np.unique(np.concatenate(postings), return_inverse=True)
    scores = np.bincount(inverse, weights)
    for n in np.argsort(-scores, kind="stable")[:MAX_CHUNKS]:
        yield from reader.locations(int(rows[n]))


def _matches(
    view: FileText, span: Span, error: ErrorMessage, min_word_letters: float
) -> Iterator[tuple[tuple[int, ...], int, bool]]:
    """Yield the lines of a chunk whose literals a message contains, their letters, and whether they raise an error."""
    type_name = _TYPE_SEPARATOR.split(error.type)[-1]
    matched = {
        n: letters
        for n in range(span.start, min(span.end, len(view.lines)))
        if (letters := _matched_letters(view.lines[n][: 2 * MAX_ERROR_CHARACTERS], error.text, min_word_letters))
    }
    for first in matched:
        if first - 1 not in matched:
            lines = tuple(n for n in range(first, first + MAX_LITERAL_LINES) if n in matched)
            nearby = "\n".join(view.lines[max(span.start, first - 2) : first + 1])
            raises = bool(type_name and type_name in nearby) or _RAISES.search(nearby) is not None
            yield lines, sum(matched[n] for n in lines), raises


def _matched_letters(line: str, text: str, min_word_letters: float) -> int:
    """Return the number of letters of a message that the string literals of a line contain.

    A literal of one word counts only with `min_word_letters`.
    """
    best = 0
    for pattern in _LITERALS:
        literals = {match[1]: _letters_in_order(match[1], text) for match in pattern.finditer(line)}
        counted = [n for literal, n in literals.items() if " " in literal.strip() or n >= min_word_letters]
        best = max(best, sum(counted))
    return best


def _letters_in_order(literal: str, text: str) -> int:
    """Return the number of letters in the fixed parts of a literal if the message contains all of them in order."""
    at = letters = 0
    for part in _PLACEHOLDER.split(literal):
        fixed = part.strip()
        found = text.find(fixed, at)
        if found < 0:
            return 0
        at = found + len(fixed)
        letters += _count_letters(fixed)
    return letters if letters >= MIN_MATCHED_LETTERS // 2 else 0


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))
