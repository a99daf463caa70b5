"""Extent of mentions: how far each one reaches, by what the workspace knows.

The longest part of a token that names a path or a symbol is the mention, with the lines or the symbol behind a path.
The rest of the token is text.  If no part names anything, the grammar alone decides.  Each possible end costs one
lookup in a hash table, and a token has at most `MAX_LENGTH` of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property
from urllib.parse import unquote

from promptls.mentions.completion.index import fold_case
from promptls.mentions.context import ResolveContext
from promptls.mentions.kinds import KindRegistry
from promptls.mentions.path_lookup import (
    find_files,
    find_folders,
    find_on_disk,
    find_roots,
    resolve_files,
    resolve_folders,
    split_root,
)
from promptls.mentions.registry import registry
from promptls.mentions.resolvers.symbol import (
    Definition,
    Spelling,
    candidate_names,
    filter_matching,
    refs_named,
    spellings,
    split_scope,
)
from promptls.mentions.syntax.grammar import (
    MessageSyntax,
    is_explicit_reference,
    kind_prefix,
    located_mention,
    parse_lines,
    parse_part,
    parse_syntax,
    parse_token,
)
from promptls.mentions.syntax.lexer import (
    QUOTED_CHAR,
    TOOL_PREFIXES,
    MentionToken,
    continues_name,
    default_length,
    differs_in_script,
    is_cased,
    is_symbol,
    is_uncased_letter,
    read_token,
    scan_mentions,
    trimmed_length,
)
from promptls.model import Mention, Root

MAX_DISK_CHECKS = 4
"""Maximum number of paths per token that are checked on disk, for files that are not indexed."""

MAX_TOKENS = 250
"""Maximum number of tokens of a message that are compared with the index; more of them are data, not prose."""

MAX_SYMBOL_LOOKUPS = 40
"""Maximum number of possible ends of a symbol, apart from those between characters of a script without spaces."""

MAX_CHECKED_DEFINITIONS = 50
"""Number of definitions of one name up to which their qualifiers are compared; more would slow down typing."""

_LOCATION_KINDS = frozenset({"file", "folder", "symbol", "workspace"})
_PATH_SYNTAX = re.compile(r"[/\\]|\.[A-Za-z]")
_SENTENCE = ".,;:!?)\"'`*_>|]}\u2026"
_CLOSING = ".:!?"
_OPERATORS = "=<>+-*/%&|^~"
_SYMBOL_MARK = re.compile(r"::?|#")
_NAME_START = re.compile(r"[\0\w$~#(<\[+=*-]")


def locate_mentions(
    syntax: MessageSyntax, context: ResolveContext, kinds: KindRegistry | None = None
) -> tuple[Mention, ...]:
    """Return the mentions of a message in text order; what the workspace knows decides how far each one reaches.

    `syntax` was parsed with the keywords of the same kinds.
    """
    finder = _Finder(syntax, context, kinds or registry())
    return tuple(scan_mentions(syntax.text, syntax.code, finder.mention_at))


def find_mentions(message: str, context: ResolveContext, kinds: KindRegistry | None = None) -> tuple[Mention, ...]:
    """Parse a message and return its mentions in text order, as far as each one reaches in this workspace."""
    kinds = kinds or registry()
    return locate_mentions(parse_syntax(message, kinds.keywords()), context, kinds)


def mention_end(message: str, at: int, context: ResolveContext) -> int:
    """Return the end of the mention at the "@" at an offset, the offset itself if there is none."""
    mention = _Finder(MessageSyntax(message), context, registry()).mention_at(at)
    return mention.end if mention is not None else at


class _Finder:
    """Lookups for the mentions of one message."""

    def __init__(self, syntax: MessageSyntax, context: ResolveContext, kinds: KindRegistry) -> None:
        self._message = syntax.text
        self._parsed = syntax.tokens
        self._context = context
        self._kinds = kinds
        self._keywords = kinds.keywords()
        self._tokens_left = MAX_TOKENS

    def mention_at(self, at: int) -> Mention | None:
        """Return the mention whose sign is at an offset, None if it is text."""
        token, default = self._parsed.get(at) or self._parse(at)
        self._tokens_left -= 1
        if self._tokens_left < 0:
            return default
        mention = self._mention_of(token, default)
        if mention is not None and token.weak and mention.kind == "file" and not is_explicit_reference(mention):
            return None
        return mention

    def _parse(self, at: int) -> tuple[MentionToken, Mention | None]:
        """Parse the token at an offset that was inside of a mention as long as the workspace was unknown."""
        token = read_token(self._message, at, len(self._message))
        return token, parse_token(token, self._message, self._keywords)

    def _mention_of(self, token: MentionToken, default: Mention | None) -> Mention | None:
        """Return the mention at a token; `default` is the mention if nothing is known of the workspace."""
        masked = token.masked
        kind, start = kind_prefix(masked)
        if kind == "symbol" or masked.startswith("#", start):
            end = self._symbol_end(token, start + masked.startswith("#", start), self._is_symbol)
            return parse_part(token.cut(end), self._message, self._keywords) if end else default
        is_keyword = default is not None and default.kind not in _LOCATION_KINDS
        if default is not None and is_keyword and (default.target or default.end == token.end):
            return self._with_argument(token, default)
        if masked[:1] != QUOTED_CHAR and self._message[token.start + 1 : token.start + 2] in ('"', "'"):
            return default
        end = self._path_end(token, start)
        if end:
            return self._with_location(token, end)
        if self._message.startswith(TOOL_PREFIXES, token.start):
            return None
        if default is not None and default.kind == "symbol" and not default.scope:
            end = self._symbol_end(token, 0, self._is_symbol)
            if "::" in masked[:end]:
                return parse_part(token.cut(end), self._message, self._keywords)
        return default

    def _with_argument(self, token: MentionToken, default: Mention) -> Mention | None:
        """Return the mention of a kind whose argument is a path or symbol, with the longest argument that exists."""
        kind = self._kinds.get(default.kind)
        start = token.masked.find(":") + 1
        if kind is None or not kind.argument_type or not start or QUOTED_CHAR in token.masked[start:]:
            return default
        may_end = _may_end_symbol if kind.argument_type == "symbol" else _may_end_path
        for end in range(len(token.value), start, -1):
            if token.masked[end - 1] == ":" or token.masked[end : end + 1] == "#" or not may_end(token.masked, end):
                continue
            if self._is_argument(token.value[start:end], kind.argument_type):
                return parse_part(token.cut(end), self._message, self._keywords)
        return default

    def _is_argument(self, argument: str, argument_type: str) -> bool:
        """Return whether an argument names a path, a symbol, or two symbols: "main..Store.save"."""
        if argument_type == "path":
            return bool(resolve_folders(self._context, argument) or resolve_files(self._context, argument))
        return self._is_scoped_symbol(argument) or all(map(self._is_scoped_symbol, argument.split("..", 1)))

    def _is_scoped_symbol(self, argument: str) -> bool:
        """Return whether an argument names a file or a symbol: "src/cart.py", "src/cart.py#total" or "total"."""
        scope, name = split_scope(argument, self._context)
        if not scope:
            return self._is_symbol(argument) or bool(resolve_files(self._context, argument))
        return self._is_symbol(name) if scope[-1] in "/:" else self._symbol_test(scope)(name)

    def _with_location(self, token: MentionToken, path_end: int) -> Mention | None:
        """Return the mention of an existing path, with the lines or the symbol behind it."""
        masked = token.masked
        _, start = kind_prefix(masked)
        is_known = self._symbol_test(token.value[start:path_end])
        mark = _SYMBOL_MARK.match(masked, path_end)
        end = self._symbol_end(token, mark.end(), is_known) if mark is not None else 0
        lines = parse_lines(masked, path_end)
        if lines is not None and not (end and mark is not None and mark.group() == "#" and end >= lines.end):
            return located_mention(token.cut(lines.end), self._message, path_end, lines)
        if mark is not None and not end and _begins_name(masked, mark):
            end = default_length(token)
            if end <= mark.end():
                stops = (i for i in range(mark.end(), len(masked)) if masked[i].isspace() or masked[i] in ",;)]}")
                end = trimmed_length(token, next(stops, len(masked)))
            end = end if end > mark.end() else path_end
        return located_mention(token.cut(max(end, path_end)), self._message, path_end)

    def _path_end(self, token: MentionToken, start: int) -> int:
        """Return the end of the longest path that exists, 0 for none."""
        value, masked = token.value, token.masked
        checks = 0
        for end in range(len(value), start, -1):
            if masked[end : end + 1] == "*" != token.emphasis:
                continue  # a glob
            if _may_end_path(masked, end) and self._is_path(value[start:end], masked[end:]):
                return end
        for end in range(len(value), start, -1):
            if not _has_extension(value[start:end]) or not _may_end_path(masked, end):
                continue
            root, path = split_root(self._context.snapshot, value[start:end])
            if find_on_disk(self._context, path, find_roots(self._context.snapshot, root)) is not None:
                return end
            checks += 1
            if checks >= MAX_DISK_CHECKS:
                break
        return 0

    def _is_path(self, written: str, rest: str) -> bool:
        """Return whether a text names files or folders, and the text behind it does not make it another path."""
        is_prose = _is_prose(rest)
        root, path = split_root(self._context.snapshot, written)
        if root and not path:
            return is_prose
        path_end = path.rstrip("/\\")
        # A backslash separates folders, or is a part of the name.
        forms = _name_forms(_last_segment(path_end)) | _name_forms(path_end.rsplit("/", 1)[-1])
        roots = find_roots(self._context.snapshot, root)
        if self._may_be_file(forms) and find_files(self._context, path, roots).paths:
            return is_prose or _has_extension(written) or rest[:1] == "#"
        return is_prose and self._may_be_folder(path, forms, roots)

    def _may_be_file(self, forms: set[str]) -> bool:
        """Return whether a file of the workspace has one of these names, without regard to its folder."""
        basenames = self._context.snapshot.basenames
        return any(basenames.get(form) for form in forms) or not forms.isdisjoint(self._open_names)

    def _may_be_folder(self, path: str, forms: set[str], roots: tuple[Root, ...]) -> bool:
        """Return whether a path names a folder; its name is checked first, which takes less time."""
        layers = self._context.path_index.folders
        is_name = any(form in layer for form in forms for layer in layers) or any(path == root.path for root in roots)
        return is_name and bool(find_folders(self._context, path.rstrip("/\\"), roots).paths)

    @cached_property
    def _open_names(self) -> frozenset[str]:
        return frozenset(fold_case(path.rsplit("/", 1)[-1]) for path in self._context.snapshot.documents)

    def _symbol_end(self, token: MentionToken, start: int, is_known: Callable[[str], bool]) -> int:
        """Return the end of the longest name of a symbol that exists, 0 for none."""
        value, masked = token.value, token.masked
        lookups = 0
        for end in range(len(value), start, -1):
            if value[end - 1].isspace() or not _may_end_symbol(masked, end):
                continue
            if is_known(value[start:end]):
                return end
            lookups += not is_uncased_letter(value[end - 1])
            if lookups > MAX_SYMBOL_LOOKUPS:
                break
        return 0

    def _is_symbol(self, written: str) -> bool:
        """Return whether a symbol of the workspace has this name."""
        snapshot = self._context.snapshot
        if is_uncased_letter(written[-1]) and not any(snapshot.names.get(name) for name in candidate_names(written)):
            return False  # a word in prose, as there is one at every character of a Chinese sentence
        for spelling in _spellings(written):
            refs = refs_named(snapshot, spelling.name)
            if len(refs) > MAX_CHECKED_DEFINITIONS:
                return True
            definitions = (Definition(ref[0], symbol) for ref in refs if (symbol := snapshot.symbol(ref)) is not None)
            if refs and filter_matching(spelling.name, definitions):
                return True
        return False

    def _symbol_test(self, path: str) -> Callable[[str], bool]:
        """Return a test of whether the files that a path names have a symbol of this name."""
        names: frozenset[str] | None = None

        def is_known(written: str) -> bool:
            nonlocal names
            if names is None:
                names = self._names_in(path)
            return any(not names.isdisjoint(candidate_names(spelling.name)) for spelling in _spellings(written))

        return is_known

    def _names_in(self, path: str) -> frozenset[str]:
        snapshot = self._context.snapshot
        root, path = split_root(snapshot, path)
        paths = find_files(self._context, path, find_roots(snapshot, root)).paths
        outlines = [outline for file in paths if (outline := snapshot.outline(file)) is not None]
        return frozenset(symbol.name.lower() for outline in outlines for symbol in outline.symbols)


def _last_segment(path: str) -> str:
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :]


def _name_forms(name: str) -> set[str]:
    """Return the forms of a name that the index may have, in lower case."""
    if name.isascii() and "%" not in name:
        return {name.lower()} if name else set()
    decoded = unquote(name).lower()
    return {name.lower(), *(unicodedata.normalize(form, decoded) for form in ("NFC", "NFD"))}


def _begins_name(masked: str, mark: re.Match[str]) -> bool:
    """Return whether the name of an unknown symbol follows a mark; a colon may also introduce prose."""
    after = masked[mark.end() : mark.end() + 1]
    return bool(_NAME_START.match(after)) and not (mark.group() == ":" and is_uncased_letter(after))


def _spellings(written: str) -> Iterable[Spelling]:
    """Return the spellings of a name; the parameters of a call are not a part of it."""
    return [Spelling(written)] if written.endswith(")") else spellings(written)


def _has_extension(path: str) -> bool:
    return "." in _last_segment(path)[1:-1]


def _is_prose(rest: str) -> bool:
    """Return whether the text behind a name without an extension is prose instead of the rest of a path."""
    if not rest:
        return True
    if rest[0] in _CLOSING and (is_cased(rest[1:2] or " ") or rest[1:2] == "#"):
        return False
    if not (rest[0] in _SENTENCE or is_uncased_letter(rest[0]) or is_symbol(rest[0])):
        return False
    clause = re.match(r"[^\s，。、；：！？@,;]*", rest)
    return clause is None or _PATH_SYNTAX.search(clause.group()) is None


def _is_inside_word(masked: str, at: int) -> bool:
    """Return whether an offset is inside of a word of a script with letter case, or between a letter and its accent."""
    before, char = masked[at - 1], masked[at]
    if char == "_":
        after = masked[at:].lstrip("_")[:1]
        return bool(after) and (is_cased(after) or is_uncased_letter(after))
    if is_cased(char):
        return not is_uncased_letter(before) and not differs_in_script(before, char)
    return unicodedata.category(char).startswith("M")


def _may_end_path(masked: str, at: int) -> bool:
    """Return whether a path may end at an offset, by the characters around it."""
    if at == len(masked):
        return True
    char, after = masked[at], masked[at + 1 : at + 2]
    if char == QUOTED_CHAR or _is_inside_word(masked, at):
        return False
    if char in ".-":
        return not after or not is_cased(after)
    if char == "/":
        return after == "@"
    if char == "\\":
        return after in ("", "n", "r", "t")
    return True


def _may_end_symbol(masked: str, at: int) -> bool:
    """Return whether the name of a symbol may end at an offset: nothing behind it may belong to the name."""
    if at == len(masked):
        return True
    before, char, after = masked[at - 1], masked[at], masked[at + 1 : at + 2]
    if char == QUOTED_CHAR or _is_inside_word(masked, at) or continues_name(masked, at):
        return False
    if char not in _OPERATORS:
        return char != "." or not is_cased(masked[at:].lstrip(".")[:1] or " ")
    if before in _OPERATORS or char == "=":
        return False
    return not after or not is_cased(after) or char in "<>"
