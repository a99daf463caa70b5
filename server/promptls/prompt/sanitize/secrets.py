"""Secrets: what is one by its shape, by the name before it, or by the file that it stands in.

`redact` puts a named marker where a secret stood; lines stay.  A shape is an issuer's own (prefix, alphabet, length);
in a file that is made for secrets all but names is taken for a value; elsewhere a value is judged by the name before
it, and by being random or well chosen.  Pure functions over text and path.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count

from promptls.index import files
from promptls.index.snapshot import EXHIBIT
from promptls.prompt.sanitize.findings import Finding

_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[0abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Where a token may begin: after what is no part of a word, also where that is escaped as in "\\nghp_…" and "%20ghp_…"."""
_STOP = r"(?![A-Za-z0-9_-])"

_TOKENS: tuple[tuple[str, tuple[str, ...], re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (name, tuple(marks.split()), re.compile(pattern), re.compile(_EDGE + pattern))
    for name, marks, pattern in (
        # name, what every match contains (a cheap test), shape as its issuer documents it; what can begin again and
        # again within itself has its edge here, so that the test stays cheap
        ("aws access key", "AKIA ASIA", r"A(?:KI|SI)A[A-Z2-7]{16}(?![A-Za-z0-9])"),
        ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
        ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
        (
            "gitlab token",
            "glpat- gldt- glrt- glptt- glcbt- glagent- gloas-",
            r"gl(?:pat|dt|rt|ptt|cbt|agent|oas)-[A-Za-z0-9_-]{20,}",
        ),
        ("slack token", "xox", r"xox[abeoprs]-(?:[A-Za-z0-9]+-){1,5}[A-Za-z0-9]{10,}"),
        ("slack token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,}"),
        ("slack webhook", "hooks.slack.com", r"(?<=hooks\.slack\.com/)services/T\w{6,}/B\w{6,}/\w{20,}"),
        ("discord webhook", "/api/webhooks/", r"(?<=/api/webhooks/)\d{17,20}/[A-Za-z0-9_-]{60,}"),
        ("stripe key", "k_live_ k_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{20,}"),
        ("stripe secret", "whsec_", r"whsec_[A-Za-z0-9+/]{32,}"),
        ("anthropic key", "sk-ant-", r"sk-ant-[a-z]+\d\d-[A-Za-z0-9_-]{20,}"),
        ("openrouter key", "sk-or-", r"sk-or-v1-[a-f0-9]{64}"),
        ("openai key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{48}(?![A-Za-z0-9]))"),
        ("api key", "sk-", r"sk-[a-f0-9]{32}(?![A-Za-z0-9])"),
        ("groq key", "gsk_", r"gsk_[A-Za-z0-9]{48,}"),
        ("xai key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
        ("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
        ("replicate token", "r8_", r"r8_[A-Za-z0-9]{37}" + _STOP),
        ("google key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
        ("google secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
        ("google token", "ya29.", r"ya29\.[A-Za-z0-9_-]{30,}"),
        ("hugging face token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
        ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
        ("pypi token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
        ("rubygems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
        ("docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
        ("json web token", "eyJ", _EDGE + r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
        ("sendgrid key", "SG.", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
        ("mailgun key", "key-", r"key-[a-f0-9]{32}" + _STOP),
        ("mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}" + _STOP),
        ("twilio key", "SK", r"SK[a-f0-9]{32}" + _STOP),
        ("telegram token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}" + _STOP),
        ("digitalocean token", "do", r"do[opr]_v1_[a-f0-9]{64}"),
        ("shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
        ("square token", "sq0", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
        ("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?" + _STOP),
        ("azure devops token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" + _STOP),
        ("azure key", "AccountKey= SharedAccessKey=", r"(?<=AccessKey=)[A-Za-z0-9+/]{40,}={0,2}"),
        ("azure key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{80,}={0,2}"),
        ("vault token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,}"),
        ("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
        ("atlassian token", "ATATT3 ATBB", r"(?:ATATT3[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{28,})"),
        ("linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
        ("notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
        ("postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
        ("grafana token", "glsa_ glc_", r"gl(?:sa_[A-Za-z0-9]{32}_[a-f0-9]{8}|c_[A-Za-z0-9+/]{40,}={0,2})"),
        ("new relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
        ("heroku key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,}"),
        ("sentry token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
        ("supabase token", "sbp_", r"sbp_[a-f0-9]{40}"),
        ("planetscale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
        ("doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}"),
        ("tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}"),
        ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
        ("private key", "LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUklW|BPUEVOU1NI)[A-Za-z0-9+/]{60,}={0,2}"),
    )
)  # fmt: skip

_SHORTEST = 20  # characters of the shortest token: names of symbols are seldom longer
_RUN_OF = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+-\\%"
_APART = bytes(c if c in _RUN_OF else 0x20 for c in range(256))
_MARKS = tuple(dict.fromkeys(mark for _, marks, _, _ in _TOKENS for mark in marks))

_BEGIN_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_END_KEY = re.compile(r"-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:\s*[A-Za-z0-9+/=]{32,}[ \t]*(?:\n|$))+")
_KEY_LINE = re.compile(r"""[-+]?[-\s>#*"']*(?://[ \t]+)?([A-Za-z0-9+/=]+)(?:[\\"',;\s][\\nr"',;\s+]*)?""")
_KEY_WIDTH = 32  # characters of base64 in a line of a key, apart from the last ones: the rest and a checksum
_KEY_LAST = 2
_KEY_MAX = 20_000  # characters; an RSA key of 16,384 bits has 12,700

_DIFFERENCE_OF = re.compile(r" \([^()]*\)$")
"""What the name of a difference ends in: "promptls:a/.env (diff)"."""
_INDENT = "-+ \t{[(,"
"""What may stand before a name or a value of a file: the sign of a difference, blanks, marks of lists."""
_BEFORE_VALUE = re.compile(
    r"""(?!\s*["']?[A-Za-z0-9+/]{16,}={0,2}\s*$)"""  # the last line of something in base64
    r"""[-+#;{\[(,\s]*(?:export\s+)?(?://(?:[\w./:-]*/:)?\s*)?["']?[\w.@][\w.@-]*["']?[ \t]*(?:=>?|:=?)[ \t]*"""
)
_NO_VALUE = re.compile(r"[-+ ]?\[+[\w .:/@-]*\]+\s*$|[-+\s]*(?:$|[#;]|//|@@|-----(?:BEGIN|END) [A-Z ]+-----\s*$)")
"""Header of a section, comment, place in a difference, marker of a key, blank line."""
_BLOCK_SIGNS = " \t\r,;|>\"'`()[]{}+-"
"""Brackets, quotes and signs that begin a block, which alone are no value."""
_PLACEHOLDER = re.compile(
    r"\$\{\w*\}|%\w+%|<[^<>]*>|\{\{[^{}]*\}\}|⟦[^⟦⟧]*⟧|change[-_ ]?me|placeholder|todo|example"
    r"|your(?:[-_ ][a-z]+)+|(.)\1*|true|false|yes|no|on|off|none|null",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]*:)([^\s/'\"]{3,})(?=@)")
_LIKE_PLACEHOLDER = re.compile(
    r"[$<{%*]|your|example|change.?me|placeholder|todo\b|(.)\1*$|(?:true|false|none|null)$", re.I
)

_QUOTED = re.compile(r"""["'`]([A-Za-z0-9+/=_.~!@#%^&*-]{16,200})(?=["'`])""")
_AUTH = r"(?-i:[Aa]uth(?:orization|entication)?(?![a-z])|AUTH(?:ORIZATION|ENTICATION)?(?![A-Z]))"
"""As a word of a name: no author and no authority."""
_AUTH_WORD = re.compile(_AUTH)
_NAMED = re.compile(
    r"""(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?key|credential|"""
    rf"""{_AUTH})"""
    r"""[\w-]{0,20}["']?\]?[ \t]{0,8}(?::[ \t]?str[ \t]?)?(?:=>?|:=?)[ \t]{0,8}[bru]?$""",
    re.IGNORECASE,
)
_NAME_MAX = 72  # characters from the beginning of the name to the quote
_CHOSEN = ("passw", "passphrase", "pwd", "secret")
_GIVEN = ("token", "credential", "auth", "key")
"""Beginnings of names that tell: of what people choose themselves, and of what is given to them."""
_KEY_OF = re.compile(r"(?:api|access|private|client|signing|secret|auth|npm)[ _-]?$")
_SCHEMES = ("bearer ", "basic ")

_AFTER_NAME = re.compile(
    r"""[\w-]{0,32}["'`]?\]?[ \t]{0,8}"""
    r"""(?:"""
    r"""(?::[ \t]?&?(?:'static[ \t])?[\w.<>\[\]]{1,24}[ \t]?)?(?:=>|:=|\|\|=?|\?\?=?|==?|:|<-|,)"""  # its value, a default
    r"""|[({>]"""  # of a call, of a constructor, of an element
    r"""|(?<=["'][ \t])(?:value|content)="""  # of another attribute
    r"""|(?<=[ \t])(?=["'])"""  # of a macro
    r""")[ \t]{0,8}(?:[bru]?(?=["'`]))?(?:[\w.]{1,40}\([ \t]?)?["'`]?(?:(?:bearer|basic|token)[ \t]+)?"""
    r"""(?:(?<=["'`])([^\s"'`⟦⟧]{8,200})(?=["'`])"""
    r"""|(?<![({,"'`])(?P<bare>[^\s"'`<>;,&(){}\[\]⟦⟧]{8,200}))""",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"""[A-Za-z0-9+/=_.~-]{16,400}(?=["'`\s\\]|$)""")
_USER = re.compile(r"""["']?[^\s:'"]{1,60}:([^\s'"$]{6,100})""")
_NEXT_LINE = re.compile(r"""["']?[ \t]*\r?\n[ \t]*value:[ \t]*["']?([^\s"'⟦⟧]{8,400})""")
_SETTINGS_FILE = re.compile(
    r"(?:\.(?:ya?ml|toml|ini|cfg|conf|config|properties|xml|json|jsonc|tf|hcl|props|plist|env(?:rc)?(?:\.\w+)?)|dockerfile[^/]*|containerfile)(?: \([^()]*\))?$",
    re.IGNORECASE,
)
_SIGNS = frozenset("!@#$%^&*+?~")
_SAMPLE = re.compile(r"example|sample|dummy|fake|test|mock|xxxx|1234567|abcdef|placeholder|change|your|redacted", re.I)
_RANDOM_BITS = 3.5
"""Bits of entropy a character: random base64 of 20 characters has about 4, words joined by signs about 3."""


def redact(text: str, path: str = "", *, is_file: bool = False) -> tuple[str, list[Finding]]:
    """The text with what is certainly a secret replaced by "⟦redacted: github token⟧", and what was found.

    `path` says where the text comes from.  `is_file`: it is lines of that very file, and not what is said of it; of one
    that is made for secrets nothing is left but names then.
    """
    found: list[tuple[int, int, str]] = []
    if len(text) < _SHORTEST and not path:
        return text, []
    if "PRIVATE KEY" in text:
        found += _private_keys(text)
    runs = _runs(text)  # few of them, so the sixty searches below are cheap
    present = {mark for mark in _MARKS if mark in runs}
    for name, marks, shape, pattern in _TOKENS if present else ():
        if not present.isdisjoint(marks) and shape.search(runs):
            found += [(*match.span(), name) for match in pattern.finditer(text) if "EXAMPLE" not in match.group()]
    if is_made_for_secrets(path):
        found += _values(text, is_file)
    found += _assigned(text)
    found += _named(text, path)
    return _replaced(text, _apart(found)) if found else (text, [])


def is_made_for_secrets(path: str) -> bool:
    """Whether a file, or what a difference is of, is made for secrets by its name."""
    return bool(path and files.kind_of_secrets(_DIFFERENCE_OF.sub("", path.removeprefix(EXHIBIT))))


def _runs(text: str) -> str:
    """Where a token can stand, its mark included: a line for each run of characters that tokens are made of."""
    pieces = text.encode("utf-8", "surrogatepass").translate(_APART).split()
    return b"\n".join([piece for piece in pieces if len(piece) >= _SHORTEST]).decode()


def _apart(found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The same in order, what overlaps as one: a secret can be a part of another, or go on behind it."""
    out: list[tuple[int, int, str]] = []
    for start, end, name in sorted(found):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), out[-1][2])
        else:
            out.append((start, end, name))
    return out


def _replaced(text: str, found: list[tuple[int, int, str]]) -> tuple[str, list[Finding]]:
    out: list[str] = []
    findings: list[Finding] = []
    at = line = 0
    for start, end, name in found:
        line += text.count("\n", at, start)
        findings.append(Finding(line, name, secret=True))
        gone = text.count("\n", start, end)
        out += [text[at:start], f"⟦redacted: {name}⟧", "\n" * gone]
        at, line = end, line + gone
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
    for end in _END_KEY.finditer(text):  # of which the beginning may be cut off
        start = _lines_before(text, end.start())
        if start < end.start():
            yield start, end.end(), "private key"


def _lines_before(text: str, end: int) -> int:
    """Where the lines of a key begin that go on to a place; the place itself if there are none."""
    start, last = end, text.rfind("\n", 0, end) + 1
    for number in count():
        above = text.rfind("\n", 0, max(0, last - 1)) + 1
        line = _KEY_LINE.fullmatch(text, above, max(0, last - 1))
        if line is None or (len(line[1]) < _KEY_WIDTH and number >= _KEY_LAST):
            break
        last = above
        start = above if len(line[1]) >= _KEY_WIDTH else start
    return start


def _is_key(body: str) -> bool:
    """Base64 with at most line ends, quotes and PEM headers between; code that handles keys is not."""
    body = re.sub(r"(?m)^[\s\"']*[A-Z][A-Za-z-]+: .*$", "", body)
    body = re.sub(r"\\[rn]|[\s\"'+,\\]", "", body)
    return len(body) >= 64 and len(re.sub(r"[A-Za-z0-9/=]", "", body)) <= len(body) // 20


def _values(text: str, is_file: bool) -> Iterator[tuple[int, int, str]]:
    """Values of a file that is made for secrets, each to the end of its line; what has no name before it is one too."""
    at = 0
    for line in text.split("\n"):
        named = _BEFORE_VALUE.match(line)
        if named or (is_file and not _NO_VALUE.match(line)):
            start, end = _value(line, named.end() if named else len(line) - len(line.lstrip(_INDENT)))
            value = line[start:end]
            if value.strip(_BLOCK_SIGNS) and not _PLACEHOLDER.fullmatch(value):
                yield at + start, at + end, "value"
        at += len(line) + 1


def _value(line: str, start: int) -> tuple[int, int]:
    """Where the value is that begins at a place: between its quotes if nothing but brackets comes after them."""
    end = len(line.rstrip())
    if line[start : start + 1] in ('"', "'"):
        closing = line.rfind(line[start], start + 1)
        if closing > start and not line[closing + 1 : end].strip(" \t,;)]}"):
            return start + 1, closing
    return start, end


def _assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Long random values in quotes after a telling name, and passwords in addresses, in any file."""
    for match in _QUOTED.finditer(text):
        if _is_random(match[1]) and _NAMED.search(text, max(0, match.start() - _NAME_MAX), match.start()):
            yield (*match.span(1), "value")
    if "@" in text and "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if _is_password(match[2]):
                yield (*match.span(2), "password")


def _named(text: str, path: str) -> Iterator[tuple[int, int, str]]:
    """What stands after a name that tells, however it is assigned: random anywhere, well chosen in quotes or in settings.

    Goes from name to name, since there are few of them.
    """
    settings = bool(_SETTINGS_FILE.search(path))
    low = text.lower()
    if len(low) != len(text):  # a letter that is two in lower case
        low = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    for word in (*_CHOSEN, *_GIVEN):
        for at in _places(low, word):
            if word == "key" and not _KEY_OF.search(low, max(0, at - 8), at):
                continue
            if word == "auth" and not _AUTH_WORD.match(text, at):
                continue
            after = _AFTER_NAME.match(text, at + len(word)) or (settings and _NEXT_LINE.match(text, _ended(text, at)))
            if not after:
                continue
            group = after.lastindex or 0
            value = after[group]
            bare = after.re is _AFTER_NAME and after["bare"] is not None
            if bare and text[max(0, after.start(group) - 8) : after.start(group)].rstrip(" \t")[-1:] in ("(", "{", ","):
                continue  # an argument, another item: a name more likely than a value
            loose = bare and not settings and text[at - 1 : at] not in (";", "?", "&")
            called = text[after.end(group) : after.end(group) + 1] == "("
            if _LIKE_PLACEHOLDER.match(value) or _REFERENCE.search(value + "(" * called):
                continue
            if _is_long_and_random(value) or (word in _CHOSEN and not loose and _is_chosen(value)):
                yield (*after.span(group), "value")
    for word in _SCHEMES:
        for at in _places(low, word):
            login = _LOGIN.match(text, at + len(word))
            if login and (_is_random(login[0]) or _is_login(login[0])):
                yield (*login.span(), "value")
    for word in (" -u ", " --user ", " --user="):
        for at in _places(low, word):
            user = _USER.match(text, at + len(word))
            if user and _is_password(user[1]):
                yield (*user.span(1), "password")


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _ended(text: str, at: int) -> int:
    """Where the word ends that holds a place, if it is short enough for a name."""
    most = min(len(text), at + _NAME_MAX)
    while at < most and (text[at].isalnum() or text[at] in "_-"):
        at += 1
    return at


def _is_long_and_random(value: str) -> bool:
    return len(value) >= (24 if _HEX.fullmatch(value) else 16) and _is_random(value)


_HEX = re.compile(r"[0-9a-fA-F]+")
_REFERENCE = re.compile(
    r"://|^\d{4}-\d\d-\d\d|^[.~]|^/(?!(?:[A-Za-z0-9+/]{39}|[A-Za-z0-9+/]{20,}={1,2})$)|\.\."
    r"|^[A-Za-z_][\w.]*\((?:.*\))?$|^\w+(?:\.\w+)+$|\\[wdsbWDSB]|\[\^|\{\d"
)
"""An address, a path, a call, an attribute, a regular expression: no value.  Base64 may begin with "/" too."""


def _is_chosen(value: str) -> bool:
    """Whether a value is a password as people are made to choose them: letters in both cases and digits, or a sign too."""
    kinds = any(map(str.islower, value)) + any(map(str.isupper, value)) + any(map(str.isdigit, value))
    signs = not _SIGNS.isdisjoint(value)
    plain = re.sub(r"[A-Za-z0-9_.-]", "", value)
    return _is_password(value) and kinds + signs >= 4 and len(plain) <= len(value) // 3


def _is_login(value: str) -> bool:
    """Whether a value is "user:password" in base64."""
    try:
        user, colon, word = (
            base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii").partition(":")
        )
    except ValueError:
        return False
    return bool(colon) and len(user) > 1 and len(word) > 3 and (user + word).isprintable()


_SAME_CLASS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_RUN_MEAN = 3.2
"""Characters of one class in a row, on average: random letters and digits have 1.6, hex 2.1, names 4 and more."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
"""Of an account or a contract on a chain: public, and as long as no key is."""
_IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z_][\w.]*")
_WORD = re.compile(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{4,}(?![a-z])")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_WORDS = 0.75
"""Share of the characters that words have in what is a name in camel case; of random letters and digits .99 have less."""

_NO_DIGITS, _NO_JOINTS = str.maketrans("", "", "0123456789"), str.maketrans("", "", "_.")


def _is_random(value: str) -> bool:
    """Whether a value is no word, path, name or sample: digits among letters, and little said twice."""
    digits = len(value) - len(value.translate(_NO_DIGITS))
    if (
        digits < (1 if len(value) >= 32 else 2)
        or digits == len(value)
        or not any(map(str.isalpha, value))
        or _SAMPLE.search(value)
        or _ADDRESS.fullmatch(value)
        or _is_identifier(value)
    ):
        return False
    runs = _SAME_CLASS.findall(value)
    if sum(map(len, runs)) > _RUN_MEAN * len(runs):
        return False
    return entropy(value) >= _RANDOM_BITS - (0.5 if re.fullmatch(r"[0-9a-fA-F]+", value) else 0)


def _is_identifier(value: str) -> bool:
    """Whether a value is a name in camel case, as `OAuth2BackendV3` is."""
    if not _IDENTIFIER.fullmatch(value):
        return False
    words = sum(len(word) for word in _WORD.findall(value) if _VOWEL.search(word))
    return words >= _WORDS * len(value.translate(_NO_JOINTS))


def _is_password(value: str) -> bool:
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    return len(value) >= 8 and letters and digits and not (_LIKE_PLACEHOLDER.match(value) or _SAMPLE.search(value))


def entropy(value: str) -> float:
    """Bits a character (Shannon 1948), of the characters' own frequencies."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
