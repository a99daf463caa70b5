"""Coverage against the tokens of the context, for thresholds of relevance and for filled budgets.

`scripts/evaluate efficiency [--questions FILE … --trees FOLDER] [--write]` builds the
prompts of the development questions with a budget of 8,000 tokens (characters / 4) and each threshold, and with smaller budgets that
are filled.  Each package is ranked with weights that were fitted without it.

Columns: coverage and hit as in the table of `scripts/evaluate`; mean tokens of the context; share of the context that lies
in a needed region, and in a file with one; mean tokens of the rest of the prompt, without the question.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import structs

from promptls.api.build_prompt import build_prompt
from promptls.api.messages import params as protocol
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.retrieval.retrieve import RetrievalStrategy

BUDGET = 8000
FILLED_BUDGETS = (1000, 2000, 3000, 4000, 6000, BUDGET)
THRESHOLDS = (0.01, 0.015, 0.02, 0.025, 0.03, 0.05, 0.1, 0.2, 0.5)
COLUMNS = ("coverage", "hit", "context", "needed lines", "needed files", "frame")
Row = dict[str, float]


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate efficiency")
    corpora.add_options(parser)
    parser.add_argument("--write", action="store_true", help="write the table for the documentation")
    options = parser.parse_args(arguments)
    held_out = corpora.held_out_weights()
    questions: list[corpora.Question] = []
    rows: list[dict[str, Row]] = []
    for tree, asked in corpora.read_questions(options):
        with engine_of(tree) as (engine, root):
            strategy = RetrievalStrategy(weights=held_out[corpora.project(asked[0].corpus)])
            engine.services = structs.replace(engine.services, strategy=strategy)
            rows += [dict(measured(engine, root, q)) for q in asked]
        questions += asked
    made = "\n\n".join(
        f"{group}\n\n{table([rows[i] for i in members])}"
        for group, members in answers.groups(questions).items()
        if not group.startswith("lang")
    )
    print(made)
    if options.write:
        own = answers.groups(questions)["own"]
        (corpora.DATA / "efficiency.md").write_text(table([rows[i] for i in own]) + "\n")
    return 0


def measured(engine: Engine, root: str, question: corpora.Question) -> Iterator[tuple[str, Row]]:
    """Yield the measures of a question by setting: "p ≥ 0.02" or "3000 filled"."""
    settings = engine.settings
    for threshold in THRESHOLDS:
        engine.settings = structs.replace(settings, retrieval=structs.replace(settings.retrieval, threshold=threshold))
        yield f"p ≥ {threshold:g}", _measure(engine, root, question, BUDGET, "relevant")
    engine.settings = settings
    for budget in FILLED_BUDGETS:
        yield f"{budget:,} filled", _measure(engine, root, question, budget, "full")


def _measure(engine: Engine, root: str, question: corpora.Question, budget: int, fill: str) -> Row:
    wanted = {"message": question.question, "budget": {"tokens": budget, "counter": "chars4", "fill": fill}}
    result = build_prompt(engine, msgspec.convert(wanted, protocol.BuildPromptParams), CancelToken())
    needed_files = {gold.path for gold in question.gold}
    tokens = lines = files = 0.0
    for item in result["items"]:
        first, last = item["range"]["start"]["line"], item["range"]["end"]["line"]
        tokens += item["tokens"]
        if item["path"] in needed_files:
            files += item["tokens"]
            regions = [range(g.start - 1, g.end) for g in question.gold if g.path == item["path"]]
            inside = sum(any(line in region for region in regions) for line in range(first, last))
            lines += item["tokens"] * inside / max(1, last - first)
    coverage, hit = answers.coverage(question, root, str(result["prompt"]).split("\n"))
    sections = result["tokens"]["sections"]
    frame = sum(count for name, count in sections.items() if name not in ("context", "question"))
    shares = (lines / tokens, files / tokens) if tokens else (0.0, 0.0)
    return dict(zip(COLUMNS, (coverage, float(hit), tokens, *shares, frame), strict=True))


def table(rows: Sequence[dict[str, Row]]) -> str:
    """Return a Markdown table with one row per setting."""
    out = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for setting in rows[0]:
        means = [float(np.mean([row[setting][column] for row in rows])) for column in COLUMNS]
        cells = [f"{m:,.0f}" if c in ("context", "frame") else f"{m:.3f}" for c, m in zip(COLUMNS, means, strict=True)]
        out.append(f"| {setting} | " + " | ".join(cells) + " |")
    return "\n".join(out)
