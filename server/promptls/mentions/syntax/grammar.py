r"""Grammar of mentions: parses message text into mentions.

`parse` is pure and total: it accepts any text, never raises and takes time linear in the length of the text.
It does not access the workspace, so an unknown "@word" is parsed as a file mention.  `find_mentions` (in `extent`)
parses with the names of the workspace: the longest path or symbol that exists ends a mention.  `resolve` decides
whether a word is a mention at all, with the help of `is_explicit_reference`.
Increment `GRAMMAR_VERSION` when the meaning of a text changes; old forms remain as aliases.

    @src/a.py   @name.py   @/src/a.py   @"a b.py"   @a\ b.py   @@name       a file ("@@": a name that begins with "@")
    @a.py:10  @a.py:10-20  @a.py:10-  @a.py#L10  @a.py#L10-L20  @a.py:10-20,30     lines of a file
    @dir/                                                                   a folder
    @src/*.py   @src/*.{ts,tsx}   @src/{a,b}.py                             all files that match a glob
    @#Name   @#Class.method   @#mod::name   @src/a.py#Name   @src/a.py::Name   a symbol, anywhere or in a file
    @root:path   @root:                                                     a path in a root, or the whole root
    @word   @word:argument   @word:"an argument"   @word:path:"an argument"  a mention kind with a keyword
    @file:path   @folder:path   @symbol:Name   #file:path   #folder:path   #sym:Name   ＠path   other spellings of the above
    @function:name   @class:Name   @method:Class.name   @def:name           a symbol
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from promptls.languages import FILE_EXTENSIONS
from promptls.mentions.syntax.code_ranges import CodeRanges, code_ranges
from promptls.mentions.syntax.lexer import (
    QUOTED_CHAR,
    SIGNS,
    TOOL_PREFIXES,
    MentionToken,
    default_length,
    is_symbol,
    is_uncased_letter,
    read_token,
    scan_mentions,
)
from promptls.model import Mention, Span
from promptls.util.cancellation import check_each

GRAMMAR_VERSION = 5

Keywords = Mapping[str, str]
"""Keyword → whether it takes an argument ("@keyword:argument"): "nothing", "optional" or "required"."""

CORE_KEYWORDS: Keywords = dict.fromkeys(("active", "selection", "open", "visible", "workspace"), "nothing")
"""Keywords that exist without any registered kind."""

_KIND_PREFIX = re.compile(r"(file|folder|sym(?:bol)?|function|class|method|def):(?![:/]/?)(?=.)")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_EXTENSION = re.compile(r"[^\s.][^/\\]*\.([A-Za-z][A-Za-z0-9_+-]*)$")
_CHOICES = re.compile(r"\{[^{}]*,[^{}]*\}")
_PACKAGE = re.compile(r"[a-z0-9][\w.-]*(?:/[\w.~-]+)+(?:@[\w.^~-]+)?$")


class MessageSyntax(Struct, frozen=True):
    """A message, parsed as far as possible without the workspace."""

    text: str
    code: CodeRanges = CodeRanges()
    mentions: tuple[Mention, ...] = ()  # in text order, without overlaps
    tokens: Mapping[int, tuple[MentionToken, Mention | None]] = {}  # offset of the sign → token, its mention if any


def parse_syntax(text: str, keywords: Keywords = CORE_KEYWORDS) -> MessageSyntax:
    """Parse a message without regard to the workspace.

    `keywords` usually come from `KindRegistry.keywords`.
    """
    tokens: dict[int, tuple[MentionToken, Mention | None]] = {}

    def mention_at(at: int) -> Mention | None:
        token = read_token(text, at, len(text))
        tokens[at] = token, parse_token(token, text, keywords)
        return tokens[at][1]

    code = code_ranges(text) if any(sign in text for sign in (*SIGNS, "#")) else CodeRanges()
    return MessageSyntax(text, code, tuple(scan_mentions(text, code, mention_at)), tokens)


def parse(message: str, keywords: Keywords = CORE_KEYWORDS) -> list[Mention]:
    """Return the mentions of a message in text order, without overlaps and without regard to the workspace."""
    return list(parse_syntax(message, keywords).mentions)


def parse_token(token: MentionToken, message: str, keywords: Keywords = CORE_KEYWORDS) -> Mention | None:
    """Return the mention at a token if nothing is known of the workspace, or None."""
    if message.startswith(TOOL_PREFIXES, token.start):
        return None
    length = keyword_length(token, keywords) or default_length(token)
    if token.clipped and length == len(token.value):
        return None
    return parse_part(token.cut(length), message, keywords)


def parse_part(token: MentionToken, message: str, keywords: Keywords = CORE_KEYWORDS) -> Mention | None:
    """Return the mention that all characters of a token represent, or None for an empty one ("@@")."""
    if not token.value.strip("@"):
        return None
    mention = _keyword_mention(token, message, keywords)
    if mention is None:
        mention = _location_mention(token, message)
    if mention is not None and token.weak and not mention.target.strip("@"):
        return None
    return mention


def located_mention(
    token: MentionToken, message: str, path_end: int, lines: LineReference | None = None
) -> Mention | None:
    """Return the mention of a path, of lines in it, or of the symbol behind it.

    Args:
        token: All characters of the mention.
        message: The message.
        path_end: Number of characters of the token that are the path, with the prefix of the kind.
        lines: Lines behind the path, None for a symbol or nothing.
    """
    kind, start = kind_prefix(token.masked)
    masked = token.masked[start:path_end]
    root, path = _split_root(token.value[start:path_end], masked)
    if lines is not None and path:
        mention = _mention(token, message, "file", path, root)
        return replace(mention, lines=lines.spans[0], more_lines=lines.spans[1:])
    if path_end < len(token.value):
        at = path_end + len(token.masked[path_end:]) - len(token.masked[path_end:].lstrip(":#"))
        at = min(at, path_end + (2 if token.masked.startswith("::", path_end) else 1))
        return _mention(token, message, "symbol", token.value[at:], root, path)
    if path.endswith("/") or (path and masked.endswith("\\")):
        path = path.rstrip("/") if path[-1] == "/" else path[: len(masked.rstrip("\\")) - len(masked)]
        kind = "folder"
    if kind == "folder" and path in ("", "."):
        return _mention(token, message, "workspace", "", root)
    if root and not path:
        return _mention(token, message, "workspace", "", root)
    return _mention(token, message, kind or "file", path, root)


def keyword_length(token: MentionToken, keywords: Keywords) -> int:
    """Return the length of a keyword that text of a script without letter case follows directly, else 0."""
    match = _WORD.match(token.masked)
    if match is None or match.group() not in keywords or match.end() == len(token.masked):
        return 0
    after = token.masked[match.end()]
    is_end = is_uncased_letter(after) or is_symbol(after)
    return match.end() if is_end and keywords[match.group()] != "required" else 0


def kind_prefix(masked: str) -> tuple[str, int]:
    """Return the kind that a prefix such as "file:" names, and the length of the prefix; ("", 0) without one."""
    match = _KIND_PREFIX.match(masked)
    if match is None:
        return "", 0
    return match.group(1) if match.group(1) in ("file", "folder") else "symbol", match.end()


def _keyword_mention(token: MentionToken, message: str, keywords: Keywords) -> Mention | None:
    """Return the mention of a keyword, with or without an argument, or None."""
    value, masked = token.value, token.masked
    head, colon, _ = masked.partition(":")
    keyword, argument = value[: len(head)], value[len(head) + 1 :]
    if keyword not in keywords or QUOTED_CHAR in head or message[token.start + 1] in "\"'":
        return None
    if not argument and keywords[keyword] != "required":
        text = message[token.start : token.end].rstrip(":")
        return Mention(text, token.start, token.end - len(colon), keyword, "")
    if argument and keywords[keyword] != "nothing":
        scope, target = _split_argument(argument, masked[len(head) + 1 :])
        return _mention(token, message, keyword, target, "", scope)
    return None


def _location_mention(token: MentionToken, message: str) -> Mention | None:
    """Return the mention of a path, lines or a symbol; the end of the path follows from the syntax alone."""
    value, masked = token.value, token.masked
    kind, start = kind_prefix(masked)
    if kind == "symbol" or masked.startswith("#", start):
        start += masked.startswith("#", start)
        return _mention(token, message, "symbol", value[start:]) if len(value) > start else None
    for at in range(start + 1, len(masked)):
        lines = parse_lines(masked, at) if masked[at] in ":#" else None
        if lines is not None and lines.end == len(masked):
            return located_mention(token, message, at, lines)
    at = masked.find("#", start)
    if at <= start:
        at = _symbol_colon(value, masked, start)
    if at > start:
        return located_mention(token, message, at)
    if "::" in masked and not masked.startswith(":", start):
        return _mention(token, message, "symbol", value)
    return located_mention(token, message, len(value))


def _mention(token: MentionToken, message: str, kind: str, target: str, root: str = "", scope: str = "") -> Mention:
    text = message[token.start : token.end]
    return Mention(text, token.start, token.end, kind, target, None, root, scope)


def full_argument(mention: Mention) -> str:
    """Return everything after "@kind:", for kinds whose argument is a single name, path or pattern."""
    return f"{mention.scope}:{mention.target}" if mention.scope else mention.target


def is_explicit_reference(mention: Mention) -> bool:
    """Return whether an unresolved mention is an error, as opposed to prose, a decorator or a handle.

    It is an error if it has the form of a path or symbol: "#", "::", lines, a slash, a known file extension, a
    leading dot, or choices in braces.  A plain word ("@alice", "@Override"), a dotted word ("@app.route") and an npm
    package ("@types/node") are text.
    """
    if mention.kind != "file" and not (mention.kind == "workspace" and mention.root):
        return True
    if mention.kind == "workspace":
        return False
    return mention.lines is not None or is_path_like(mention.target)


def is_path_like(target: str) -> bool:
    """Return whether a text has the form of a path: a slash, a known extension, a leading dot, choices in braces."""
    if is_package_like(target):
        return False
    if "/" in target or "\\" in target or _CHOICES.search(target):
        return True
    if len(target) > 1 and target[0] == "." and target[1] not in ". ":
        return True
    match = _EXTENSION.match(target)
    return match is not None and match.group(1).lower() in FILE_EXTENSIONS


def is_package_like(target: str) -> bool:
    """Return whether a text has the form of an npm package name: "types/node", "scope/pkg@1.2"."""
    if not _PACKAGE.match(target):
        return False
    match = _EXTENSION.match(target.rsplit("/", 1)[-1])
    return match is None or match.group(1).lower() not in FILE_EXTENSIONS


def strip_mentions(message: str, mentions: Sequence[Mention]) -> str:
    """Return the message as a query: without mentions, but with the names of mentioned symbols."""
    parts: list[str] = []
    end = 0
    for mention in check_each(sorted(mentions, key=lambda m: m.start)):
        if mention.start < end:
            continue
        parts.append(message[end : mention.start])
        end = mention.end
        if mention.kind == "symbol":
            parts.append(mention.target)
        elif parts[-1].endswith(" ") and (end == len(message) or message[end] in " .,;:!?)"):
            parts[-1] = parts[-1][:-1]  # avoids a double space
    parts.append(message[end:])
    return "".join(parts).strip()


def utf16_offset(message: str, offset: int) -> int:
    """Convert a code point offset to an LSP offset in UTF-16 code units."""
    head = message[:offset]
    return len(head) if head.isascii() else len(head) + sum(char > "\uffff" for char in head)


def _split_argument(value: str, masked: str) -> tuple[str, str]:
    """Split "src/:'an argument'" into scope and argument; only a quoted argument can have a scope."""
    unquoted = masked.rstrip(QUOTED_CHAR)
    if unquoted.endswith(":") and len(unquoted) < len(masked) and len(unquoted) > 1:
        return value[: len(unquoted) - 1], value[len(unquoted) :]
    return "", value


def _split_root(value: str, masked: str) -> tuple[str, str]:
    """Split "root:path" into root and path; a drive letter is not a root."""
    if _DRIVE.match(masked):
        return "", value
    at = masked.find(":")
    return (value[:at], value[at + 1 :]) if at > 0 else ("", value)


def _symbol_colon(value: str, masked: str, start: int) -> int:
    """Return the offset of the colon in "src/a.py:name" and "src/a.py::Class::name", or 0.

    The text before it must have the form of a file and the text after it must not be a path.  Otherwise the text is
    "root:path".
    """
    start = 2 if _DRIVE.match(masked) else start
    for match in re.finditer(":+", masked[start:]):
        at = start + match.start()
        left, right = value[:at], value[start + match.end() :]
        if right and is_path_like(left.rsplit(":", 1)[-1]) and not set(right) & set("/\\"):
            return at
    return 0


# ---------------------------------------------------------------- lines behind a path
# A location that is understood in part only is not understood at all, because the rest may change the region.  What is
# left behind a path is then reported as an unknown symbol.

LAST_LINE = 2**31 - 1
"""End of an open range ("@a.py:10-"): resolvers clamp it to the length of the file."""

_DASH = r"(?:[-\u2010-\u2015\u2212\uff0d~\u301c\uff5e]|\.\.\.?|\u2026)"

_OPENER = re.compile(r"[:\uff1a]:?#?|#|@|\?(?=L)")
_ITEM = re.compile(
    rf"(?P<line>[#]?L?)(?P<a>\d+)(?:C\d+)?"
    rf"(?:(?::\d+)?{_DASH}#?L?(?P<b>\d+)(?:C\d+|:\d+)?"
    rf"|(?P<open>[-\u2013](?![\w>.~-]))"
    rf"|:(?P<column>\d+)(?::\d+)?)?"
)
_BRACKETS = re.compile(
    rf"[(\uff08](?P<a>\d+)(?:,\d+)?(?:(?:{_DASH}(?P<b>\d+)|,(?P<c>\d+))(?:,\d+)?)?[)\uff09]"
    rf"|[\[{{](?P<d>\d+)(?:{_DASH}(?P<e>\d+))?[\]}}]"
)
_MORE_DIGITS = re.compile(r"[-+,.:/@#~\u2010-\u2015]{0,2}L?\d|[^\W\d_]")
"""Behind a location: more of it, which makes it another one."""


class LineReference(Struct, frozen=True):
    """Lines that a text names."""

    end: int  # offset behind the text
    spans: tuple[Span, ...]


def parse_lines(masked: str, at: int) -> LineReference | None:
    """Return the lines that the text at an offset names, None if it is not a location or not a known one."""
    reference = _in_brackets(masked, at) or _behind_mark(masked, at)
    if reference is None:
        return None
    rest = _MORE_DIGITS.match(masked, reference.end)
    if rest is not None and not (rest.group().isalpha() and rest.group().lower() == rest.group().upper()):
        return None
    return reference


def is_line_range(text: str) -> bool:
    """Return whether a text consists of digits as a location does, so that it cannot be the name of a symbol."""
    return text[:1].isdigit() or (text[:1] in "-+L" and text[1:2].isdigit())


def _in_brackets(masked: str, at: int) -> LineReference | None:
    match = _BRACKETS.match(masked, at)
    if match is None:
        return None
    return LineReference(match.end(), (_span(match["a"] or match["d"], match["b"] or match["c"] or match["e"]),))


def _behind_mark(masked: str, at: int) -> LineReference | None:
    opener = _OPENER.match(masked, at)
    item = _ITEM.match(masked, opener.end()) if opener is not None else None
    if opener is None or item is None:
        return None
    items = [item]
    while masked.startswith(",", item.end()) and (item := _ITEM.match(masked, item.end() + 1)) is not None:
        items.append(item)
    end = items[-1].end()
    if len(items) == 2 and all(item.group() == item["line"] + item["a"] for item in items):
        return LineReference(end, (_span(items[0]["a"], items[1]["a"]),))
    return LineReference(end, tuple(dict.fromkeys(_item_span(item) for item in items)))


def _item_span(item: re.Match[str]) -> Span:
    if item["open"]:
        return Span(_line_number(item["a"]) - 1, LAST_LINE)
    # "L10:20" is a range, and "10:20" a line and a column.
    return _span(item["a"], item["b"] or (item["column"] if item["line"] else None))


def _span(first: str, last: str | None) -> Span:
    a, b = _line_number(first), _line_number(last or first)
    return Span(min(a, b) - 1, max(a, b))


def _line_number(digits: str) -> int:
    return min(max(int(digits), 1), LAST_LINE)


# ---------------------------------------------------------------- formatting: the inverse of parsing
# Every result is verified by parsing it again, so an inserted mention always resolves to the chosen target.

_UNREPRESENTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories that no mention can contain: control characters, surrogates, line and paragraph separators."""

_SEPARATORS = ":#"
"""Characters between a root, a path and a symbol."""

_FOLLOWING_WORD = " x"
"""Text put behind a mention before parsing: the result must not depend on the end of the message."""


def format_mention(
    path: str = "",
    root: str = "",
    *,
    folder: bool = False,
    lines: Span | None = None,
    symbol: str = "",
    keywords: Keywords = CORE_KEYWORDS,
) -> str | None:
    """Return the shortest mention of a relative path, of lines or a symbol in it, or of a symbol alone.

    Returns:
        None if no mention can represent it, because of a line break or more than 250 characters.
    """
    return _format(path, root, folder, lines, symbol, tuple(sorted(keywords.items())))


def format_argument_mention(keyword: str, argument: str) -> str | None:
    """Return the mention of a keyword with an argument, quoted if necessary, or None if it is impossible."""
    for text in (f"@{keyword}:{argument}", f"@{keyword}:{_quote(argument)}"):
        mentions = parse(text + _FOLLOWING_WORD, {keyword: "required"})
        if len(mentions) != 1:
            continue
        mention = mentions[0]
        if (mention.text, mention.kind, full_argument(mention)) == (text, keyword, argument):
            return text
    return None


def mention_to_argument(text: str) -> str:
    """Convert a mention of a path or symbol to an argument: `@"src/my cart.py"#total` to "src/my cart.py#total"."""
    (mention,) = parse(text, {})
    scope = (f"{mention.root}:" if mention.root else "") + mention.scope
    separator = "#" if scope and mention.kind == "symbol" else ""
    return f"{scope}{separator}{mention.target}" + ("/" if mention.kind == "folder" else "")


@lru_cache(maxsize=1 << 12)
def _format(
    path: str, root: str, folder: bool, lines: Span | None, symbol: str, keywords: tuple[tuple[str, str], ...]
) -> str | None:
    if any(unicodedata.category(char) in _UNREPRESENTABLE for char in path + root + symbol):
        return None
    tail = "" if lines is None else ":" + (lines.label if lines.end != LAST_LINE else f"{lines.start + 1}-")
    slash = "/" if folder and path else ""
    prefixes = [f"{root}:", f"{_quote(root)}:"] if root else [""]
    names = [path + slash, _quote(path + slash), _quote("./" + path + slash)] if path else [""]
    if path.strip(_SEPARATORS) != path:
        names = names[1:]  # without quotes, the workspace would decide where the path begins or ends
    symbols = [f"#{symbol}", f"#{_quote(symbol)}"] if symbol else [""]
    kind = "symbol" if symbol else "folder" if slash else "file" if path else "workspace"
    keyword_table = dict(keywords)
    for prefix, name, symbol_part in product(prefixes, names, symbols):
        text = f"@{prefix}{name}{symbol_part}{tail}"
        mentions = parse(text + _FOLLOWING_WORD, keyword_table)
        if len(mentions) != 1 or mentions[0].text != text:
            continue
        parsed = mentions[0]
        parsed_path = parsed.scope if symbol else parsed.target
        if (parsed.kind, parsed.root, parsed.lines) != (kind, root, lines) or (symbol and parsed.target != symbol):
            continue
        if parsed_path in (path, "./" + path):
            return text
    return None


def _quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
