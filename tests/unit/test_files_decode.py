"""Decoding of files that are not UTF-8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.files.read import DecodedText, decode_text

SOURCE = "int find(int n)\n{\n    /* %s */\n    return n;\n}\n"

COMMENTS = {
    "shift_jis": "顧客の注文を検索する",
    "cp932": "①接続を閉じる",
    "euc_jp": "設定ファイルを読み込む",
    "gbk": "查询客户订单",
    "gb2312": "发生错误时退出",
    "gb18030": "把日期转换为字符串",
    "big5": "儲存到資料庫",
    "euc_kr": "오류가 발생하면 종료",
    "cp949": "배열의 길이를 반환",
    "cp1251": "чтение файла настроек",
    "koi8-r": "закрыть соединение",
    "cp866": "освободить память",
    "cp1250": "wyszukuje zamówienia klienta, ścieżka pliku",
    "iso8859-2": "zwraca długość tablicy, usuń z początku listy, błąd odczytu",
    "cp1252": "“Größe” der Liste – in €",
    "latin-1": "libère la mémoire allouée",
    "cp1253": "ανάγνωση αρχείου ρυθμίσεων",
    "cp1255": "חיפוש הזמנות לקוח",
    "utf-16-le": "hello",
    "utf-16-be": "hello",
}


@pytest.mark.parametrize("encoding", COMMENTS)
def test_encoding_is_detected(encoding: str) -> None:
    text = SOURCE % COMMENTS[encoding]
    decoded = decode_text(text.encode(encoding))
    assert decoded is not None
    assert decoded.text == text


@pytest.mark.parametrize("text", ["Café", "x = 'ü'", "© 2012 José García", "5 µs ± 2", "“quoted”", "Müller, Jörg"])
def test_few_letters_are_western(text: str) -> None:
    encoding = "is not UTF-8 and was read as cp1252, which is a guess"
    assert decode_text(text.encode("cp1252")) == DecodedText(text, "cp1252", encoding)


def test_much_text_is_no_guess() -> None:
    decoded = decode_text("".join(SOURCE % COMMENTS["koi8-r"] for _ in range(10)).encode("koi8-r"))
    assert decoded is not None
    assert (decoded.encoding, decoded.note) == ("koi8-r", "")


DECLARED = {
    "# -*- coding: mac-cyrillic -*-\n# Счёт\n": "mac-cyrillic",
    '<?xml version="1.0" encoding="ISO-8859-5"?>\n<a>Счёт</a>\n': "iso8859-5",
    '<meta charset="windows-1257">\n<p>ąčęėįšųūž</p>\n': "cp1257",
    "# vim: set fileencoding=johab :\n# 한글\n": "johab",
}


@pytest.mark.parametrize("text", DECLARED)
def test_declared_encoding(text: str) -> None:
    encoding = DECLARED[text]
    assert decode_text(text.encode(encoding)) == DecodedText(text, encoding)


@pytest.mark.parametrize("name", ["utf-8", "ascii", "idna", "punycode", "hex", "unicode_escape", "nonsense"])
def test_wrong_or_unsuitable_declaration_is_ignored(name: str) -> None:
    text = f"# coding: {name}\n# {COMMENTS['cp1251']}\n"
    decoded = decode_text(text.encode("cp1251"))
    assert decoded is not None
    assert decoded.text == text


def test_invalid_bytes_in_utf_8_are_replaced_one_by_one() -> None:
    data = "# Größe – prüfen\n".encode() + b"OLD = 'caf\xe9'\n" + "s = 'Straße'\n".encode()
    note = "has bytes that are not UTF-8, shown as U+FFFD"
    assert decode_text(data) == DecodedText("# Größe – prüfen\nOLD = 'caf\ufffd'\ns = 'Straße'\n", "", note)


def test_replacement_characters_of_the_text_are_valid() -> None:
    text = "a \ufffd b\n"
    assert decode_text(text.encode()) == DecodedText(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_binary(data: bytes) -> None:
    decoded = decode_text(data)
    assert decoded is None or isinstance(decoded.text, str)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cc"])))
def test_utf_8_is_unchanged(text: str) -> None:
    if not text.startswith("\ufeff"):
        assert decode_text(text.encode()) == DecodedText(text)
