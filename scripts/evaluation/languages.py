"""Coverage of the needed code by prompts for questions in other human languages, next to the same questions in English.

`scripts/evaluate languages [--corpora FOLDER]` builds the prompts of the questions of
data/translated.jsonl and of their English originals at 8,000 tokens, which are filled. The glossary was developed on
half of the packages; the other half is held out. Each package is ranked with weights that were fitted without it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import Struct, structs

from promptls.api.build_prompt import build_prompt
from promptls.api.messages import params as protocol
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.retrieval.retrieve import RetrievalStrategy

BUDGET = 8000


class Translated(Struct, frozen=True):
    """A question of the data in another language."""

    id: str
    language: str
    held_out: bool  # whether its package was not used to develop the glossary
    question: str


class Row(Struct, frozen=True):
    """Coverage and hit of one question, in English and translated, and the time of the translated prompt."""

    translated: Translated
    english: tuple[float, bool]
    other: tuple[float, bool]
    seconds: float


def main(arguments: list[str]) -> int:
    """Print one table per group of packages."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate languages")
    parser.add_argument("--corpora", type=Path, default=corpora.FOLDER)
    options = parser.parse_args(arguments)
    originals = {q.id: q for q in corpora.questions()}
    weights = corpora.held_out_weights()
    lines = (corpora.DATA / "translated.jsonl").read_bytes().splitlines()
    wanted = [msgspec.json.decode(line, type=Translated) for line in lines]
    rows: list[Row] = []
    for name in dict.fromkeys(originals[t.id].corpus for t in wanted):
        with engine_of(corpora.tree(name, options.corpora)) as (engine, root):
            engine.services = structs.replace(engine.services, strategy=RetrievalStrategy(weights=weights[name]))
            for translated in (t for t in wanted if originals[t.id].corpus == name):
                question = originals[translated.id]
                english, _ = _measure(engine, root, question, question.question)
                other, seconds = _measure(engine, root, question, translated.question)
                rows.append(Row(translated, english, other, seconds))
    print(table(rows))
    return 0


def _measure(engine: Engine, root: str, question: corpora.Question, message: str) -> tuple[tuple[float, bool], float]:
    """Return (coverage, hit) of the prompt for a message, and its time in seconds."""
    wanted = {"message": message, "budget": {"tokens": BUDGET, "counter": "chars4", "fill": "full"}}
    begin = time.perf_counter()
    params = msgspec.convert(wanted, protocol.BuildPromptParams)
    prompt = str(build_prompt(engine, params, CancelToken())["prompt"])
    seconds = time.perf_counter() - begin
    return answers.coverage(question, root, prompt.split("\n")), seconds


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with one row per language and group of packages."""
    out = ["| packages | language | n | English coverage | coverage | ratio | English hit | hit |", "|---" * 8 + "|"]
    for group in sorted({row.translated.held_out for row in rows}):
        members = [row for row in rows if row.translated.held_out == group]
        languages = sorted({row.translated.language for row in members})
        for language in (*languages, "all"):
            chosen = [row for row in members if language in (row.translated.language, "all")]
            english, hit = np.mean([row.english for row in chosen], axis=0)
            other, other_hit = np.mean([row.other for row in chosen], axis=0)
            cells = (f"{english:.3f}", f"{other:.3f}", f"{other / max(english, 1e-9):.2f}", f"{hit:.2f}")
            name = "held out" if group else "developed"
            out.append(f"| {name} | {language} | {len(chosen)} | {' | '.join(cells)} | {other_hit:.2f} |")
    median = 1000 * float(np.median([row.seconds for row in rows]))
    return "\n".join([*out, "", f"{len(rows)} prompts of translated questions: median {median:.0f} ms"])
