r"""Matcher for ignore files, compatible with git byte for byte and linear-time on hostile patterns.

Follows gitignore(5), and git's behavior where the manual does not define it.  Names are compared as bytes ("?" is one
byte), "[!a]" never matches a slash, an unfinished class or a lone backslash at the end matches nothing, and only spaces
are stripped from the end of a line.  A property test compares it with git.  Linear time is the reason not to use the
library pathspec, which needs seconds for a rule with many "*".
The matcher decides one name at a time; the caller must not descend into ignored folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from promptls.util.cancellation import check_each

if TYPE_CHECKING:
    import re2

_SPECIAL = re.compile(rb"[*?\[\\]")
_NOTHING = rb"[^\x00-\xff]"
"""An expression that matches nothing, for `re` and for RE2."""
_POSIX_TESTS: dict[str, Callable[[int], bool]] = {
    "alnum": lambda c: chr(c).isalnum(),
    "alpha": lambda c: chr(c).isalpha(),
    "blank": lambda c: c in b" \t",
    "cntrl": lambda c: c < 32 or c == 127,
    "digit": lambda c: 48 <= c <= 57,
    "graph": lambda c: 33 <= c <= 126,
    "lower": lambda c: 97 <= c <= 122,
    "print": lambda c: 32 <= c <= 126,
    "punct": lambda c: 33 <= c <= 126 and not chr(c).isalnum(),
    "space": lambda c: c in b" \t\n\r\v\f",
    "upper": lambda c: 65 <= c <= 90,
    "xdigit": lambda c: c in b"0123456789abcdefABCDEF",
}
_POSIX_CLASSES = {name.encode(): frozenset(c for c in range(128) if test(c)) for name, test in _POSIX_TESTS.items()}

_STAR, _DOUBLE_STAR_SLASH, _DOUBLE_STAR_ESCAPED_SLASH, _DOUBLE_STAR = (
    "*",
    "**/",
    "**\\/",
    "**",
)  # tokens of variable length
_Token = bytes | str  # a regular expression for one byte, or one of the above


class IgnoreRule(Struct, frozen=True, gc=False):
    """Line of an ignore file."""

    text: str  # without trailing spaces
    line: int  # 1-based
    negated: bool  # it begins with "!"


class _PatternTable(Struct, frozen=True):
    """Patterns indexed for lookup; values are indices of rules, and the highest matching index wins."""

    names: dict[bytes, int]  # a name without wildcards, anywhere
    suffix_rules: dict[bytes, int]  # "*.pyc"
    suffixes: tuple[bytes, ...]
    paths: dict[bytes, int]  # an anchored path without wildcards
    name_regex: re.Pattern[bytes] | None  # alternatives, the last rule first
    path_regex: re.Pattern[bytes] | None
    rule_of_group: dict[int, int]  # group number → rule; group numbers of paths are negative

    def last_match(self, name: bytes, path: bytes) -> int:
        best = self.names.get(name, -1)
        if self.suffixes and name.endswith(self.suffixes):
            best = max(best, *(i for end, i in self.suffix_rules.items() if name.endswith(end)))
        if self.paths:
            best = max(best, self.paths.get(path, -1))
        if self.name_regex is not None and (match := self.name_regex.fullmatch(name)):
            best = max(best, self.rule_of_group[match.lastindex or 0])
        if self.path_regex is not None and (match := self.path_regex.fullmatch(path)):
            best = max(best, self.rule_of_group[-(match.lastindex or 0)])
        return best


class IgnoreRules(Struct, frozen=True):
    """Rules of one ignore file."""

    file: str  # absolute path, or "built-in"
    rules: tuple[IgnoreRule, ...]
    has_negation: bool  # has a rule with "!"
    _ignore_case: bool
    _file_patterns: _PatternTable
    _folder_patterns: _PatternTable

    def match(self, name: bytes, path: bytes, is_folder: bool) -> IgnoreRule | None:
        """Return the last rule that matches a file or folder.

        `name` is the last component of `path`, which is relative to the folder of the ignore file.
        """
        if self._ignore_case:
            name, path = name.lower(), path.lower()
        index = (self._folder_patterns if is_folder else self._file_patterns).last_match(name, path)
        return self.rules[index] if index >= 0 else None


def parse_rules(data: bytes, file: str, ignore_case: bool = False) -> IgnoreRules | None:
    """Parse an ignore file; return None if it has no rules.  `ignore_case` affects ASCII letters only."""
    rules: list[IgnoreRule] = []
    patterns: list[tuple[bytes, bool]] = []
    for number, line in _pattern_lines(data):
        negated = line.startswith(b"!")
        pattern = line[1:] if negated else line
        only_folders = pattern.endswith(b"/")
        rules.append(IgnoreRule(line.decode("utf-8", "replace"), number, negated))
        patterns.append((pattern[:-1] if only_folders else pattern, only_folders))
    if not rules:
        return None
    return IgnoreRules(
        file,
        tuple(rules),
        any(r.negated for r in rules),
        ignore_case,
        _build_table([None if only_folders else p for p, only_folders in patterns], ignore_case),
        _build_table([p for p, _ in patterns], ignore_case),
    )


def match_globs(names: Iterable[str], globs: Iterable[str]) -> list[str]:
    """Return the names (relative, with slashes) that match patterns with the syntax of an ignore file.

    Raises:
        Cancelled: The request is cancelled.
    """
    data = "\n".join(globs).encode("utf-8", "surrogateescape")
    rules = parse_rules(data, "globs")
    if rules is None:
        return []
    matcher = None if rules.has_negation else _compile_globs([line for _, line in _pattern_lines(data)])
    if matcher is None:
        return [name for name in check_each(names) if is_match(rules, os.fsencode(name))]
    return [name for name in check_each(names) if matcher.fullmatch(os.fsencode(name))]


def _compile_globs(globs: list[bytes]) -> re2._Regexp | None:
    """Combine globs into one automaton, whose time does not depend on their number; return None if it is too large."""
    import re2  # an extension module that most processes never need

    regexes: list[bytes] = []
    for glob in globs:
        pattern = glob.removesuffix(b"/")
        if b"/" in pattern:
            regex = _path_regex(pattern.removeprefix(b"/"), "", False)
        else:
            tokens = _tokenize_pattern(pattern, False, False)
            regex = None if tokens is None else b"(?:.*/)?" + _segment_regex(tokens, "")
        if regex is not None and pattern:
            regexes.append(regex + (b"/.*" if glob.endswith(b"/") else b"(?:/.*)?"))
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    try:
        return re2.compile(b"(?s)" + (b"|".join(regexes) or _NOTHING), options)
    except re2.error:
        return None


def is_match(rules: IgnoreRules, name: bytes, is_folder: bool = False) -> bool:
    """Return whether a name matches, by the last rule for it or for its nearest parent folder with a rule."""
    path = name
    while path:
        rule = rules.match(path.rsplit(b"/", 1)[-1], path, is_folder)
        if rule is not None:
            return not rule.negated
        path, is_folder = path.rpartition(b"/")[0], True
    return False


def _pattern_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, pattern) for the lines with a pattern."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line or line.startswith(b"#"):
            continue
        line = _strip_trailing_spaces(line.removesuffix(b"\r").split(b"\0", 1)[0])
        if line:
            yield number, line


def _strip_trailing_spaces(line: bytes) -> bytes:
    """Strip trailing spaces, except one after a backslash."""
    stripped = line.rstrip(b" ")
    slashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if slashes % 2 and len(stripped) < len(line) else stripped


def _build_table(patterns: list[bytes | None], ignore_case: bool) -> _PatternTable:
    names: dict[bytes, int] = {}
    suffixes: dict[bytes, int] = {}
    paths: dict[bytes, int] = {}
    wild_names: list[tuple[int, bytes]] = []
    wild_paths: list[tuple[int, bytes]] = []
    for index, pattern in enumerate(patterns):
        if not pattern:
            continue
        if ignore_case:
            pattern = _lower_pattern(pattern)
        if b"/" in pattern:
            pattern = pattern.removeprefix(b"/")
            if not _SPECIAL.search(pattern):
                paths[pattern] = index
            elif (regex := _path_regex(pattern, f"r{index}", ignore_case)) is not None:
                wild_paths.append((index, regex))
        elif not _SPECIAL.search(pattern):
            names[pattern] = index
        elif pattern.startswith(b"*") and not _SPECIAL.search(pattern, 1):
            suffixes[pattern[1:]] = index
        elif (tokens := _tokenize_pattern(pattern, False, ignore_case)) is not None:
            wild_names.append((index, _segment_regex(tokens, f"r{index}")))
    groups: dict[int, int] = {}
    name_regex = _compile_alternatives(wild_names, groups, 1)
    path_regex = _compile_alternatives(wild_paths, groups, -1)
    return _PatternTable(names, suffixes, tuple(suffixes), paths, name_regex, path_regex, groups)


def _compile_alternatives(
    regexes: list[tuple[int, bytes]], groups: dict[int, int], sign: int
) -> re.Pattern[bytes] | None:
    """Combine expressions into one, whose `lastindex` identifies the matching rule (outer groups close last)."""
    if not regexes:
        return None
    number = 1
    for index, regex in reversed(regexes):
        groups[sign * number] = index
        number += 1 + regex.count(b"(?P<")
    return re.compile(b"|".join(b"(" + regex + b")" for _, regex in reversed(regexes)), re.DOTALL)


def _path_regex(pattern: bytes, tag: str, ignore_case: bool) -> bytes | None:
    """Convert an anchored pattern to a regular expression; return None if it cannot match.

    git compares the part before the first wildcard literally, and treats the rest as a new pattern: the "**" in "a**/b"
    counts as leading.
    """
    special = _SPECIAL.search(pattern)
    start = special.start() if special else len(pattern)
    tokens = _tokenize_pattern(pattern[start:], True, ignore_case)
    if tokens is None:
        return None
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token in (_DOUBLE_STAR_SLASH, _DOUBLE_STAR_ESCAPED_SLASH):
            parts.append([token])
        else:
            parts[-1].append(token)
    regex = [re.escape(pattern[:start]), _segment_regex(parts[0], tag)]
    for number, (separator, *rest) in enumerate(parts[1:], 1):
        body = _segment_regex(rest, tag and f"{tag}d{number}")
        skip = b"(?:.*?/)??" if separator == _DOUBLE_STAR_SLASH else b".*?/"
        # The rest can start anywhere, so the first match is as good as any, and backtracking is unnecessary.
        regex.append(_atomic_group(skip + body, tag and f"{tag}d{number}") if number < len(parts) - 1 else skip + body)
    return b"".join(regex)


def _segment_regex(tokens: list[_Token], tag: str) -> bytes:
    """Convert the tokens between two "**/" to a regular expression that backtracks only into its last "*"."""
    pieces: list[list[_Token]] = [[]]
    for token in tokens:
        if token == _STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)
    regex = [_literal_regex(pieces[0])]
    for i, literal in enumerate(pieces[1:], 1):
        body = b"[^/]*?" + _literal_regex(literal)
        regex.append(_atomic_group(body, tag and f"{tag}s{i}") if i < len(pieces) - 1 else body)
    return b"".join(regex)


def _literal_regex(tokens: list[_Token]) -> bytes:
    # The only other token here is _DOUBLE_STAR.
    return b"".join(token if isinstance(token, bytes) else b".*" for token in tokens)


def _atomic_group(regex: bytes, name: str) -> bytes:
    """Return an atomic group, written as a lookahead and a back reference for Python before 3.11.

    Without a name it is an ordinary group: RE2 does not backtrack.
    """
    if not name:
        return b"(?:%b)" % regex
    return b"(?=(?P<%b>%b))(?P=%b)" % (name.encode(), regex, name.encode())


def _tokenize_pattern(pattern: bytes, path: bool, ignore_case: bool) -> list[_Token] | None:
    """Split a pattern into tokens; return None if it cannot match."""
    tokens: list[_Token] = []
    i, end = 0, len(pattern)
    while i < end:
        char = pattern[i : i + 1]
        if char == b"\\":
            if i + 1 == end:
                return None
            tokens.append(re.escape(pattern[i + 1 : i + 2]))
            i += 2
        elif char == b"?":
            tokens.append(b"[^/]")
            i += 1
        elif char == b"[":
            parsed_class = _parse_class(pattern, i + 1, ignore_case)
            if parsed_class is None:
                return None
            tokens.append(parsed_class[0])
            i = parsed_class[1]
        elif char == b"*":
            start = i
            while pattern[i : i + 1] == b"*":
                i += 1
            double_star = path and i - start > 1 and (start == 0 or pattern[start - 1 : start] == b"/")
            if double_star and i == end:
                tokens.append(_DOUBLE_STAR)
            elif double_star and pattern[i : i + 1] == b"/":
                tokens.append(_DOUBLE_STAR_SLASH)
                i += 1
            elif double_star and pattern[i : i + 2] == b"\\/":
                tokens.append(_DOUBLE_STAR_ESCAPED_SLASH)
                i += 2
            else:
                tokens.append(_STAR)
        else:
            tokens.append(re.escape(char))
            i += 1
    return tokens


def _parse_class(pattern: bytes, i: int, ignore_case: bool) -> tuple[bytes, int] | None:
    """Parse the character class whose "[" precedes `i`.

    Returns (regular expression, index after the class), or None if it is malformed.
    """
    end = len(pattern)
    inverted = pattern[i : i + 1] in (b"!", b"^")
    i += inverted
    members: set[int] = set()
    range_start = -1  # the character that can start a range
    first = True
    while True:
        if i >= end:
            return None
        char = pattern[i]
        if char == 0x5D and not first:  # "]" closes, but not as the first character
            break
        first = False
        if char == 0x2D and range_start >= 0 and i + 1 < end and pattern[i + 1] != 0x5D:  # "-"
            i += 1
            if pattern[i] == 0x5C:
                i += 1
                if i >= end:
                    return None
            span = range(range_start, pattern[i] + 1)
            members.update(span)
            if ignore_case:
                members.update(c + 32 for c in span if 65 <= c <= 90)
            range_start = -1
        elif char == 0x5B and pattern[i + 1 : i + 2] == b":":  # "[:"
            close = pattern.find(b"]", i + 2)
            if close < 0:
                return None
            if close > i + 2 and pattern[close - 1] == 0x3A:
                named = _POSIX_CLASSES.get(pattern[i + 2 : close - 1])
                if named is None:
                    return None
                members |= named
                if ignore_case and pattern[i + 2 : close - 1] == b"upper":
                    members |= _POSIX_CLASSES[b"lower"]
                range_start, i = -1, close
            else:  # without ":]", "[" is an ordinary character
                members.add(char)
                range_start = char
        else:
            if char == 0x5C:
                i += 1
                if i >= end:
                    return None
                char = pattern[i]
            members.add(char)
            range_start = char
        i += 1
    allowed = (set(range(256)) - members if inverted else members) - {0x2F}
    if not allowed:
        return _NOTHING, i + 1
    return b"[" + b"".join(b"\\x%02x" % c for c in sorted(allowed)) + b"]", i + 1


def _lower_pattern(pattern: bytes) -> bytes:
    """Convert to lower case, except in classes and after a backslash; git keeps those, and they match nothing."""
    lowered, i = bytearray(), 0
    while i < len(pattern):
        if pattern[i] == 0x5B:
            parsed_class = _parse_class(pattern, i + 1, False)
            if parsed_class is None:
                return pattern  # it cannot match
            lowered += pattern[i : parsed_class[1]]
            i = parsed_class[1]
            continue
        step = 2 if pattern[i] == 0x5C else 1
        lowered += pattern[i : i + step] if step == 2 else pattern[i : i + 1].lower()
        i += step
    return bytes(lowered)
