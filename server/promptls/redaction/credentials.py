"""Secrets by their shape or by the syntax around them: tokens, URLs, headers, command lines, SQL, arguments of calls.

The shapes of tokens and the syntax of programs and libraries are data, in tokens.toml and credentials.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from promptls.redaction.rules import (
    CallRule,
    Secret,
    Source,
    SyntaxRule,
    TokenRule,
    compile_linear,
    matching_rules,
    word_set,
)
from promptls.redaction.secret_names import words_of
from promptls.redaction.values import (
    BASE64_KEY,
    SIGNED_WORD,
    is_basic_login,
    is_clear_password,
    is_known_password,
    is_long_random,
    is_password,
    is_phrase,
    is_random,
    is_sample_token,
    is_strong_password,
    starts_like_placeholder,
)

if TYPE_CHECKING:
    import re2

_LOGIN = re.compile(r"""[A-Za-z0-9+/=_.~-]{12,2000}(?=["'`\s\\,;)}\]<]|$)|[^\s"'`\\<>{}()$⟦⟧]{12,400}(?=["'`])""")
_REFERENCE = re.compile(r"\$[\w{(]|\{\{|[{}<>⟦⟧]|%\(|%[sdv]$|^%|\(|^@|^-|://|^\.{0,2}/|^(?:env|file|pass):|\\[nrt]")
"""A variable, a template, a call, an option, a URL or a path."""
_ADDRESSES = ("mailto:", "sip:", "sips:", "xmpp:", "acct:")
"""Schemes of addresses that have no password before the sign "@"."""
_OPENING = re.compile(rb"[(\[{]")
_MIN_CHARACTERS = 6
_MIN_BEARER_CHARACTERS = 16

_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]{0,100}:)([^\s/'\"]{3,200})(?=@)")
_PATTERN = re.compile(r"[\\\[\]|()]")  # a regular expression
_HEADER = r"""authorization["'\]]{0,2}[ ]?[:,=][ \t]{0,4}[bf]?["'`]?"""
_SCHEME = rf"""(?i)(?:{_HEADER})?(?:(?P<basic>basic)|bearer)(?:[ ]|", ["'])|{_HEADER}[a-z][a-z-]{{2,19}}[ ]"""
"""The scheme of an authorization header, in the syntax of RE2."""


def find_credentials(source: Source) -> Iterator[Secret]:
    """Yield the start, end and name of each token, and of each password in the syntax of a program or a protocol."""
    text, place = source.text, source.place
    for rule in matching_rules(source):
        if isinstance(rule, TokenRule):
            for match in rule.compiled.finditer(text):
                if not is_sample_token(match[0]) and (not rule.random or is_random(match[0])):
                    yield (*match.span(), rule.name)
            continue
        for start, end in _spans(rule, source):
            value = text[start:end]
            if (
                not text.endswith(_ADDRESSES, max(0, start - 8), start)
                and _is_given(value.replace(" ", "") if rule.blanks else value, place.in_tests)
                and (not rule.strict or _is_distinct(value))
                and (not rule.clear or is_clear_password(value))
            ):
                yield start, end, "password"
    yield from _headers(source)
    if "://" in text and "@" in text:
        yield from _url_passwords(text, place.in_tests)


def _spans(rule: SyntaxRule | CallRule, source: Source) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values of a rule."""
    if isinstance(rule, CallRule):
        for match in rule.compiled.finditer(source.ascii):
            opening = source.text[match.end() - 1]
            arguments = _string_arguments(source.text, match.end() - (opening != "("), closed=opening == "(")
            yield from (span for index, span in arguments if index == rule.argument)
    elif rule.anywhere or not source.place.in_code:
        for match in rule.compiled.finditer(source.ascii):
            start, end = next(match.span(group) for group in range(1, match.re.groups + 1) if match.span(group)[0] >= 0)
            value = source.ascii[start:end]  # without the bracket that closes a command
            yield start, end if _OPENING.search(value) else start + len(value.rstrip(b")]}"))


def _is_distinct(value: str) -> bool:
    """Return whether a value is unlike a word or a name: a password with digits or signs, a phrase or a random value."""
    return is_password(value) or is_phrase(value) or is_long_random(value)


@cache
def _scheme() -> re2._Regexp:
    return compile_linear(_SCHEME)


def _headers(source: Source) -> Iterator[Secret]:
    """Yield the credentials of authorization headers."""
    for match in _scheme().finditer(source.ascii):
        login = _LOGIN.match(source.text, match.end())
        if login and not is_sample_token(login[0]) and _is_login(login[0], is_basic=match.span(1)[0] >= 0):
            yield (*login.span(), "value")


def _is_login(value: str, is_basic: bool) -> bool:
    if is_basic:
        return is_basic_login(value)
    return (
        len(value) >= _MIN_BEARER_CHARACTERS
        and ".." not in value
        and (is_random(value) or (is_strong_password(value) and not _REFERENCE.search(value)))
    )


def _url_passwords(text: str, in_tests: bool) -> Iterator[tuple[int, int, str]]:
    for match in _URL_PASSWORD.finditer(text):
        user = match[1][3:-1]
        password = unquote(match[2])
        if password != user and user != "username" and not _PATTERN.search(password) and _is_given(password, in_tests):
            yield (*match.span(2), "password")


def _is_given(value: str, in_tests: bool) -> bool:
    """Return whether a value where only a password can be is a real one, unlike a variable or a sample."""
    if len(value) < _MIN_CHARACTERS or " " in value or starts_like_placeholder(value):
        return False
    if _REFERENCE.search(value) and not (SIGNED_WORD.fullmatch(value) or BASE64_KEY.fullmatch(value)):
        return False
    if is_password(value) or is_strong_password(value) or (len(value) > 15 and is_random(value)):
        return not in_tests or is_random(value) or len(set(value)) > 9
    return not in_tests and len(value) >= 10 and any(map(str.isalpha, value)) and not is_known_password(value)


_MAX_ARGUMENTS_CHARACTERS = 300
_MAX_PARTS = 40
_PART = re.compile(
    r"""\s{0,80}(?:(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<end>;|\n\s*\n)
    |[bruBRUfFNL@$]{0,2}(?:"(?P<double>[^"\\\n]{0,200})(?:\\[rn0])*"|'(?P<single>[^'\\\n]{0,200})(?:\\[rn0])*'|`(?P<back>[^`\\\n]{0,200})`)
    |[^\s"'`,;()\[\]{}]+|["'`])""",
    re.VERBOSE,
)


def _string_arguments(text: str, start: int, *, closed: bool) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the index and the span of the value of each string among the arguments of a call or the items of a list.

    A string in one pair of inner parentheses counts as an argument, as in `Some("…")`.  Without parentheses (`closed`),
    the arguments end with the line.  Arguments with blanks between them, as in Haskell and Lisp, count too.
    Values after a name are left out, as in `id: "…"`.
    """
    at, depth, commas, strings, before = start, 0, 0, 0, ""
    limit = min(len(text), start + _MAX_ARGUMENTS_CHARACTERS)
    if not closed:
        line_end = text.find("\n", start, limit)
        limit = line_end if line_end >= 0 else limit
    for _ in range(_MAX_PARTS):
        part = _PART.match(text, at, limit)
        if part is None or part["end"]:
            return
        at = part.end()
        if part["open"]:
            depth += 1
        elif part["close"]:
            depth -= 1
            if depth < 0:
                return
        elif part["comma"]:
            commas += depth == 0
        elif depth < 2 and (group := part.lastgroup) in ("double", "single", "back"):
            if not before.endswith((":", "=", "=>")):
                yield max(commas, strings), part.span(group)
            strings += 1
        before = part[0]


_PAIRS = (("log", "in"), ("log", "on"), ("sign", "in"), ("sign", "on"))
"""Names of a login that are spelled as two words."""
_HEAD = (
    r"(?i:log_?[io]n|sign_?[io]n|auth|cred|connect|conn\b|session|client|database|db\b|dial|open|unlock|account|user|broker|pool"
    r"|sendline|decrypt|passw)"
    r"\w{0,40}(?:(?:::|\.|->)\w{1,24}){0,2}!?(?:<[\w, ]{0,40}>)?"
    r"""(?:\s?\(|[ \t]["']|["']?\]?[ \t]{0,8}(?::[ \t]?\w{1,24}(?:\[\])?[ \t]{0,2})?(?:=>|:=|=|:|<-)[ \t]{0,4}(?:new[ ])?(?:\[\d{0,2}\])?[\w.:<>]*(?:\[\]|!)?[ ]?[(\[{])"""
)
"""A name with a keyword, and the parenthesis or the quote that starts its arguments, in the syntax of RE2."""
_CHARACTERS = re.compile(r'"([^"\\\s]{8,128})"\.toCharArray\(\)')
"""A Java string that is converted to characters, which is usual for passwords only."""
_STRING = re.compile(r"""["'`][^"'`\s\\]{8,128}["'`\\]""")


@cache
def _head() -> re2._Regexp:
    return compile_linear(_HEAD)


def find_logins(source: Source) -> Iterator[Secret]:
    """Yield the passwords among the strings of a call, a tuple or a list that is named after a login."""
    text = source.text
    for match in _head().finditer(source.ascii):
        start, end = match.span()
        if not _STRING.search(text, end - 1, end + _MAX_ARGUMENTS_CHARACTERS):
            continue
        first = _first_password(text, start, end)
        if first is None:
            continue
        opening = text[end - 1]
        for index, (at, last) in _string_arguments(text, end - (opening in "\"'"), closed=opening in "([{"):
            if index >= first and _is_argument(text[at:last], source):
                yield at, last, "password"
    for literal in _CHARACTERS.finditer(text):
        if _is_argument(literal[1], source):
            yield (*literal.span(1), "password")


def _first_password(text: str, start: int, end: int) -> int | None:
    """Return the index of the first argument that can be a password, or None if the name is not that of a login."""
    while start and (text[start - 1].isalnum() or text[start - 1] == "_") and end - start < 80:
        start -= 1
    name = text[start:end].replace("::", ".").replace("->", ".")
    parts = re.split(r"[^\w.]", name)[0].split(".")
    words = words_of(parts[-1])
    if len(parts) > 1 and not word_set("makers").isdisjoint(words):
        words += words_of(parts[-2])
    is_call = text[end - 1] == "("
    if not word_set("unlocks").isdisjoint(words):
        return 0
    if not word_set("logins").isdisjoint(words) or any(pair in pairwise(words) for pair in _PAIRS):
        return 1
    return 1 if (is_call or text[end - 1] in "\"'") and not word_set("connections").isdisjoint(words) else None


def _is_argument(value: str, source: Source) -> bool:
    return is_clear_password(value) and (not source.place.in_tests or is_random(value) or is_strong_password(value))
