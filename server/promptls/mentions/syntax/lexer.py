"""Lexer for mentions: finds the "@…" tokens of a message, below the grammar.

`scan_mentions` takes time linear in the length of the text: each "@" outside of code reads at most `MAX_LENGTH`
characters.  `read_token` reads as far as any mention could extend, and resolves quotes and escapes.  `default_length`
is the part of a token that is a mention if nothing is known of the workspace.  Independent of kinds, paths and files.

In scripts with letter case (Latin, Greek, Cyrillic, …) words are separated by spaces, and e-mail addresses and handles
are written in them.  A mention neither starts nor ends inside of such a word.  Other scripts have no spaces between
words (Chinese, Japanese, Thai), or attach particles to a word (Korean, Arabic, Hebrew).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct

from promptls.languages import FILE_EXTENSIONS
from promptls.mentions.syntax.code_ranges import CodeRanges, code_ranges
from promptls.model import Mention
from promptls.util.cancellation import check_cancelled

_JOINERS = "\u200c\u200d"
"""Invisible characters inside of words and emoji, which are therefore a part of file names."""

_CASED = frozenset(("Lu", "Ll", "Lt", "Nl"))


@lru_cache(maxsize=1 << 12)
def is_cased(char: str) -> bool:
    """Return whether a character belongs to a word of a script with letter case: a letter, a digit or "_"."""
    return char == "_" or char.isdecimal() or unicodedata.category(char) in _CASED


@lru_cache(maxsize=1 << 12)
def is_uncased_letter(char: str) -> bool:
    """Return whether a character is a letter of a script without letter case, or a mark that belongs to a letter."""
    return unicodedata.category(char) in ("Lo", "Lm", "Mn", "Mc")


@lru_cache(maxsize=1 << 12)
def is_invisible(char: str) -> bool:
    """Return whether a character is an invisible format character, such as U+200F or U+2060."""
    return unicodedata.category(char) == "Cf" and char not in _JOINERS


def is_symbol(char: str) -> bool:
    """Return whether a character is neither a letter nor ASCII: punctuation, a symbol or invisible."""
    return not char.isascii() and not is_cased(char) and not is_uncased_letter(char)


@lru_cache(maxsize=1 << 12)
def differs_in_script(first: str, second: str) -> bool:
    """Return whether two characters are letters of different scripts, such as Latin and Cyrillic."""
    if not (first.isalpha() and second.isalpha()):
        return False
    return unicodedata.name(first, "").split()[:1] != unicodedata.name(second, "").split()[:1]


def ends_in_cased_word(text: str, end: int) -> bool:
    """Return whether the character before an offset belongs to a word of a script with letter case."""
    while end and unicodedata.category(text[end - 1]).startswith("M"):
        end -= 1  # an accent belongs to the letter before it
    return end > 0 and is_cased(text[end - 1])


# ---------------------------------------------------------------- tokens: the characters behind one "@"

MAX_LENGTH = 250
"""Maximum number of characters of a mention; a longer run is data, such as a URL or base64."""

MAX_INNER_SIGNS = 4
"""Maximum number of "@" inside of a token: bounds how often a character is read again."""

MAX_GROUP = 60
"""Maximum number of characters in brackets inside of a qualified name: bounds the time for nested brackets."""

QUOTED_CHAR = "\0"
"""Replaces quoted and escaped characters in `MentionToken.masked`, which have no syntactic meaning."""

SIGNS = "@\uff20"
"""Characters that start a mention: "@", and its full-width form, which input methods for Chinese and Japanese produce."""

TOOL_PREFIXES = ("#file:", "#folder:", "#sym:", "#symbol:")
"""Starts of a mention in the syntax of other tools; they count only where a path or a symbol of the workspace follows."""

_STARTERS = frozenset("([{,;:!?\"'`<>|*")
"""ASCII characters allowed directly before the "@", besides white space and the start of the text."""

_WEAK_STARTERS = frozenset("._#+-=~&)]}/")
"""ASCII characters before an "@" that are common in code, where only a path or a symbol is a mention."""

_ENDERS = frozenset(
    "\"'`<>|,;" + "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb" + "（）［］｛｝「」『』《》〈〉【】、，。；：！？"
)
"""Characters that end a mention unless quoted or escaped, besides white space."""

_TRAILING = ".:!?#\u2026"
"""Punctuation that closes a sentence; closing brackets and quotes are never in a mention without the opening one."""

_ESCAPABLE = frozenset(" \t\u00a0\"'\\#:,;")
r"""Characters that a backslash makes literal; before any other character it separates folders: src\a.py."""

_QUOTES = {'"': '"', "'": "'"}
_OUTER_QUOTES = {
    "\u201c": "\u201d",
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "「": "」",
    "『": "』",
    "`": "`",
    "<": ">",
    "[": "]",
}
"""Other opening quotes → closing quotes: only around a whole path or symbol, and not if the brackets are a part of it."""

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_GROUPS = {"(": ")", "[": "]", "<": ">"}
_BEFORE_BRACKET = {"(": "/)", "[": "/.-_[", "{": "/.-_{*?},"}
"""Characters before a bracket that is part of a name: app/(group)/page.tsx, [...slug].ts, {{name}}/x.py, *.{ts,tsx}."""

_NEXT_NAME = re.compile(r"(?:::|->|\?\.|[.#\\:/])[^\W\d]|(?:::|->|[.#])[~$!]?[^\W\d]|::<")
"""Separator and start of the next name in a qualified name."""

_EXTENSION = re.compile(r"\.(c\+\+|[A-Za-z][A-Za-z0-9]*)")


class MentionToken(Struct, frozen=True):
    """Characters of one possible mention, without the "@"."""

    start: int  # offset of the "@"
    end: int  # offset after the last character
    value: str  # without quotes and escapes
    masked: str  # same length as `value`; QUOTED_CHAR for literal characters
    ends: tuple[int, ...] = ()  # offset after each character of `value`
    quote: str = ""  # quote that is still open at the end of the text, in a mention being typed
    weak: bool = False  # the character before it is common in code
    emphasis: str = ""  # "*" or "_" before it, which also closes it in Markdown
    clipped: bool = False  # there are more characters behind it

    def cut(self, length: int) -> MentionToken:
        """Return the token with only its first characters."""
        if length == len(self.value):
            return self
        end = self.ends[length - 1] if length else self.start + 1
        return MentionToken(
            self.start, end, self.value[:length], self.masked[:length], self.ends[:length], "", self.weak, self.emphasis
        )


def starts_mention(text: str, at: int, begin: int = 0) -> bool:
    """Return whether the "@" at this offset may start a mention: not within an e-mail address, a path or a URL.

    `begin` is the start of the text, or the end of the last mention.
    """
    if at <= begin:
        return True
    before = text[at - 1]
    if before.isascii():
        if before.isspace() or before in _STARTERS:
            return before != ":" or not _is_url(text, at, begin)
        return before in _WEAK_STARTERS and not _is_path(text, at, begin)
    return not ends_in_cased_word(text, at)


def _is_url(text: str, at: int, begin: int) -> bool:
    """Return whether the colon before an "@" ends the user of a URL: "https://user:@host"."""
    return "://" in text[max(begin, at - MAX_LENGTH) : at].rsplit(None, 1)[-1]


def _is_path(text: str, at: int, begin: int) -> bool:
    """Return whether an "@" is inside of a path or URL: there is a word before the slash in front of it."""
    if text[at - 1] != "/":
        return False
    run = text[max(begin, at - MAX_LENGTH) : at].split()[-1]
    return any(char.isalnum() or char in ".~" for char in run)


def read_token(text: str, at: int, stop: int, *, typing: bool = False) -> MentionToken:
    """Return the longest token behind the sign at `at`: up to white space that is neither quoted nor escaped.

    White space inside of brackets belongs to a symbol: "@#Map<K, V>::get".

    Args:
        text: The message.
        at: Offset of the sign, or of one of `TOOL_PREFIXES`.
        stop: End of the range to read.
        typing: Whether an unclosed quote is accepted, as in a mention being typed.
    """
    value: list[str] = []
    masked: list[str] = []
    ends: list[int] = []
    i = start = at + 1
    stop = min(stop, len(text))
    limit = min(stop, at + MAX_LENGTH + 1)
    signs = depth = 0
    weak = at > 0 and text[at - 1] in _WEAK_STARTERS
    while i < limit:
        char = text[i]
        if not masked and char in _OUTER_QUOTES:
            close, inner = _read_quoted(text, i, stop, _OUTER_QUOTES[char])
            if close < stop and _is_quoted_path(text, char, close, inner):
                ends = [close + 1] * len(inner)
                return MentionToken(at, close + 1, inner, QUOTED_CHAR * len(inner), tuple(ends), "", weak)
        elif char in _QUOTES and (not masked or masked[-1] in ":#" or masked == ["@"]):
            close, inner = _read_quoted(text, i, stop, char)
            if close == stop and typing:
                masked += QUOTED_CHAR * len(inner)
                return MentionToken(at, stop, "".join([*value, *inner]), "".join(masked), quote=char)
            if close < stop:
                value += inner
                masked += QUOTED_CHAR * len(inner)
                ends += [close + 1] * len(inner)
                i = close + 1
                if not inner or i >= stop or text[i] not in ":#/(":
                    break
                continue
            if i > start:
                break
            start = i = i + 1  # skips an unclosed quote before the whole mention
            continue
        if char == QUOTED_CHAR or char in "\n\r":
            break
        if char.isspace() and not (masked[:1] == ["#"] and depth > 0 and _closes(text, i, limit)):
            break
        if char == "\\" and i + 1 < stop and text[i + 1] in _ESCAPABLE and not _is_unc_prefix(text, i, start, stop):
            value.append(text[i + 1])
            masked.append(QUOTED_CHAR)
            i += 2
            ends.append(i)
            continue
        if char == "@" and value:
            signs += 1
            if signs > MAX_INNER_SIGNS:
                break
        depth += (char in "([<") - (char in ")]>" and masked[-1:] not in (["-"], ["="]))
        value.append(char)
        masked.append(char)
        i += 1
        ends.append(i)
    end = i if typing else ends[-1] if ends else start
    clipped = i - at > MAX_LENGTH
    emphasis = text[at - 1] if at and text[at - 1] in "*_" else ""
    return MentionToken(at, end, "".join(value), "".join(masked), tuple(ends), "", weak, emphasis, clipped)


def _is_unc_prefix(text: str, i: int, start: int, stop: int) -> bool:
    r"""Return whether the two backslashes here start a UNC path: \\server\share."""
    return i == start and text[i + 1] == "\\" and i + 2 < stop and (text[i + 2].isalnum() or text[i + 2] in "_?")


def _closes(text: str, at: int, limit: int) -> bool:
    """Return whether a bracket is closed behind white space, in the same line."""
    line_end = text.find("\n", at, limit)
    return any(text.find(bracket, at, line_end if line_end >= 0 else limit) >= 0 for bracket in ")]>")


def _is_quoted_path(text: str, quote: str, close: int, inner: str) -> bool:
    """Return whether unusual quotes are around a path or symbol: the brackets of "[slug]/page.tsx" are not."""
    after = text[close + 1 : close + 2]
    if quote == "[" and after and (after in "./-_[\\" or is_cased(after)):
        return False
    return any(char in "/.#" for char in inner.strip(".")) and (quote not in "<[" or not any(map(str.isspace, inner)))


def _read_quoted(text: str, at: int, stop: int, closing: str) -> tuple[int, str]:
    """Return the offset of the closing quote and the quoted text.

    Without a closing quote the offset is `stop` at the end of the text, and greater at the end of the line.
    """
    inner: list[str] = []
    i = at + 1
    while i < stop and i - at <= MAX_LENGTH:
        char = text[i]
        if char in "\n\r":
            break
        if char in closing:
            return i, "".join(inner)
        if char == "\\" and i + 1 < stop and (text[i + 1] in closing or text[i + 1] == "\\"):
            i += 1
            char = text[i]
        inner.append(char)
        i += 1
    return (stop if i == stop else stop + 1), "".join(inner)


def default_length(token: MentionToken, *, typing: bool = False) -> int:
    """Return the number of characters that are a mention if nothing is known of the workspace.

    Args:
        token: The token.
        typing: Whether the token is being typed: nothing is trimmed, because "@src/a." is an incomplete name.
    """
    masked = token.masked
    is_symbol_name = masked.startswith(("#", "symbol:"))
    open_brackets: list[tuple[int, str]] = []
    i = 0
    while i < len(masked):
        char = masked[i]
        if is_symbol_name and (end := _qualifier_end(masked, i)):
            i = end
            continue
        if char.isspace() or is_invisible(char):
            break
        if char in _ENDERS and not (char == "," and open_brackets and open_brackets[-1][1] == "}"):
            break
        if char == "@" and i and starts_mention(masked, i):
            break
        if char in _BRACKETS:
            before = masked[i - 1] if i else "/" if typing or char != "(" else ""
            if not before or before not in _BEFORE_BRACKET[char]:
                break
            open_brackets.append((i, _BRACKETS[char]))
        elif char in ")]}":
            if not open_brackets or open_brackets[-1][1] != char:
                break
            open_brackets.pop()
        i += 1
    if typing:
        return i
    if open_brackets:
        i = open_brackets[0][0]
    return trimmed_length(token, i if is_symbol_name else _file_end(masked[:i], masked))


def trimmed_length(token: MentionToken, length: int) -> int:
    """Return the length without the punctuation of the surrounding sentence."""
    masked = token.masked[:length]
    kept = masked.rstrip(_TRAILING + token.emphasis)
    # "@server:" names a root; a colon after anything else ends a clause.
    if masked[len(kept) :].startswith(":") and kept and not set(kept) & set("/\\.:#@" + QUOTED_CHAR):
        return len(kept) + 1
    return len(kept)


def continues_name(masked: str, at: int) -> bool:
    """Return whether the name of a symbol goes on at an offset: brackets and a separator, or just a separator."""
    while at < len(masked) and masked[at] in _GROUPS:
        end = group_end(masked, at)
        if end < 0:
            return False
        at = end
    return _NEXT_NAME.match(masked, at) is not None


def group_end(masked: str, at: int) -> int:
    """Return the offset behind the bracket that closes the one at an offset, -1 if there is none.  The arrow "->" does not count."""
    closing: list[str] = []
    for i in range(at, min(len(masked), at + MAX_GROUP)):
        char = masked[i]
        if char in _GROUPS:
            closing.append(_GROUPS[char])
        elif char in ")]>" and masked[i - 1] not in "-=":
            if closing.pop() != char:
                return -1
            if not closing:
                return i + 1
    return -1


def _qualifier_end(masked: str, at: int) -> int:
    """Return the end of the brackets or arrow inside of a qualified name: "<T>" in "Stack<T>::push"; 0 for none."""
    if masked.startswith("->", at) and _NEXT_NAME.match(masked, at):
        return at + 2
    if masked[at] not in _GROUPS:
        return 0
    end = group_end(masked, at)
    return end if end > 0 and continues_name(masked, end) else 0


def _file_end(part: str, masked: str) -> int:
    """Return the end of a file name with a known extension that text follows without a space."""
    for match in _EXTENSION.finditer(part):
        end = match.end()
        if match.group(1).lower() not in FILE_EXTENSIONS or end >= len(masked):
            continue
        after, next_after = masked[end], masked[end + 1 : end + 2]
        if is_uncased_letter(after) or is_symbol(after) or differs_in_script(masked[end - 1], after):
            return end
        if after in "+=&%$~":
            return end
        if after in "-_" and not is_cased(next_after or " ") and not is_uncased_letter(next_after or " "):
            return end
        if after == "@" and not next_after.isdigit():
            return end
    return len(part)


# ---------------------------------------------------------------- scanning

_SIGN = re.compile(f"[{SIGNS}]")
_START = re.compile(rf"{_SIGN.pattern}|(?<![\w#{SIGNS}/])(?:{'|'.join(TOOL_PREFIXES)})")


MAX_MENTIONS, MAX_CANDIDATES = 500, 5_000
"""Maximum number of mentions that are read in a message, and of signs that may start one."""


def scan_mentions(text: str, code: CodeRanges, mention_at: Callable[[int], Mention | None]) -> Iterator[Mention]:
    """Yield the mentions of a text from left to right.

    `mention_at` returns the mention whose sign is at an offset, None if it is text.  The characters behind a mention
    are scanned again.  Only the first `MAX_MENTIONS` are read: what follows is a pasted text.
    """
    start = _START.search(text)
    end = 0  # of the last mention
    candidates = mentions = 0
    while start is not None and mentions < MAX_MENTIONS and candidates < MAX_CANDIDATES:
        check_cancelled()
        at = start.end()
        if starts_mention(text, start.start(), end) and not code.contains(start.start()):
            candidates += 1
            mention = mention_at(start.start())
            if mention is not None:
                mentions += 1
                yield mention
                at = end = mention.end
        start = _START.search(text, at)


def token_at_end(text: str) -> MentionToken | None:
    """Return the mention being typed at the end of the text, or None.

    Nothing is trimmed, because "@src/a." is an incomplete name.  A quote may be open.
    """
    stop = len(text)
    line = max(text.rfind("\n") + 1, text.rfind("\r") + 1, stop - MAX_LENGTH)
    sign = _SIGN.search(text, line)
    code = code_ranges(text) if sign is not None else CodeRanges()
    while sign is not None:
        at = sign.start()
        if starts_mention(text, at) and not code.contains(at):
            token = read_token(text, at, stop, typing=True)
            if token.quote or default_length(token, typing=True) == len(token.value):
                if token.end == stop:
                    return token
                at = max(at, token.end - 1)
        sign = _SIGN.search(text, at + 1)
    return None
