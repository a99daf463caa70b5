"""Secrets in any file by the name that they are assigned to: `api_key = "…"`, `Authorization: Bearer …`, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.prompt.sanitize.value_checks import (
    is_basic_login,
    is_long_random,
    is_password,
    is_random,
    is_strong_password,
    starts_like_placeholder,
)

_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]*:)([^\s/'\"]{3,})(?=@)")
_QUOTED = re.compile(r"""["'`]([A-Za-z0-9+/=_.~!@#%^&*-]{16,200})(?=["'`])""")
_AUTH = r"(?-i:[Aa]uth(?:orization|entication)?(?![a-z])|AUTH(?:ORIZATION|ENTICATION)?(?![A-Z]))"
"""A word of a name; does not match "author" and "authority"."""
_AUTH_WORD = re.compile(_AUTH)
_SECRET_NAME = re.compile(
    r"""(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?key|credential|"""
    rf"""{_AUTH})"""
    r"""[\w-]{0,20}["']?\]?[ \t]{0,8}(?::[ \t]?str[ \t]?)?(?:=>?|:=?)[ \t]{0,8}[bru]?$""",
    re.IGNORECASE,
)
_MAX_NAME_CHARACTERS = 72  # from the start of the name to the quote
_CHOSEN_NAMES = ("passw", "passphrase", "pwd", "secret")
"""Beginnings of names whose values are chosen by a person."""
_ISSUED_NAMES = ("token", "credential", "auth", "key")
"""Beginnings of names whose values are issued, hence random."""
_BEFORE_KEY = re.compile(r"(?:api|access|private|client|signing|secret|auth|npm)[ _-]?$")
_AUTH_SCHEMES = ("bearer ", "basic ")
_USER_OPTIONS = (" -u ", " --user ", " --user=")

_VALUE_AFTER_NAME = re.compile(
    r"""[\w-]{0,32}["'`]?\]?[ \t]{0,8}"""
    r"""(?:"""
    r"""(?::[ \t]?&?(?:'static[ \t])?[\w.<>\[\]]{1,24}[ \t]?)?(?:=>|:=|\|\|=?|\?\?=?|==?|:|<-|,)"""  # assignment
    r"""|[({>]"""  # of a call, a constructor, an element
    r"""|(?<=["'][ \t])(?:value|content)="""  # of another attribute
    r"""|(?<=[ \t])(?=["'])"""  # of a macro
    r""")[ \t]{0,8}(?:[bru]?(?=["'`]))?(?:[\w.]{1,40}\([ \t]?)?["'`]?(?:(?:bearer|basic|token)[ \t]+)?"""
    r"""(?:(?<=["'`])([^\s"'`⟦⟧]{8,200})(?=["'`])"""
    r"""|(?<![({,"'`])(?P<bare>[^\s"'`<>;,&(){}\[\]⟦⟧]{8,200}))""",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"""[A-Za-z0-9+/=_.~-]{16,400}(?=["'`\s\\]|$)""")
_USER = re.compile(r"""["']?[^\s:'"]{1,60}:([^\s'"$]{6,100})""")
_VALUE_ON_NEXT_LINE = re.compile(r"""["']?[ \t]*\r?\n[ \t]*value:[ \t]*["']?([^\s"'⟦⟧]{8,400})""")
_SETTINGS_FILE = re.compile(
    r"(?:\.(?:ya?ml|toml|ini|cfg|conf|config|properties|xml|json|jsonc|tf|hcl|props|plist|env(?:rc)?(?:\.\w+)?)"
    r"|dockerfile[^/]*|containerfile)(?: \([^()]*\))?$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"://|^\d{4}-\d\d-\d\d|^[.~]|^/(?!(?:[A-Za-z0-9+/]{39}|[A-Za-z0-9+/]{20,}={1,2})$)|\.\."
    r"|^[A-Za-z_][\w.]*\((?:.*\))?$|^\w+(?:\.\w+)+$|\\[wdsbWDSB]|\[\^|\{\d"
)
"""A URL, a date, a path, a call, an attribute or a regular expression; base64 may start with "/" too."""


def find_quoted_values(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield random values in quotes after the name of a secret, and passwords in URLs."""
    for match in _QUOTED.finditer(text):
        name_start = max(0, match.start() - _MAX_NAME_CHARACTERS)
        if is_random(match[1]) and _SECRET_NAME.search(text, name_start, match.start()):
            yield (*match.span(1), "value")
    if "@" in text and "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if is_password(match[2]):
                yield (*match.span(2), "password")


def find_named_values(text: str, path: str) -> Iterator[tuple[int, int, str]]:
    """Yield values after the name of a secret: random ones anywhere, strong passwords in quotes or in settings files.

    Searches for the names first, because they are rare.
    """
    in_settings = bool(_SETTINGS_FILE.search(path))
    lower = text.lower()
    if len(lower) != len(text):  # some letters have two characters in lower case
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    yield from _assigned_values(text, lower, in_settings)
    yield from _logins(text, lower)


def _assigned_values(text: str, lower: str, in_settings: bool) -> Iterator[tuple[int, int, str]]:
    for name in (*_CHOSEN_NAMES, *_ISSUED_NAMES):
        for at in _occurrences(lower, name):
            if name == "key" and not _BEFORE_KEY.search(lower, max(0, at - 8), at):
                continue
            if name == "auth" and not _AUTH_WORD.match(text, at):
                continue
            match = _VALUE_AFTER_NAME.match(text, at + len(name)) or (
                in_settings and _VALUE_ON_NEXT_LINE.match(text, _end_of_name(text, at))
            )
            if not match:
                continue
            group = match.lastindex or 0
            value = match[group]
            unquoted = match.re is _VALUE_AFTER_NAME and match["bare"] is not None
            before = text[max(0, match.start(group) - 8) : match.start(group)].rstrip(" \t")[-1:]
            if unquoted and before in ("(", "{", ","):
                continue  # an argument or an element: a name rather than a value
            expression = unquoted and not in_settings and text[at - 1 : at] not in (";", "?", "&")
            is_called = text[match.end(group) : match.end(group) + 1] == "("
            if starts_like_placeholder(value) or _REFERENCE.search(value + "(" * is_called):
                continue
            if is_long_random(value) or (name in _CHOSEN_NAMES and not expression and is_strong_password(value)):
                yield (*match.span(group), "value")


def _logins(text: str, lower: str) -> Iterator[tuple[int, int, str]]:
    """Yield the credentials of authorization headers and of command-line options."""
    for scheme in _AUTH_SCHEMES:
        for at in _occurrences(lower, scheme):
            login = _LOGIN.match(text, at + len(scheme))
            if login and (is_random(login[0]) or is_basic_login(login[0])):
                yield (*login.span(), "value")
    for option in _USER_OPTIONS:
        for at in _occurrences(lower, option):
            user = _USER.match(text, at + len(option))
            if user and is_password(user[1]):
                yield (*user.span(1), "password")


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _end_of_name(text: str, at: int) -> int:
    """Return the end of the identifier at an offset, at most `_MAX_NAME_CHARACTERS` further."""
    limit = min(len(text), at + _MAX_NAME_CHARACTERS)
    while at < limit and (text[at].isalnum() or text[at] in "_-"):
        at += 1
    return at
