"""A message is parsed once per request, however many stages use its mentions, its code and its question."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

from promptls.api.messages import params as protocol
from promptls.api.open_workspace import open_workspace
from promptls.api.requests import CUSTOM_REQUESTS
from promptls.mentions.extent import locate_mentions
from promptls.mentions.lookalikes import words_in_code
from promptls.mentions.syntax.code_ranges import code_ranges
from promptls.mentions.syntax.grammar import parse_syntax
from promptls.mentions.syntax.lexer import read_token
from promptls.model import CancelToken
from promptls.settings import Settings

MESSAGE = "Why does @shop/cart.py:3-9 round?  See @#apply_discount, `@shop/money.py`, @shop and @alice; #selection"
STAGES = {function.__code__ for function in (code_ranges, parse_syntax, locate_mentions, words_in_code)}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("promptls/buildPrompt", protocol.BuildPromptParams(MESSAGE)),
        ("promptls/resolveMentions", protocol.ResolveMentionsParams(MESSAGE)),
    ],
)
def test_message_is_parsed_once(
    method: str, params: protocol.Params, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_CACHE", str(tmp_path / "cache"))
    engine = open_workspace([str(shop)], Settings())
    stages: Counter[str] = Counter()
    tokens: Counter[int] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        text = frame.f_locals.get("text", frame.f_locals.get("message"))
        if frame.f_code is read_token.__code__ and text == MESSAGE:
            tokens[frame.f_locals["at"]] += 1
        syntax = frame.f_locals.get("syntax")
        if frame.f_code in STAGES and (text == MESSAGE or getattr(syntax, "text", "") == MESSAGE):
            stages[frame.f_code.co_name] += 1

    try:
        assert engine.index.refresh()
        sys.setprofile(count)
        try:
            CUSTOM_REQUESTS[method][1](engine, params, CancelToken())
        finally:
            sys.setprofile(None)
    finally:
        engine.close()
    assert stages == dict.fromkeys((code.co_name for code in STAGES), 1)
    assert set(tokens.values()) == {1} and len(tokens) == MESSAGE.count("@") - 1  # one is in a code span
