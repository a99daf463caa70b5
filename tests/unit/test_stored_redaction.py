"""Settings, prose and outlines are redacted before they are stored, and random words are not terms of the index."""

from pathlib import Path

import pytest

from promptls.index import parse_source
from promptls.index.search.analyzer import tokenize
from promptls.index.search.interning import RunInterner, TermExtractor
from promptls.index.workers.worker import Worker
from promptls.index.workers.worker_messages import ExtractTerms, ScanFiles, ScanResult, TermsResult
from promptls.model import Outline, decode_outline
from promptls.redaction.stored import redact_outline, stored_text

KEY = "sk_live_" + "51HqT4aKz9vBx7RmWq2LcYpE"
PASSWORD = "Vb7#qmT2!xRe"

PEM_LINE = "MHcCAQEEIPWQcYaA9VRGHVTQv5i5+YBs/L74+Ly8HJdqSKm2vTskDkSq81zkA12x"

TEXTS = {
    "a signature": ("a.py", "python", f'def pay(amount, key="{KEY}"):\n    return amount\n'),
    "the value of a constant": ("a.py", "python", f'DB_PASSWORD = "{PASSWORD}"\n'),
    "documentation": ("a.py", "python", f'def pay():\n    """Pay with {KEY}."""\n'),
    "documentation in words": (
        "a.c",
        "c",
        f"/* The login of the bench: ann / {PASSWORD} */\nint open_link(int n) {{ return n; }}\n",
    ),
    "documentation of the file": ("a.py", "python", f'"""Log in with {KEY}."""\nx = 1\n'),
    "a heading": ("a.md", "markdown", f"# Shop\n\n## Pay with {KEY}\n\nText.\n\n### Refunds\n\nText.\n"),
    "a private key that is longer than a signature": (
        "a.json",
        "json",
        '{"signing": "-----BEGIN EC PRIVATE KEY-----' + f"\\n{PEM_LINE}" * 9 + '\\n-----END EC PRIVATE KEY-----"}\n',
    ),
    "a key": ("a.yaml", "yaml", f"{KEY}:\n  name: ann\n  mail: ann@shop.com\n"),
}


def outline_of(path: str, language: str, text: str) -> Outline:
    outline = parse_source(text, language, path=path).outline
    assert outline is not None
    return outline


def strings_of(outline: Outline) -> str:
    return repr((outline.doc, outline.symbols, outline.identifiers, outline.ref_names))


@pytest.mark.parametrize("case", TEXTS)
def test_secret_in_an_outline_is_redacted(case: str) -> None:
    path, language, text = TEXTS[case]
    before = outline_of(path, language, text)
    assert any(secret in strings_of(before) for secret in (KEY, PASSWORD, PEM_LINE)), "no secret to redact"
    after = redact_outline(before, path)
    assert not any(secret in strings_of(after) for secret in (KEY, PASSWORD, PEM_LINE))
    assert "redacted" in strings_of(after)
    assert [symbol.span for symbol in after.symbols] == [symbol.span for symbol in before.symbols]


def test_qualified_names_below_a_redacted_heading_stay_consistent() -> None:
    outline = redact_outline(outline_of(*TEXTS["a heading"]), "a.md")
    shop, pay, refunds = outline.symbols
    assert pay.qualified == f"{shop.qualified}.{pay.name}"
    assert refunds.qualified == f"{pay.qualified}.Refunds"


def test_outline_without_secrets_is_the_same_object() -> None:
    text = 'VERSION = "1.25.3"\n\n\ndef ping(host="localhost", port=5432):\n    """Send one "ping" to `host`."""\n'
    outline = outline_of("a.py", "python", text)
    assert redact_outline(outline, "a.py") is outline


SETTINGS = {
    "config/app.yml": "db:\n  user: shop\n  password: papillon_Luna24\n  port: 5432\n",
    "conf/app.properties": "db.user=shop\ndb.password=papillon_Luna24\n",
    "notes.md": "# Access\n\nThe password is `papillon_Luna24` for now.\n",
    "setup.sh": "mysql -u shop -ppapillon_Luna24 < dump.sql\n",
    "keys.json": '{"private": "-----BEGIN RSA PRIVATE KEY-----\\n'
    + f"{PEM_LINE}\\n" * 3
    + '-----END RSA PRIVATE KEY-----"}\n',
}


@pytest.mark.parametrize("path", SETTINGS)
def test_words_of_secrets_in_settings_and_prose_are_not_stored(path: str, tmp_path: Path) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SETTINGS[path])
    worker = Worker()
    scanned = worker.handle(ScanFiles((str(file),), roots=(str(tmp_path),)))
    assert isinstance(scanned, ScanResult)
    outline = decode_outline(scanned.files[0].encoded_outline)
    terms = worker.handle(ExtractTerms(tuple(chunk.key for chunk in outline.chunks)))
    assert isinstance(terms, TermsResult)
    stored = f"{terms.rows.terms} {outline}".lower()
    assert "redact" in stored and "papillon" not in stored and PEM_LINE.lower() not in stored
    assert outline.lines == SETTINGS[path].count("\n")


def test_stored_text_of_code_and_tests_and_without_secrets_is_the_same() -> None:
    for path in ("app.py", "tests/config.yml"):
        assert stored_text(SETTINGS["config/app.yml"], path) is SETTINGS["config/app.yml"]
    assert stored_text("db:\n  user: shop\n", "app.yml") == "db:\n  user: shop\n"


WORDS = {
    "a random word": (KEY, False),
    "a hash": ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", False),
    "a name that ends with a hash": ("key_9f86d081884c7d659a2feaa0", False),
    "a name with a number": ("OAuth2AuthorizationCodeRequestUrlDataType", True),
    "a name with a date": ("migrate_users_20240131", True),
    "a short random word": ("Xa7Qz2", True),
}


@pytest.mark.parametrize("case", WORDS)
def test_terms_are_names_and_not_data(case: str) -> None:
    word, is_name = WORDS[case]
    text = f"pay({word})"
    assert (word.lower() in tokenize(text)) is is_name
    rows = TermExtractor().extract((b"k",), RunInterner().intern((text,)))
    assert sorted(rows.terms) == sorted(set(tokenize(text)))
