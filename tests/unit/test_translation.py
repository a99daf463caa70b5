"""Questions in other human languages: detection, translation, search and messages."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.extensions.translation.glossary import LANGUAGES
from promptls.extensions.translation.translate import translate
from promptls.index import tokenize
from promptls.retrieval.query import parse_query

DATA = Path(__file__).parents[2] / "scripts" / "evaluation" / "data"


def _lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_bytes().splitlines()]


ENGLISH = [row["question"] for name in ("small", "large") for row in _lines(name)]
TRANSLATED = _lines("translated")


@pytest.mark.parametrize("row", TRANSLATED, ids=lambda row: f"{row['id']}-{row['language']}")
def test_language_of_translated_question_is_detected(row: dict[str, str]) -> None:
    translation = translate(row["question"])
    assert translation is not None and translation.language == row["language"]


@pytest.mark.parametrize(
    "text",
    [
        *ENGLISH,
        "",
        "def wo(die, das): return die if das else None",
        "```sql\nselect * from tabla donde no es la clave del cliente que está en el pedido\n```\nwhy does this fail?",
        "Why is the string `无法打开文件` not found by the search?",
        'The page shows "die Datei wurde nicht gefunden" instead of the file name, where is that message built?',
        "el.addEventListener is not a function",
        "fix: no more a de facto limit on pour-over",
    ],
)
def test_english_and_code_are_not_translated(text: str) -> None:
    assert translate(text) is None


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("密碼在哪裡加密？", "zh", "where password encrypt"),
        ("使用者登入逾時之後，佇列為什麼沒有重試？", "zh", "user login timeout queue retry"),
        ("パスワードはどこで暗号化されますか", "ja", "where password encrypt"),
        ("비밀번호는 어디에서 암호화되나요?", "ko", "where password encrypt"),
        ("Где шифруется пароль?", "ru", "where password encrypt"),
        ("¿Dónde se cifra la contraseña?", "es", "where password encrypt"),
        ("Onde a senha é criptografada?", "pt", "where password encrypt"),
        ("Où le mot de passe est-il chiffré ?", "fr", "where password encrypt"),
        ("Wo wird das Passwort verschlüsselt?", "de", "where password encrypt"),
        (
            "Welche Funktion prüft die Dateigröße und den Verbindungsaufbau?",
            "de",
            "function check file size connection",
        ),
        ("Где сбрасываются счётчики неудачных попыток?", "ru", "reset counter attempt"),
        ("기본 키는 어디에서 생성되나요?", "ko", "primary key where generate"),
    ],
)
def test_words_become_english_terms(text: str, language: str, terms: str) -> None:
    translation = translate(text)
    assert translation is not None and translation.language == language
    assert set(tokenize(terms)) <= set(parse_query(text).terms)
    assert set(terms.split()) & set(translation.gloss.split())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("`retry_later` 在哪里被调用？", "retry_later"),
        ("parseURL2는 어디에서 호출되나요?", "parseURL2"),
        ("¿quién llama a session.save_all() en src/app/main.py?", "src/app/main.py"),
        ("Warum ruft HttpClient die Methode --no-cache nicht auf?", "HttpClient"),
        ("почему conn.dsn пустой?", "conn.dsn"),
    ],
)
def test_identifiers_and_paths_stay_as_they_are(text: str, kept: str) -> None:
    query = parse_query(text)
    assert kept in query.text
    assert set(tokenize(kept)) <= set(query.terms)
    assert kept in (*query.names, *query.paths)


def test_glossary_is_well_formed() -> None:
    text = files("promptls.extensions.translation").joinpath("glossary.tsv").read_text("utf-8")
    header, *rows = [row.split("\t") for row in text.splitlines()]
    assert header == ["english", *LANGUAGES]
    assert len(text.encode()) < 1_000_000
    for row in rows:
        assert len(row) == len(header) and all(row), row
        assert row[0].isascii() and all(form.strip() == form and form for cell in row[1:] for form in cell.split(","))


@given(st.text(alphabet="你好のは한국где está für nicht 'x_1.`\n-", max_size=200))
def test_any_text_has_a_query(text: str) -> None:
    translation = translate(text)
    parse_query(text)
    if translation is not None:
        assert 0 < translation.translated <= translation.total


def test_long_message_is_translated_in_linear_time() -> None:
    for unit in ("é", "un mot de ", "a-b'", "的", "wiederholungs", "x.y/", "`"):
        translate("¿dónde está la función que no es " + unit * 50_000)
