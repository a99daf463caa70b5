"""What a question is about, in one request to a language model.

CodeBuddy asks three times (classification, question type, search terms); one question has one answer, so
this asks once.  The answer is not trusted: names that are not on our lists are dropped, terms are words and
nothing else, and whatever does not fit is as if it had not been said.  The question is all that is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct

from promptls.model import CancelToken, Problem
from promptls.prompt import fences
from promptls.prompt.language_model.client import Failed, LanguageModel
from promptls.prompt.layouts.types import Message
from promptls.prompt.sanitize import clean

TYPES = ("implementation", "architectural", "debugging", "explanation", "feature")
ACTIONS = ("create", "modify", "fix", "explain", "refactor", "other")

TERMS_ASKED = 10
TERMS_USED = 5
"""CodeBuddy asks for ten terms and searches the syntax trees for the first five."""

CATEGORIES_USED = 5
"""CodeBuddy's upper limit."""

ANSWER_TOKENS = 400
"""Room for the answer: ten terms and a dozen names need about 150."""

QUESTION_MAX = 4000
"""Characters of a question that are sent; of a longer one its beginning and end."""

_ANSWER_MAX = 64 * 1024  # characters that are looked at
_STARTS = 50  # places of an answer where an object may begin that are tried
_WORDS = {"high": 0.9, "medium": 0.7, "low": 0.4}  # CodeBuddy's numbers for its words


class Interpretation(Struct, frozen=True):
    """What a language model takes a question for.  None and () where it has not said, or nothing valid."""

    codebase: bool | None = None  # whether looking into the workspace can help
    confidence: float | None = None  # 0..1
    categories: tuple[str, ...] = ()  # of those asked for, as it ordered them
    types: tuple[str, ...] = ()  # of TYPES, in their order
    action: str | None = None  # of ACTIONS
    terms: tuple[str, ...] = ()  # at most TERMS_ASKED, of one to three words, most telling first


def interpret(
    question: str, categories: Iterable[str], model: LanguageModel, token: CancelToken
) -> Interpretation | Problem:
    """Ask the model about a question (without mentions).  Raises Cancelled.

    A `Problem` says why there is nothing: one sentence, for the warnings of the result.
    """
    names = tuple(categories)
    asked = sendable(question, code=model.sends_code)
    if not asked:
        return Interpretation()
    chat = _messages(asked, names)
    answer = model.recall(chat)
    try:
        answer = answer or model.ask(chat, ANSWER_TOKENS, token)
    except Failed as failure:
        return Problem(f"The question was understood without the language model: {failure}.")
    read = _read(answer, names)
    if read is None:
        return Problem(
            f"The question was understood without the language model: {model.name} answered with something else than asked for."
        )
    model.keep(chat, answer[:_ANSWER_MAX])
    return read


def sendable(question: str, code: bool = False) -> str:
    """The question as it may leave this machine: secrets redacted, bounded, and unless `code` without
    what looks like pasted code: fenced blocks, and runs of indented lines."""
    text = question.replace("\r\n", "\n")
    if not code:
        text = _INDENTED.sub(f"{_LEFT_OUT}\n", _FENCED.sub(_LEFT_OUT, text))
    text = "\n".join(clean(text).lines).strip()
    if len(text) > QUESTION_MAX:
        half = QUESTION_MAX // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return "" if text == _LEFT_OUT else text


_LEFT_OUT = "[code]"
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}|\t)[^\n]*(?:\n|\Z)(?:[ \t]*\n)*){2,}", re.MULTILINE)


# ---------------------------------------------------------------- asking


def _messages(question: str, categories: Sequence[str]) -> tuple[Message, ...]:
    boundary = fences.boundary(question, ())
    instructions = (
        _wording()
        .replace("CATEGORIES", ", ".join(categories))
        .replace("TYPES", ", ".join(TYPES))
        .replace("ACTIONS", ", ".join(ACTIONS))
        .replace("TERMS", str(TERMS_ASKED))
    )
    return (
        Message("system", instructions),
        Message("user", fences.fence([("section", "question")], question, boundary)),
    )


@cache
def _wording() -> str:
    return files(__package__).joinpath("interpret.md").read_text("utf-8").strip()


# ---------------------------------------------------------------- reading the answer


def _read(answer: str, categories: Sequence[str]) -> Interpretation | None:
    """The answer as a value; None if it has no object with any of the fields asked for."""
    for data in _objects(answer[:_ANSWER_MAX]):
        fields = {str(k).lower().replace("_", ""): v for k, v in data.items()}
        fields.setdefault("codebase", fields.get("iscodebaserelated"))
        fields.setdefault("terms", fields.get("searchterms", fields.get("keywords")))
        read = Interpretation(
            codebase=_truth(fields.get("codebase")),
            confidence=_share(fields.get("confidence")),
            categories=_chosen(fields.get("categories"), categories)[:CATEGORIES_USED],
            types=tuple(t for t in TYPES if t in _chosen(fields.get("types"), TYPES)),
            action=next(iter(_chosen(fields.get("action"), ACTIONS)), None),
            terms=_terms(fields.get("terms")),
        )
        if read != Interpretation():
            return read
    return None


def _objects(answer: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text: in fences or not, with prose around them or not."""
    decoder = json.JSONDecoder()
    at = -1
    for _ in range(_STARTS):
        at = answer.find("{", at + 1)
        if at < 0:
            return
        try:
            data, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data
        at = end - 1


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).strip().lower()[:8])


def _share(value: Any) -> float | None:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        value = float(word) if re.fullmatch(r"[01]?(?:\.\d{1,9})?", word) and word not in ("", ".") else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _strings(value: Any) -> list[str]:
    """A list of strings, or one string with commas between them; anything else is no list."""
    found = re.split(r"[,;\n]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [" ".join(s[:200].split()) for s in found[:100] if isinstance(s, str) and s.strip()]


def _chosen(value: Any, valid: Sequence[str]) -> tuple[str, ...]:
    known = {name.lower(): name for name in valid}
    return tuple(dict.fromkeys(known[s.lower()] for s in _strings(value) if s.lower() in known))


_TERM = re.compile(r"[^\W_][\w.:/+#-]{0,47}|_+\w{1,47}")


def _terms(value: Any) -> tuple[str, ...]:
    """Words and names, at most three in a term, each term once: nothing that could speak to a reader."""
    found: dict[str, str] = {}
    for text in _strings(value):
        words = [word.rstrip(".:/-") for word in _TERM.findall(text)]
        if 1 <= len(words) <= 3:
            term = " ".join(words)
            found.setdefault(term.lower(), term)
    return tuple(found.values())[:TERMS_ASKED]
