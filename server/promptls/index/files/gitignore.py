r"""Matcher for ignore files, compatible with git byte for byte and linear-time on hostile patterns.

Follows gitignore(5), and git's behavior where the manual does not define it.  Names are compared as bytes ("?" is one
byte), "[!a]" never matches a slash, an unfinished class or a lone backslash at the end matches nothing, and only spaces
are stripped from the end of a line.  A property test compares it with git.  RE2 matches all patterns of a file in one
pass.  The library pathspec would need seconds for a rule with many "*".
The matcher decides one name at a time; the caller must not descend into ignored folders.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from promptls.util.cancellation import check_each

MAX_AUTOMATON_BYTES, MAX_AUTOMATON_RULES = 1 << 26, 1_000
"""Maximum memory of one automaton, and number of rules in it: RE2 does not search in one that is larger."""
MAX_PATTERN_BYTES = 4_096
"""Maximum size of a pattern, as long as the longest path; a longer one matches nothing."""
_SPECIAL = re.compile(rb"[*?\[\\]")
_NOTHING = rb"[^\x00-\xff]"
"""An expression that matches nothing."""
_POSIX_CLASS = re.compile(rb"\[:([^\]]*):\]")
_PRINTABLE = string.ascii_letters + string.digits + string.punctuation
_POSIX_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])),
    b"digit": string.digits,
    b"graph": _PRINTABLE,
    b"lower": string.ascii_lowercase,
    b"print": _PRINTABLE + " ",
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class IgnoreRule(Struct, frozen=True, gc=False):
    """Line of an ignore file."""

    text: str  # without trailing spaces
    line: int  # 1-based
    negated: bool  # it begins with "!"
    pattern: bytes  # without "!" and the slash at the end
    only_folders: bool  # it ends with a slash
    regex: bytes = b""  # for paths, instead of the pattern; folders end with a slash


class IgnoreRules:
    """Rules of one ignore file."""

    def __init__(self, file: str, rules: tuple[IgnoreRule, ...], ignore_case: bool) -> None:
        self.file = file  # absolute path, or "built-in"
        self.rules = rules
        self.has_negation = any(rule.negated for rule in rules)
        self._ignore_case = ignore_case

    def match(self, path: bytes, is_folder: bool) -> IgnoreRule | None:
        """Return the last rule that matches a file or folder; `path` is relative to the folder of the ignore file."""
        path = path.lower() if self._ignore_case else path
        if is_folder and self.rules[0].regex:
            path += b"/"
        for rules, patterns in self._automata:
            matching: list[int] = sorted(patterns.Match(path) or (), reverse=True)
            for i in matching:
                if is_folder or not rules[i].only_folders:
                    return rules[i]
        return None

    @cached_property
    def _automata(self) -> list[tuple[tuple[IgnoreRule, ...], Any]]:
        """Parts of the rules with an automaton of their patterns, the last part first."""
        import re2  # an extension module that most processes never need

        automata: list[tuple[tuple[IgnoreRule, ...], Any]] = []
        for start in range(0, len(self.rules), MAX_AUTOMATON_RULES):
            rules, patterns = self.rules[start : start + MAX_AUTOMATON_RULES], re2.Set.FullMatchSet(_re2_options())
            for rule in rules:
                regex = rule.regex or _pattern_regex(rule.pattern, self._ignore_case)
                patterns.Add(b"(?s)" + (_NOTHING if regex is None else regex))
            patterns.Compile()
            automata.insert(0, (rules, patterns))
        return automata


def parse_rules(data: bytes, file: str, ignore_case: bool = False) -> IgnoreRules | None:
    """Parse an ignore file; return None if it has no rules.  `ignore_case` affects ASCII letters only."""
    rules: list[IgnoreRule] = []
    for number, line in _pattern_lines(data):
        negated = line.startswith(b"!")
        pattern = line[1:] if negated else line
        text = line.decode("utf-8", "replace")
        rules.append(IgnoreRule(text, number, negated, pattern.removesuffix(b"/"), pattern.endswith(b"/")))
    return IgnoreRules(file, tuple(rules), ignore_case) if rules else None


def parse_mercurial_rules(data: bytes, file: str) -> IgnoreRules | None:
    """Parse a `.hgignore` (hgignore(5)); return None if it has no rules.  An invalid line matches nothing."""
    rules: list[IgnoreRule] = []
    syntax = b"regexp"
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        line = re.sub(rb"(?<!\\)#.*", b"", line).rstrip()
        name, colon, rest = line.partition(b":")
        if name == b"syntax" and colon:
            syntax = rest.strip()
        elif line:
            named = colon and name in (b"re", b"regexp", b"relre", b"glob", b"relglob", b"rootglob")
            regex = _mercurial_regex(rest if named else line, name if named else syntax)
            rules.append(IgnoreRule(line.decode("utf-8", "replace"), number, False, b"", False, regex))
    return IgnoreRules(file, tuple(rules), False) if rules else None


def _mercurial_regex(pattern: bytes, syntax: bytes) -> bytes:
    import re2

    if b"glob" in syntax:
        prefix = b"" if syntax == b"rootglob" else b"(?:.*/)?"
        regex = prefix + b"".join(_glob_parts(pattern)) + b"(?:/.*)?"
    else:
        regex = b".*?(?:" + pattern + b").*"
    try:
        re2.compile(b"(?s)" + regex, _re2_options())
    except re2.error:
        return _NOTHING
    return regex


def _glob_parts(pattern: bytes) -> Iterator[bytes]:
    """Yield a glob of Mercurial as parts of a regular expression."""
    depth = 0
    for part in re.findall(rb"\*\*/?|\\.|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL):
        depth += {b"{": 1, b"}": -1}.get(part, 0)
        if part.startswith(b"**"):
            yield b"(?:.*/)?" if part.endswith(b"/") else b".*"
        elif part.startswith(b"[") and len(part) > 1:
            yield part.replace(b"[!", b"[^", 1)
        elif part.startswith(b"\\"):
            yield re.escape(part[1:])
        else:
            known = {b"*": b"[^/]*", b"?": b".", b"{": b"(?:", b"}": b")", b",": b"|" if depth else b","}
            yield known.get(part) or re.escape(part)


def match_globs(names: Iterable[str], globs: Iterable[str]) -> list[str]:
    """Return the names (relative, with slashes) that match patterns with the syntax of an ignore file."""
    rules = parse_rules("\n".join(globs).encode("utf-8", "surrogateescape"), "globs")
    if rules is None:
        return []
    matcher = None if rules.has_negation else _compile_globs(rules)
    if matcher is None:
        return [name for name in check_each(names) if is_match(rules, os.fsencode(name))]
    return [name for name in check_each(names) if matcher.fullmatch(os.fsencode(name))]


def _compile_globs(rules: IgnoreRules) -> Any:
    """Combine globs into one automaton that also matches below folders; return None if it is too large."""
    import re2

    regexes = [(_pattern_regex(rule.pattern, False), rule.only_folders) for rule in rules.rules]
    parts = [regex + (b"/.*" if only_folders else b"(?:/.*)?") for regex, only_folders in regexes if regex is not None]
    try:
        return re2.compile(b"(?s)" + (b"|".join(parts) or _NOTHING), _re2_options())
    except re2.error:
        return None


def _re2_options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = MAX_AUTOMATON_BYTES
    return options


def is_match(rules: IgnoreRules, name: bytes, is_folder: bool = False) -> bool:
    """Return whether a name matches, by the last rule for it or for its nearest parent folder with a rule."""
    path = name
    while path:
        rule = rules.match(path, is_folder)
        if rule is not None:
            return not rule.negated
        path, is_folder = path.rpartition(b"/")[0], True
    return False


def _pattern_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, pattern) for the lines with a pattern."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line or line.startswith(b"#"):
            continue
        line = line.removesuffix(b"\r").split(b"\0", 1)[0]
        stripped = line.rstrip(b" ")
        slashes = len(stripped) - len(stripped.rstrip(b"\\"))
        line = line[: len(stripped) + slashes % 2]  # a backslash keeps one space
        if line:
            yield number, line


def _pattern_regex(pattern: bytes, ignore_case: bool) -> bytes | None:
    """Convert a pattern to a regular expression for paths; return None if it cannot match.

    git compares the part of an anchored pattern before the first wildcard literally, and treats the rest as a new
    pattern: the "**" in "a**/b" counts as leading.
    """
    if not pattern or len(pattern) > MAX_PATTERN_BYTES:
        return None
    if ignore_case:
        pattern = pattern.lower()
    is_anchored = b"/" in pattern
    regex = [] if is_anchored else [b"(?:.*/)?"]
    pattern = pattern.removeprefix(b"/")
    special = _SPECIAL.search(pattern)
    first_special = special.start() if special else len(pattern)
    i, end = 0, len(pattern)
    while i < end:
        char = pattern[i : i + 1]
        if char == b"\\":
            if i + 1 == end:
                return None
            regex.append(re.escape(pattern[i + 1 : i + 2]))
            i += 2
        elif char == b"[":
            parsed_class = _parse_class(pattern, i + 1, ignore_case)
            if parsed_class is None:
                return None
            regex.append(parsed_class[0])
            i = parsed_class[1]
        elif char == b"*":
            start = i
            while pattern[i : i + 1] == b"*":
                i += 1
            is_leading = start == first_special or pattern[start - 1 : start] == b"/"
            is_double = is_anchored and i - start > 1 and is_leading
            if is_double and i == end:
                regex.append(b".*")
            elif is_double and pattern[i : i + 1] == b"/":
                regex.append(b"(?:.*/)?")
                i += 1
            elif is_double and pattern[i : i + 2] == b"\\/":
                regex.append(b".*/")
                i += 2
            else:
                regex.append(b"[^/]*")
        else:
            regex.append(b"[^/]" if char == b"?" else re.escape(char))
            i += 1
    return b"".join(regex)


def _parse_class(pattern: bytes, i: int, ignore_case: bool) -> tuple[bytes, int] | None:
    """Parse the character class whose "[" precedes `i`.

    Returns (regular expression, index after the class), or None if it is malformed.
    """
    end = len(pattern)
    inverted = pattern[i : i + 1] in (b"!", b"^")
    i += inverted
    members: set[int] = set()
    range_start = -1  # the character that can start a range
    first = i
    while i < end:
        char = pattern[i]
        if char == 0x5D and i > first:  # "]" closes, but not as the first character
            allowed = (set(range(256)) - members if inverted else members) - {0x2F}
            regex = b"[" + b"".join(b"\\x%02x" % c for c in sorted(allowed)) + b"]"
            return regex if allowed else _NOTHING, i + 1
        if named := _POSIX_CLASS.match(pattern, i):
            name = b"alpha" if ignore_case and named[1] in (b"upper", b"lower") else named[1]
            if name not in _POSIX_CLASSES:
                return None
            members.update(map(ord, _POSIX_CLASSES[name]))
            range_start, i = -1, named.end()
            continue
        is_range = char == 0x2D and range_start >= 0 and i + 1 < end and pattern[i + 1] != 0x5D  # "-"
        i += is_range
        i += pattern[i] == 0x5C  # a backslash
        if i >= end:
            return None
        members.update(range(range_start, pattern[i] + 1) if is_range else (pattern[i],))
        range_start = -1 if is_range else pattern[i]
        i += 1
    return None
