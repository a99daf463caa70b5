"""Coverage with and without the team index, for questions whose answer is local and for those where it is not.

`scripts/evaluate team INDEX [--open PACKAGE]` needs the index of all packages, see `promptls team build`. A question
about another package is asked with only PACKAGE open, with `--named` as "In PACKAGE, …"; the same question with its own
package open must not lose.
"""

from __future__ import annotations

import argparse
import time

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
from promptls.settings import TeamSettings

BUDGETS = (4000, 8000, 20000)
OPEN_TIMEOUT_S = 120.0


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate team")
    parser.add_argument("index", help="folder or address of the team index")
    parser.add_argument("--open", default="flask", help="package that is open for questions about others")
    parser.add_argument("--named", action="store_true", help="name the package in questions about others")
    corpora.add_options(parser)
    options = parser.parse_args(arguments)
    trees = {asked[0].corpus: (tree, asked) for tree, asked in corpora.read_questions(options)}
    rows: dict[str, list[list[float]]] = {"local": [], "other": []}
    tree, _ = trees[options.open]
    with engine_of(tree) as (engine, _):
        _connect(engine, options.index)
        for name, (other, asked) in trees.items():
            if name != options.open:
                root = other.resolve().as_posix()
                questions = map(_named, asked) if options.named else asked
                rows["other"] += [_measured(engine, root, question) for question in questions]
    for tree, asked in trees.values():
        with engine_of(tree) as (engine, root):
            _connect(engine, options.index)
            rows["local"] += [_measured(engine, root, question) for question in asked]
    print(_table(rows))
    return 0


def _named(question: corpora.Question) -> corpora.Question:
    return structs.replace(question, question=f"In {question.corpus}, {question.question}")


def _connect(engine: Engine, index: str) -> None:
    engine.apply(structs.replace(engine.settings, team=TeamSettings(index=index, deadline_ms=60_000)))
    assert engine.team is not None
    engine.team.wait_until_open(OPEN_TIMEOUT_S)


def _measured(engine: Engine, root: str, question: corpora.Question) -> list[float]:
    """Return coverage without and with the team index at each budget, and the milliseconds of the last two prompts."""
    project = corpora.project(question.corpus)
    weights = corpora.held_out_weights()[project]
    assert engine.team is not None
    engine.team.weights = corpora.held_out_team_weights()[project]
    row: list[float] = []
    seconds: list[float] = []
    for budget in BUDGETS:
        seconds = []
        for team in (None, engine.team):
            engine.services = structs.replace(engine.services, strategy=RetrievalStrategy(weights=weights), team=team)
            wanted = {"message": question.question, "budget": {"tokens": budget, "counter": "chars4", "fill": "full"}}
            begin = time.perf_counter()
            prompt = build_prompt(engine, msgspec.convert(wanted, protocol.BuildPromptParams), CancelToken())["prompt"]
            seconds.append(1000 * (time.perf_counter() - begin))
            row.append(answers.coverage(question, root, str(prompt).split("\n"))[0])
    return [*row, *seconds]


def _table(rows: dict[str, list[list[float]]]) -> str:
    """Return a Markdown table with one row per group of questions."""
    out = ["| answer | n | " + " | ".join(f"{b:,}: without, with" for b in BUDGETS) + " | ms without, with |"]
    out.append("|---" * (3 + len(BUDGETS)) + "|")
    for name, values in rows.items():
        means = np.array(values).mean(axis=0)
        cells = [f"{means[2 * i]:.3f}, {means[2 * i + 1]:.3f}" for i in range(len(BUDGETS))]
        medians = np.median(np.array(values)[:, -2:], axis=0)
        out.append(f"| {name} | {len(values)} | {' | '.join(cells)} | {medians[0]:.0f}, {medians[1]:.0f} |")
    return "\n".join(out)
