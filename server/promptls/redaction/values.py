"""Checks of a single value: random values, passwords, logins, samples and placeholders."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from functools import cache

from promptls.redaction.rules import word_set, word_table

_MIN_SURPRISE = 4.15
"""Bits per character: 99 % of random letters and digits have more, 98 % of names with 16 characters have less."""
_MIN_SURPRISE_WITHOUT_DIGITS = 4.6
"""Bits per character of a value of letters: foreign words and abbreviations have up to 4.5."""
_MIN_ENTROPY, _MIN_HEX_ENTROPY = 3.0, 2.8
"""Bits of entropy per character: random values of 16 characters have more than 3.2, repeated ones less than 3."""
_MIN_TOKEN_ENTROPY = 2.2
"""Bits of entropy per character of an issued token; a row of "x" or "0" after a prefix has less."""

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}")
_SAMPLE = re.compile(
    r"example|sample|dummy|fake|test|mock|xxxx|1234567|abcdef|placeholder|change|your|redacted|demo|insert|foobar"
    r"|deadbeef|0000000|00010203|x00\\x01\\x02|00112233|2b7e151628aed2a6|603deb1015ca71be|8e73b0f7da0e6452|sdfsdf|JBSWY3DPEHPK3PXP",
    re.IGNORECASE,
)
"""Words and rows of samples, the keys in FIPS 197 and NIST SP 800-38A, and the secret in examples of TOTP."""
_SAMPLE_TOKEN = re.compile(
    r"EXAMPLE|xxxx|your[-_.]|placeholder|redacted|change.?me|([^A])\1{9}"
    r"|4eC39HqLyjWDarjtT1zdp7dc|SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",  # of Stripe and jwt.io
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[$<{*]|%(?:[({\[]|[sdv]\b|\w+%$)|your|example|change.?(?:me|it|this)|replace|insert|placeholder|todo\b|fixme|tbd\b|\.{3}|(.)\1*$"
    r"|(?:true|false|none|null|nil|undefined|empty|required|optional|hidden|secret|redacted)$",
    re.IGNORECASE,
)
_PUBLIC_VALUE = re.compile(r"0x[0-9a-fA-F]{40}|B[A-Za-z0-9_-]{86}")
"""A blockchain address, or a point of the curve P-256, such as the key of a server for Web Push."""
BASE64_KEY = re.compile(r"[A-Za-z0-9+/]{22,}={1,2}")
"""A key of at least 16 bytes in base64, padded; it may start with a slash."""
_KNOWN_PASSWORD = re.compile(
    r"pass|pwd|passwd|secret|secure|geheim|test|123|admin|user|guest|root|demo|sampl|exampl|dummy|fake|mock|foo|bar(?![a-z]{3})|baz|qux"
    r"|letmein|welcome|hunter2?$|change|replace|default|login|hello|world|postgres|mysql|mongo|redis|maria"
    r"|aladdin|token|value|string|invalid|wrong|correct|right|strong|weak|short|valid|hash|key|rod\b|springsecurity|^spring\d*$"
)
"""Words of samples and of values that everybody knows, after letters have replaced digits and signs."""
_KEYBOARD_ROW = re.compile(r"(?:qwer|asdf|abc|xyz)+")
_MIN_OTHER_LETTERS = 4  # beside a row of the keyboard, in a password that is not known
_SUBSTITUTES = str.maketrans("013457@$!", "oleastasi")
_ALGORITHM = re.compile(
    r"\{?(?:sha|md|base|utf|aes|rsa|dsa|ecdsa|hs|rs|es|ps|pkcs|argon|bcrypt|scrypt|pbkdf|oauth|http|ipv|ed)-?_?\d+|v-?_?\d+(?![a-z\d])|x509"
    r"|\d+(?:\.\d+)+|\d{4}-\d\d|\w+\.\w+\.\w",
    re.IGNORECASE,
)
"""The start of an algorithm, a version, a date or a dotted name."""
_ALGORITHM_NAME = re.compile(r"S[Hh][Aa]-?\d|H[Mm][Aa][Cc]|PBKDF2|A[Ee][Ss][-_]?\d|With(?:RSA|ECDSA)|Argon2|X509")
_SIGNS = frozenset("!@#$%^&*+?~")
_NO_DIGITS = str.maketrans("", "", "0123456789")
_WORDS = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")
_NAME_LIKE = re.compile(
    r"[\\\[\]|(){}<>\"'`,;\s]|[a-z_]\.[a-z_](?!\w*\d{2}[!?]?$)|^[./#-]|/|://|::|^0x|^\d+[a-z]{0,3}\d*$|^[\w.@-]+[=:]|\.\w{1,5}$|[.:]{2}|^\w+\$\d+$",
    re.IGNORECASE,
)
"""A pattern, a path, a URL, a number with a unit, an assignment or the name of a file."""
_MIXED_PART = re.compile(r"(?:^|[-_.])(?:[A-Z][a-z]{1,2}\d{2}|[a-z]+[A-Z]\w*\d|\d+[a-z]+\d*[A-Z])\w*(?:$|[-_.])")
"""A part between hyphens with letters of both cases and digits that is too short or too mixed for a word."""
_WORDS_AND_NUMBER = re.compile(r"[A-Za-z][a-z]{8,}\d{2,4}$")
"""Words without a joint, and a number: names have a joint or a capital between words."""
SIGNED_WORD = re.compile(
    r"[-.!_][A-Z][a-z]{2,}[-._!]?\d{2,4}[!?]?|[A-Za-z]{5,}\d{2,4}[-_]|\d{2,4}[A-Za-z]{4,}[._][A-Za-z]{3,}"
)
"""A word and a number with a sign at the start or the end, or the number first: unlike an option, a path or a name."""
_APP_PASSWORD = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")
"""A password of Google for one program, as it is displayed."""
_JOINTS = re.compile(r"[-_./:]")
_MIN_WORDS_CHARACTERS = 14  # a phrase of three words
_MIN_PASSWORD_CHARACTERS = 8
_MIN_CLEAR_CHARACTERS = 10
_MIN_RANDOM_CHARACTERS = 12  # of a value without a name
_MAX_PASSWORD_CHARACTERS = 128


def is_random(value: str) -> bool:
    """Return whether a value is random, unlike a word, a path, a name or a sample."""
    digits = len(value) - len(value.translate(_NO_DIGITS))
    if digits == len(value) or _SAMPLE.search(value) or _PUBLIC_VALUE.fullmatch(value) or _ALGORITHM_NAME.search(value):
        return False
    if _HEX.fullmatch(value):
        return digits > 1 and any(map(str.isalpha, value)) and entropy(value) >= _MIN_HEX_ENTROPY
    if not digits and (value[1:].islower() or value.isupper()):
        return False  # a word of another language
    minimum = _MIN_SURPRISE if digits else _MIN_SURPRISE_WITHOUT_DIGITS
    if not value.isascii() or entropy(value) < _MIN_ENTROPY or surprise(value) < minimum:
        return False
    plain = _plain_text(value)
    return not plain or not (plain.startswith('{"alg"') or is_known_password(plain)) or surprise(plain) >= _MIN_SURPRISE


def _plain_text(value: str) -> str:
    """Return the text that a value in base64 encodes; "" if it is not text."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except ValueError:
        return ""
    return plain if plain.isprintable() else ""


def is_long_random(value: str) -> bool:
    """Return whether a value is random and as long as a key."""
    return len(value) >= (24 if _HEX.fullmatch(value) else 16) and is_random(value)


def is_uuid(value: str) -> bool:
    """Return whether a value is a UUID with random digits."""
    return _UUID.fullmatch(value) is not None and entropy(value) >= _MIN_HEX_ENTROPY and not _SAMPLE.search(value)


def is_sample_token(value: str) -> bool:
    """Return whether a token is a sample, such as those of documentation; some issuers use "test" in real tokens."""
    return _SAMPLE_TOKEN.search(value) is not None or entropy(value) < _MIN_TOKEN_ENTROPY


def starts_like_placeholder(value: str) -> bool:
    """Return whether a value starts like a placeholder or a variable."""
    return _PLACEHOLDER.match(value) is not None


def is_password(value: str) -> bool:
    """Return whether a value can be a password: eight characters, letters and digits or signs, not a known one."""
    if not _MIN_PASSWORD_CHARACTERS <= len(value) <= _MAX_PASSWORD_CHARACTERS or starts_like_placeholder(value):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    signs = not _SIGNS.isdisjoint(value[1:-1]) and any(map(str.isupper, value)) and any(map(str.islower, value))
    return (
        value.isascii()
        and letters
        and (digits or signs)
        and not is_known_password(value)
        and not _ALGORITHM.match(value)
    )


def is_known_password(value: str) -> bool:
    """Return whether a value has a word of samples or of passwords that everybody knows, such as "P@ssw0rd1"."""
    lower = value.lower()
    return (
        _KNOWN_PASSWORD.search(lower) is not None
        or _KNOWN_PASSWORD.search(lower.translate(_SUBSTITUTES)) is not None
        or _SAMPLE.search(value) is not None
        or _is_keyboard_row(lower)
    )


def _is_keyboard_row(lower: str) -> bool:
    """Return whether a value is little more than adjacent keys; before a word, they make a password longer."""
    rest, rows = _KEYBOARD_ROW.subn("", lower)
    return rows > 0 and sum(map(str.isalpha, rest)) < _MIN_OTHER_LETTERS


def is_chosen_key(value: str) -> bool:
    """Return whether a value can be a key that a person has chosen: at least three digits, and not words with joints."""
    digits = len(value) - len(value.translate(_NO_DIGITS))
    return digits >= 3 and not _JOINTS.search(value) and is_password(value)


def is_clear_password(value: str) -> bool:
    """Return whether a value is a password where names, options and versions are as likely.

    It has several kinds of characters and digits that do not follow a word as in "Windows-1252", or it is random.
    """
    if (BASE64_KEY.fullmatch(value) and is_long_random(value)) or SIGNED_WORD.fullmatch(value):
        return True
    if _NAME_LIKE.search(value) or starts_like_placeholder(value):
        return False
    if is_strong_password(value) or is_chosen_key(value) or is_long_random(value):
        return True
    if not is_password(value):
        return False
    if _WORDS_AND_NUMBER.match(value):
        return True
    if sum(map(str.isdigit, value)) < 2 or value.islower() or value.isupper():
        return False
    return len(value) >= _MIN_CLEAR_CHARACTERS and (
        _MIXED_PART.search(value) is not None or (len(value) >= _MIN_RANDOM_CHARACTERS and is_random(value))
    )


def is_strong_password(value: str) -> bool:
    """Return whether a password follows the usual policy: lower case, upper case, digits and signs."""
    kinds = any(map(str.islower, value)) + any(map(str.isupper, value)) + any(map(str.isdigit, value))
    has_sign = not _SIGNS.isdisjoint(value)
    signs = re.sub(r"[A-Za-z0-9_.-]", "", value)
    return (
        _MIN_PASSWORD_CHARACTERS <= len(value) <= _MAX_PASSWORD_CHARACTERS
        and kinds + has_sign >= 4
        and len(signs) <= len(value) // 3
        and value.isascii()
        and not (starts_like_placeholder(value) or _SAMPLE.search(value) or _ALGORITHM.match(value))
        and _letters(value) not in word_set("famous_passwords")
    )


def _letters(value: str) -> str:
    """Return the letters of a password, also those that are written as digits or signs: "P@ssw0rd1!" is "password"."""
    return "".join(filter(str.isalpha, value.lower().rstrip("0123456789!@#$%^&*.?~_-").translate(_SUBSTITUTES)))


def is_phrase(value: str) -> bool:
    """Return whether a value is a passphrase of words in lower case, such as "otter-river-maple"."""
    return (
        len(value) >= _MIN_WORDS_CHARACTERS
        and _WORDS.fullmatch(value) is not None
        and not (is_known_password(value) or starts_like_placeholder(value))
    )


def is_spaced_password(value: str) -> bool:
    """Return whether a value with blanks is a passphrase with a digit or of five words, or an app password, unlike a sentence."""
    words = value.split(" ")
    return _APP_PASSWORD.fullmatch(value) is not None or (
        len(words) >= 3
        and all(map(str.isalnum, words))
        and not words[0].istitle()
        and (any(map(str.isdigit, value)) or (len(words) >= 5 and value.islower()))
        and word_set("sentences").isdisjoint(words)
        and not (is_known_password(value) or starts_like_placeholder(value))
    )


def is_basic_login(value: str) -> bool:
    """Return whether a value is "user:password" in base64."""
    try:
        user, colon, password = (
            base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii").partition(":")
        )
    except ValueError:
        return False
    return (
        bool(colon)
        and len(user) > 1
        and len(password) > 3
        and (user + password).isprintable()
        and user != password
        and (is_random(password) or not is_known_password(user + password))
    )


def entropy(value: str) -> float:
    """Return the Shannon entropy of the value's characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


_ALPHABET = "_0abcdefghijklmnopqrstuvwxyz"
"""Symbols of the table: a joint or the start of a word, a digit, a letter in any case."""


@cache
def _cost() -> dict[str, int]:
    """Return the bits of information of a pair of characters."""
    rows = word_table()["pair_bits"]
    return {a + b: int(rows[i][j]) for i, a in enumerate(_ALPHABET) for j, b in enumerate(_ALPHABET)}


def surprise(value: str) -> float:
    """Return the mean bits of information per character, given the character before it.

    98 % of identifiers with 16 characters have less than 4, 99 % of random letters and digits have more than 4.1.
    """
    symbols = "_" + _symbols(value)
    cost = _cost()
    return sum(cost[symbols[i : i + 2]] for i in range(len(symbols) - 1)) / max(1, len(symbols) - 1)


def _symbols(value: str) -> str:
    """Return the symbols of a value: `OAuth2-key` becomes "oauth0_key", `getItem` becomes "get_item"."""
    out: list[str] = []
    before = ""
    for c in value:
        if c.isdigit():
            kind, symbol = "0", "0"
        elif "a" <= c <= "z":
            kind, symbol = "a", c
        elif "A" <= c <= "Z":
            kind, symbol = "A", c.lower()
        else:
            kind, symbol = "_", "_"
        if kind == "A" and before in ("a", "0"):
            out.append("_")
        if symbol != "_" or before != "_":
            out.append(symbol)
        before = kind
    return "".join(out)
