"""Credentials that are recognized by the syntax around them: URLs, headers, command lines, SQL, password files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from promptls.prompt.sanitize.names import occurrences
from promptls.prompt.sanitize.place import Place
from promptls.prompt.sanitize.value_checks import (
    is_basic_login,
    is_known_password,
    is_password,
    is_random,
    is_sample_token,
    is_strong_password,
    starts_like_placeholder,
)

_VALUE = r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})'|([^\s"'`|;<>]{4,128}))"""
_QUOTED = r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})')"""
_LOGIN = re.compile(r"""[A-Za-z0-9+/=_.~-]{12,2000}(?=["'`\s\\,;)}<]|$)""")
_USER_PASSWORD = re.compile(r"""["']?[^\s:'"]{1,60}:([^\s'"]{6,100})""")
_REFERENCE = re.compile(r"\$[\w{(]|\{\{|[{}<>⟦⟧]|%\(|%[sdv]$|^%|\(|^@|^-|://|^\.{0,2}/|^env:|^file:|\\[nrt]")
"""A variable, a template, a call, an option, a URL or a path."""
_MIN_CHARACTERS = 6
_MIN_BEARER_CHARACTERS = 16

_SYNTAX = tuple(
    (keyword, re.compile(pattern))
    for keyword, pattern in (
        ("identified", rf"(?i:identified\s+(?:with\s+[\w'\"]+\s+)?(?:by|as)\s+(?:password\s+)?){_QUOTED}"),
        (".login(", r"""\.login\(\s*["'][^"'\n]{1,80}["']\s*,\s*["']([^"'\n]{4,100})["']\s*\)"""),
        ("@tcp(", r"[\w.-]{1,60}:([^\s@\"'`:/]{4,100})@(?=tcp\()"),
        (":thin:", r":thin:[\w.-]{1,60}/([^\s@\"'`/]{4,100})@"),
        ("getconnection(", r"""getConnection\([^()\n]{0,200},\s*"([^"\n]{4,100})"\s*\)"""),
        ("->connect(", r"""->connect\([^()\n]{0,200},\s*["']([^"'\n]{4,100})["']\s*[,)]"""),
    )
)  # fmt: skip
"""A keyword in lower case that a text must have, and the pattern of a password in a group."""
_COMMAND_SYNTAX = tuple(
    (keyword, re.compile(pattern))
    for keyword, pattern in (
        ("mysql", rf"mysql(?:dump|admin|import|show|check)?\b[^\n|;]{{0,160}}?\s-p{_VALUE}"),
        (" login ", r"(?:docker|podman|helm registry|oras|skopeo|buildah|crane|az|oc|nerdctl)\s+login\b"
         rf"[^\n|;]{{0,160}}?\s(?:-p|--password)[ =]{_VALUE}"),
        ("redis-cli", rf"redis-cli\b[^\n|;]{{0,120}}?\s(?:-a|--pass)[ =]{_VALUE}"),
        ("ldap", rf"ldap(?:search|modify|add|delete|whoami|passwd)\b[^\n|;]{{0,200}}?\s-w ?{_VALUE}"),
        ("net use", rf"net use\b[^\n]{{0,120}}?\s/user:\S{{1,60}}\s+{_VALUE}"),
        ("mongo", rf"mongo(?:sh|dump|restore|import|export)?\b[^\n|;]{{0,160}}?\s-p[ =]{_VALUE}"),
        ("rabbitmqctl", rf"rabbitmqctl\s+(?:add_user|change_password)\s+\S{{1,60}}\s+{_VALUE}"),
        ("securestring", rf"(?i:convertto-securestring\s+(?:-string\s+)?){_QUOTED}"),
        ("bind_p", rf"(?m:^)[ \t]*(?i:bind_(?:pw|password|passwd))[ \t]+{_VALUE}"),
        ("bindpw", rf"(?m:^)[ \t]*(?i:bindpw)[ \t]+{_VALUE}"),
        ("sshpass", rf"sshpass\s+-p[ \t]*{_VALUE}"),
        ("htpasswd", rf"htpasswd\s+-\w{{0,8}}b\w{{0,8}}\s+(?:[^\s-]\S{{0,100}}\s+){{1,2}}{_VALUE}"),
        ("chpasswd", r"""echo\s+["']?[\w.-]{1,60}:([^\s"'|]{4,100})["']?\s*\|[^\n]{0,40}chpasswd"""),
        ("password-stdin", r"""(?:echo|printf)\s+(?:-n\s+)?["']?([^\s"'|]{6,200})["']?\s*\|[^\n]{0,160}--password-stdin"""),
        (" pass:", rf"-pass(?:in|out|word)?[ =]pass:{_VALUE}"),
        ("requirepass", rf"(?i:requirepass)[ \t]+{_VALUE}"),
        (" password ", rf"\b(?:machine\s+\S{{1,100}}|default)\s+login\s+\S{{1,100}}\s+password\s+{_VALUE}"),
        ("\npassword ", rf"\b(?:machine\s+\S{{1,100}}|default)\s+login\s+\S{{1,100}}\s+password\s+{_VALUE}"),
    )
)  # fmt: skip
"""The same for files other than code: commands and settings."""
_AUTH_SYNTAX = tuple(
    (keyword, re.compile(pattern))
    for keyword, pattern in (
        ("masterauth", rf"masterauth[ \t]+{_VALUE}"),
        ("basicauth(", r"""[Bb]asicAuth\(\s*["'][^"'\n]{1,80}["']\s*,\s*["']([^"'\n]{4,100})["']"""),
        ("basic_auth(", r"""basic_auth\(\s*["'][^"'\n]{1,80}["']\s*,\s*(?:Some\()?["']([^"'\n]{4,100})["']"""),
        ("auth=(", r"""\bauth=\(\s*["'][^"'\n]{1,80}["']\s*,\s*["']([^"'\n]{4,100})["']\s*\)"""),
    )
)
"""The same for texts that have the letters "auth"."""
_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]{0,100}:)([^\s/'\"]{3,200})(?=@)")
_PATTERN = re.compile(r"[\\\[\]|()]")  # a regular expression
_PASSWORD_FILE_LINE = re.compile(
    r"^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:(\S{4,200})$", re.MULTILINE
)
_PASSWORD_FILE_SIGNS = (":5432:", ":*:", ":6432:")  # a port of PostgreSQL or any
_USER_OPTIONS = (" -u ", " --user ", " --user=")
_TOKEN_HEADER = re.compile(r"""authorization["']?[:,][ \t]{0,4}[bf]?["'`]?token """)


def find_credentials(text: str, lower: str, place: Place) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each credential in the syntax of a program or a protocol.

    `lower` is the text in lower case.
    """
    in_tests = place.in_tests
    has_auth = "auth" in lower
    syntax = _SYNTAX + (_AUTH_SYNTAX if has_auth else ()) + (() if place.in_code else _COMMAND_SYNTAX)
    patterns = {pattern for keyword, pattern in syntax if keyword in lower}
    if not place.in_code and any(sign in text for sign in _PASSWORD_FILE_SIGNS):
        patterns.add(_PASSWORD_FILE_LINE)
    for pattern in patterns:
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if _is_given(match[group], in_tests):
                yield (*match.span(group), "password")
    yield from _headers(text, lower, has_auth=has_auth)
    if not place.in_code:
        for option in _USER_OPTIONS:
            for at in occurrences(lower, option):
                yield from _user_option(text, at + len(option))
    if "://" in text and "@" in text:
        yield from _url_passwords(text, in_tests)


def _headers(text: str, lower: str, *, has_auth: bool) -> Iterator[tuple[int, int, str]]:
    """Yield the credentials of authorization headers."""
    schemes = ("bearer ", "basic ") if has_auth else ("bearer ",)
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
    if scheme == "basic ":
        return is_basic_login(value)
    return len(value) >= _MIN_BEARER_CHARACTERS and ".." not in value and is_random(value)


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
