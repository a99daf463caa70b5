"""Fit the weights of the reranker: `scripts/train_rerank [--corpora FOLDER] [--write]`.

The items of the development questions are ranked with weights that were fitted without their package
(evaluation/data/held_out.json).  An item is needed if it has half of the lines of a needed region, or if half of its
lines are needed.  Printed errors are cross-validated by package.  With --write, the weights go to the package, and the
reliability diagram and its table to the documentation (requires matplotlib).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.optimize import minimize

from promptls.engine import Engine
from promptls.mentions.context import ClientContext
from promptls.model import CancelToken, Item
from promptls.prompt import scoring
from promptls.prompt.context import implicit
from promptls.prompt.context.query_understanding import understand_query
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options
from promptls.retrieval.retrieve import RetrievalStrategy

WEIGHTS = Path(scoring.__file__).with_name("rerank.json")
BUDGET = 8000
RIDGE = 1.0
FOLDS = 5
BIN_EDGES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1)
"""Probabilities that separate the rows of the reliability table."""
DIAGRAM = Path(__file__).parents[2] / "server" / "docs" / "images" / "reliability.svg"
Floats = NDArray[np.float64]


class Example(Struct, frozen=True):
    """The items of one question."""

    question: corpora.Question
    features: Floats  # [n, features]
    needed: Floats  # [n], 0 or 1


def main(arguments: list[str]) -> int:
    """Fit, print and optionally write the weights."""
    parser = argparse.ArgumentParser(prog="scripts/train_rerank")
    corpora.add_options(parser)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    examples = list(_examples(options))
    predicted = cross_validated(examples)
    p, truth = np.concatenate(predicted), np.concatenate([e.needed for e in examples])
    before = np.concatenate([1 / (1 + np.exp(-e.features[:, 0])) for e in examples])
    for name, values in (("score", before), ("reranked", p)):
        loss = -float(np.mean(truth * np.log(values) + (1 - truth) * np.log(1 - values)))
        above = values >= 0.02
        print(
            f"{name:9} log loss {loss:.4f}, calibration error {_calibration_error(values, truth):.4f}, "
            f"from .02 up {_calibration_error(values[above], truth[above]):.4f} ({above.sum()} items)"
        )
    bins = reliability(p, truth)
    print(made := reliability_table(bins) + "\n\n" + group_table(examples, predicted))
    weights = fit(examples)
    print({name: round(value, 3) for name, value in weights.weights.items()}, round(weights.offset, 3))
    if options.write:
        WEIGHTS.write_text(json.dumps(msgspec.to_builtins(weights), indent=2) + "\n")
        (corpora.DATA / "reliability.md").write_text(made + "\n")
        plot(bins, DIAGRAM)
    return 0


def cross_validated(examples: Sequence[Example]) -> list[Floats]:
    """Return the probabilities of the items of each example, fitted without its package."""
    names = sorted({corpora.project(example.question.corpus) for example in examples})
    fold = {name: number % FOLDS for number, name in enumerate(names)}
    weights = [
        fit([e for e in examples if fold[corpora.project(e.question.corpus)] != number]) for number in range(FOLDS)
    ]
    return [_probabilities(e.features, weights[fold[corpora.project(e.question.corpus)]]) for e in examples]


class Bin(Struct, frozen=True):
    """The items with a probability from `low` to below `high`."""

    low: float
    high: float
    items: int
    predicted: float  # mean probability
    needed: float  # share of needed items
    error: float  # standard error of the share


def reliability(p: Floats, truth: Floats) -> list[Bin]:
    """Return the mean probability and the share of needed items in each bin."""
    bins = []
    for low, high in pairwise(BIN_EDGES):
        inside = (p >= low) & (p < high)
        share = float(truth[inside].mean())
        error = float(np.sqrt(share * (1 - share) / inside.sum()))
        bins.append(Bin(low, high, int(inside.sum()), float(p[inside].mean()), share, error))
    return bins


def reliability_table(bins: Sequence[Bin]) -> str:
    """Return a Markdown table with one row per bin."""
    out = ["| probability | items | mean probability | needed |", "|---|---|---|---|"]
    out += [
        f"| {b.low:g} to {b.high:g} | {b.items:,} | {b.predicted:.3f} | {b.needed:.3f} ± {b.error:.3f} |" for b in bins
    ]
    return "\n".join(out)


def group_table(examples: Sequence[Example], predicted: Sequence[Floats]) -> str:
    """Return a Markdown table of the calibration errors by group of questions."""
    out = ["| questions | items | calibration error | items from .02 up | calibration error |", "|---|---|---|---|---|"]
    for name, members in answers.groups([e.question for e in examples]).items():
        p = np.concatenate([predicted[i] for i in members])
        truth = np.concatenate([examples[i].needed for i in members])
        above = p >= 0.02
        cells = (len(p), _calibration_error(p, truth), int(above.sum()), _calibration_error(p[above], truth[above]))
        out.append("| {} | {:,} | {:.3f} | {:,} | {:.3f} |".format(name, *cells))
    return "\n".join(out)


def plot(bins: Sequence[Bin], path: Path) -> None:
    """Write the reliability diagram: the share of needed items against the probability."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "promptls"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
    axes.plot([0.001, 1], [0.001, 1], color="#999999", linewidth=1, label="perfect calibration")
    axes.errorbar(
        [b.predicted for b in bins],
        [b.needed for b in bins],
        yerr=[b.error for b in bins],
        marker="o",
        label="measured",
    )
    axes.set(xscale="log", yscale="log", xlim=(0.001, 1), ylim=(0.001, 1))
    axes.set(xlabel="mean probability", ylabel="share of needed items")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def fit(examples: Sequence[Example]) -> scoring.RerankWeights:
    """Return the weights of a logistic regression with an L2 penalty on standardized features."""
    features = np.concatenate([e.features for e in examples])
    needed = np.concatenate([e.needed for e in examples])
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    scaled = (features - mean) / deviation

    def loss(parameters: Floats) -> tuple[float, Floats]:
        logits = scaled @ parameters[:-1] + parameters[-1]
        error = 1 / (1 + np.exp(-logits)) - needed
        value = float(np.logaddexp(0, logits).sum() - needed @ logits + RIDGE / 2 * parameters[:-1] @ parameters[:-1])
        return value, np.append(scaled.T @ error + RIDGE * parameters[:-1], error.sum())

    found = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B").x
    vector = found[:-1] / deviation
    offset = float(found[-1] - vector @ mean)
    rounded = {name: round(float(v), 4) for name, v in zip(scoring.FEATURES, vector, strict=True)}
    return scoring.RerankWeights(rounded, round(offset, 4))


def _probabilities(features: Floats, weights: scoring.RerankWeights) -> Floats:
    vector = np.array([weights.weights[name] for name in scoring.FEATURES])
    return np.asarray(1 / (1 + np.exp(-(features @ vector + weights.offset))))


def _calibration_error(p: Floats, truth: Floats, bins: int = 10) -> float:
    """Return the expected calibration error in bins of equal size."""
    order = np.array_split(np.argsort(p), bins)
    return float(sum(len(b) * abs(p[b].mean() - truth[b].mean()) for b in order if len(b)) / max(1, len(p)))


def _examples(options: argparse.Namespace) -> Iterator[Example]:
    held_out = corpora.held_out_weights()
    for tree, questions in corpora.read_questions(options):
        with engine_of(tree) as (engine, root):
            weights = held_out[corpora.project(questions[0].corpus)]
            engine.services = structs.replace(engine.services, strategy=RetrievalStrategy(weights=weights))
            yield from (_example(engine, root, q) for q in questions)


def _example(engine: Engine, root: str, question: corpora.Question) -> Example:
    token = CancelToken()
    options = resolve_options(engine.settings, RequestOptions(), RecipeOptions())
    context = engine.resolve_context(ClientContext(), engine.snapshot(token), token, None)
    query = understand_query(question.question, question.question, options, context).intent.query
    found = implicit.retrieve_items(query, (), context, implicit.max_candidates(options.profile, BUDGET))
    items = implicit.read_top_items(found, context, options.profile, BUDGET).items
    needed = np.array([_is_needed(r.item, question, root) for r in items], np.float64)
    return Example(question, scoring.rerank_features(items), needed)


def _is_needed(item: Item, question: corpora.Question, root: str) -> bool:
    for gold in question.gold:
        path = f"{root}/{gold.path}"
        region = set(range(gold.start - 1, min(gold.end, len(answers.lines(path)))))
        common = len(region & set(range(item.span.start, item.span.end)))
        if item.path == path and region and 2 * common >= min(len(region), len(item.span)):
            return True
    return False
