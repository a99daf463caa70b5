"""Fit the weights of the reranker: `scripts/train_rerank [--corpora FOLDER] [--write]`.

The items of the development questions are ranked with weights that were fitted without their package
(evaluation/data/held_out.json).  An item is needed if it has half of the lines of a needed region, or if half of its
lines are needed.  Printed errors are cross-validated by package.  With --write, the weights go to the package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
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
from promptls.prompt import implicit, rerank
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options
from promptls.prompt.query_understanding import understand_query
from promptls.retrieval import RetrievalStrategy
from promptls.retrieval.linear_model import RankerWeights

WEIGHTS = Path(rerank.__file__).with_name("rerank.json")
BUDGET = 8000
RIDGE = 1.0
FOLDS = 5
Floats = NDArray[np.float64]


class Example(Struct, frozen=True):
    """The items of one question."""

    corpus: str
    features: Floats  # [n, features]
    needed: Floats  # [n], 0 or 1


def main(arguments: list[str]) -> int:
    """Fit, print and optionally write the weights."""
    parser = argparse.ArgumentParser(prog="scripts/train_rerank")
    parser.add_argument("--corpora", type=Path, default=corpora.FOLDER)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    examples = list(_examples(options.corpora))
    names = sorted({example.corpus for example in examples})
    predicted, needed, before = [], [], []
    for fold in range(FOLDS):
        held_out = set(names[fold::FOLDS])
        weights = fit([e for e in examples if e.corpus not in held_out])
        for example in examples:
            if example.corpus in held_out:
                predicted.append(_probabilities(example.features, weights))
                before.append(1 / (1 + np.exp(-example.features[:, 0])))
                needed.append(example.needed)
    truth = np.concatenate(needed)
    for name, values in (("score", before), ("reranked", predicted)):
        p = np.concatenate(values)
        loss = -float(np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p)))
        above = p >= 0.02
        print(
            f"{name:9} log loss {loss:.4f}, calibration error {_calibration_error(p, truth):.4f}, "
            f"from .02 up {_calibration_error(p[above], truth[above]):.4f} ({above.sum()} items)"
        )
    weights = fit(examples)
    print({name: round(value, 3) for name, value in weights.weights.items()}, round(weights.offset, 3))
    if options.write:
        WEIGHTS.write_text(json.dumps(msgspec.to_builtins(weights), indent=2) + "\n")
    return 0


def fit(examples: Sequence[Example]) -> rerank.RerankWeights:
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
    rounded = {name: round(float(v), 4) for name, v in zip(rerank.FEATURES, vector, strict=True)}
    return rerank.RerankWeights(rounded, round(offset, 4))


def _probabilities(features: Floats, weights: rerank.RerankWeights) -> Floats:
    vector = np.array([weights.weights[name] for name in rerank.FEATURES])
    return np.asarray(1 / (1 + np.exp(-(features @ vector + weights.offset))))


def _calibration_error(p: Floats, truth: Floats, bins: int = 10) -> float:
    """Return the expected calibration error in bins of equal size."""
    order = np.array_split(np.argsort(p), bins)
    return float(sum(len(b) * abs(p[b].mean() - truth[b].mean()) for b in order if len(b)) / max(1, len(p)))


def _examples(folder: Path) -> Iterator[Example]:
    folds = msgspec.json.decode(
        (corpora.DATA / "held_out.json").read_bytes(), type=list[tuple[list[str], RankerWeights]]
    )
    held_out = {package: weights for packages, weights in folds for package in packages}
    questions = corpora.questions()
    for name in dict.fromkeys(q.corpus for q in questions):
        with engine_of(corpora.tree(name, folder)) as (engine, root):
            engine.services = structs.replace(engine.services, strategy=RetrievalStrategy(weights=held_out[name]))
            yield from (_example(engine, root, q) for q in questions if q.corpus == name)


def _example(engine: Engine, root: str, question: corpora.Question) -> Example:
    token = CancelToken()
    options = resolve_options(engine.settings, RequestOptions(), RecipeOptions())
    context = engine.resolve_context(ClientContext(), engine.snapshot(token), token, None)
    query = understand_query(question.question, question.question, options, context).intent.query
    found = implicit.retrieve_items(query, (), context, implicit.max_candidates(options.profile, BUDGET))
    items = implicit.read_top_items(found, context, options.profile, BUDGET).items
    needed = np.array([_is_needed(r.item, question, root) for r in items], np.float64)
    return Example(question.corpus, rerank.rerank_features(items), needed)


def _is_needed(item: Item, question: corpora.Question, root: str) -> bool:
    for gold in question.gold:
        path = f"{root}/{gold.path}"
        region = set(range(gold.start - 1, min(gold.end, len(answers.lines(path)))))
        common = len(region & set(range(item.span.start, item.span.end)))
        if item.path == path and region and 2 * common >= min(len(region), len(item.span)):
            return True
    return False
