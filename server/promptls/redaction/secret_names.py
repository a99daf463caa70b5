"""Kinds of secrets by the name of a variable, a key or an option: `DB_PASSWORD`, `clientSecret`, `apiKey`."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache

from promptls.redaction.rules import with_parts, word_set


class NameKind(Enum):
    """Kind of value that a name has."""

    PASSWORD = "password"  # chosen by a person
    SECRET = "secret"  # chosen or issued
    ISSUED = "issued"  # a token or a key, hence random
    OTHER = "other"  # has the word of a secret, and an unknown last word
    REFERENCE = "reference"  # the name, place or type of a secret


_WORD = re.compile(r"[A-Z]+(?![a-zß-ÿ])|[A-Z]?[a-zß-ÿ]+")
_PASSWORD_END = (
    r"(?:passw(?:or)?d|pass(?:phrase|code|wort|ord)|contraseña|contrasena|pwd|psw)s?$"
    r"|(?:<foreign>)$"
    r"|^(?:pw|psk|passe|bindpw|(?:|require|store|key|ssh|user|db|admin|root|smtp|mail|ftp|become|my|pg|redis|mongo|sudo|remote|local|imap|proxy|bind|cert|login|auth)pass|authtok|rootpw)$"
)
_SECRET_END = re.compile(r"secrets?$")
_ISSUED_END = re.compile(
    r"tokens?$|^(?:pepper|credentials?|creds?|sk|priv|o?auth|authorization|authentication|masterauth|sessionid|phpsessid|jsessionid)$"
    r"|(?:api|app|access|private|secret|auth|account|license|encryption)keys?$"
)
_KEY_WORDS = re.compile(r"(?:api|access|private|secret|client|signing|encryption)_keys?(?:_|$)")


@cache
def _password_end() -> re.Pattern[str]:
    return re.compile(with_parts(_PASSWORD_END))


@lru_cache(maxsize=4096)
def name_kind(name: str) -> NameKind:
    """Return the kind of a name, in any spelling of its words; a name has one of the keywords."""
    words = words_of(name)
    while len(words) > 1 and words[-1] in word_set("neutral"):
        words.pop()
    if not words:
        return NameKind.REFERENCE
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in word_set("references") or not word_set("public").isdisjoint(words):
        return NameKind.REFERENCE
    if last == "pass" and before in word_set("passes"):
        return NameKind.REFERENCE
    if _password_end().search(last) or (last in ("word", "phrase", "code") and before in ("pass", "secret")):
        return NameKind.PASSWORD
    if _SECRET_END.search(last):
        return NameKind.SECRET
    is_seed = last == "seed" and before in ("totp", "hotp", "otp", "mfa")
    if _ISSUED_END.search(last) or is_seed or (before, last) == ("key", "hex"):
        return NameKind.ISSUED
    if last in ("key", "keys"):
        is_secret = before in word_set("keys") or before in word_set("issuers") or (before == "pass")
        return NameKind.ISSUED if is_secret else NameKind.REFERENCE
    return (
        NameKind.OTHER if any(map(_is_secret_word, words)) or _KEY_WORDS.search("_".join(words)) else NameKind.REFERENCE
    )


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: those of "openDbSession2" are "open", "db" and "session"."""
    return [word.lower() for word in _WORD.findall(name)]


def _is_secret_word(word: str) -> bool:
    return bool(_password_end().search(word) or _SECRET_END.search(word) or _ISSUED_END.search(word))
