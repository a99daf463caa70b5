"""Selection: a language model chooses regions from a list of what retrieval found.

Round 1 sends the question and the list, and receives numbers and up to three search queries.  Round 2 sends the hits of
the queries, and receives more numbers.  Answers are not trusted: numbers that are not in the list are dropped, queries
are reduced to words, and nothing else of an answer is used.  The list has names and first sentences, never bodies.
Any failure costs a warning, and the ranking decides.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.model import Cancelled, CancelToken, Item, Origin, Problem
from promptls.prompt.language_model import LanguageModel, LanguageModelError
from promptls.prompt.layouts import Message
from promptls.prompt.options import PromptOptions
from promptls.prompt.region_list import ListedRegion, list_regions
from promptls.prompt.rendering import fences
from promptls.prompt.sanitize import clean
from promptls.retrieval.query import Query, parse_query

LIST_TOKENS = 2300
"""Tokens of the list in round 1: about 125 regions.

A reader who chose from lists of this size on 55 development tasks showed 68 % of the essential regions after one round
and 81 % after two; the default prompt shows 38 %.
"""

HITS_TOKENS = 900
"""Tokens of the list in round 2, shared by the queries."""

HITS_PER_QUERY = 20
"""Maximum number of hits of a query that are listed."""

MAX_QUERIES = 3
"""Maximum number of search queries of an answer that are used."""

MAX_CHOSEN = 40
"""Maximum number of regions that an answer may choose; readers chose 4 to 14."""

ANSWER_TOKENS = 400
"""Token limit of an answer; 40 numbers and three queries need about 150."""

CERTAIN_SCORE = 0.5
"""Score from which a region that the model has not chosen is shown: it is more likely needed than not."""

MAX_SENT_CHARACTERS = 4000
"""Maximum characters of a question that are sent; of a longer one the beginning and the end."""

_MAX_OBJECTS = 50  # maximum number of "{" in an answer that are tried as the start of an object
_MAX_QUERY_WORDS = 8
_MAX_NAMED = 20  # maximum number of mentioned regions that are named in round 1


class SelectionReport(Struct, frozen=True):
    """How a language model chose, for the result of the request."""

    model: str
    rounds: int
    chosen: int
    queries: tuple[str, ...]
    sent_tokens: int
    received_tokens: int
    ms: float


class Selection(Struct, frozen=True):
    """Regions that a language model chose, in its order; without a report none was asked or none answered."""

    items: tuple[Item, ...] = ()
    report: SelectionReport | None = None
    warnings: tuple[str, ...] = ()


class Choice(Struct, frozen=True):
    """The usable part of an answer."""

    numbers: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()


class _Deadline(CancelToken):
    """A token that is also set when the time of the selection is over."""

    __slots__ = ("_end", "_parent")

    def __init__(self, parent: CancelToken, timeout_s: float) -> None:
        super().__init__()
        self._parent = parent
        self._end = time.monotonic() + timeout_s

    @property
    def cancelled(self) -> bool:
        return self._parent.cancelled or time.monotonic() >= self._end

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled


def select_regions(
    message: str,
    query: Query,
    explicit: Sequence[Item],
    ranked: Sequence[Item],
    options: PromptOptions,
    context: ResolveContext,
    search: Callable[[str], Sequence[Item]],
) -> Selection:
    """Let the language model of the options choose regions.  Raises `Cancelled`.

    Args:
        message: the message, with its mentions.
        query: its question.
        explicit: items that the prompt shows anyway.
        ranked: the ranking for the question, best first.
        options: the options of the prompt.
        context: the sources and services of the request.
        search: returns the ranking for a query.
    """
    model = options.language_model
    if not options.asks_model:
        return Selection()
    if model is None:
        return Selection(
            warnings=('retrieval.selection is "model", but no language model is configured; set languageModel.use.',)
        )
    if isinstance(model, Problem):
        return Selection(warnings=(f"{model.message} {model.suggestion}".strip(),))
    if not ranked:
        return Selection()
    try:
        question = redact_question(message, model.sends_code)
        return _select(question, query, explicit, ranked, model, options, context, search)
    except LanguageModelError as error:
        return Selection(warnings=(*model.warnings, f"The ranking chose the code, because {error}."))


def _select(
    question: str,
    query: Query,
    explicit: Sequence[Item],
    ranked: Sequence[Item],
    model: LanguageModel,
    options: PromptOptions,
    context: ResolveContext,
    search: Callable[[str], Sequence[Item]],
) -> Selection:
    start = time.perf_counter()
    counter = options.counter
    count = counter.count
    token = _Deadline(context.token, model.timeout_s)
    shown = list_regions(ranked, query, context.sources, counter, LIST_TOKENS)
    regions = list(shown.regions)
    boundary = fences.boundary(question + shown.text, ())
    mentioned = "".join(f"\n{context.snapshot.label(i.path)}:{i.span.label}" for i in explicit[:_MAX_NAMED])
    parts = [
        fences.fence([("section", "question")], question, boundary),
        *([f"Shown anyway:{mentioned}"] if mentioned else []),
        fences.fence([("section", "regions")], shown.text, boundary),
    ]
    chat = [Message("system", _instructions()), Message("user", "\n\n".join(parts))]
    try:
        answer = _ask(model, chat, token)
    except Cancelled:
        context.token.check()
        raise LanguageModelError(f"{model.name} did not answer within {model.timeout_s:g} s") from None
    choice = parse_choice(answer, len(regions))
    if choice is None:
        raise LanguageModelError(f"{model.name} returned no choice of regions")
    sent, received, rounds = sum(count(m.content) for m in chat), count(answer), 1
    numbers = choice.numbers
    hits = _new_hits(choice.queries, regions, search)
    first, asked = len(regions) + 1, parse_query(" ".join(choice.queries))
    found = list_regions(hits, asked, context.sources, counter, HITS_TOKENS, all_marked=True, first_number=first)
    if found.regions:
        regions += found.regions
        more = fences.fence([("section", "regions")], found.text, boundary)
        request = (
            f"These regions were found for your queries. Reply with those that are needed, in the same form.\n\n{more}"
        )
        chat += [Message("assistant", answer), Message("user", request)]
        try:
            second = _ask(model, chat, token)
            more_numbers = parse_choice(second, len(regions))
            numbers += more_numbers.numbers if more_numbers is not None else ()
            rounds, sent, received = 2, sent + sum(count(m.content) for m in chat), received + count(second)
        except (Cancelled, LanguageModelError):  # the first choice stands
            context.token.check()
    unique = tuple(dict.fromkeys(numbers))[:MAX_CHOSEN]
    ms = round((time.perf_counter() - start) * 1000, 1)
    report = SelectionReport(model.name, rounds, len(unique), choice.queries, sent, received, ms)
    return Selection(tuple(_items([regions[n - 1] for n in unique], (*ranked, *hits))), report, model.warnings)


def _items(chosen: Sequence[ListedRegion], ranked: Sequence[Item]) -> Iterator[Item]:
    """Yield the chosen regions as items; a region that joins several ranked items is a region without a name."""
    known = {(item.path, item.span): item for item in ranked}
    for region in chosen:
        for span in region.spans:
            plain = Item(region.path, span, "text", Origin.MODEL, 1.0)
            yield replace(known.get((region.path, span), plain), origin=Origin.MODEL, score=1.0, reasons={})


def _ask(model: LanguageModel, chat: Sequence[Message], token: CancelToken) -> str:
    """Return the answer to a chat, from the cache if it is the same; only useful answers are kept."""
    answer = model.cached_answer(chat)
    if answer is None:
        answer = model.complete(chat, ANSWER_TOKENS, token)
        if parse_choice(answer, MAX_CHOSEN) is not None:
            model.cache_answer(chat, answer)
    return answer


def _new_hits(
    queries: Sequence[str], listed: Sequence[ListedRegion], search: Callable[[str], Sequence[Item]]
) -> list[Item]:
    """Return the hits of the queries that are not listed yet."""
    known = {(region.path, span) for region in listed for span in region.spans}
    hits: list[Item] = []
    for query in queries:
        for item in search(query)[:HITS_PER_QUERY]:
            if (item.path, item.span) not in known:
                known.add((item.path, item.span))
                hits.append(item)
    return hits


# ---------------------------------------------------------------- question


def redact_question(question: str, keep_code: bool = False) -> str:
    """Return the question as it may be sent: bounded, without secrets and, unless `keep_code`, without pasted code.

    Pasted code is a fenced block or a run of indented lines.
    """
    text = question.replace("\r\n", "\n")
    if not keep_code:
        text = _INDENTED_CODE.sub("[code]\n", _FENCED_CODE.sub("[code]", text))
    text = "\n".join(clean(text).lines).strip()
    if len(text) > MAX_SENT_CHARACTERS:
        half = MAX_SENT_CHARACTERS // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return text


_FENCED_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INDENTED_CODE = re.compile(r"(?:^(?: {4}|\t)[^\n]*(?:\n|\Z)(?:[ \t]*\n)*){2,}", re.MULTILINE)


@cache
def _instructions() -> str:
    text = files(__package__).joinpath("selection.md").read_text("utf-8").strip()
    return text.replace("QUERIES", str(MAX_QUERIES))


# ---------------------------------------------------------------- answer


def parse_choice(answer: str, last: int) -> Choice | None:
    """Parse an answer: a JSON object, a list, or prose with numbers and ranges; None if it has no choice.

    `last` is the last number of the list; other numbers are dropped.
    """
    for data in _json_values(answer):
        if isinstance(data, dict):
            fields = {str(key).lower(): value for key, value in data.items()}
            regions = next((fields[k] for k in ("regions", "numbers", "chosen", "selection") if k in fields), None)
            queries = fields.get("queries", fields.get("query"))
            if regions is not None or queries is not None:
                return Choice(_numbers(regions, last), _queries(queries))
        elif all(isinstance(one, int | str) for one in data):
            return Choice(_numbers(data, last))
    numbers = _numbers(re.sub(r"<think>.*?(?:</think>|\Z)", "", answer, flags=re.DOTALL), last)
    return Choice(numbers) if numbers else None


def _json_values(answer: str) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield the JSON objects and lists in a text, with or without fences and prose around them."""
    decoder = json.JSONDecoder()
    start = -1
    for _ in range(_MAX_OBJECTS):
        match = re.compile(r"[{\[]").search(answer, start + 1)
        if match is None:
            return
        start = match.start()
        try:
            data, end = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict | list):
            yield data
        start = end - 1


_RANGE = re.compile(r"(?<![\w.])#?(\d{1,4})(?:\s*(?:-|–|\.\.|to)\s*#?(\d{1,4}))?(?![\w.]*\w)")


def _numbers(value: Any, last: int) -> tuple[int, ...]:
    """Return the numbers and the members of ranges that are in the list, each once."""
    if isinstance(value, list):
        parts: list[Any] = value[: 10 * MAX_CHOSEN]
        parts = [part.get("number", part.get("id")) if isinstance(part, dict) else part for part in parts]
    else:
        parts = [value]
    numbers: dict[int, None] = {}
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int | float | str):
            continue
        for first, end in _RANGE.findall(str(part)[:4000].removesuffix(".0")):
            for number in range(int(first), min(int(end or first), last) + 1):
                if 1 <= number <= last:
                    numbers.setdefault(number)
    return tuple(numbers)[:MAX_CHOSEN]


_WORD = re.compile(r"[^\W_][\w.:/+#-]{0,47}|_+\w{1,47}")


def _queries(value: Any) -> tuple[str, ...]:
    """Return distinct queries of a few words, so that none can contain more than it searches for."""
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    queries: dict[str, None] = {}
    for text in texts[: 3 * MAX_QUERIES]:
        if isinstance(text, str) and (words := [w.rstrip(".:/-") for w in _WORD.findall(text[:400])]):
            queries.setdefault(" ".join(words[:_MAX_QUERY_WORDS]))
    return tuple(queries)[:MAX_QUERIES]
