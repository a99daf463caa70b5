"""Credentials that are recognized by the syntax around them: URLs, headers, command lines, SQL, password files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from promptls.prompt.sanitize.detectors.calls import call_arguments
from promptls.prompt.sanitize.detectors.credential_rules import CallRule, SyntaxRule, credential_index, credential_rules
from promptls.prompt.sanitize.names import occurrences
from promptls.prompt.sanitize.place import Place
from promptls.prompt.sanitize.rule_index import matching_rules
from promptls.prompt.sanitize.value_checks import (
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

_LOGIN = re.compile(r"""[A-Za-z0-9+/=_.~-]{12,2000}(?=["'`\s\\,;)}<]|$)|[^\s"'`\\<>{}()$⟦⟧]{12,400}(?=["'`])""")
_USER_PASSWORD = re.compile(r"""["']?[^\s:'"]{1,60}:([^\s'"]{6,100})""")
_REFERENCE = re.compile(r"\$[\w{(]|\{\{|[{}<>⟦⟧]|%\(|%[sdv]$|^%|\(|^@|^-|://|^\.{0,2}/|^(?:env|file|pass):|\\[nrt]")
"""A variable, a template, a call, an option, a URL or a path."""
_ADDRESSES = ("mailto:", "sip:", "sips:", "xmpp:", "acct:")
"""Schemes of addresses that have no password before the sign "@"."""
_OPENING = re.compile(rb"[(\[{]")
_MIN_CHARACTERS = 6
_MIN_BEARER_CHARACTERS = 16

_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]{0,100}:)([^\s/'\"]{3,200})(?=@)")
_PATTERN = re.compile(r"[\\\[\]|()]")  # a regular expression
_USER_OPTIONS = (" -u ", " --user ", " --user=")
_TOKEN_HEADER = re.compile(r"""authorization["']?[:,][ \t]{0,4}[bf]?["'`]?token """)


def find_credentials(text: str, lower: str, ascii_text: bytes, place: Place) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each credential in the syntax of a program or a protocol.

    `lower` is the text in lower case, `ascii_text` its searchable form.
    """
    in_tests = place.in_tests
    for number in matching_rules(credential_index(), ascii_text):
        rule = credential_rules()[number]
        spans: Iterator[tuple[int, int]] = iter(())
        if isinstance(rule, CallRule):
            spans = call_arguments(text, (m.span() for m in rule.compiled.finditer(ascii_text)), rule.argument)
        elif rule.anywhere or not place.in_code:
            spans = _given_spans(rule, ascii_text)
        strict = isinstance(rule, CallRule) or rule.strict
        for start, end in spans:
            value = text[start:end]
            if (
                not text.endswith(_ADDRESSES, max(0, start - 8), start)
                and _is_given(value, in_tests)
                and (not strict or _is_distinct(value))
                and (isinstance(rule, CallRule) or not rule.clear or is_clear_password(value))
            ):
                yield start, end, "password"
    if "earer" in text or "auth" in lower:
        yield from _headers(text, lower, has_auth="auth" in lower)
    if not place.in_code:
        for option in _USER_OPTIONS:
            for at in occurrences(lower, option):
                yield from _user_option(text, at + len(option))
    if "://" in text and "@" in text:
        yield from _url_passwords(text, in_tests)


def _is_distinct(value: str) -> bool:
    """Return whether a value is unlike a word or a name: a password with digits or signs, a phrase or a random value."""
    return is_password(value) or is_phrase(value) or is_long_random(value)


def _given_spans(rule: SyntaxRule, ascii_text: bytes) -> Iterator[tuple[int, int]]:
    """Yield the span of the group that matches, of each match, without the bracket that closes a command."""
    for match in rule.compiled.finditer(ascii_text):
        start, end = next(match.span(group) for group in range(1, match.re.groups + 1) if match.span(group)[0] >= 0)
        value = ascii_text[start:end]
        yield start, end if _OPENING.search(value) else start + len(value.rstrip(b")]}"))


def _headers(text: str, lower: str, *, has_auth: bool) -> Iterator[tuple[int, int, str]]:
    """Yield the credentials of authorization headers."""
    schemes = ("bearer ", 'bearer", "', "basic ", 'basic", "') if has_auth else ("bearer ",)
    starts = [(at + len(scheme), scheme) for scheme in schemes for at in occurrences(lower, scheme)]
    if has_auth:
        starts += [(match.end(), "token ") for match in _TOKEN_HEADER.finditer(lower)]
    for start, scheme in starts:
        login = _LOGIN.match(text, start)
        if login and not is_sample_token(login[0]) and _is_login(login[0], scheme):
            yield (*login.span(), "value")


def _user_option(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield the password of "user:password" after an option."""
    user = _USER_PASSWORD.match(text, start)
    if user and _is_given(user[1], in_tests=False):
        yield (*user.span(1), "password")


def _is_login(value: str, scheme: str) -> bool:
    if scheme.startswith("basic"):
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
    if len(value) < _MIN_CHARACTERS or " " in value or _REFERENCE.search(value) or starts_like_placeholder(value):
        return False
    if is_password(value) or is_strong_password(value) or (len(value) > 15 and is_random(value)):
        return not in_tests or is_random(value) or len(set(value)) > 9
    return not in_tests and len(value) >= 10 and any(map(str.isalpha, value)) and not is_known_password(value)
