"""What is made visible, what is redacted, and what stays exactly as it is."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.sanitize import Finding, clean, header_text, redact, visible

# ---------------------------------------------------------------- invisible characters


@pytest.mark.parametrize(
    ("text", "shown", "counts"),
    [
        ("plain\ttext\n", "plain\ttext\n", {}),
        ("naïve 中文 🎉 ⚡️ “x” …", "naïve 中文 🎉 ⚡️ “x” …", {}),
        ("a\u202eb\u2066c", "a⟦U+202E⟧b⟦U+2066⟧c", {"bidi control": 2}),
        ("zero\u200bwidth\ufeff", "zero⟦U+200B⟧width⟦U+FEFF⟧", {"zero width": 2}),
        ("\x1b[31mred\x07", "⟦U+001B⟧[31mred⟦U+0007⟧", {"control": 2}),
        ("\x9b", "⟦U+009B⟧", {"control": 1}),
        ("x\U000e0041\U000e007f", "x⟦U+E0041⟧⟦U+E007F⟧", {"tag character": 2}),
        ("a\r\nb", "a\r\nb", {}),
        ("a\rb", "a⟦U+000D⟧b", {"control": 1}),
        ("\ud800", "⟦U+D800⟧", {"surrogate": 1}),
        ("x\ufe00\ufe01\ufe0f", "x⟦U+FE00⟧⟦U+FE01⟧⟦U+FE0F⟧", {"zero width": 3}),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str, counts: dict[str, int]) -> None:
    assert visible(text) == (shown, counts)


@given(st.text())
def test_making_visible_keeps_lines_and_is_done_once(text: str) -> None:
    shown, counts = visible(text)
    assert visible(shown) == (shown, {})
    assert shown.count("\n") == text.count("\n")
    assert bool(counts) == (shown != text)


def test_clean_tells_where_and_drops_only_a_leading_byte_order_mark() -> None:
    found = clean("\ufeffone\ntwo\u200b \ufeff\nthree\x00")
    assert found.lines == ("one", "two⟦U+200B⟧ ⟦U+FEFF⟧", "three⟦U+0000⟧")
    assert [(f.line, f.name) for f in found.findings] == [(1, "zero width"), (1, "zero width"), (2, "control")]


# ---------------------------------------------------------------- headers


def unescaped(value: str) -> str:
    """What a reader does to have the value back."""
    value = re.sub(r"⟦U\+([0-9A-F]+)⟧", lambda m: chr(int(m[1], 16)), value)
    for entity, sign in (("&quot;", '"'), ("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
        value = value.replace(entity, sign)
    return value


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("src/a b.py", "src/a b.py"),
        ('x" lines="1', "x&quot; lines=&quot;1"),
        ("a\nb\tc\r", "a⟦U+000A⟧b⟦U+0009⟧c⟦U+000D⟧"),
        ("operator<<", "operator&lt;&lt;"),
        ("</context-0123456789ab>", "&lt;/context-0123456789ab&gt;"),
        ("&quot;", "&amp;quot;"),
        ("⟦U+000A⟧", "⟦U+27E6⟧U+000A⟧"),
        ("a\u202eb", "a⟦U+202E⟧b"),
    ],
)
def test_header_text_stays_on_one_line_and_inside_its_quotes(value: str, header: str) -> None:
    assert header_text(value) == header


@given(st.text())
def test_header_text_can_be_had_back(value: str) -> None:
    header = header_text(value)
    assert not set('"<>\n\r') & set(header)
    assert unescaped(header) == value


# ---------------------------------------------------------------- secrets

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\nab==\n-----END PRIVATE KEY-----"

# Written in two parts, so that no scanner takes this file for a leak.
SECRETS = [
    ("aws access key", "AKIA" + "QYLPMN5HHHFPZAM2"),
    ("github token", "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"),
    ("github token", "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_" + "mNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPq"),
    ("gitlab token", "glpat-" + "aB3dE5gH7jK9mN1pQ3sT"),
    ("slack token", "xoxb-" + "123456789012-1234567890123-aB3dE5gH7jK9mN1pQ3sT5vW7"),
    ("stripe key", "sk_live_" + "aB3dE5gH7jK9mN1pQ3sT5vW7"),
    ("anthropic key", "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1"),
    ("openai key", "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1"),
    ("openai key", "sk-" + "aB3dE5gH7jK9mN1pQ3sT" + "T3BlbkFJ" + "aB3dE5gH7jK9mN1pQ3sT"),
    ("google key", "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
    ("hugging face token", "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"),
    ("npm token", "npm_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"),
    ("json web token", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"),
]


@pytest.mark.parametrize(("name", "secret"), SECRETS)
def test_tokens_are_redacted_in_any_file(name: str, secret: str) -> None:
    text, found = redact(f'TOKEN = 1\ncall("{secret}")\nnext()\n', "src/app.py")
    assert text == f'TOKEN = 1\ncall("⟦redacted: {name}⟧")\nnext()\n'
    assert found == [Finding(1, name, secret=True)]


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        KEY.replace("BEGIN PRIVATE", "BEGIN RSA PRIVATE").replace("END PRIVATE", "END RSA PRIVATE"),
        KEY.replace("KEY-----\nMII", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\nMII"),
        '"' + KEY.replace("\n", '\\n"\n    "') + '"',
        KEY.replace("\n", "\\n"),
        KEY.partition("\n-----END")[0],
    ],
)
def test_private_keys_go_and_their_lines_stay(text: str) -> None:
    cleaned, found = redact(f"before\n{text}\nafter\n", "deploy/key.txt")
    assert BODY[:20] not in cleaned
    assert "⟦redacted: private key⟧" in cleaned
    assert cleaned.startswith("before\n")
    assert cleaned.endswith("\nafter\n")
    assert cleaned.count("\n") == f"before\n{text}\nafter\n".count("\n")
    assert [f.name for f in found] == ["private key"]


ENV = """\
# database
DB_HOST=localhost
DB_PASSWORD=correct-horse
export API_KEY="k1 l2 m3"
OPTIONAL_TOKEN=
GITHUB_TOKEN=${SECRET}
ADMIN_PASSWORD=changeme
URL=postgres://app:hunter22@db:5432/app
"""


@pytest.mark.parametrize("path", [".env", "deploy/.env.production", "prod.env", "config/secrets.yml", ".npmrc"])
def test_values_are_redacted_in_files_made_for_secrets(path: str) -> None:
    text, found = redact(ENV, path)
    assert text.splitlines() == [
        "# database",
        "DB_HOST=localhost",
        "DB_PASSWORD=⟦redacted: value⟧",
        'export API_KEY="⟦redacted: value⟧"',
        "OPTIONAL_TOKEN=",
        "GITHUB_TOKEN=${SECRET}",
        "ADMIN_PASSWORD=changeme",
        "URL=postgres://app:⟦redacted: password⟧@db:5432/app",
    ]
    assert [f.line for f in found] == [2, 3, 7]


def test_npm_and_netrc_files() -> None:
    assert redact("//registry.npmjs.org/:_authToken=abcdef0123", ".npmrc")[0].endswith("=⟦redacted: value⟧")
    assert redact("machine h login me password s3cr3t", "home/.netrc")[0].endswith("password ⟦redacted: password⟧")


@pytest.mark.parametrize(
    "text",
    [
        ENV,
        'password = "hunter2-hunter2"',
        'PREFIX = "-----BEGIN PRIVATE KEY-----"\nSUFFIX = "-----END PRIVATE KEY-----"\n',
        'if b"-----BEGIN RSA PRIVATE KEY-----" in data:\n    load_private_key_from_pem_encoded_bytes(data)\n',
        "AWS_KEY = 'AKIAIOSFODNN7EXAMPLE'",
        "sk-learn-contrib task-runner-with-a-very-long-name-and-more risk-assessment-of-everything",
        "eyJhbGciOiJIUzI1NiJ9",
        "npm_config_registry npm_lifecycle_event ghp_token github_pat_ xoxb",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_ordinary_code_is_not_touched(text: str) -> None:
    assert redact(text, "src/config.py") == (text, [])


def test_nothing_in_the_standard_library_is_taken_for_a_secret() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    seen, found = 0, []
    for path in sorted(root.rglob("*.py")):
        if {"test", "tests", "site-packages"}.isdisjoint(path.relative_to(root).parts[:-1]):
            text = path.read_bytes().decode("utf-8", "replace")
            seen += 1
            found += [(path.name, finding) for finding in redact(text, str(path))[1]]
    assert seen > 300
    assert found == []


@given(st.lists(st.sampled_from([KEY, ENV, *(s for _, s in SECRETS), "\n", "x = 1\n", '"', "="])).map("\n ".join))
def test_redacting_keeps_the_number_of_lines_and_is_done_once(text: str) -> None:
    for path in ("a.py", ".env"):
        cleaned, found = redact(text, path)
        assert cleaned.count("\n") == text.count("\n")
        assert bool(found) == (cleaned != text)
        assert redact(cleaned, "a.py")[1] == []
        assert not any(secret in cleaned for _, secret in SECRETS)
