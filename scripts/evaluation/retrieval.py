"""Coverage of the needed code by prompts at several budgets, and recall of retrieval, on development questions.

`scripts/evaluate retrieval [--corpora FOLDER] [--questions FILE … --trees FOLDER] [--shipped] [--json FILE]` builds the prompts of all questions in
data/*.jsonl at three budgets (tokens = characters / 4), which are filled. Each package is ranked with weights that were fitted without
it (data/held_out.json). `--shipped` uses the shipped weights for all.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import structs

from promptls.api import params as protocol
from promptls.api.build_prompt import build_prompt
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval import RetrievalStrategy, retrieve
from promptls.retrieval.linear_model import RankerWeights

BUDGETS = (4000, 8000, 20000)
Row = dict[str, float]


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate retrieval")
    corpora.add_options(parser)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="write the table for the documentation")
    options = parser.parse_args(arguments)
    folds = msgspec.json.decode(
        (corpora.DATA / "held_out.json").read_bytes(), type=list[tuple[list[str], RankerWeights]]
    )
    held_out = {package: weights for packages, weights in folds for package in packages}
    questions: list[corpora.Question] = []
    rows: list[Row] = []
    for tree, asked in corpora.read_questions(options):
        with engine_of(tree) as (engine, root):
            strategy = RetrievalStrategy(
                weights=None if options.shipped else held_out[corpora.project(asked[0].corpus)]
            )
            engine.services = structs.replace(engine.services, strategy=strategy)
            rows += [measured(engine, root, q) for q in asked]
        questions += asked
    print(made := table(questions, rows))
    if options.write:
        (corpora.DATA / "quality.md").write_text(made.split("\n\n")[0] + "\n")
    if options.json:
        options.json.write_text(json.dumps([{"id": q.id, **r} for q, r in zip(questions, rows, strict=True)]))
    return 0


def measured(engine: Engine, root: str, question: corpora.Question) -> Row:
    """Return coverage, hit, length and time by budget, and recall by depth."""
    row: Row = {}
    for budget in BUDGETS:
        wanted = {"message": question.question, "budget": {"tokens": budget, "counter": "chars4", "fill": "full"}}
        begin = time.perf_counter()
        params = msgspec.convert(wanted, protocol.BuildPromptParams)
        prompt = str(build_prompt(engine, params, CancelToken())["prompt"])
        row[f"seconds@{budget}"] = time.perf_counter() - begin
        row[f"coverage@{budget}"], hit = answers.coverage(question, root, prompt.split("\n"))
        row[f"hit@{budget}"], row[f"over@{budget}"] = float(hit), float(len(prompt) / 4 > budget)
    asked = detect_intent(question.question, question.question).query
    found = retrieve(
        asked, engine.snapshot(CancelToken()), engine.indexer.client, engine.services.strategy, CancelToken()
    ).items
    places = [(i.path, i.span.start, i.span.end) for i in found]
    return row | {f"recall@{d}": v for d, v in answers.recall(question, root, places).items()}


def table(questions: Sequence[corpora.Question], rows: Sequence[Row]) -> str:
    """Return a Markdown table with one row per group of questions."""
    columns = [*(f"coverage@{b}" for b in BUDGETS), "hit@8000", "recall@50", "recall@400"]
    out = ["| questions | n | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name, members in answers.groups(questions).items():
        means = [float(np.mean([rows[i][c] for i in members])) for c in columns]
        out.append(f"| {name} | {len(members)} | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    seconds = [1000 * r[f"seconds@{b}"] for r in rows for b in BUDGETS]
    over = sum(r[f"over@{b}"] for r in rows for b in BUDGETS)
    p50, p95 = np.percentile(seconds, (50, 95))
    return "\n".join(
        [*out, "", f"{len(seconds)} prompts: p50 {p50:.0f} ms, p95 {p95:.0f} ms; over the budget: {over:.0f}"]
    )
