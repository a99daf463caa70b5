"""Answers in a prompt document, between two HTML comments; what follows the last one is the current question."""

from __future__ import annotations

import re
from typing import Literal

ANSWER = re.compile(
    r"^<!-- answer(?:: [^\n]*?)? -->\n(.*?)^<!-- end of answer -->[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL
)


def format_answer(text: str, model: str) -> str:
    """Return an answer as it is inserted below its question; its own text cannot end it."""
    safe = text.strip().replace("<!-- end of answer -->", "<!-- end of answer-->")
    return f"\n\n<!-- answer: {model.replace('-->', '').strip()} -->\n{safe}\n<!-- end of answer -->\n\n"


def answer_ranges(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the answers in a text."""
    return [match.span() for match in ANSWER.finditer(text)] if "<!-- answer" in text else []


def split_turns(text: str) -> tuple[list[tuple[Literal["user", "assistant"], str]], tuple[int, int]]:
    """Return the earlier turns of a text as (role, content), and the offsets of the current question.

    If nothing follows the last answer, the question is the one before it.
    """
    answers = list(ANSWER.finditer(text)) if "<!-- answer" in text else []
    if answers and not text[answers[-1].end() :].strip():
        text = text[: answers[-1].start()]
        answers.pop()
    turns: list[tuple[Literal["user", "assistant"], str]] = []
    at = 0
    for answer in answers:
        turns += [("user", text[at : answer.start()].strip()), ("assistant", answer[1].strip())]
        at = answer.end()
    return [turn for turn in turns if turn[1]], (at, len(text))
