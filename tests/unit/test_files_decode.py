"""Decoding of files that are not UTF-8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.files.read import DecodedText, decode_text

SOURCE = "int find(int n)\n{\n    /* %s */\n    return n;\n}\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_unicode_is_recognized(encoding: str) -> None:
    text = SOURCE % "hello"
    assert decode_text(text.encode(encoding)) == DecodedText(text)


@pytest.mark.parametrize("text", ["Café", "5 µs ± 2", "“quoted”"])
def test_other_texts_are_western(text: str) -> None:
    encoding = "is not UTF-8 and was read as cp1252, which is a guess"
    assert decode_text(text.encode("cp1252")) == DecodedText(text, "cp1252", encoding)


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


@pytest.mark.parametrize("name", ["utf-8", "idna", "hex", "unicode_escape", "nonsense"])
def test_wrong_or_unsuitable_declaration_is_ignored(name: str) -> None:
    text = f"# coding: {name}\n# Größe\n"
    decoded = decode_text(text.encode("cp1252"))
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
