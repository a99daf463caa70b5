"""Train the ranking models: `scripts/train_ranking [--questions FILE … --trees FOLDER] [--write]`.

Both models are fitted to the development questions and the questions of `--questions`, which are asked by other people:
one voice alone teaches habits of that voice.  Printed figures are cross-validated by project.  With --write, weights
fitted to all data go to the package, and the weights of each fold to the evaluation.  Requires scipy.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation import _measures as measures
from evaluation._workspace import opened
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.optimize import minimize

from promptls.index.index_client import IndexClient
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval.candidates import SEARCH_LIMITS, CandidateLimits
from promptls.retrieval.features import FEATURE_NAMES, FILE_FEATURE_NAMES, SHINGLE_FEATURES, extract_file_features
from promptls.retrieval.linear_model import (
    CALIBRATION_FEATURES,
    WEIGHTS_FILE,
    Calibration,
    LinearModel,
    RankerWeights,
    calibration_features,
)
from promptls.retrieval.query import Query
from promptls.retrieval.retrieve import describe_candidates
from training import quality

HELD_OUT = Path(corpora.DATA) / "held_out.json"
FOLDS = 6
RIDGE, RIDGE_FILES = 10.0, 1.0
"""Strength of the L2 penalty on weights of standardized features."""
RIDGE_OPEN = 20.0
"""The same for the differences of the weights for open questions from those for all questions."""
RIDGE_CALIBRATION = 1.0
"""The same for the calibration."""
LOWER_BOUNDS = {
    "spelled": 3.0,
    "brief": 4.5,
    **dict.fromkeys(("by_path", "similarity", "covered_any"), 0.0),
}
"""Lower bounds of weights.

Positive evidence must not reduce a score, and the training questions contain too few short questions and too few exact
names to learn these weights.
"""
LOWER_BOUNDS_FILES = {"only_stem": 1.0}
"""The same for files; no training question is a single word."""

Floats = NDArray[np.float64]


class Sample(Struct, frozen=True):
    """One question with its candidates."""

    group: str  # package
    values: NDArray[np.float32]
    labels: NDArray[np.float32]  # 0, 1 or 2
    places: tuple[answers.Place, ...] = ()
    root: str = ""
    question: corpora.Question | None = None
    is_open: bool = False  # an open question, see `Query.is_open`


# ---------------------------------------------------------------- samples


def query_of(text: str) -> Query:
    """Return the query that a prompt uses for a question."""
    return detect_intent(text, text).query


def collect_samples(
    by_tree: Iterable[tuple[Path, Sequence[corpora.Question]]],
) -> tuple[list[Sample], list[Sample]]:
    """Return the candidates of the questions about each tree, and the candidate files of the same questions."""
    candidates: list[Sample] = []
    files: list[Sample] = []
    for tree, questions in by_tree:
        with opened(tree) as (index, snapshot, root):
            for q in questions:
                query, group = query_of(q.question), corpora.project(q.corpus)
                features = describe_candidates(query, snapshot, index, CandidateLimits(), CancelToken())
                if features is None:
                    continue
                places = tuple((u.entry.path, u.span.start, u.span.end) for u in features.candidates)
                labels = np.array([grade(q, root, place) for place in places], np.float32)
                candidates.append(Sample(group, features.values, labels, places, root, q, is_open=query.is_open))
                targets = tuple(dict.fromkeys(gold.path for gold in q.gold))
                if (sample := _file_sample(query, group, targets, index, snapshot)) is not None:
                    files.append(sample)
        print(f"{tree.name}: {len(questions)} questions", flush=True)
    return candidates, files


def _file_sample(
    query: Query, group: str, targets: tuple[str, ...], index: IndexClient, snapshot: Snapshot
) -> Sample | None:
    """Return the candidate files of a search, None without candidates."""
    features = describe_candidates(query, snapshot, index, SEARCH_LIMITS, CancelToken())
    if features is None:
        return None
    paths, values = extract_file_features(query, features)
    names = tuple(snapshot.files[path].name for path in paths)
    labels = np.array([2.0 * any(measures.same_path(name, target) for target in targets) for name in names], np.float32)
    return Sample(group, values, labels)


def grade(question: corpora.Question, root: str, place: answers.Place) -> int:
    """Return the best grade of the gold regions that overlap a candidate by half of the smaller one."""
    path, start, end = place
    best = 0
    for gold in question.gold:
        common = min(end, gold.end) - max(start, gold.start - 1)
        if path == f"{root}/{gold.path}" and common > 0 and 2 * common >= min(end - start, gold.end - gold.start + 1):
            best = max(best, gold.grade)
    return best


# ---------------------------------------------------------------- fitting


def fit(
    samples: Sequence[Sample],
    names: Sequence[str],
    ridge: float,
    lower_bounds: Mapping[str, float],
    base: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Fit weights with a listwise softmax: each relevant candidate against all irrelevant ones of its question.

    With `base`, the penalty is on the differences from these weights, as in maximum a posteriori adaptation (Chelba and
    Acero 2004).
    """
    base = base or {}
    base_vector = np.array([base.get(name, 0.0) for name in names])
    every = np.concatenate([s.values for s in samples]).astype(np.float64)
    mean, deviation = every.mean(axis=0), every.std(axis=0)
    used = deviation > 1e-6
    lists = [
        (
            (s.values[:, used] - mean[used]) / deviation[used],
            s.values @ base_vector,
            np.flatnonzero(s.labels > 0),
            s.labels,
        )
        for s in samples
        if (s.labels > 0).any()
    ]

    def loss(w: Floats) -> tuple[float, Floats]:
        total, slope = 0.0, np.zeros_like(w)
        for values, base_score, relevant, labels in lists:
            score = values @ w + base_score
            top = float(score.max())
            mass = np.exp(score - top)
            others, pull = float(mass[labels == 0].sum()), mass[labels == 0] @ values[labels == 0]
            for i, share in zip(relevant, labels[relevant] / labels[relevant].sum(), strict=True):
                whole = others + mass[i]
                total += share * (math.log(whole) + top - score[i])
                slope += share * ((pull + mass[i] * values[i]) / whole - values[i])
        n = len(lists)
        return total / n + 0.5 * ridge * float(w @ w) / n, slope / n + ridge * w / n

    least = [
        ((lower_bounds[names[i]] - base_vector[i]) * deviation[i] if names[i] in lower_bounds else None, None)
        for i in np.flatnonzero(used)
    ]
    options = {"maxiter": 150}
    features = minimize(loss, np.zeros(len(least)), jac=True, method="L-BFGS-B", bounds=least, options=options).x
    weights = {
        names[i]: float(base_vector[i] + w / deviation[i]) for i, w in zip(np.flatnonzero(used), features, strict=True)
    }
    return {**{name: value for name, value in lower_bounds.items() if value and name in names}, **base, **weights}


def calibrate(samples: Sequence[Sample], scores: Sequence[Floats]) -> Calibration:
    """Fit the calibration to the scores of samples, which must be cross-validated."""
    every = np.concatenate([calibration_features(row, s.is_open) for s, row in zip(samples, scores, strict=True)])
    relevant = np.concatenate([s.labels > 0 for s in samples])
    mean, deviation = every.mean(axis=0), every.std(axis=0)
    values = (every - mean) / deviation

    def loss(w: Floats) -> tuple[float, Floats]:
        z = values @ w[1:] + w[0]
        error = 1 / (1 + np.exp(-z)) - relevant
        penalty = RIDGE_CALIBRATION * w[1:]
        total = float((np.logaddexp(0, z) - relevant * z).sum() + 0.5 * penalty @ w[1:])
        return total, np.concatenate([[error.sum()], values.T @ error + penalty])

    fitted = minimize(loss, np.zeros(values.shape[1] + 1), jac=True, method="L-BFGS-B").x
    weights = fitted[1:] / deviation
    names = zip(CALIBRATION_FEATURES, map(float, weights), strict=True)
    return Calibration(_rounded(dict(names)), round(float(fitted[0] - weights @ mean), 5))


def calibration_error(probabilities: Floats, relevant: NDArray[np.bool_], bins: int = 10) -> float:
    """Return the expected calibration error with bins of equal width (Naeini et al. 2015)."""
    by_bin = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = (abs(float((probabilities - relevant)[by_bin == i].sum())) for i in range(bins))
    return sum(gaps) / max(1, len(probabilities))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in weights.items()}


def fit_candidates(samples: Sequence[Sample], columns: Sequence[int] = range(len(FEATURE_NAMES))) -> dict[str, float]:
    """Fit the candidate weights, optionally restricted to the features `columns`."""
    columns = [i for i in columns if FEATURE_NAMES[i] not in SHINGLE_FEATURES]
    return fit(_restricted(samples, columns), [FEATURE_NAMES[i] for i in columns], RIDGE, LOWER_BOUNDS)


def fit_open_questions(
    samples: Sequence[Sample], base: Mapping[str, float], columns: Sequence[int] = range(len(FEATURE_NAMES))
) -> dict[str, float]:
    """Fit the candidate weights for open questions, close to those for all questions (`base`)."""
    asked = _restricted([s for s in samples if s.is_open], columns)
    return fit(asked, [FEATURE_NAMES[i] for i in columns], RIDGE_OPEN, LOWER_BOUNDS, base)


def _restricted(samples: Sequence[Sample], columns: Sequence[int]) -> list[Sample]:
    return [structs.replace(s, values=np.ascontiguousarray(s.values[:, columns])) for s in samples]


def assign_folds(samples: Sequence[Sample]) -> dict[str, int]:
    """Assign a fold to each package; large and small packages are distributed evenly."""
    names = sorted({s.group for s in samples}, key=lambda n: (n in corpora.LARGE, n))
    return {name: i % FOLDS for i, name in enumerate(names)}


def cross_validate(
    samples: Sequence[Sample], fitted: Callable[[Sequence[Sample]], dict[str, float]], names: Sequence[str]
) -> tuple[list[Floats], list[tuple[list[str], dict[str, float]]]]:
    """Return the cross-validated scores of each sample, and (packages, weights) of each fold."""
    fold = assign_folds(samples)
    by_fold = [fitted([s for s in samples if fold[s.group] != f]) for f in range(FOLDS)]
    vectors = [np.array([w.get(name, 0.0) for name in names]) for w in by_fold]
    scores = [s.values @ vectors[fold[s.group]] for s in samples]
    return scores, [([n for n, of in fold.items() if of == f], w) for f, w in enumerate(by_fold)]


def cross_validate_candidates(
    samples: Sequence[Sample], columns: Sequence[int] = range(len(FEATURE_NAMES))
) -> tuple[list[Floats], list[tuple[list[str], dict[str, float], dict[str, float]]]]:
    """Return the cross-validated scores of each sample, and (packages, weights, weights for open questions) of each fold."""
    scores, by_fold = cross_validate(samples, lambda s: fit_candidates(s, columns), FEATURE_NAMES)
    folds = []
    for packages, weights in by_fold:
        of_open = fit_open_questions([s for s in samples if s.group not in packages], weights, columns)
        model = LinearModel(of_open)
        for i, sample in enumerate(samples):
            if sample.is_open and sample.group in packages:
                scores[i] = model.score(sample.values, FEATURE_NAMES)
        folds.append((packages, weights, of_open))
    return scores, folds


def _cross_validate_calibration(samples: Sequence[Sample], scores: Sequence[Floats]) -> list[Calibration]:
    """Return the calibration of each fold, fitted to the other folds, and print its error."""
    fold = assign_folds(samples)
    pairs = list(zip(samples, scores, strict=True))
    by_fold, probabilities, relevant = [], [], []
    for f in range(FOLDS):
        others = [(s, row) for s, row in pairs if fold[s.group] != f]
        calibration = calibrate([s for s, _ in others], [row for _, row in others])
        by_fold.append(calibration)
        for s, row in pairs:
            if fold[s.group] == f:
                probabilities.append(calibration.probabilities(row, s.is_open))
                relevant.append(s.labels > 0)
    p, y = np.concatenate(probabilities), np.concatenate(relevant)
    above = p >= 0.02
    print(f"calibration error {calibration_error(p, y):.4f}, from .02 up {calibration_error(p[above], y[above]):.4f}")
    return by_fold


# ---------------------------------------------------------------- tables

FEATURE_GROUPS = {
    "callers and uses": ("caller", "uses"),
    "how known a name is": ("mentions",),
    "complexity": ("complexity", "simple", "straight", "prior_complex"),
    "file as a whole": ("file_words", "file_meaning", "prior_file"),
    "class": ("scope", "parent"),
    "feedback of the best": ("feedback",),
    "coverage of the words": ("covered", "hits"),
    "kind of definition": ("is_",),
    "tests, docs, examples": ("test", "docs", "minor"),
    "shingles": ("shingle",),
    "meaning": ("similarity", "semantic", "file_meaning"),
}
"""Groups of features by parts of their names."""


def _ranking(sample: Sample, scores: Floats) -> quality.Ranking:
    assert sample.question is not None
    return sample.question, sample.root, sample.places, scores


def _table(samples: Sequence[Sample], scores: Sequence[Floats], ablation: bool) -> Iterator[str]:
    """Yield rows of figures and print them as soon as they are computed."""

    def row(text: str) -> str:
        print(text, flush=True)
        return text

    by_voice: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        assert sample.question is not None
        by_voice[corpora.voice(sample.question)].append(i)

    def figures(rows: Sequence[Floats], name: str = "own") -> str:
        members = by_voice[name]
        return quality.coverage_and_recall(_ranking(samples[i], rows[i]) for i in members)

    yield row("| features | @4000 | @8000 | @20000 |" + "".join(f" recall@{d} |" for d in answers.DEPTHS))
    yield row("|---" * (4 + len(answers.DEPTHS)) + "|")
    yield row(f"| all {len(FEATURE_NAMES)} | {figures(scores)} |")
    for family, parts in FEATURE_GROUPS.items() if ablation else ():
        left = [i for i, name in enumerate(FEATURE_NAMES) if not any(part in name for part in parts)]
        without, _ = cross_validate_candidates(samples, left)
        yield row(f"| without {family} | {figures(without)} |")
    for name in sorted(by_voice.keys() - {"own"}):
        print(f"| questions of {name} | {figures(scores, name)} |", flush=True)


def main(arguments: list[str]) -> int:
    """Print the tables; with --write, also write the weights."""
    parser = argparse.ArgumentParser(prog="scripts/train_ranking")
    corpora.add_options(parser)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    samples, file_samples = collect_samples(corpora.read_questions(options))
    scores, by_fold = cross_validate_candidates(samples)
    table = list(_table(samples, scores, options.ablation))
    by_fold_calibration = _cross_validate_calibration(samples, scores)
    weights = fit_candidates(samples)
    candidates = LinearModel(_rounded(weights))
    of_open = LinearModel(_rounded(fit_open_questions(samples, weights)))
    files = LinearModel(_rounded(fit(file_samples, FILE_FEATURE_NAMES, RIDGE_FILES, LOWER_BOUNDS_FILES)))
    if options.write and options.ablation:
        (corpora.DATA / "ablation.md").write_text("\n".join(table) + "\n")
    if options.write:
        shipped = RankerWeights(candidates, of_open, files, calibrate(samples, scores))
        WEIGHTS_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(shipped), indent=1) + b"\n")
        held = [
            (packages, RankerWeights(LinearModel(_rounded(w)), LinearModel(_rounded(o)), files, calibration))
            for (packages, w, o), calibration in zip(by_fold, by_fold_calibration, strict=True)
        ]
        HELD_OUT.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, held)) + b"\n]\n")
        print(f"written: {WEIGHTS_FILE.name}, {HELD_OUT.name}")
    return 0
