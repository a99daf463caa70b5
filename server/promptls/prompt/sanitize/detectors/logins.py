"""Passwords among the strings of any call or list whose name means a login: `openSession("db", "app", "…")`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from promptls.prompt.sanitize.detectors.calls import MAX_ARGUMENTS_CHARACTERS, string_arguments
from promptls.prompt.sanitize.names import occurrences, words_of
from promptls.prompt.sanitize.place import Place
from promptls.prompt.sanitize.rule_index import compile_linear
from promptls.prompt.sanitize.value_checks import is_clear_password, is_random, is_strong_password

if TYPE_CHECKING:
    import re2

_LOGIN_WORDS = frozenset(
    "login logon signin signon authenticate authentication auth authorize credential credentials cred creds passwd password".split()
)
"""Words of the name of a call or a list that has a user and a password."""
_CONNECTION_WORDS = frozenset(
    "connect connection connector conn open dial session client database db account user broker pool".split()
)
"""Words of the name of a call that has a password among other arguments."""
_UNLOCK_WORDS = frozenset("unlock sendline decrypt".split())
"""Words of the name of a call that can have a password as its only argument."""
_PAIRS = (("log", "in"), ("log", "on"), ("sign", "in"), ("sign", "on"))
"""Names of a login that are spelled as two words."""
_HEAD = (
    r"(?i:log_?[io]n|sign_?[io]n|auth|cred|connect|conn\b|session|client|database|db\b|dial|open|unlock|account|user|broker|pool"
    r"|sendline|decrypt|passw)"
    r"\w{0,40}(?:(?:::|\.|->)\w{1,24}){0,2}!?(?:<[\w, ]{0,40}>)?"
    r"""(?:\s?\(|[ \t]["']|["']?\]?[ \t]{0,8}(?::[ \t]?\w{1,24}(?:\[\])?[ \t]{0,2})?(?:=>|:=|=|:|<-)[ \t]{0,4}(?:new[ ])?(?:\[\d{0,2}\])?[\w.:<>]*(?:\[\]|!)?[ ]?[(\[{])"""
)
"""A name with a keyword, and the parenthesis or the quote that starts its arguments, in the syntax of RE2."""
_MAKERS = frozenset("new open create of from start build builder make init load run attempt call".split())
"""Last words of a call whose receiver names what it does: `Session::open(…)`."""
_TO_CHARACTERS = ".toCharArray()"
"""The conversion of a Java string to characters, which is usual for passwords only."""
_LAST_STRING = re.compile(r'"([^"\\\s]{8,128})"\Z')
_STRING = re.compile(r"""["'`][^"'`\s\\]{8,128}["'`\\]""")


@cache
def _head() -> re2._Regexp:
    return compile_linear(_HEAD)


def find_logins(text: str, ascii_text: bytes, place: Place) -> Iterator[tuple[int, int, str]]:
    """Yield the passwords among the strings of a call, a tuple or a list that is named after a login.

    `ascii_text` is the searchable form of the text.
    """
    for match in _head().finditer(ascii_text):
        start, end = match.span()
        if not _STRING.search(text, end - 1, end + MAX_ARGUMENTS_CHARACTERS):
            continue
        first = _first_password(text, start, end)
        if first is None:
            continue
        opening = text[end - 1]
        for index, (at, last) in string_arguments(text, end - (opening in "\"'"), closed=opening in "([{"):
            if index >= first and _is_password(text[at:last], place):
                yield at, last, "password"
    for at in occurrences(text, _TO_CHARACTERS):
        literal = _LAST_STRING.search(text, max(0, at - 130), at)
        if literal and _is_password(literal[1], place):
            yield (*literal.span(1), "password")


def _first_password(text: str, start: int, end: int) -> int | None:
    """Return the index of the first argument that can be a password, or None if the name is not that of a login."""
    while start and (text[start - 1].isalnum() or text[start - 1] == "_") and end - start < 80:
        start -= 1
    name = text[start:end].replace("::", ".").replace("->", ".")
    parts = re.split(r"[^\w.]", name)[0].split(".")
    words = words_of(parts[-1])
    if len(parts) > 1 and not _MAKERS.isdisjoint(words):
        words += words_of(parts[-2])
    is_call = text[end - 1] == "("
    if not _UNLOCK_WORDS.isdisjoint(words):
        return 0
    if not _LOGIN_WORDS.isdisjoint(words) or any(pair in pairwise(words) for pair in _PAIRS):
        return 1
    return 1 if (is_call or text[end - 1] in "\"'") and not _CONNECTION_WORDS.isdisjoint(words) else None


def _is_password(value: str, place: Place) -> bool:
    return is_clear_password(value) and (not place.in_tests or is_random(value) or is_strong_password(value))
