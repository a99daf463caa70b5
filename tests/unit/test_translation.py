"""Questions in other human languages: detection, translation, search and messages."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.extensions.translation.glossary import LANGUAGES, function_words
from promptls.extensions.translation.translate import translate
from promptls.index import tokenize
from promptls.prompt.intent.detect import detect_intent
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
        "os.path.join(de, la) und.que",
        "el.addEventListener is not a function",
        "fix: no more a de facto limit on pour-over",
        "des encryption or an es module, which one is used on macOS?",
    ],
)
def test_english_and_code_are_not_translated(text: str) -> None:
    assert translate(text) is None


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("密码在哪里加密？", "zh", "where password encrypt"),
        ("密碼在哪裡加密？", "zh", "where password encrypt"),
        ("使用者登入逾時之後，佇列為什麼沒有重試？", "zh", "user login timeout queue retry"),
        ("パスワードはどこで暗号化されますか", "ja", "where password encrypt"),
        ("비밀번호는 어디에서 암호화되나요?", "ko", "where password encrypt"),
        ("Где шифруется пароль?", "ru", "where password encrypt"),
        ("¿Dónde se cifra la contraseña?", "es", "where password encrypt"),
        ("donde se cifra la contrasena", "es", "where password encrypt"),
        ("la caché no expira", "es", "cache expire"),
        ("Onde a senha é criptografada?", "pt", "where password encrypt"),
        ("Où le mot de passe est-il chiffré ?", "fr", "where password encrypt"),
        ("Wo wird das Passwort verschlüsselt?", "de", "where password encrypt"),
        ("wo wird das passwort verschluesselt", "de", "where password encrypt"),
        ("Wo wird die Wiederholungsgrenze gesetzt?", "de", "retry limit"),
        (
            "Welche Funktion prüft die Dateigröße und den Verbindungsaufbau?",
            "de",
            "function check file size connection",
        ),
        ("Где сбрасываются счётчики неудачных попыток?", "ru", "reset counter attempt"),
        ("¿Por qué las conexiones no se vuelven a abrir?", "es", "why connection open"),
        ("Pourquoi l'erreur n'est-elle pas journalisée ?", "fr", "why error log"),
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
        ("なぜ MAX_SIZE を超えるとエラーになりますか", "MAX_SIZE"),
        ("почему conn.dsn пустой?", "conn.dsn"),
    ],
)
def test_identifiers_and_paths_stay_as_they_are(text: str, kept: str) -> None:
    query = parse_query(text)
    assert kept in query.text
    assert set(tokenize(kept)) <= set(query.terms)
    assert kept in (*query.names, *query.paths)


@pytest.mark.parametrize("language", ["ru", "es", "pt", "fr", "de"])
def test_function_words_are_not_search_terms(language: str) -> None:
    for row in TRANSLATED:
        if row["language"] == language:
            translation = translate(row["question"])
            assert translation is not None
            words = {word.lower() for word in translation.words}
            assert not words & function_words(language)
            assert not words & {"где", "как", "dónde", "por qué", "onde", "où", "pourquoi", "wo", "warum"}


def test_own_words_of_a_question_remain_search_terms() -> None:
    assert set(tokenize("折扣")) <= set(parse_query("折扣在哪里计算？").terms)


def test_confidence_is_the_share_of_translated_words() -> None:
    good, poor = translate("Где проверяется пароль?"), translate("Где шмыгают глокие куздры, будланувшие бокра?")
    assert good is not None and good.confidence == 1
    assert poor is not None and poor.translated < poor.total / 2


@pytest.mark.parametrize(
    ("text", "seeks_tests", "action"),
    [
        ("有没有测试覆盖密码检查？", True, "explain"),
        ("¿hay algún test que cubra la contraseña?", True, "explain"),
        ("gibt es einen Test für das Passwort?", True, "explain"),
        ("есть ли тест для пароля?", True, "explain"),
        ("Где проверяется пароль?", False, "explain"),
    ],
)
def test_intent_is_that_of_the_english_question(text: str, seeks_tests: bool, action: str) -> None:
    intent = detect_intent(text, text)
    assert intent.query.seeks_tests is seeks_tests
    assert intent.action == action


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
