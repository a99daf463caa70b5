"""Tokens that an agent reads until it has seen the code that a question needs: the MCP tools, and grep.

`scripts/evaluate agents [--count N] [--write]` asks N development questions, every one of a fixed step.  Tokens are
characters / 4 of the text that the agent receives.  Each project is ranked with weights that were fitted without it.

A region is seen if 80 % of its lines were shown.  Needed are the regions of grade 2.

- get_context: one call with the default budget of 4,000 tokens.
- search_code, then read_code: one list, then its regions in the order of the list, eight in a call, until the regions
  were seen. An agent chooses, so this is the most that it pays.
- grep and read: a model of an agent without an index.  It searches for all words of the question at once, except
  stop words and words that are in more than a quarter of the files, and gets the list of files with counts.  It reads
  windows of 200 lines that contain a word: file by file, or the best windows of all files first, whichever takes fewer
  tokens.  Files and windows are ordered by their different words, weighted by rarity.  It is generous: the agent pays
  nothing for matching lines, its own thoughts and repeated calls, and stops exactly when it has seen enough.  Its words
  are those of the question, though; a language model also guesses others.

An agent gives up after 100,000 tokens.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import structs

from promptls.api.tools import call_tool
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.retrieval.retrieve import RetrievalStrategy

LIMIT = 100_000
"""Tokens after which an agent gives up."""
WITHIN = (10_000, 30_000, LIMIT)
WINDOW_LINES = 200
LISTED_FILES = 50
"""Number of files in the answer of grep: an agent limits its output."""
COMMON = 0.25
"""Share of the files above which a word is not searched for."""
READ_PLACES = 8
"""Number of places in a call of read_code."""
STOP_WORDS = frozenset(
    "a about after all also an and any are as at be been before but by can could did do does doing done for from get "
    "gets had has have how i if in into is it its just like made make me my no not of off on one only or other our out "
    "over same should so some such than that the their them then there these they this to up us use used using was way "
    "we were what when where which while who whose why will with would you your".split()
)
_WORD = re.compile(r"[A-Za-z_]\w{2,}")


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate agents")
    corpora.add_options(parser)
    parser.add_argument("--count", type=int, default=20, help="number of questions")
    parser.add_argument("--write", action="store_true", help="write the table for the documentation")
    options = parser.parse_args(arguments)
    everything = corpora.questions()
    chosen = everything[:: len(everything) // options.count][: options.count]
    weights = corpora.held_out_weights()
    tokens: dict[str, list[float]] = {name: [] for name in METHODS}
    for corpus in dict.fromkeys(question.corpus for question in chosen):
        with engine_of(corpora.tree(corpus, options.corpora)) as (engine, root):
            strategy = RetrievalStrategy(weights=weights[corpora.project(corpus)])
            engine.services = structs.replace(engine.services, strategy=strategy)
            for question in (one for one in chosen if one.corpus == corpus):
                for name, methods in METHODS.items():
                    tokens[name].append(min(_read(question, root, ask(engine, question.question)) for ask in methods))
                shown = ", ".join(f"{name} {read[-1]:,.0f}" for name, read in tokens.items())
                print(f"{question.id} ({question.style}): {shown}", flush=True)
    print(made := table(chosen, tokens))
    if options.write:
        (corpora.DATA / "agents.md").write_text(made + "\n")
    return 0


def _context(engine: Engine, question: str) -> Iterator[str]:
    yield call_tool(engine, "get_context", {"question": question}, "", CancelToken())[1]


def _list_and_read(engine: Engine, question: str) -> Iterator[str]:
    listed, text = call_tool(engine, "search_code", {"query": question}, "", CancelToken())
    yield text
    places = [
        f"{r['path']}:{r['ranges'][0]['start']['line'] + 1}-{r['ranges'][0]['end']['line']}" for r in listed["regions"]
    ]
    for start in range(0, len(places), READ_PLACES):
        arguments = {"places": places[start : start + READ_PLACES]}
        read = call_tool(engine, "read_code", arguments, "evaluation", CancelToken())[1]
        yield re.sub(r"^ *\d+\t", "", read, flags=re.MULTILINE)


def _grep_and_read(engine: Engine, question: str, by_file: bool) -> Iterator[str]:
    snapshot = engine.snapshot(CancelToken())
    lines = {entry.name: answers.lines(path) for path, entry in snapshot.files.items()}
    words = {word.lower() for word in _WORD.findall(question)} - STOP_WORDS
    stems = {word.removesuffix("s") for word in words}  # also finds the singular
    hits: dict[str, dict[int, list[str]]] = {}  # file → line → words
    for name, text in lines.items():
        found = {n: [w for w in stems if w in line] for n, line in enumerate(map(str.lower, text))}
        hits[name] = {n: some for n, some in found.items() if some}
    files_with = Counter(word for found in hits.values() for word in {w for some in found.values() for w in some})
    rarity = {w: math.log(len(lines) / n) for w, n in files_with.items() if n <= max(3, COMMON * len(lines))}

    def weight(found: Iterable[list[str]]) -> float:
        return sum(rarity.get(word, 0) for word in {word for some in found for word in some})

    files = sorted((name for name in hits if weight(hits[name].values())), key=lambda n: (-weight(hits[n].values()), n))
    yield "\n".join(f"{name}:{len(hits[name])}" for name in files[:LISTED_FILES])
    windows: dict[tuple[str, int], list[list[str]]] = {}
    for name in files:
        for line, some in hits[name].items():
            windows.setdefault((name, line // WINDOW_LINES), []).append(some)
    rank = {name: number for number, name in enumerate(files)}
    weights = {window: weight(found) for window, found in windows.items()}
    order = sorted(weights, key=lambda w: (rank[w[0]] if by_file else 0, -weights[w], rank[w[0]], w[1]))
    for name, number in order:
        if weights[name, number]:
            yield "\n".join(lines[name][number * WINDOW_LINES : (number + 1) * WINDOW_LINES])


METHODS: dict[str, tuple[Callable[[Engine, str], Iterator[str]], ...]] = {
    "`get_context`": (_context,),
    "`search_code`, then `read_code`": (_list_and_read,),
    "grep and read": (partial(_grep_and_read, by_file=True), partial(_grep_and_read, by_file=False)),
}
"""Ways to read; of several, the one that needs fewer tokens counts."""


def _read(question: corpora.Question, root: str, texts: Iterable[str]) -> float:
    """Return the tokens that were read until all needed regions were seen; infinite if the agent gave up."""
    needed = [gold for gold in question.gold if gold.grade == 2]
    have: set[str] = set()
    tokens = 0.0
    for text in texts:
        tokens += len(text) / 4
        if tokens > LIMIT:
            break
        have.update(line.strip() for line in text.split("\n"))
        if all(answers.share_of(gold, root, have) >= answers.HIT for gold in needed):
            return tokens
    return math.inf


def table(questions: Sequence[corpora.Question], tokens: dict[str, list[float]]) -> str:
    """Return a Markdown table with one row per method."""
    gap = np.array([question.style == "gap" for question in questions])
    groups = {
        f"median of {len(gap)} questions": gap | ~gap,
        f"{gap.sum()} in other words than the code": gap,
        f"{(~gap).sum()} in its words": ~gap,
    }
    head = ["", *groups, *(f"seen within {limit:,}" for limit in WITHIN)]
    out = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for name, found in tokens.items():
        counts = np.array(found)
        medians = (float(np.median(counts[group])) for group in groups.values())
        cells = [name, *(f"{median:,.0f}" if math.isfinite(median) else "not seen" for median in medians)]
        cells += [f"{sum(counts <= limit)}" for limit in WITHIN]
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join(out)
