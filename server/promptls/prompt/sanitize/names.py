"""Kinds of secrets by the name of a variable, a key or an option: `DB_PASSWORD`, `clientSecret`, `apiKey`."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache


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
_KEYS = frozenset(
    "api access private client signing secret auth encryption encrypt encoding decryption master storage account shared"
    " license subscription session security hmac jwt fernet write ingest deploy sdk aes crypto cipher symmetric webhook vapid"
    " app application admin service server consumer".split()
)
"""Words before "key" in the name of a secret; "primary", "cache", "public" and "host" are not among them."""
_ISSUERS = frozenset(
    "airtable algolia anthropic azure bedrock brevo clerk cloudflare cohere cosmos datadog deepseek deepl elevenlabs fastly"
    " firebase gemini github gitlab google groq heroku honeycomb huggingface launchdarkly linear mailchimp mailgun mapbox"
    " mistral newrelic notion openai openrouter pagerduty perplexity pinecone plaid postmark pusher readme resend segment"
    " sendgrid sendinblue sentry shippo shodan stripe supabase tailscale tavily telegram together twilio vercel voyage"
    " wandb weather zendesk".split()
)
_PUBLIC = frozenset("public publishable hashed encoded digested".split())
"""Words of the name of a value that may be read by everybody, and of one that is derived from a secret."""
_PASSES = frozenset("last first second third single two multi one next by com sur tres render shader high low".split())
"""Words before "pass" that is not a password."""
_KEY_WORDS = re.compile(r"(?:api|access|private|secret|client|signing|encryption)_keys?(?:_|$)")
_NEUTRAL = frozenset(
    "prod production dev development staging stage live default value string text str base data plain plaintext old new"
    " current previous primary secondary main backup raw global local demo test testing ci qa uat eu us my env equals".split()
)
"""Last words that do not change the meaning of a name."""
_REFERENCES = frozenset(
    "name names ref refs reference references url urls uri uris path paths file files filename filepath dir directory folder"
    " arn type types kind field fields selector label labels hint hints placeholder title message messages msg error errors"
    " description desc help text class classes css style icon regex regexp pattern patterns endpoint endpoints provider"
    " providers format algorithm algorithms alg issuer iss version versions expiry expires expiration expire ttl length len"
    " size policy policies store stores template templates prefix suffix header headers param params parameter parameters"
    " input form page route router view component module id ids uuid guid index count counter limit limits usage scope scopes"
    " audience manager service services factory builder generator validator encoder decoder helper util utils handler"
    " controller repository model entity dto schema table column resource resources mount volume var variable variables hash"
    " hashes digest checksum fingerprint sha md cert certificate certs public pub date time timestamp created updated at by"
    " mode strategy status state enabled disabled required visible options option config configuration settings setting"
    " method methods action actions event events callback function func fn test spec context source target user username login"
    " email host hostname port domain realm group role roles permission permissions request response result results"
    " client middleware filter interceptor guard exception code codes process reset forgot change confirm confirmation"
    " mismatch invalid changed position pos start end idx offset range node list map set array tuple object obj instance"
    " bytes bits alias aliases loader reader writer parser resolver converter transformer supplier consumer backend binding"
    " address signature signatures symbol decimals sale contract price cost balance".split()
)
"""Last words of the name of something about a secret."""


@lru_cache(maxsize=4096)
def name_kind(name: str) -> NameKind:
    """Return the kind of a name, in any spelling of its words; a name has one of the keywords."""
    words = words_of(name)
    while len(words) > 1 and words[-1] in _NEUTRAL:
        words.pop()
    if not words:
        return NameKind.REFERENCE
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _REFERENCES or not _PUBLIC.isdisjoint(words):
        return NameKind.REFERENCE
    if last == "pass" and before in _PASSES:
        return NameKind.REFERENCE
    if _PASSWORD_END.search(last) or (last in ("word", "phrase", "code") and before in ("pass", "secret")):
        return NameKind.PASSWORD
    if _SECRET_END.search(last):
        return NameKind.SECRET
    if _ISSUED_END.search(last):
        return NameKind.ISSUED
    if last in ("key", "keys"):
        is_secret = before in _KEYS or before in _ISSUERS or (before == "pass")
        return NameKind.ISSUED if is_secret else NameKind.REFERENCE
    return (
        NameKind.OTHER if any(map(_is_secret_word, words)) or _KEY_WORDS.search("_".join(words)) else NameKind.REFERENCE
    )


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: those of "openDbSession2" are "open", "db" and "session"."""
    return [word.lower() for word in _WORD.findall(name)]


def _is_secret_word(word: str) -> bool:
    return bool(_PASSWORD_END.search(word) or _SECRET_END.search(word) or _ISSUED_END.search(word))
