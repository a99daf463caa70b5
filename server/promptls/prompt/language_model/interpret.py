"""Interpretation of a question by a language model, in one request.

The answer is not trusted: names that are not in our lists are dropped, search terms are reduced to words, and invalid
fields are ignored.  Only the question is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from promptls.model import CancelToken, Problem
from promptls.prompt.intent.types import ACTIONS, QUESTION_TYPES, Interpretation
from promptls.prompt.language_model.client import LanguageModel, LanguageModelError
from promptls.prompt.layouts.types import Message
from promptls.prompt.rendering import fences
from promptls.prompt.sanitize import clean

MAX_TERMS = 10
"""Maximum number of search terms in an answer."""

MAX_CATEGORIES = 5
"""Maximum number of categories that are used."""

ANSWER_TOKENS = 400
"""Token limit of an answer; ten terms and a dozen names need about 150."""

MAX_SENT_CHARACTERS = 4000
"""Maximum characters of a question that are sent; of a longer one the beginning and the end."""

_MAX_ANSWER_CHARACTERS = 64 * 1024
_MAX_OBJECTS = 50  # maximum number of "{" in an answer that are tried as the start of an object
_CONFIDENCE_BY_WORD = {"high": 0.9, "medium": 0.7, "low": 0.4}


def interpret_question(
    question: str, categories: Iterable[str], model: LanguageModel, token: CancelToken
) -> Interpretation | Problem:
    """Interpret a question with a language model.  Raises `Cancelled`.

    Args:
        question: The question, without mentions.
        categories: Valid names of categories.
        model: The language model.
        token: Cancellation of the request.

    Returns:
        The interpretation, or a problem with one sentence for the warnings of the result.
    """
    names = tuple(categories)
    text = redact_question(question, keep_code=model.sends_code)
    if not text:
        return Interpretation()
    chat = _messages(text, names)
    answer = model.cached_answer(chat)
    try:
        answer = answer or model.complete(chat, ANSWER_TOKENS, token)
    except LanguageModelError as error:
        return Problem(f"The language model was not used: {error}.")
    interpretation = _parse_answer(answer, names)
    if interpretation is None:
        return Problem(f"The language model was not used: {model.name} returned an unexpected answer.")
    model.cache_answer(chat, answer[:_MAX_ANSWER_CHARACTERS])
    return interpretation


def redact_question(question: str, keep_code: bool = False) -> str:
    """Return the question as it may be sent: bounded, without secrets and, unless `keep_code`, without pasted code.

    Pasted code is a fenced block or a run of indented lines.
    """
    text = question.replace("\r\n", "\n")
    if not keep_code:
        text = _INDENTED_CODE.sub(f"{_OMITTED_CODE}\n", _FENCED_CODE.sub(_OMITTED_CODE, text))
    text = "\n".join(clean(text).lines).strip()
    if len(text) > MAX_SENT_CHARACTERS:
        half = MAX_SENT_CHARACTERS // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return "" if text == _OMITTED_CODE else text


_OMITTED_CODE = "[code]"
_FENCED_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INDENTED_CODE = re.compile(r"(?:^(?: {4}|\t)[^\n]*(?:\n|\Z)(?:[ \t]*\n)*){2,}", re.MULTILINE)


# ---------------------------------------------------------------- request


def _messages(question: str, categories: Sequence[str]) -> tuple[Message, ...]:
    boundary = fences.boundary(question, ())
    instructions = (
        _instructions()
        .replace("CATEGORIES", ", ".join(categories))
        .replace("TYPES", ", ".join(QUESTION_TYPES))
        .replace("ACTIONS", ", ".join(ACTIONS))
        .replace("TERMS", str(MAX_TERMS))
    )
    return (
        Message("system", instructions),
        Message("user", fences.fence([("section", "question")], question, boundary)),
    )


@cache
def _instructions() -> str:
    return files(__package__).joinpath("interpret.md").read_text("utf-8").strip()


# ---------------------------------------------------------------- answer


def _parse_answer(answer: str, categories: Sequence[str]) -> Interpretation | None:
    """Parse an answer; None if it has no JSON object with a valid field."""
    for data in _json_objects(answer[:_MAX_ANSWER_CHARACTERS]):
        fields = {str(k).lower().replace("_", ""): v for k, v in data.items()}
        fields.setdefault("codebase", fields.get("iscodebaserelated"))
        fields.setdefault("terms", fields.get("searchterms", fields.get("keywords")))
        interpretation = Interpretation(
            about_codebase=_parse_bool(fields.get("codebase")),
            confidence=_parse_confidence(fields.get("confidence")),
            categories=_valid_names(fields.get("categories"), categories)[:MAX_CATEGORIES],
            types=tuple(t for t in QUESTION_TYPES if t in _valid_names(fields.get("types"), QUESTION_TYPES)),
            action=next(iter(_valid_names(fields.get("action"), ACTIONS)), None),
            terms=_parse_terms(fields.get("terms")),
        )
        if interpretation != Interpretation():
            return interpretation
    return None


def _json_objects(answer: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, with or without fences and prose around them."""
    decoder = json.JSONDecoder()
    start = -1
    for _ in range(_MAX_OBJECTS):
        start = answer.find("{", start + 1)
        if start < 0:
            return
        try:
            data, end = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data
        start = end - 1


def _parse_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).strip().lower()[:8])


def _parse_confidence(value: Any) -> float | None:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _CONFIDENCE_BY_WORD:
            return _CONFIDENCE_BY_WORD[word]
        value = float(word) if re.fullmatch(r"[01]?(?:\.\d{1,9})?", word) and word not in ("", ".") else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _parse_strings(value: Any) -> list[str]:
    """Return the strings of a list, or of one string separated by commas; anything else is ignored."""
    strings = re.split(r"[,;\n]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [" ".join(s[:200].split()) for s in strings[:100] if isinstance(s, str) and s.strip()]


def _valid_names(value: Any, valid: Sequence[str]) -> tuple[str, ...]:
    known = {name.lower(): name for name in valid}
    return tuple(dict.fromkeys(known[s.lower()] for s in _parse_strings(value) if s.lower() in known))


_TERM = re.compile(r"[^\W_][\w.:/+#-]{0,47}|_+\w{1,47}")


def _parse_terms(value: Any) -> tuple[str, ...]:
    """Return distinct search terms of at most three words or names, so that none can contain a sentence."""
    terms: dict[str, str] = {}
    for text in _parse_strings(value):
        words = [word.rstrip(".:/-") for word in _TERM.findall(text)]
        if 1 <= len(words) <= 3:
            term = " ".join(words)
            terms.setdefault(term.lower(), term)
    return tuple(terms.values())[:MAX_TERMS]
