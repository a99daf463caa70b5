"""Kinds of secrets by the name of a variable, a key or an option: `DB_PASSWORD`, `clientSecret`, `apiKey`."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from promptls.prompt.sanitize.rules import word_set


class NameKind(Enum):
    """Kind of value that a name has."""

    PASSWORD = "password"  # chosen by a person
    SECRET = "secret"  # chosen or issued
    ISSUED = "issued"  # a token or a key, hence random
    OTHER = "other"  # has the word of a secret, and an unknown last word
    REFERENCE = "reference"  # the name, place or type of a secret


FOREIGN_KEYWORDS = (
    "kennwort", "geheim", "senha", "contrase", "motdepasse", "mdp", "wachtwoord", "losenord", "adgangskode", "haslo",
    "heslo", "salasana", "parola", "jelszo", "sifre",
)  # fmt: skip
"""Words for "password" in other languages that do not have "pass" in them."""
KEYWORDS = (
    "pass",
    "pwd",
    r"pw\b",
    r"pw_",
    "psw",
    "secret",
    "token",
    "cred",
    "auth",
    "key",
    r"(?:\b|_)(?:sk|priv)\b",
    *FOREIGN_KEYWORDS,
)
"""Parts of the names of secrets in the syntax of RE2, in any case; the name of a secret in code has one of them."""
RARE_KEYWORDS = ("psk", "sessid", "sessionid")
"""Parts of the names of secrets in settings, commands and logs."""

_WORD = re.compile(r"[A-Z]+(?![a-zß-ÿ])|[A-Z]?[a-zß-ÿ]+")
_PASSWORD_END = re.compile(
    r"(?:passw(?:or)?d|pass(?:phrase|code|wort|ord)|contraseña|contrasena|pwd|psw)s?$"
    rf"|(?:{'|'.join(FOREIGN_KEYWORDS)})$"
    r"|^(?:pw|psk|passe|bindpw|(?:|require|store|key|ssh|user|db|admin|root|smtp|mail|ftp|become|my|pg|redis|mongo|sudo|remote|local|imap|proxy|bind|cert|login|auth)pass|authtok|rootpw)$"
)
_SECRET_END = re.compile(r"secrets?$")
_ISSUED_END = re.compile(
    r"tokens?$|^(?:credentials?|creds?|sk|priv|o?auth|authorization|authentication|masterauth|sessionid|phpsessid|jsessionid)$"
    r"|(?:api|access|private|secret|auth|account|license|encryption)keys?$"
)
_KEY_WORDS = re.compile(r"(?:api|access|private|secret|client|signing|encryption)_keys?(?:_|$)")


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
    if _PASSWORD_END.search(last) or (last in ("word", "phrase", "code") and before in ("pass", "secret")):
        return NameKind.PASSWORD
    if _SECRET_END.search(last):
        return NameKind.SECRET
    if _ISSUED_END.search(last):
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
    return bool(_PASSWORD_END.search(word) or _SECRET_END.search(word) or _ISSUED_END.search(word))
