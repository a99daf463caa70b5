"""Checks of a single value: random values, passwords, logins and placeholders."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter

_MIN_ENTROPY = 3.5
"""Bits of entropy per character: random base64 of 20 characters has about 4, words joined by signs about 3."""
_MAX_MEAN_RUN = 3.2
"""Mean number of successive characters of one class: random letters and digits have 1.6, hex 2.1, names 4 and more."""
_MIN_WORD_SHARE = 0.75
"""Share of a camel-case name's characters that form words; 99 % of random letters and digits have less."""

_HEX = re.compile(r"[0-9a-fA-F]+")
_CLASS_RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_SAMPLE = re.compile(r"example|sample|dummy|fake|test|mock|xxxx|1234567|abcdef|placeholder|change|your|redacted", re.I)
_PLACEHOLDER = re.compile(r"[$<{%*]|your|example|change.?me|placeholder|todo\b|(.)\1*$|(?:true|false|none|null)$", re.I)
_BLOCKCHAIN_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")  # public; no key has this length
_IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z_][\w.]*")
_WORD = re.compile(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{4,}(?![a-z])")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_SIGNS = frozenset("!@#$%^&*+?~")
_NO_DIGITS, _NO_JOINTS = str.maketrans("", "", "0123456789"), str.maketrans("", "", "_.")


def is_random(value: str) -> bool:
    """Return whether a value is random, unlike a word, a path, a name or a sample."""
    digits = len(value) - len(value.translate(_NO_DIGITS))
    if (
        digits < (1 if len(value) >= 32 else 2)
        or digits == len(value)
        or not any(map(str.isalpha, value))
        or _SAMPLE.search(value)
        or _BLOCKCHAIN_ADDRESS.fullmatch(value)
        or _is_identifier(value)
    ):
        return False
    runs = _CLASS_RUN.findall(value)
    if sum(map(len, runs)) > _MAX_MEAN_RUN * len(runs):
        return False
    return entropy(value) >= _MIN_ENTROPY - (0.5 if _HEX.fullmatch(value) else 0)


def is_long_random(value: str) -> bool:
    """Return whether a value is random and as long as a key."""
    return len(value) >= (24 if _HEX.fullmatch(value) else 16) and is_random(value)


def _is_identifier(value: str) -> bool:
    """Return whether a value is a camel-case name such as `OAuth2BackendV3`."""
    if not _IDENTIFIER.fullmatch(value):
        return False
    words = sum(len(word) for word in _WORD.findall(value) if _VOWEL.search(word))
    return words >= _MIN_WORD_SHARE * len(value.translate(_NO_JOINTS))


def starts_like_placeholder(value: str) -> bool:
    """Return whether a value starts like a placeholder or a variable."""
    return _PLACEHOLDER.match(value) is not None


def is_password(value: str) -> bool:
    """Return whether a value can be a password: eight characters, letters and digits."""
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    return len(value) >= 8 and letters and digits and not (starts_like_placeholder(value) or _SAMPLE.search(value))


def is_strong_password(value: str) -> bool:
    """Return whether a password follows the usual policy: lower case, upper case, digits and signs."""
    kinds = any(map(str.islower, value)) + any(map(str.isupper, value)) + any(map(str.isdigit, value))
    has_sign = not _SIGNS.isdisjoint(value)
    signs = re.sub(r"[A-Za-z0-9_.-]", "", value)
    return is_password(value) and kinds + has_sign >= 4 and len(signs) <= len(value) // 3


def is_basic_login(value: str) -> bool:
    """Return whether a value is "user:password" in base64."""
    try:
        user, colon, password = (
            base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii").partition(":")
        )
    except ValueError:
        return False
    return bool(colon) and len(user) > 1 and len(password) > 3 and (user + password).isprintable()


def entropy(value: str) -> float:
    """Return the Shannon entropy of the value's characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
