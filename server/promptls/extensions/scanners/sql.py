"""Scanner of SQL definitions: tables, views, routines, packages, types, indexes and more, in all common dialects.

The macros, tests and snapshots of dbt are found in the tags of Jinja.

One grammar cannot parse the procedural languages of all servers. The scanner blanks comments, strings and dollar-quoted
bodies, and searches for CREATE statements in the rest. A definition ends at its delimiter, a routine with blocks after
the END of the outermost one, and every definition before a line that ends a batch (GO, "/"), or before the next CREATE
at the margin. Everything is linear in the size of the text: an unclosed comment or string extends to the end of the text.
"""

from __future__ import annotations

import re

from promptls.extensions.scanners.template_tags import scan_templates
from promptls.index.syntax.jinja import blank_tags
from promptls.index.syntax.symbol_builder import SymbolDraft, new_draft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

_BLANK_OUT = bytes(char if char == ord("\n") else ord(" ") for char in range(256))

_STRING = rb"(?<![\w'])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'[^']*(?:'|\Z)"
_MYSQL_STRING = rb"^[ \t]*#[^\n]*|'(?:[^'\\]|\\.|'')*(?:'|\Z)"
_NAMES = rb"|(?P<name>\"[^\"\n]*\"|`[^`\n]*`|\[[^\]\n'\"]{0,200}\])"
_COMMENTS = rb"--[^\n]*|/\*!\d*|/\*.*?(?:\*/|\Z)|\*/"
_DOLLAR = rb"|(?<![\w\x80-\xff])(\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$).*?(?:\2|\Z)"
_QUOTE = rb"|\b[nN]?[qQ]'(?:\[.*?(?:\]'|\Z)|\{.*?(?:\}'|\Z)|\(.*?(?:\)'|\Z)|!.*?(?:!'|\Z))"
_COPY = rb"|^COPY[ \t][^\n;]*[ \t]FROM[ \t]+stdin\b.*?(?:^\\\.$|\Z)"
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_LITERAL = re.compile(_COMMENTS + _NAMES + _DOLLAR + _QUOTE + _COPY + rb"|" + _STRING, _FLAGS)
_MYSQL_LITERAL = re.compile(_COMMENTS + _NAMES + rb"|" + _MYSQL_STRING, _FLAGS)
"""Comments, strings and quoted names. Markers of conditional comments of MySQL are comments, their content is not."""
_MYSQL = re.compile(
    rb"^[ \t]*DELIMITER[ \t]|/\*!\d|\bENGINE[ \t]*=|\b(?:TABLE|FROM|INTO|EXISTS)[ \t]+`", re.IGNORECASE | re.MULTILINE
)
_GO_LINE = re.compile(rb"^[ \t]*GO(?:[ \t]+\d+)?[ \t]*;?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_BATCH_LINE = re.compile(
    rb"^[ \t]*(?:GO(?:[ \t]+\d+)?[ \t]*;?|/|DELIMITER[ \t][^\n]*)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_DELIMITER = re.compile(rb"^[ \t]*DELIMITER[ \t]+(\S+)", re.IGNORECASE | re.MULTILINE)
_MARGIN = re.compile(rb"^CREATE\b", re.IGNORECASE | re.MULTILINE)

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

_NAME_PART = re.compile(
    rb"(?:\[([^\]\n]{0,200})\]|`([^`\n]{0,200})`|\"([^\"\n]{0,200})\"|([\w$#@\x80-\xff]+)"
    rb"|([:&]\w+\.?|\$\{[^}\n]{0,200}\}|\{\{?[^}\n]{0,200}\}\}?|\$\(\w+\)))"
)
"""A part of a name: in brackets, in backticks, quoted, plain, or a placeholder that a deployment tool replaces."""

_NAME_SEPARATOR = re.compile(rb"[ \t]*\.+[ \t]*")
_ACCOUNT = rb"(?:`[^`\n]{0,200}`|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|[\w%]+)"
_HEADER = re.compile(
    rb"(?:^|;)[ \t]*(?P<verb>CREATE|ALTER)\s+(?:(?:%(modifiers)s)\b\s+"
    rb"|DEFINER(?:\s*=\s*%(account)s(?:\s*@\s*%(account)s|\(\))?)?\s+|ALGORITHM\s*=\s*\w+\s+)*"
    rb"(?P<object>%(objects)s)\b(?P<body>\s+BODY\b)?(?:\s+IF\s+NOT\s+EXISTS\b|\s+CONCURRENTLY\b)*\s+"
    % {b"modifiers": _MODIFIERS.encode(), b"account": _ACCOUNT, b"objects": "|".join(_KINDS).encode()},
    re.IGNORECASE | re.MULTILINE,
)
"""From CREATE to the name of the definition."""

_MEMBER_HEAD = re.compile(rb"^[ \t]*(?P<head>PROCEDURE|FUNCTION)\s+", re.IGNORECASE | re.MULTILINE)
_AS = re.compile(rb"(?<!EXECUTE)\s(?:AS|IS)\b(?!\s+OWNER\b)", re.IGNORECASE)
_BODY_TOKEN = re.compile(
    rb"(?P<skip>\bEND\s+(?:IF|LOOP|WHILE|REPEAT|FOR)\b|\bBEGIN\s+(?:TRAN|TRANSACTION|WORK)\b|@\w+\s+AS\b"
    rb"|\bEXEC(?:UTE)?\s+AS\b)|(?P<begin>\bBEGIN\b)|(?P<case>(?<!END )\bCASE\b)|(?P<end>\bEND\b)"
    rb"|(?<![\w@$.:])(?P<declares>(?:AS|IS|DECLARE)\b(?!\s*(?:LANGUAGE|EXTERNAL|SELECT|INSERT|UPDATE|DELETE|WITH|SET|EXEC|RETURN"
    rb"|MERGE|TABLE|[('$;]|[EN]')))|(?P<as>(?<![\w@$.:])(?:AS|IS)\b)|(?P<stop>;)",
    re.IGNORECASE,
)


def scan_sql(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the definitions of a text in SQL."""
    data = blank_tags(source.data, b"{#", b"{%")
    is_mysql = _GO_LINE.search(data) is None and _MYSQL.search(data) is not None
    clean = (_MYSQL_LITERAL if is_mysql else _LITERAL).sub(_blank_literal, data)
    has_batches = _GO_LINE.search(clean) is not None
    drafts = scan_templates(source, language) if b"{%" in source.data else []
    covered = 0
    batch_ends = [match.start() for match in _BATCH_LINE.finditer(clean)] + [draft.end for draft in drafts]
    margins = [] if has_batches else [match.start() for match in _MARGIN.finditer(clean)]
    delimiters = {match[1] for match in _DELIMITER.finditer(clean)} - {b";"}
    if delimiters:
        batch_ends += [match.start() for match in re.finditer(b"|".join(map(re.escape, delimiters)), clean)]
    boundaries = sorted([*batch_ends, *margins, len(data)], reverse=True)
    for header in _HEADER.finditer(clean):
        start = header.start("verb")
        if start < covered:
            continue
        object_type = header["object"].upper().decode()
        is_altered = header["verb"].upper() == b"ALTER"
        name, name_start, name_end = _read_name(clean, header.end())
        if not name or name.startswith("#") or name.upper() in ("ON", "FOR", "TO"):
            continue
        if is_altered and object_type not in _ALTERED:
            continue
        while boundaries[-1] < name_end:
            boundaries.pop()
        if object_type in _ROUTINES:
            end, body = _routine_end(clean, name_end, boundaries[-1], has_batches or bool(delimiters))
        elif object_type == "PACKAGE" or header["body"]:
            end, body = boundaries[-1], _as_position(clean, name_end, boundaries[-1])
        else:
            stop = clean.find(b";", name_end, boundaries[-1])
            end = stop + 1 if stop >= 0 else boundaries[-1]
            following = _HEADER.search(clean, name_end, end) if has_batches else None
            end = following.start("verb") if following is not None else end
            body = _as_position(clean, name_end, end) if object_type == "VIEW" else -1
        if is_altered and body < 0:
            continue  # "ALTER FUNCTION f OWNER TO …"
        covered = end
        drafts.append(_draft(clean, _KINDS[object_type], name, name_start, start, end, body))
        if object_type in ("PACKAGE", "TYPE") and body >= 0:
            drafts += _members(clean, name_end, drafts[-1].end)
    return drafts


def _blank_literal(match: re.Match[bytes]) -> bytes:
    """Blank a comment, and the content of a string or body; a quoted name stays."""
    text = match[0]
    if match["name"]:
        return text
    if text[:1] in b"'$":
        return text[:1] + text[1:-1].translate(_BLANK_OUT) + (text[-1:] if len(text) > 1 else b"")
    return text.translate(_BLANK_OUT)


def _read_name(data: bytes, position: int) -> tuple[str, int, int]:
    """Return the name at a byte without quotes and placeholders, its first byte and its end."""
    parts: list[str] = []
    start = end = position
    while (match := _NAME_PART.match(data, end)) is not None:
        part = next((group for group in match.groups()[:4] if group is not None), None)
        if part is not None and part.strip():
            parts.append(part.decode("utf-8", "replace").strip())
            start = match.start()
        end = match.end()
        separator = _NAME_SEPARATOR.match(data, end)
        if separator is None:
            if match.group(5) is None:
                break
            continue
        end = separator.end()
    return ".".join(parts), start, end


def _as_position(clean: bytes, start: int, end: int) -> int:
    match = _AS.search(clean, start, end)
    return match.start() + 1 if match is not None else -1


def _routine_end(clean: bytes, start: int, boundary: int, is_delimited: bool) -> tuple[int, int]:
    """Return the end of a routine and the beginning of its body, -1 without one.

    Args:
        clean: The text without comments and strings.
        start: End of the name.
        boundary: End of the batch, or beginning of the next definition.
        is_delimited: Whether the routine extends to the boundary, because a line or another delimiter than ";" ends it.
    """
    body, depth, needs_block = -1, 0, False
    for token in _BODY_TOKEN.finditer(clean, start, boundary):
        kind = token.lastgroup
        if kind in ("begin", "case"):
            depth += 1
        elif kind == "end":
            depth -= 1
            needs_block = needs_block and depth > 0
        elif kind == "declares":
            needs_block = needs_block or (depth == 0 and body < 0)
        if body < 0 and kind in ("begin", "declares", "as"):
            body = token.start()
            if is_delimited:
                break
        elif kind == "stop" and depth <= 0 and not needs_block and not is_delimited:
            return token.end(), body
    return boundary, body


def _members(clean: bytes, start: int, end: int) -> list[SymbolDraft]:
    """Return the routines of a package; each extends to the next one."""
    heads = list(_MEMBER_HEAD.finditer(clean, start, end))
    indent = min((head.start("head") - head.start() for head in heads), default=0)
    heads = [head for head in heads if head.start("head") - head.start() == indent]  # others are nested
    drafts = []
    for head, following in zip(heads, [*(head.start("head") for head in heads[1:]), end], strict=True):
        name, name_start, name_end = _read_name(clean, head.end())
        if name:
            body = _as_position(clean, name_end, following)
            drafts.append(_draft(clean, "function", name, name_start, head.start("head"), following, body))
    return drafts


def _draft(clean: bytes, kind: str, name: str, name_start: int, start: int, end: int, body: int) -> SymbolDraft:
    """Return a draft that ends before the blanks and comments at its end."""
    end = max(start + len(clean[start:end].rstrip()), start + 1)
    return new_draft(kind, name, name_start, start, end, body if start < body < end else -1)
