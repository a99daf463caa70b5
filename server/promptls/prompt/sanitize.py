"""What must not reach a model unseen: invisible characters, forged headers, secrets.

Pure functions over text.  Code stays as it is otherwise: nothing that a reader can see is rewritten,
apart from the secrets, which give way to a named marker.  The number of lines never changes, so that
line numbers stay true.  Knows nothing of items, forms or budgets; fences are in fences.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct


class Finding(Struct, frozen=True, order=True):
    """Something that was made visible or taken out."""

    line: int  # 0-based
    name: str  # "github token", "bidi control", …
    secret: bool


class Clean(Struct, frozen=True):
    """A text that may stand in a prompt; as many lines as it had."""

    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()  # by line


def clean(text: str, path: str = "") -> Clean:
    """The text with secrets redacted and invisible characters shown; a byte order mark at its start goes."""
    text, secrets = redact(text.removeprefix("\ufeff"), path)
    shown, counts = visible(text)
    unseen = [Finding(line, name, secret=False) for line, name in _unseen(text)] if counts else []
    return Clean(tuple(shown.split("\n")), tuple(sorted([*secrets, *unseen])))


# ---------------------------------------------------------------- invisible characters

# Runs of variation selectors carry hidden bytes; a single one only chooses between two looks of an emoji.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e0fff]|\r(?!\n)|[\ufe00-\ufe0f]{2,}"
)
_ASCII_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # the same for most texts, five times as fast
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> tuple[str, dict[str, int]]:
    """Each character that cannot be seen or that turns the direction of writing as "⟦U+202E⟧".

    Tabs and line ends stay.  Also gives the number of characters by class: "control", "zero width",
    "bidi control", "tag character", "surrogate".
    """
    if not (_ASCII_UNSEEN if text.isascii() else _UNSEEN).search(text):
        return text, {}
    counts: Counter[str] = Counter(name for _, name in _unseen(text))
    return _UNSEEN.sub(lambda found: _escaped(found.group()), text), dict(counts)


def _escaped(characters: str) -> str:
    return "".join(f"⟦U+{ord(c):04X}⟧" for c in characters)


def _unseen(text: str) -> Iterator[tuple[int, str]]:
    """(line, class) of each invisible character."""
    line, at = 0, 0
    for found in _UNSEEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        for character in found.group():
            yield line, _class(character)


def _class(character: str) -> str:
    if character in _BIDI:
        return "bidi control"
    if character < "\xa0":
        return "control"
    if "\ud800" <= character <= "\udfff":
        return "surrogate"
    return "tag character" if character >= "\U000e0000" else "zero width"


def header_text(value: str) -> str:
    """A path or a name as it may stand between the quotes of a header: one line that cannot end it.

    `&`, `<`, `>` and `"` become XML entities; tabs, line ends, invisible characters and "⟦" the visible
    escape, so that the value can be had back: undo the escapes, then the entities.
    """
    value = re.sub(r"[⟦\t\r\n]", lambda found: _escaped(found.group()), value)
    value = visible(value)[0]
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


# ---------------------------------------------------------------- secrets

_EDGE = r"(?<![A-Za-z0-9_-])"

_TOKENS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (name, tuple(marks.split()), re.compile(_EDGE + pattern))
    for name, marks, pattern in (
        # name, what every match contains (a cheap test), shape as its issuer documents it
        ("aws access key", "AKIA ASIA", r"A(?:KI|SI)A[A-Z2-7]{16}(?![A-Za-z0-9])"),
        ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
        ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
        ("gitlab token", "glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,}"),
        ("slack token", "xox", r"xox[abeoprs]-(?:[A-Za-z0-9]+-){1,5}[A-Za-z0-9]{10,}"),
        ("slack webhook", "hooks.slack.com", r"(?<=hooks\.slack\.com/)services/T\w{6,}/B\w{6,}/\w{20,}"),
        ("stripe key", "k_live_ k_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{20,}"),
        ("anthropic key", "sk-ant-", r"sk-ant-[a-z]+\d\d-[A-Za-z0-9_-]{20,}"),
        ("openai key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{48}(?![A-Za-z0-9]))"),
        ("google key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
        ("google secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
        ("hugging face token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
        ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
        ("pypi token", "pypi-AgEI", r"pypi-AgEI[A-Za-z0-9_-]{50,}"),
        ("json web token", "eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    )
)

_SHORTEST = 20  # characters of the shortest token: names of symbols are seldom longer

_BEGIN_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_END_KEY = re.compile(r"-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:\s*[A-Za-z0-9+/=]{32,}[ \t]*(?:\n|$))+")
_KEY_MAX = 20_000  # characters; an RSA key of 16,384 bits has 12,700

_ENV_FILE = re.compile(
    r"(?:^|/)(?:\.env(?:\.[^/]*)?|[^/]*\.env|\.?envrc|\.npmrc|\.pypirc|[._]netrc|credentials|[^/]*\.tfvars"
    r"|\.?secrets?(?:\.[^/]*)?\.(?:ya?ml|toml|json|ini|properties|cfg|conf))$",
    re.IGNORECASE,
)
_ENV_VALUE = re.compile(
    r"""^([ \t]*(?:-[ \t]+)?(?:export[ \t]+)?["']?[\w./:@-]*"""
    r"""(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key|access_?key|private_?key|credential)[\w.-]*["']?"""
    r"""[ \t]*[=:][ \t]*)(?:"([^"\n]{4,})"|'([^'\n]{4,})'|([^\s"'#,]{4,}))""",
    re.IGNORECASE | re.MULTILINE,
)
_NETRC_VALUE = re.compile(r"(\bpassword[ \t]+)(\S{4,})")
_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]+:)([^\s@/'\"]{3,})(?=@)")
_PLACEHOLDER = re.compile(r"[$<{%*]|your|example|change.?me|placeholder|todo\b|(.)\1*$|(?:true|false|none|null)$", re.I)


def redact(text: str, path: str = "") -> tuple[str, list[Finding]]:
    """The text with what is certainly a secret replaced by "⟦redacted: github token⟧", and what was found.

    Tokens with an issuer's own prefix and private keys are taken out of every file; values are judged by
    the name before them only in files that are made for secrets (.env, .npmrc, secrets.yml, …).
    """
    found: list[tuple[int, int, str]] = []
    if len(text) < _SHORTEST and not path:
        return text, []
    if "PRIVATE KEY" in text:
        found += _private_keys(text)
    for name, marks, pattern in _TOKENS:
        if any(mark in text for mark in marks):
            found += [(*match.span(), name) for match in pattern.finditer(text) if "EXAMPLE" not in match.group()]
    if path and _ENV_FILE.search(path):
        found += _values(text)
    return _replaced(text, sorted(found)) if found else (text, [])


def _replaced(text: str, found: list[tuple[int, int, str]]) -> tuple[str, list[Finding]]:
    out: list[str] = []
    findings: list[Finding] = []
    at = 0
    for start, end, name in found:
        if start < at:
            continue  # inside what is gone already
        out += [text[at:start], f"⟦redacted: {name}⟧", "\n" * text.count("\n", start, end)]
        findings.append(Finding(text.count("\n", 0, start), name, secret=True))
        at = end
    return "".join([*out, text[at:]]), findings


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    begins = list(_BEGIN_KEY.finditer(text))
    for i, begin in enumerate(begins):
        limit = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        end = _END_KEY.search(text, begin.end(), min(limit, begin.end() + _KEY_MAX))
        if end is not None and _is_key(text[begin.end() : end.start()]):
            yield begin.start(), end.end(), "private key"
        elif end is None and (lines := _KEY_LINES.match(text, begin.end(), limit)):
            yield begin.start(), lines.end() - text[lines.start() : lines.end()].endswith("\n"), "private key"


def _is_key(body: str) -> bool:
    """Base64 with at most line ends, quotes and PEM headers between; code that handles keys is not."""
    body = re.sub(r"(?m)^[\s\"']*[A-Z][A-Za-z-]+: .*$", "", body)
    body = re.sub(r"\\[rn]|[\s\"'+,\\]", "", body)
    return len(body) >= 64 and len(re.sub(r"[A-Za-z0-9/=]", "", body)) <= len(body) // 20


def _values(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _ENV_VALUE.finditer(text):
        group = match.lastindex or 0
        if not _PLACEHOLDER.match(match[group]):
            yield (*match.span(group), "value")
    for pattern in (_NETRC_VALUE, _URL_PASSWORD):
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.match(match[2]):
                yield (*match.span(2), "password")
