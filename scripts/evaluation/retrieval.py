"""How much of what an answer needs reaches the prompt: coverage at budgets, and recall, on development questions.

`scripts/evaluate retrieval [--corpora FOLDER] [--shipped] [--json FILE]`: builds the prompts of all questions of
data/*.jsonl at three budgets (tokens as characters / 4).  Each package is ranked by weights that were fitted
without it (data/held_out.json); --shipped takes the weights of the package for all.
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

from promptls.api import params as protocol
from promptls.api import prompt as requests
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.prompt.intent import understand
from promptls.retrieval import Strategy, retrieve
from promptls.retrieval.linear_model import Weights

BUDGETS = (4000, 8000, 20000)
Row = dict[str, float]


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate retrieval")
    parser.add_argument("--corpora", type=Path, default=corpora.FOLDER)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="keep the table for README.md")
    options = parser.parse_args(arguments)
    folds = msgspec.json.decode((corpora.DATA / "held_out.json").read_bytes(), type=list[tuple[list[str], Weights]])
    held_out = {package: weights for packages, weights in folds for package in packages}
    questions = corpora.questions()
    rows: list[Row] = []
    for name in dict.fromkeys(q.corpus for q in questions):
        with engine_of(corpora.tree(name, options.corpora)) as (engine, root):
            engine.strategy = Strategy(weights=None if options.shipped else held_out[name])
            rows += [measured(engine, root, q) for q in questions if q.corpus == name]
    print(made := table(questions, rows))
    if options.write:
        (corpora.DATA / "quality.md").write_text(made.split("\n\n")[0] + "\n")
    if options.json:
        options.json.write_text(json.dumps([{"id": q.id, **r} for q, r in zip(questions, rows, strict=True)]))
    return 0


def measured(engine: Engine, root: str, question: corpora.Question) -> Row:
    """Coverage, hit, length and time by budget, and recall by depth."""
    row: Row = {}
    for budget in BUDGETS:
        wanted = {"message": question.question, "budget": {"tokens": budget, "counter": "chars4"}}
        begin = time.perf_counter()
        params = msgspec.convert(wanted, protocol.BuildPromptParams)
        prompt = str(requests.build_prompt(engine, params, CancelToken())["prompt"])
        row[f"seconds@{budget}"] = time.perf_counter() - begin
        row[f"coverage@{budget}"], hit = answers.coverage(question, root, prompt.split("\n"))
        row[f"hit@{budget}"], row[f"over@{budget}"] = float(hit), float(len(prompt) / 4 > budget)
    asked = understand(question.question, question.question).query
    found = retrieve(asked, engine.view(CancelToken()), engine.indexer, engine.strategy, CancelToken()).items
    places = [(i.path, i.span.start, i.span.end) for i in found]
    return row | {f"recall@{d}": v for d, v in answers.recall(question, root, places).items()}


def table(questions: Sequence[corpora.Question], rows: Sequence[Row]) -> str:
    """Markdown: a row for each group of questions."""
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
