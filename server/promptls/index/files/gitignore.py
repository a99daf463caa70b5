r"""Ignore files: what `.gitignore` lines mean, to the byte as git reads them.

Follows gitignore(5) and, where that is silent, what git does: names are compared as bytes ("?" is one
byte), "[!a]" never takes a slash, an unfinished class or a lone backslash at the end matches nothing, only
spaces are cut at the end of a line.  Compared with git itself by a property test.
Matches one name at a time: that nothing below an ignored folder is looked at is the caller's part.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

_SPECIAL = re.compile(rb"[*?\[\\]")
_POSIX: dict[str, Callable[[int], bool]] = {
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
_CLASSES = {name.encode(): frozenset(c for c in range(128) if test(c)) for name, test in _POSIX.items()}

_STAR, _DEEP, _DEEPER, _REST = "*", "**/", "**\\/", "**"  # tokens that are not of fixed length
_Token = bytes | str  # a regular expression for one byte, or one of the above


class Rule(Struct, frozen=True, gc=False):
    """One line of an ignore file."""

    text: str  # as it stands there, without spaces at the end
    line: int  # 1-based
    negated: bool  # it begins with "!"


class _Table(Struct, frozen=True):
    """Patterns arranged for look-up; values are indices of rules, the highest that matches wins."""

    names: dict[bytes, int]  # a name without wildcards, anywhere
    endings: dict[bytes, int]  # "*.pyc"
    ends: tuple[bytes, ...]
    paths: dict[bytes, int]  # an anchored path without wildcards
    wild_name: re.Pattern[bytes] | None  # alternatives, last rule first
    wild_path: re.Pattern[bytes] | None
    groups: dict[int, int]  # group number → rule, for names as they are, for paths negative

    def best(self, name: bytes, path: bytes) -> int:
        best = self.names.get(name, -1)
        if self.ends and name.endswith(self.ends):
            best = max(best, *(i for end, i in self.endings.items() if name.endswith(end)))
        if self.paths:
            best = max(best, self.paths.get(path, -1))
        if self.wild_name is not None and (hit := self.wild_name.fullmatch(name)):
            best = max(best, self.groups[hit.lastindex or 0])
        if self.wild_path is not None and (hit := self.wild_path.fullmatch(path)):
            best = max(best, self.groups[-(hit.lastindex or 0)])
        return best


class Rules(Struct, frozen=True):
    """The rules of one ignore file."""

    file: str  # absolute path, or "built-in"
    rules: tuple[Rule, ...]
    negates: bool  # has a rule with "!"
    _fold: bool
    _files: _Table
    _folders: _Table

    def match(self, name: bytes, path: bytes, folder: bool) -> Rule | None:
        """The last rule that names this file or folder.

        `name`: its last component; `path`: relative to the folder that the rules apply to.
        """
        if self._fold:
            name, path = name.lower(), path.lower()
        index = (self._folders if folder else self._files).best(name, path)
        return self.rules[index] if index >= 0 else None


def parse(data: bytes, file: str, fold: bool = False) -> Rules | None:
    """The rules of an ignore file's bytes, None if it has none; `fold`: ASCII letters match in either case."""
    rules: list[Rule] = []
    patterns: list[tuple[bytes, bool]] = []
    for number, line in _lines(data):
        negated = line.startswith(b"!")
        pattern = line[1:] if negated else line
        only_folders = pattern.endswith(b"/")
        rules.append(Rule(line.decode("utf-8", "replace"), number, negated))
        patterns.append((pattern[:-1] if only_folders else pattern, only_folders))
    if not rules:
        return None
    return Rules(
        file,
        tuple(rules),
        any(r.negated for r in rules),
        fold,
        _table([None if only_folders else p for p, only_folders in patterns], fold),
        _table([p for p, _ in patterns], fold),
    )


def matching(names: Iterable[str], globs: Iterable[str]) -> list[str]:
    """Those of the names (relative, with slashes) that these patterns pick, written as in an ignore file."""
    rules = parse("\n".join(globs).encode("utf-8", "surrogateescape"), "globs")
    return [name for name in names if rules is not None and picked(rules, os.fsencode(name))]


def picked(rules: Rules, name: bytes, folder: bool = False) -> bool:
    """Whether the last rule for the name, or for the nearest folder around it that has one, picks it."""
    path = name
    while path:
        rule = rules.match(path.rsplit(b"/", 1)[-1], path, folder)
        if rule is not None:
            return not rule.negated
        path, folder = path.rpartition(b"/")[0], True
    return False


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, pattern) of the lines that are one."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line or line.startswith(b"#"):
            continue
        line = _trimmed(line.removesuffix(b"\r").split(b"\0", 1)[0])
        if line:
            yield number, line


def _trimmed(line: bytes) -> bytes:
    """Without the spaces at the end; one after a backslash stays."""
    bare = line.rstrip(b" ")
    slashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if slashes % 2 and len(bare) < len(line) else bare


def _table(patterns: list[bytes | None], fold: bool) -> _Table:
    names: dict[bytes, int] = {}
    endings: dict[bytes, int] = {}
    paths: dict[bytes, int] = {}
    wild_names: list[tuple[int, bytes]] = []
    wild_paths: list[tuple[int, bytes]] = []
    for index, pattern in enumerate(patterns):
        if not pattern:
            continue
        if fold:
            pattern = _lower(pattern)
        if b"/" in pattern:
            pattern = pattern.removeprefix(b"/")
            if not _SPECIAL.search(pattern):
                paths[pattern] = index
            elif (regex := _path_regex(pattern, f"r{index}", fold)) is not None:
                wild_paths.append((index, regex))
        elif not _SPECIAL.search(pattern):
            names[pattern] = index
        elif pattern.startswith(b"*") and not _SPECIAL.search(pattern, 1):
            endings[pattern[1:]] = index
        elif (tokens := _tokens(pattern, False, fold)) is not None:
            wild_names.append((index, _stars(tokens, f"r{index}")))
    groups: dict[int, int] = {}
    name_regex = _alternatives(wild_names, groups, 1)
    path_regex = _alternatives(wild_paths, groups, -1)
    return _Table(names, endings, tuple(endings), paths, name_regex, path_regex, groups)


def _alternatives(regexes: list[tuple[int, bytes]], groups: dict[int, int], sign: int) -> re.Pattern[bytes] | None:
    """One expression of which `lastindex` tells the last rule that matches (an outer group is closed last)."""
    if not regexes:
        return None
    number = 1
    for index, regex in reversed(regexes):
        groups[sign * number] = index
        number += 1 + regex.count(b"(?P<")
    return re.compile(b"|".join(b"(" + regex + b")" for _, regex in reversed(regexes)), re.DOTALL)


def _path_regex(pattern: bytes, tag: str, fold: bool) -> bytes | None:
    """An anchored pattern as a regular expression, None if it can match nothing.

    git compares what stands before the first wildcard as it is and starts anew after it: the "**" of
    "a**/b" counts as leading.
    """
    special = _SPECIAL.search(pattern)
    start = special.start() if special else len(pattern)
    tokens = _tokens(pattern[start:], True, fold)
    if tokens is None:
        return None
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token in (_DEEP, _DEEPER):
            parts.append([token])
        else:
            parts[-1].append(token)
    out = [re.escape(pattern[:start]), _stars(parts[0], tag)]
    for number, (deep, *rest) in enumerate(parts[1:], 1):
        body = _stars(rest, f"{tag}d{number}")
        skip = b"(?:.*?/)??" if deep == _DEEP else b".*?/"
        # Whatever follows can begin anywhere, so the first fit is as good as any: it is not taken back.
        out.append(_once(skip + body, f"{tag}d{number}") if number < len(parts) - 1 else skip + body)
    return b"".join(out)


def _stars(tokens: list[_Token], tag: str) -> bytes:
    """Tokens between two "**/" as a regular expression in which no "*" but the last is ever taken back."""
    pieces: list[list[_Token]] = [[]]
    for token in tokens:
        if token == _STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)
    out = [_fixed(pieces[0])]
    for i, piece in enumerate(pieces[1:], 1):
        body = b"[^/]*?" + _fixed(piece)
        out.append(_once(body, f"{tag}s{i}") if i < len(pieces) - 1 else body)
    return b"".join(out)


def _fixed(tokens: list[_Token]) -> bytes:
    return b"".join(token if isinstance(token, bytes) else b".*" for token in tokens)  # the only other one is _REST


def _once(regex: bytes, name: str) -> bytes:
    """An atomic group: Python has them from 3.11 on; a look-ahead and a back reference do the same."""
    return b"(?=(?P<%b>%b))(?P=%b)" % (name.encode(), regex, name.encode())


def _tokens(pattern: bytes, path: bool, fold: bool) -> list[_Token] | None:
    """The pattern token by token, None if it can match nothing."""
    out: list[_Token] = []
    i, end = 0, len(pattern)
    while i < end:
        char = pattern[i : i + 1]
        if char == b"\\":
            if i + 1 == end:
                return None
            out.append(re.escape(pattern[i + 1 : i + 2]))
            i += 2
        elif char == b"?":
            out.append(b"[^/]")
            i += 1
        elif char == b"[":
            got = _class(pattern, i + 1, fold)
            if got is None:
                return None
            out.append(got[0])
            i = got[1]
        elif char == b"*":
            start = i
            while pattern[i : i + 1] == b"*":
                i += 1
            deep = path and i - start > 1 and (start == 0 or pattern[start - 1 : start] == b"/")
            if deep and i == end:
                out.append(_REST)
            elif deep and pattern[i : i + 1] == b"/":
                out.append(_DEEP)
                i += 1
            elif deep and pattern[i : i + 2] == b"\\/":
                out.append(_DEEPER)
                i += 2
            else:
                out.append(_STAR)
        else:
            out.append(re.escape(char))
            i += 1
    return out


def _class(pattern: bytes, i: int, fold: bool) -> tuple[bytes, int] | None:
    """(regular expression, index after it) of the class whose "[" stands before `i`, None if it is malformed."""
    end = len(pattern)
    inverted = pattern[i : i + 1] in (b"!", b"^")
    i += inverted
    members: set[int] = set()
    before = -1  # the character that a range could begin with
    first = True
    while True:
        if i >= end:
            return None
        char = pattern[i]
        if char == 0x5D and not first:  # "]" closes, but not as the first character
            break
        first = False
        if char == 0x2D and before >= 0 and i + 1 < end and pattern[i + 1] != 0x5D:  # "-"
            i += 1
            if pattern[i] == 0x5C:
                i += 1
                if i >= end:
                    return None
            span = range(before, pattern[i] + 1)
            members.update(span)
            if fold:
                members.update(c + 32 for c in span if 65 <= c <= 90)
            before = -1
        elif char == 0x5B and pattern[i + 1 : i + 2] == b":":  # "[:"
            close = pattern.find(b"]", i + 2)
            if close < 0:
                return None
            if close > i + 2 and pattern[close - 1] == 0x3A:
                named = _CLASSES.get(pattern[i + 2 : close - 1])
                if named is None:
                    return None
                members |= named
                if fold and pattern[i + 2 : close - 1] == b"upper":
                    members |= _CLASSES[b"lower"]
                before, i = -1, close
            else:  # no ":]": a "[" like any other character
                members.add(char)
                before = char
        else:
            if char == 0x5C:
                i += 1
                if i >= end:
                    return None
                char = pattern[i]
            members.add(char)
            before = char
        i += 1
    taken = (set(range(256)) - members if inverted else members) - {0x2F}
    if not taken:
        return b"(?!)", i + 1
    return b"[" + b"".join(b"\\x%02x" % c for c in sorted(taken)) + b"]", i + 1


def _lower(pattern: bytes) -> bytes:
    """Small letters, but not in classes and after a backslash: there git leaves them, and they match nothing."""
    out, i = bytearray(), 0
    while i < len(pattern):
        if pattern[i] == 0x5B:
            got = _class(pattern, i + 1, False)
            if got is None:
                return pattern  # it matches nothing anyway
            out += pattern[i : got[1]]
            i = got[1]
            continue
        step = 2 if pattern[i] == 0x5C else 1
        out += pattern[i : i + step] if step == 2 else pattern[i : i + 1].lower()
        i += step
    return bytes(out)
