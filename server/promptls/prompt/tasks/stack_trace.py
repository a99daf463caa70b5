"""Stack trace parsing: finds the frames and error texts of tracebacks, error logs and compiler output in a message.

Python (also pytest and IPython), JavaScript and TypeScript, Java and Kotlin, Go, Rust, C#, Ruby and PHP are recognized
by their own formats, all other languages by "file:line".  Pure; linear in the length of the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from promptls.index import IndexReader, tokenize
from promptls.knowledge.project.file_kind import is_test_path
from promptls.languages import PLAIN_TEXT, language_of
from promptls.mentions.context import ResolveContext
from promptls.model import FileText, Span
from promptls.model.files import is_prompt_document
from promptls.util.cancellation import check_each

MAX_FRAMES = 200
"""Maximum number of frames of one message; deep recursion repeats the same ones."""

MAX_SCANNED_LINES, MAX_LINE_CHARACTERS = 20_000, 1_000
"""Maximum number of lines that are scanned, half of them from the end, and of characters of each."""

MAX_GROUP_GAP = 40
"""Maximum number of lines between two frames of one stack trace: source lines and notes."""

_CODE_LINES = 6
"""Number of lines after a frame that may quote its source line."""

_LINE_NUMBER = r"(\d{1,7})"
_DELIMITER = r"\s()\"'<>|,;=\[\]{}`*:"
_FILE = rf"(?<![^{_DELIMITER}])((?:[A-Za-z]:(?=[\\/]))?[^{_DELIMITER}]+\.[A-Za-z]\w{{0,9}})"
"""A path with an extension that starts after a delimiter, which keeps long words linear."""

_CANDIDATE = re.compile(r":\d|\bline \d|\(\d")
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_JSON_NEWLINE = re.compile(r"\\n(?=\s|\\t|Traceback|Caused by|goroutine|[\w.]+@)")
_LOCATION = re.compile(rf"(.*?):{_LINE_NUMBER}(?::\d{{1,7}})?:?$")
_PYTHON = re.compile(rf'[Ff]ile "([^"]{{1,500}})", line {_LINE_NUMBER}(?:, in (.{{1,200}}))?')
_AT = re.compile(r"(?:^|[\s|])at (?=\S)")
_JAVA = re.compile(rf"(?:[\w.$@-]*//?)?([\w.$<>-]+)\(([\w$-]+\.(?:java|kts?|scala|groovy|clj)):{_LINE_NUMBER}\)")
_FIREFOX = re.compile(rf"[\s|]*([^\s@(|]{{0,200}})@(\S{{1,800}}):{_LINE_NUMBER}:\d{{1,7}}\s*$")
_PHP = re.compile(rf"#\d{{1,4}} +(.{{1,500}}?)\({_LINE_NUMBER}\)(?:: (.*))?")
_BARE = re.compile(rf"{_FILE}:{_LINE_NUMBER}(?::\d{{1,7}})?(?![\w.])")
_SPOKEN = re.compile(rf"{_FILE}[\"'`]?,? (?:on |at )?line {_LINE_NUMBER}\b")
_LINE_OF = re.compile(rf"\b(?:line|Line) {_LINE_NUMBER} (?:of|in) [\"'`]?{_FILE}")
_DIAGNOSTIC = re.compile(rf"{_FILE}\({_LINE_NUMBER}(?:,\d{{1,7}})?\): (?:fatal |syntax )?(?:error|warning)")
_FUNCTION_AFTER = re.compile(
    r":in [`'\"]([^`'\"\n]{1,200})['\"]|: in (\S{1,200})$|, in ([^\s(]{1,200})|: ([\w.]{1,200}[?!]?/\d)\b"
)
_FUNCTION_BEFORE = re.compile(r"#\d{1,4} +(?:0x[0-9a-fA-F]+ )?(?:in )?([^\s(]{1,200}) ?\(?")
_PYTEST = re.compile(r"(?:: in \S+|: [A-Z]\w*|:)?\s*$")
_RUST_FUNCTION = re.compile(r"\s*\d{1,5}: +(?:0x[0-9a-f]+ - )?(\S.{0,300})$")
_QUOTED_CODE = re.compile(r"[\s>|-]*(\d{1,7}) ?[|│](.*)$")
_CAUSE = re.compile(r"[\s|]*(?:Caused by: |\[cause\]: )")
_HEADER = re.compile(
    r"Traceback \(|During handling of|The above exception was|Caused by: |\[cause\]: |Suppressed: |Exception in thread"
    r"|goroutine \d|panicked at |Stack trace:|Next \S+: "
)
_LATEST_LAST = re.compile(r"most recent call last")


class Frame(Struct, frozen=True):
    """One line of code in a stack trace."""

    path: str  # as written
    line: int  # 0-based
    function: str = ""  # as written, "" if not given
    language: str = ""  # name of a language, "" if unknown
    code: str = ""  # the source line that the trace quotes, stripped
    at: int = 0  # line of the message, 0-based
    traced: bool = True  # false for a mere "file:line"


class _Group(Struct):
    """Consecutive frames of one stack trace, in the order of the text."""

    frames: list[Frame]
    is_cause: bool  # of the group before it
    latest_last: bool  # whether the text lists the innermost frame last


def parse_frames(message: str) -> tuple[Frame, ...]:
    """Return the frames in a message, innermost first; of chained errors, the original cause comes first."""
    chains: list[list[_Group]] = []
    for group in _groups(numbered_lines(message)):
        if group.is_cause and chains:
            chains[-1].append(group)
        else:
            chains.append([group])
    merged: dict[tuple[str, int], Frame] = {}
    for chain in chains:
        for group in reversed(chain):
            for frame in reversed(group.frames) if group.latest_last else group.frames:
                key = (frame.path, frame.line)
                known = merged.get(key)
                if known is not None:
                    merged[key] = replace(
                        known,
                        function=known.function or frame.function,
                        code=known.code or frame.code,
                        traced=known.traced or frame.traced,
                    )
                elif len(merged) < MAX_FRAMES:
                    merged[key] = frame
    return tuple(merged.values())


def numbered_lines(message: str) -> list[tuple[int, str]]:
    """Return (line of the message, text) without color codes; line ends escaped in JSON separate lines too."""
    lines = list(enumerate(message.split("\n")))
    if len(lines) > MAX_SCANNED_LINES:
        lines = lines[: MAX_SCANNED_LINES // 2] + lines[-MAX_SCANNED_LINES // 2 :]
    out: list[tuple[int, str]] = []
    for n, line in check_each(lines):
        if "\\n" in line:  # a log in JSON may hold a whole stack trace in one line
            parts = _JSON_NEWLINE.split(line[: MAX_LINE_CHARACTERS * _CODE_LINES])
            cleaned = [part.replace('\\"', '"').replace("\\t", "\t") for part in parts] if len(parts) > 1 else parts
            out += [(n, part[:MAX_LINE_CHARACTERS]) for part in cleaned]
        else:
            line = line[:MAX_LINE_CHARACTERS].rstrip("\r")
            out.append((n, _ESCAPE.sub("", line) if "\x1b" in line else line))
    return out


def _groups(numbered: Sequence[tuple[int, str]]) -> Iterator[_Group]:
    """Yield the frames of the text by stack trace."""
    lines = [text for _, text in numbered]
    group = _Group([], False, False)
    last = 0
    for i, line in enumerate(check_each(lines)):
        if _HEADER.search(line) or (group.frames and i - last > MAX_GROUP_GAP):
            if group.frames:
                yield group
            group = _Group([], _CAUSE.match(line) is not None, _LATEST_LAST.search(line) is not None)
        if not _CANDIDATE.search(line):
            continue
        for frame, latest_last in _frames_in_line(lines, i):
            group.frames.append(replace(frame, at=numbered[i][0], code=frame.code or _quoted_code(lines, i, frame)))
            group.latest_last = group.latest_last or latest_last
            last = i
    if group.frames:
        yield group


def _frames_in_line(lines: Sequence[str], i: int) -> list[tuple[Frame, bool]]:
    """Return the frames of one line, each with whether its format lists the innermost frame last."""
    python = _PYTHON.search(lines[i])
    if python:
        path, number, function = python.groups()
        frame = _frame(path, number, (function or "").strip(), "python")
        return [(frame, frame.language == "python")]
    for find in _FORMATS:
        frame_or_none = find(lines, i)
        if frame_or_none is not None:
            return [(frame_or_none, False)]
    return list(_bare_frames(lines, i))


# ---------------------------------------------------------------- formats


def _at_frame(lines: Sequence[str], i: int) -> Frame | None:
    """Return the frame of a line with "at": Java, C#, JavaScript, a Rust backtrace, or a debugger."""
    match = _AT.search(lines[i])
    if match is None:
        return None
    rest = lines[i][match.end() :].rstrip(' \t,;{}"')
    java = _JAVA.match(rest)
    if java:
        function, file, number = java.groups()
        return _frame(file, number, function, "kotlin" if file.endswith((".kt", ".kts")) else "java")
    head, line_word, digits = rest.rpartition(":line ")
    if line_word:
        call, _, path = head.rpartition(" in ")
        number_match = re.match(_LINE_NUMBER, digits)
        return _frame(path, number_match[1], call.partition("(")[0], "csharp") if path and number_match else None
    function, parenthesis, location = rest.removeprefix("async ").partition(" (")
    if parenthesis and location.startswith("eval at "):
        location = location.partition(" (")[2].partition(")")[0]
    location_match = _LOCATION.match(location.removesuffix(")") if parenthesis else function)
    if location_match is None or not re.search(r"[/\\.]", location_match[1]):
        return None
    path, number = location_match[1], location_match[2]
    if parenthesis:
        return _frame(path, number, function.removeprefix("new "), "javascript")
    if " " in path and not re.match(r"/|\w+://|[A-Za-z]:[\\/]", path):
        return None
    rust = _RUST_FUNCTION.match(lines[i - 1]) if path.endswith(".rs") and i else None
    named = rust or _FUNCTION_BEFORE.match(lines[i].lstrip())
    return _frame(path, number, re.sub(r"::h[0-9a-f]{16}$", "", named[1]) if named else "", "javascript")


def _firefox_frame(lines: Sequence[str], i: int) -> Frame | None:
    """Return the frame of a line of Firefox or Safari: "fn@file:line:col"."""
    match = _FIREFOX.match(lines[i])
    if match is None or "/" not in match[2] or not (match[1] or "://" in match[2]):
        return None
    return _frame(match[2], match[3], match[1].removeprefix("async*").rstrip("/<"), "javascript")


def _go_frame(lines: Sequence[str], i: int) -> Frame | None:
    """Return the frame of a Go stack: the function is in the line before the position."""
    head, extension, tail = lines[i].rpartition(".go:")
    match = re.match(_LINE_NUMBER + r"(?: \+0x[0-9a-f]+)?\s*$", tail)
    above = lines[i - 1].strip() if i else ""
    if not extension or match is None or not head[:1].isspace() or not (above.endswith(")") or " in gorout" in above):
        return None
    above = above.removeprefix("created by ").partition(" in goroutine ")[0]
    function = above.rpartition("(")[0] if above.endswith(")") else above
    return _frame(head.strip() + ".go", match[1], function, "go") if function else None


def _rust_frame(lines: Sequence[str], i: int) -> Frame | None:
    """Return the position of a Rust panic or of a diagnostic of the compiler."""
    for start in ("panicked at ", "--> "):
        _, found, rest = lines[i].partition(start)
        match = _LOCATION.match(rest.rpartition(", ")[2].strip()) if found else None
        if match and re.search(r"\.\w+$", match[1]):
            return _frame(match[1], match[2], "", "rust")
    return None


def _php_frame(lines: Sequence[str], i: int) -> Frame | None:
    """Return the frame of a PHP stack: the name of its function is in the next line, the caller's."""
    match = _PHP.match(lines[i], max(0, lines[i].find("#")))
    if match is None or not re.search(r"\.\w+$", match[1]):
        return None
    following = lines[i + 1] if i + 1 < len(lines) else ""
    caller = _PHP.match(following, max(0, following.find("#")))
    return _frame(match[1], match[2], (caller[3] or "").partition("(")[0] if caller else "", "php")


_FORMATS: tuple[Callable[[Sequence[str], int], Frame | None], ...] = (
    _at_frame,
    _firefox_frame,
    _go_frame,
    _rust_frame,
    _php_frame,
)


def _bare_frames(lines: Sequence[str], i: int) -> Iterator[tuple[Frame, bool]]:
    """Yield the frames of "file:line" and of phrases such as "file, line 3"; none of mentions."""
    line = lines[i]
    for match in _BARE.finditer(line):
        path, number = match.groups()
        after = _FUNCTION_AFTER.match(line, match.end())
        before = _FUNCTION_BEFORE.match(line.lstrip()) if not after else None
        named = after or before
        function = next((group for group in named.groups() if group), "") if named else ""
        is_pytest = path.endswith(".py") and not line[: match.start()].strip() and _PYTEST.match(line, match.end())
        traced = bool(function or is_pytest)
        if not path.startswith("@"):
            yield _frame(path, number, function, "", traced), bool(is_pytest)
    for pattern, path_group in ((_SPOKEN, 1), (_LINE_OF, 2), (_DIAGNOSTIC, 1)):
        for match in pattern.finditer(line):
            if not match[path_group].startswith("@"):
                yield _frame(match[path_group], match[3 - path_group], "", "", False), False


def _frame(path: str, number: str, function: str, language: str, traced: bool = True) -> Frame:
    """Return a frame; the extension of the file decides on the language, the format only if it is unknown."""
    by_extension = _language_name(path.partition("?")[0][-100:])
    return Frame(path, max(0, int(number) - 1), function.strip(), by_extension or language, traced=traced)


@lru_cache(maxsize=1 << 10)
def _language_name(path: str) -> str:
    language = language_of(path)
    return "" if language == PLAIN_TEXT.name else language


def _quoted_code(lines: Sequence[str], i: int, frame: Frame) -> str:
    """Return the source line that a trace quotes after a frame: "12 | code", or the line below it."""
    following = lines[i + 1 : i + 1 + _CODE_LINES]
    for line in following:
        quoted = _QUOTED_CODE.match(line)
        if quoted and int(quoted[1]) == frame.line + 1:
            return quoted[2].strip()
    has_carets = len(following) > 1 and _is_underline(following[1])
    if not following or not (has_carets or (frame.traced and frame.language == "python")):
        return ""
    prefix = lines[i].partition('File "')[0].rstrip() if 'File "' in lines[i] else ""
    code = following[0].removeprefix(prefix)
    is_code = code[:1].isspace() and not _PYTHON.search(code) and not _HEADER.search(code)
    return code.strip() if is_code or has_carets else ""


def _is_underline(line: str) -> bool:
    return "^" in line and not line.strip(" \t~^")


# ---------------------------------------------------------------- error text


MAX_ERRORS = 8
"""Maximum number of distinct error messages of one text; the first and the last ones count."""

MAX_ERROR_CHARACTERS = 400
"""Maximum number of characters of a line that are scanned for an error message."""

MAX_TERMS, MAX_CHUNKS, MAX_POSTINGS = 16, 48, 20_000
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
