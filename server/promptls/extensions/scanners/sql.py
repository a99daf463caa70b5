"""Scanner of SQL definitions: tables, views, routines, packages, types, indexes and more, in all common dialects.

One grammar cannot parse the procedural languages of all servers.  The scanner reads only the tokens that decide where a
definition begins and ends, and keeps a stack of open definitions.  Comments, strings and dollar-quoted bodies are single
tokens, so that words in them are not found.  The ends are:

- for tables, views and other statements, the delimiter or a line that ends a batch;
- for routines of Transact-SQL, the GO line, because each must be alone in its batch;
- for routines with blocks, the delimiter after the END of the outermost block;
- for packages, the END of the package.  The routines in it are definitions, too.

Everything is linear in the size of the text: an unclosed comment or string extends to the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

TokenKind = Literal["word", "line_word", "open", "close", "end", "batch", "quote"]
"""Kind of a token.

"line_word" is a word that begins its line. "end" ends a statement, "batch" is a line that ends everything before it.
"quote" is a string or a body between dollar signs.
"""

_WORDS = (
    "CREATE ALTER DROP BEGIN END CASE IS AS DECLARE PROCEDURE FUNCTION RETURN "
    "INSERT UPDATE DELETE MERGE GRANT REVOKE EXEC EXECUTE CALL IF SET USE PRINT COMMENT COMMIT GO TRUNCATE DO"
).split()

_QUOTE_CLOSERS = {b"[": b"]", b"(": b")", b"{": b"}", b"<": b">"}
_DOLLAR = rb"\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$"
_BATCH_LINE = re.compile(rb"^[ \t]*GO(?:[ \t]+\d+)?[ \t]*;?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_BRACKET_NAME = re.compile(rb"\b(?:CREATE|ALTER|USE)\s+(?:OR\s+ALTER\s+)?(?:\w+\s+)?\[", re.IGNORECASE)
_MYSQL = re.compile(
    rb"^[ \t]*DELIMITER[ \t]|/\*!\d|\bENGINE[ \t]*=|\b(?:TABLE|FROM|INTO|EXISTS)[ \t]+`", re.IGNORECASE | re.MULTILINE
)


class Token(NamedTuple):
    """A token of SQL; positions are bytes."""

    kind: TokenKind
    text: str
    start: int
    end: int


class Dialect(NamedTuple):
    """Properties of a text that decide how it is read."""

    batches: bool
    """The text has GO lines, which end procedures of Transact-SQL."""
    brackets: bool
    """Names may be in brackets, as in Transact-SQL."""
    backslashes: bool
    """A backslash escapes a quote, and "#" begins a comment, as in MySQL."""


def dialect_of(data: bytes) -> Dialect:
    """Return the properties of a text, from statements that only one server has."""
    batches = _BATCH_LINE.search(data) is not None
    mysql = not batches and _MYSQL.search(data) is not None
    return Dialect(batches, batches or _BRACKET_NAME.search(data) is not None, mysql)


def tokenize(data: bytes, dialect: Dialect) -> Iterator[Token]:
    """Yield the tokens of a text that matter for the extent of definitions."""
    delimiter = b";"
    dollars = _DollarQuotes(data)
    position = 0
    transparent = False  # inside of "DO $$ … $$", whose body is read like any other text
    nested_comments = True
    while True:
        match = _pattern(delimiter, dialect).search(data, position)
        if match is None:
            return
        kind, start, position = match.lastgroup, match.start(), match.end()
        if kind == "comment":
            end = _comment_end(data, start, nested_comments and not dialect.backslashes)
            if end < 0:
                nested_comments = False
                end = _comment_end(data, start, False)
            position = end if end >= 0 else len(data)
        elif kind == "setting":
            delimiter = match.group("delimiter")
            yield Token("batch", "delimiter", start, position)
        elif kind == "copy":
            end = data.find(b"\n\\.", position)
            position = len(data) if end < 0 else end + 3
        elif kind == "q_quote":
            opener = data[position - 1 : position]
            end = data.find(_QUOTE_CLOSERS.get(opener, opener) + b"'", position)
            position = len(data) if end < 0 else end + 2
            yield Token("quote", "", start, position)
        elif kind == "dollar":
            end = dollars.end(match.group(), position)
            if transparent or end < 0:
                transparent = False
            else:
                position = end
                yield Token("quote", "$", start, end)
        elif kind == "string":
            yield Token("quote", "", start, position)
        elif kind in ("word", "line_word"):
            text = match.group(kind)
            start = match.start(kind)
            word = text.decode().upper()
            if word == "DO":
                following = _DO_BODY.match(data, position)
                if following is not None:
                    transparent, position = True, following.end()
            else:
                yield Token("word" if kind == "word" else "line_word", word, start, position)
        elif kind in ("open", "close", "end", "batch"):
            yield Token(kind, match.group().decode("utf-8", "replace").strip(), start, position)  # type: ignore[arg-type]


_DO_BODY = re.compile(rb"(?:\s+LANGUAGE\s+\w+)?\s+" + _DOLLAR, re.IGNORECASE)


@lru_cache(maxsize=64)
def _pattern(delimiter: bytes, dialect: Dialect) -> re.Pattern[bytes]:
    """Return the pattern of the tokens for a statement delimiter."""
    string = (
        rb"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
        if dialect.backslashes
        else rb"(?<![\w'])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'[^']*(?:'|\Z)"
    )
    names = [rb'"[^"\n]*"', rb"`[^`\n]*`"]
    if dialect.brackets:
        names.append(rb"\[[^\]\n]{0,200}\]")
    words = "|".join(_WORDS).encode()
    end = rb"(?P<end>" + re.escape(delimiter) + rb")"
    alternatives = [
        rb"(?P<line_comment>--[^\n]*" + (rb"|^[ \t]*#[^\n]*" if dialect.backslashes else b"") + rb")",
        rb"(?P<comment>/\*(?!!))",
        *([end] if delimiter.startswith((b"$", b"/")) else []),
        rb"(?P<setting>^[ \t]*DELIMITER[ \t]+(?P<delimiter>\S+)[^\n]*)",
        rb"(?P<batch>^[ \t]*(?:GO(?:[ \t]+\d+)?[ \t]*;?|/)[ \t]*$)"
        if dialect.batches
        else rb"(?P<batch>^[ \t]*/[ \t]*$)",
        rb"(?P<copy>^COPY[ \t][^\n;]*[ \t]FROM[ \t]+stdin\b[^\n]*)",
        rb"(?P<q_quote>(?<![\w$#])[nN]?[qQ]'\S)",
        rb"(?P<string>" + string + rb")",
        rb"(?P<name>" + rb"|".join(names) + rb")",
        rb"(?P<dollar>(?<![\w\x80-\xff])" + _DOLLAR + rb")",
        rb"(?P<ignored>\bEXEC(?:UTE)?\s+AS\b|@\w+\s+AS\b|\bREFERENCING\b[^\n;]*)",
        rb"^[ \t]*(?P<line_word>(?:" + words + rb"))(?![\w@#\x80-\xff]|\$\w)",
        rb"(?<![\w@#$.:\x80-\xff])(?P<word>(?:" + words + rb"))(?![\w@#\x80-\xff]|\$\w)",
        rb"(?P<open>\()",
        rb"(?P<close>\))",
        *([] if delimiter.startswith((b"$", b"/")) else [end]),
    ]
    return re.compile(rb"|".join(alternatives), re.IGNORECASE | re.MULTILINE | re.DOTALL)


_COMMENT_MARK = re.compile(rb"/\*|\*/")


def _comment_end(data: bytes, start: int, nested: bool) -> int:
    """Return the end of a block comment, -1 if it is not closed."""
    if not nested:
        end = data.find(b"*/", start + 2)
        return end + 2 if end >= 0 else -1
    depth = 0
    for mark in _COMMENT_MARK.finditer(data, start):
        depth += 1 if mark.group() == b"/*" else -1
        if depth == 0:
            return mark.end()
    return -1


class _DollarQuotes:
    """Finds the end of bodies between dollar signs; the tags of a text are searched for once."""

    __slots__ = ("_data", "_ends")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ends: dict[bytes, list[int]] | None = None

    def end(self, tag: bytes, position: int) -> int:
        """Return the end of the body that a tag opens, -1 if it is not closed."""
        if self._ends is None:
            self._ends = {}
            for match in re.finditer(_DOLLAR, self._data):
                self._ends.setdefault(match.group(), []).append(match.end())
        ends = self._ends.get(tag, [])
        index = bisect_right(ends, position)
        return ends[index] if index < len(ends) else -1


_KINDS = {
    "PROCEDURE": "function", "PROC": "function", "FUNCTION": "function", "TRIGGER": "function", "EVENT": "function",
    "AGGREGATE": "function", "TABLE": "table", "VIEW": "view", "PACKAGE": "module", "TYPE": "type", "DOMAIN": "type",
    "INDEX": "constant", "SEQUENCE": "constant", "POLICY": "constant", "SYNONYM": "constant", "SCHEMA": "namespace",
}  # fmt: skip
"""Kind of the symbol by the word after CREATE."""

_ROUTINES = frozenset({"PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "EVENT"})
_ALTERED = _ROUTINES | {"VIEW"}
"""Kinds of definitions that ALTER replaces together with their body."""

_MODIFIERS = (
    "OR REPLACE ALTER REFRESH GLOBAL LOCAL TEMP TEMPORARY UNLOGGED FOREIGN EXTERNAL UNIQUE CLUSTERED NONCLUSTERED FULLTEXT "
    "SPATIAL XML PRIMARY COLUMNSTORE BITMAP RECURSIVE MATERIALIZED SECURE TRANSIENT EDITIONABLE NONEDITIONABLE NO FORCE "
    "CONSTRAINT PUBLIC PRIVATE VIRTUAL STREAMING LIVE DYNAMIC ICEBERG HYBRID VOLATILE MULTISET SQL SECURITY INVOKER"
).replace(" ", "|")

_BLANK = rb"(?:\s|--[^\n]*\n|/\*!\d*|\*/|/\*(?!!)[^*]*\*+(?:[^/*][^*]*\*+)*/)"
"""White space or a comment. The markers of conditional comments of MySQL count as blanks."""

_NAME_PART = re.compile(
    rb"(?:\[([^\]\n]{0,200})\]|`([^`\n]{0,200})`|\"([^\"\n]{0,200})\"|([\w$#@\x80-\xff]+)"
    rb"|([:&]\w+\.?|\$\{[^}\n]{0,200}\}|\{\{?[^}\n]{0,200}\}\}?|\$\(\w+\)))"
)
"""A part of a name: in brackets, in backticks, quoted, plain, or a placeholder that a deployment tool replaces."""

_NAME_SEPARATOR = re.compile(rb"[ \t]*\.+[ \t]*")
_ACCOUNT = rb"(?:`[^`\n]{0,200}`|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|[\w%]+)"
_HEADER = re.compile(
    (
        rb"(?:CREATE|ALTER)_+(?:(?:%(modifiers)s)\b_+|DEFINER(?:_*=_*%(account)s(?:_*@_*%(account)s|\(\))?)?_+|ALGORITHM_*=_*\w+_+)*"
        rb"(?P<object>%(objects)s)\b(?P<body>_+BODY\b)?(?:_+IF_+NOT_+EXISTS\b|_+CONCURRENTLY\b)*_+"
    ).replace(b"_", _BLANK)
    % {b"modifiers": _MODIFIERS.encode(), b"account": _ACCOUNT, b"objects": "|".join(_KINDS).encode()},
    re.IGNORECASE,
)
"""From CREATE to the name of the definition."""

_MEMBER_HEAD = re.compile(rb"(?:PROCEDURE|FUNCTION)" + _BLANK + rb"+", re.IGNORECASE)
_PARAMETER = re.compile(rb"\s*\(?\s*@\w")
_STATEMENT_BODY = re.compile(
    rb"(?:\s|--[^\n]*\n)*(?:SELECT|INSERT|UPDATE|DELETE|WITH|SET|EXEC|RETURN|IF|MERGE|PRINT|TRUNCATE)\b", re.IGNORECASE
)
_CALL_SPECIFICATION = re.compile(rb"\s*(?:LANGUAGE|EXTERNAL|\(|\$|'|E'|N'|TABLE\b|ENUM\b|OBJECT\b)", re.IGNORECASE)
_BLOCK_WORD = re.compile(rb"[ \t]+(IF|LOOP|WHILE|REPEAT|FOR|CASE)\b", re.IGNORECASE)
_SECTION_END = re.compile(rb"\s+(?:BEFORE|AFTER|INSTEAD)\b", re.IGNORECASE)
_NOT_A_BLOCK = re.compile(rb"[ \t]*;|\s+(?:TRAN|TRANSACTION|WORK|DISTRIBUTED|DIALOG|CONVERSATION)\b", re.IGNORECASE)

_NEXT_STATEMENT = frozenset(
    "CREATE ALTER DROP GRANT REVOKE EXEC EXECUTE INSERT DELETE MERGE USE PRINT COMMENT IF DECLARE END".split()
)
"""Words that begin another statement if they begin a line, where the delimiter is missing."""


class _Frame:
    """An open definition."""

    __slots__ = ("blocks", "body", "draft", "has_blocks", "is_altered", "object", "state", "style")

    def __init__(self, draft: SymbolDraft, object_type: str, style: str, is_altered: bool = False) -> None:
        self.draft, self.object, self.style, self.is_altered = draft, object_type, style, is_altered
        self.state = "head"  # then "declarations", "body" and "closing"
        self.blocks = 0  # BEGIN and CASE without their END
        self.has_blocks = False
        self.body = -1  # first byte of the body


def scan_sql(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the definitions of a text in SQL."""
    data = source.data
    scanner = _Scanner(data)
    for token in tokenize(data, scanner.dialect):
        scanner.add(token)
    scanner.close_all(len(data))
    return scanner.drafts


class _Scanner:
    """The state of scanning one text."""

    __slots__ = ("_data", "_parentheses", "_skip_until", "_stack", "dialect", "drafts")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.dialect: Dialect = dialect_of(data)
        self.drafts: list[SymbolDraft] = []
        self._stack: list[_Frame] = []
        self._parentheses = 0
        self._skip_until = 0

    def add(self, token: Token) -> None:
        """Process the next token."""
        if token.start < self._skip_until:
            return
        frame = self._stack[-1] if self._stack else None
        if token.kind == "batch":
            self.close_all(token.start)
        elif token.kind == "open":
            self._parentheses += 1
        elif token.kind == "close":
            self._parentheses = max(0, self._parentheses - 1)
        elif token.kind == "quote":
            if frame is not None and frame.state == "head" and token.text == "$" and frame.body < 0:
                frame.body = token.start
        elif token.kind == "end":
            self._end_statement(token)
        elif token.text in ("CREATE", "ALTER") and self._begins_definition(token, frame):
            self._open(token)
        elif frame is not None:
            self._add_word(token, frame)

    def close_all(self, end: int) -> None:
        """End all open definitions before a byte."""
        while self._stack:
            self._close(end)
        self._parentheses = 0

    # ---- beginnings

    def _begins_definition(self, token: Token, frame: _Frame | None) -> bool:
        """Return whether CREATE or ALTER begins a statement here, and end the definitions before it."""
        if frame is None:
            return True
        if token.kind != "line_word":
            return False
        if self._stack[0].style == "statement":
            if self._parentheses and not self._at_margin(token):
                return False
            self.close_all(token.start)
            return True
        header = _HEADER.match(self._data, token.start)
        ends_routine = header is not None and header.group("object").upper().decode() in _ALTERED | {"PACKAGE"}
        is_after_block = frame.style == "script" and not self.dialect.batches and frame.has_blocks and not frame.blocks
        if not (ends_routine or is_after_block) or (self._is_open(frame) and not self._at_margin(token)):
            return False
        self.close_all(token.start)
        return True

    def _at_margin(self, token: Token) -> bool:
        return token.start == 0 or self._data[token.start - 1 : token.start] == b"\n"

    @staticmethod
    def _is_open(frame: _Frame) -> bool:
        return frame.blocks > 0 or frame.state == "declarations"

    def _open(self, token: Token) -> None:
        """Begin the definition of a CREATE or ALTER statement, if it is one."""
        self._parentheses = 0
        header = _HEADER.match(self._data, token.start)
        if header is None:
            return
        object_type = header.group("object").upper().decode()
        is_altered = token.text == "ALTER"
        if is_altered and object_type not in _ALTERED:
            return
        name, start, end = self._read_name(header.end())
        if not name or name.startswith("#") or name.upper() in ("ON", "FOR", "TO"):
            return
        self._skip_until = end
        draft = new_draft(_KINDS[object_type], name, start, token.start, token.start)
        if object_type == "PACKAGE" or (object_type == "TYPE" and header.group("body")):
            frame = _Frame(draft, "PACKAGE", "package")
        elif object_type in _ROUTINES:
            is_script = self.dialect.brackets or _PARAMETER.match(self._data, end) is not None
            frame = _Frame(draft, object_type, "script" if is_script else "routine", is_altered)
        else:
            frame = _Frame(draft, object_type, "statement", is_altered)
        self._stack.append(frame)

    def _open_member(self, token: Token) -> None:
        """Begin a routine inside of a package or of another routine."""
        head = _MEMBER_HEAD.match(self._data, token.start)
        if head is None:
            return
        name, start, end = self._read_name(head.end())
        if name:
            self._skip_until = end
            self._stack.append(
                _Frame(new_draft("function", name, start, token.start, token.start), token.text, "routine")
            )

    def _read_name(self, position: int) -> tuple[str, int, int]:
        """Return the name at a byte without quotes and placeholders, its first byte and its end."""
        parts: list[str] = []
        start = end = position
        while (match := _NAME_PART.match(self._data, end)) is not None:
            part = next((group for group in match.groups()[:4] if group is not None), None)
            if part is not None and part.strip():
                parts.append(part.decode("utf-8", "replace").strip())
                start = match.start()
            end = match.end()
            separator = _NAME_SEPARATOR.match(self._data, end)
            if separator is None:
                if match.group(5) is None:
                    break
                continue
            end = separator.end()
        return ".".join(parts), start, end

    # ---- bodies and ends

    def _add_word(self, token: Token, frame: _Frame) -> None:
        """Process a word inside of a definition."""
        word = token.text
        if frame.style == "statement":
            if word == "AS" and frame.object == "VIEW" and frame.body < 0 and not self._parentheses:
                frame.body = token.start
            elif token.kind == "line_word" and word in _NEXT_STATEMENT and not self._parentheses and frame.body < 0:
                self.close_all(token.start)
            return
        if word in ("PROCEDURE", "FUNCTION"):
            if (
                not self._parentheses
                and (frame.style == "package" or frame.state == "declarations")
                and frame.blocks == 0
            ):
                self._open_member(token)
        elif word == "BEGIN":
            self._begin_block(token, frame)
        elif word == "CASE":
            frame.blocks += 1
        elif word == "END":
            self._end_block(token, frame)
        elif word in ("AS", "IS") and frame.state == "head" and not self._parentheses:
            self._begin_body(token, frame)
        elif word == "DECLARE" and frame.state == "head" and frame.style == "routine":
            frame.state = "declarations"
            frame.body = token.start if frame.body < 0 else frame.body
        elif (
            frame.style == "script" and token.kind == "line_word" and word in _NEXT_STATEMENT and self._at_margin(token)
            and frame.has_blocks and frame.blocks == 0 and not self.dialect.batches
        ):  # fmt: skip
            self.close_all(token.start)

    def _begin_body(self, token: Token, frame: _Frame) -> None:
        """Process IS or AS after the head of a routine or package."""
        if frame.object == "TRIGGER" and frame.style == "routine":
            return
        if frame.body < 0:
            frame.body = token.start
        if frame.style == "routine" and not _CALL_SPECIFICATION.match(self._data, token.end):
            frame.state = "body" if _STATEMENT_BODY.match(self._data, token.end) else "declarations"
        elif frame.style != "routine":
            frame.state = "declarations" if frame.style == "package" else "body"

    def _begin_block(self, token: Token, frame: _Frame) -> None:
        if _NOT_A_BLOCK.match(self._data, token.end):
            return
        if frame.state in ("head", "declarations"):
            frame.state = "body"
            frame.body = token.start if frame.body < 0 else frame.body
            if frame.style == "package":  # the initialization section ends with the END of the package
                return
        frame.blocks += 1
        frame.has_blocks = True

    def _end_block(self, token: Token, frame: _Frame) -> None:
        following = _BLOCK_WORD.match(self._data, token.end)
        word = following.group(1).upper() if following is not None and frame.style != "script" else b""
        if word:
            self._skip_until = following.end() if following is not None else token.end
            if word != b"CASE":
                return
        if frame.blocks:
            frame.blocks -= 1
            if frame.blocks == 0 and frame.state == "body" and frame.style == "routine" and not word:
                is_section = _SECTION_END.match(self._data, token.end)  # of a compound trigger
                frame.state = "declarations" if is_section else "closing"
        elif frame.style == "package" or frame.object == "TRIGGER":
            frame.state = "closing"

    def _end_statement(self, token: Token) -> None:
        """Process the delimiter of statements."""
        if not self._stack:
            return
        frame = self._stack[-1]
        if token.text != ";":
            self.close_all(token.start)
            return
        if frame.style == "statement":
            self._close(token.end)
        elif frame.style == "script":
            self._end_script_statement(token, frame)
        elif frame.style == "package":
            if frame.state == "closing":
                self._close(token.end)
        elif frame.state == "closing" or (frame.blocks == 0 and frame.state != "declarations"):
            self._close(token.end)
        if not self._stack or self._stack[-1].style != "statement":
            self._parentheses = 0

    def _end_script_statement(self, token: Token, frame: _Frame) -> None:
        """End a routine of Transact-SQL without batches, if its block is complete."""
        if not self.dialect.batches and frame.blocks == 0 and frame.has_blocks:
            self._close(token.end)

    def _close(self, end: int) -> None:
        """End the innermost definition before a byte."""
        frame = self._stack.pop()
        if frame.is_altered and frame.body < 0:
            return  # "ALTER FUNCTION f OWNER TO …"
        draft = frame.draft
        while end > draft.start + 1 and self._data[end - 1 : end].isspace():
            end -= 1
        draft.end = end
        draft.node = draft.start, end, 0
        if draft.start < frame.body < end:
            draft.body = frame.body, end, 0
        self.drafts.append(draft)
