"""Parsing and sanitizing take time in proportion to the length of a text, also of texts that are made to be slow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from promptls.index.files.notebooks import notebook_text
from promptls.index.syntax.parse import parse_as_text
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.mentions.syntax.code_ranges import code_ranges
from promptls.mentions.syntax.grammar import parse
from promptls.mentions.syntax.lexer import token_at_end
from promptls.model import Span
from promptls.prompt.rendering.citations import CitableItem, verify
from promptls.prompt.sanitize import find_injections
from promptls.redaction.secrets import redact
from promptls.retrieval.query import translate

BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
KEY_LINE = "A" * 64 + "\n"
SMALL, FACTOR = 4_000, 16
"""Characters of the shorter text, and how much longer the other one is."""
MAX_RATIO = 64
"""Maximum ratio of the times: linear time has 16, quadratic time has 256."""
MIN_S = 0.003
"""Times below this number of seconds are not compared, because other things take as long."""


def assert_linear(function: Callable[[str], object], prefix: str, unit: str) -> None:
    """Compare the CPU times of a short text and a long one; again if other processes may have disturbed them."""

    def seconds(scale: int, attempt: int) -> float:
        text = prefix * scale + unit * (SMALL * scale // len(unit)) + "!" * attempt  # not from a cache
        began = time.process_time()
        function(text)
        return time.process_time() - began

    short, long = float("inf"), float("inf")
    for attempt in (1, 2, 3):
        short, long = min(short, seconds(1, attempt)), min(long, seconds(FACTOR, attempt))
        if long < MAX_RATIO * max(short, MIN_S):
            return
    assert long < MAX_RATIO * max(short, MIN_S)


@pytest.mark.parametrize(
    ("prefix", "unit"),
    [
        ("", "auth:"),
        ("", "key=[1,2,"),
        ("", "\n// the token is key: "),
        ("", "authorization: a "),
        ("", "salasana==()senha="),
        ("", 'token="x'),
        ("", "\\'auth\\':"),
        ("", "login('a',"),
        ("", "insert into a (password) values ("),
        ("insert into a (password) values (", "'"),
        ("", "password,user\n"),
        ("", "password: {\n"),
        ("", "postgres://u:p"),
        ("", "identified by "),
        ("", "-u a -p "),
        ("", "auth = ["),
        ("", "<name>key</name> "),
        ("", "eyJ"),
        ("", '"a1b2c3d4e5f6g7h8'),
        ("", "---\n"),
        ("", "name: key value: x\n"),
        ("", BEGIN + "\n" * 1_000 + END),
        (KEY_LINE * 100, END),
        ("", f"A\n{END}\n"),
        ("", "ignore previous "),
        ("@@ -1 +1 @@\n", "+password: x\n- name: key\n"),
        ("", "\u200b"),
    ],
)
def test_redaction_takes_linear_time(prefix: str, unit: str) -> None:
    for path in ("a.py", "a.yml"):
        assert_linear(lambda text: redact(text, path, is_file=True), prefix, unit)  # noqa: B023


@pytest.mark.parametrize(
    "unit", ["[SYSTEM]\n", "ignore all ", "[ ", "<|", "system\t", "new prompt", "\u034f", "you are "]
)
def test_injection_search_takes_linear_time(unit: str) -> None:
    assert_linear(find_injections, "", unit)


@pytest.mark.parametrize(
    "unit",
    ["@", "@a", '@"', "@'a", "`", "` ``", "@\\", "@(", "@a[", "\n", "```\n", "@a.py:1 ", "@#", "> ", "\n \n", "@a\\ ", "@a:"],
)  # fmt: skip
def test_parsing_of_mentions_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: (parse(text), token_at_end(text)), "", unit)


@pytest.mark.parametrize(
    "unit",
    ["`", "` ``", "- ", "> ", ">", "\n", "- \n", "```\n", "x ```py\n", "<", "<a ", "<code>", "<!-- ", '@"', "\\", "\t", "1. "],
)  # fmt: skip
def test_search_of_code_in_messages_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: code_ranges(text + "\n" * (len(text) // 4)), "", unit)


@pytest.mark.parametrize("unit", [".[P1", ". [P1]", ".[", ".\n", "[P1,", "[", "a", "a/", "`a", ". ", "~~~\n"])
def test_verification_of_citations_takes_linear_time(unit: str) -> None:
    items = [CitableItem("P1", "src/cart.py", Span(9, 20))]
    assert_linear(lambda text: verify(text, items), "", unit)


@pytest.mark.parametrize("unit", ["é", "un mot de ", "a-b'", "的", "wiederholungs", "x.y/", "`"])
def test_translation_takes_linear_time(unit: str) -> None:
    assert_linear(translate, "¿dónde está la función que no es ", unit)


@pytest.mark.parametrize(
    "unit",
    ["{{", "{%", "{#", "#}", "{{ a }}", "{{ a", "{{ ref('a', 'b", "{{ ref('a') }}", "{% macro a(", "{% macro a() %}", "{%\n", "a("],
)  # fmt: skip
def test_scan_of_tags_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: (SourceText(text, "jinja"), parse_as_text(text, "sql", path="models/a.sql")), "", unit)


@pytest.mark.parametrize("unit", ["'''\\", '\\"""', "(", "%x ", "a=", "data:a/", "\x1b[", "<"])
def test_reading_of_notebooks_takes_linear_time(unit: str) -> None:
    def read(text: str) -> None:
        output = {"output_type": "stream", "name": "stdout", "text": text}
        cell = {"cell_type": "code", "metadata": {}, "source": f'!ls\n"""{text}\n!ls', "outputs": [output]}
        cells = [cell, {"cell_type": "markdown", "metadata": {}, "source": [text]}]
        assert notebook_text("a.ipynb", json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5})) is not None

    assert_linear(read, "", unit)
