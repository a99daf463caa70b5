"""Finds the weights of retrieval: `scripts/train_ranking [--corpora FOLDER] [--semble FOLDER --trees FOLDER] [--write]`.

The units' weights are fitted to the development questions, the files' to queries of a public benchmark in the
format of semble's (annotations and repos.json in FOLDER, a tree of each repository in --trees).  What is
printed comes from cross-validation by package: no package is ranked by weights that have seen it.  With --write
the weights fitted to everything go to the package, those for each fold to the evaluation.  Needs scipy.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import opened
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import minimize

from promptls.model import CancelToken
from promptls.prompt.intent import understand
from promptls.retrieval import file_ranking as of_files
from promptls.retrieval.candidates import FAR, Reach
from promptls.retrieval.features import NAMES
from promptls.retrieval.linear_model import FILE, Sum, Weights
from promptls.retrieval.query import Query
from promptls.retrieval.retrieve import describe

HELD_OUT = Path(corpora.DATA) / "held_out.json"
FOLDS = 6
RIDGE, RIDGE_FILES = 10.0, 1.0
"""Strength of the penalty on squared weights, per standardised feature."""
AT_LEAST = {
    "spelled": 3.0,
    "brief": 4.5,
    **dict.fromkeys(("named", "by_path", "similarity", "semantic", "body", "keyword", "path", "both", "prior"), 0.0),
    **{name: 0.0 for name in NAMES if name.startswith("covered")},
}
"""What can only speak for a unit never counts against it; and the questions hold too few short ones, and too few
that spell a name out, for what those are about to be learned."""
THRIFT = 0.75
"""As in profiles/default.toml, per unit of the raw sum."""
FRAME, FENCE = 250, 16
"""Tokens of a prompt without its blocks, and of the fence around a block, where packing is only estimated."""

Floats = NDArray[np.float64]


class Sample(Struct, frozen=True):
    """One question with its candidates."""

    group: str  # package
    values: NDArray[np.float32]
    labels: NDArray[np.float32]  # 0, 1 or 2
    places: tuple[answers.Place, ...] = ()
    root: str = ""
    question: corpora.Question | None = None
    targets: tuple[str, ...] = ()  # files wanted, for a ranking of files
    paths: tuple[str, ...] = ()


# ---------------------------------------------------------------- samples


def asked(text: str) -> Query:
    """The question as a prompt would take it."""
    return understand(text, text).query


def unit_samples(questions: Sequence[corpora.Question], folder: Path) -> list[Sample]:
    """Candidates of the development questions."""
    out: list[Sample] = []
    for name in dict.fromkeys(q.corpus for q in questions):
        with opened(corpora.tree(name, folder)) as (index, snapshot, root):
            for q in (q for q in questions if q.corpus == name):
                found = describe(asked(q.question), snapshot, index, Reach(), CancelToken())
                if found is None:
                    continue
                places = tuple((u.entry.path, u.span.start, u.span.end) for u in found.units)
                labels = np.array([_grade(q, root, place) for place in places], np.float32)
                out.append(Sample(name, found.values, labels, places, root, q))
        print(f"{name}: {sum(s.group == name for s in out)} questions", flush=True)
    return out


def _grade(question: corpora.Question, root: str, place: answers.Place) -> int:
    """The grade of the region that a place is at least half of, or that is at least half of the place."""
    path, start, end = place
    best = 0
    for gold in question.gold:
        common = min(end, gold.end) - max(start, gold.start - 1)
        if path == f"{root}/{gold.path}" and common > 0 and 2 * common >= min(end - start, gold.end - gold.start + 1):
            best = max(best, gold.grade)
    return best


def file_samples(benchmark: Path, trees: Path) -> list[Sample]:
    """Candidates of the public queries."""
    out: list[Sample] = []
    for repo in json.loads((benchmark / "repos.json").read_text()):
        dead = set(repo.get("dead_queries", []))
        with opened(trees / repo["name"]) as (index, snapshot, _):
            for entry in json.loads((benchmark / "annotations" / f"{repo['name']}.json").read_text()):
                if entry["query"] in dead:
                    continue
                query = asked(entry["query"])
                found = describe(query, snapshot, index, FAR, CancelToken())
                if found is None:
                    continue
                paths, values = of_files.by_file(query, found)
                both = [*entry.get("relevant", []), *entry.get("secondary", [])]
                wanted = tuple(t if isinstance(t, str) else t["path"] for t in both)
                names = tuple(snapshot.files[path].name for path in paths)
                labels = np.array([2.0 * any(_same(name, t) for t in wanted) for name in names], np.float32)
                out.append(Sample(repo["name"], values, labels, targets=wanted, paths=names))
    return out


def _same(path: str, target: str) -> bool:
    return path == target or path.endswith("/" + target) or target.endswith("/" + path)


# ---------------------------------------------------------------- fitting


def fit(
    samples: Sequence[Sample], names: Sequence[str], ridge: float, at_least: Mapping[str, float]
) -> dict[str, float]:
    """Weights of a listwise softmax: each relevant candidate against all irrelevant ones of its question."""
    every = np.concatenate([s.values for s in samples]).astype(np.float64)
    mean, deviation = every.mean(axis=0), every.std(axis=0)
    used = deviation > 1e-6
    lists = [
        ((s.values[:, used] - mean[used]) / deviation[used], np.flatnonzero(s.labels > 0), s.labels)
        for s in samples
        if (s.labels > 0).any()
    ]

    def loss(w: Floats) -> tuple[float, Floats]:
        total, slope = 0.0, np.zeros_like(w)
        for values, relevant, labels in lists:
            score = values @ w
            top = float(score.max())
            mass = np.exp(score - top)
            others, pull = float(mass[labels == 0].sum()), mass[labels == 0] @ values[labels == 0]
            for i, share in zip(relevant, labels[relevant] / labels[relevant].sum(), strict=True):
                whole = others + mass[i]
                total += share * (math.log(whole) + top - score[i])
                slope += share * ((pull + mass[i] * values[i]) / whole - values[i])
        n = len(lists)
        return total / n + 0.5 * ridge * float(w @ w) / n, slope / n + ridge * w / n

    least = [(at_least[names[i]] * deviation[i] if names[i] in at_least else None, None) for i in np.flatnonzero(used)]
    options = {"maxiter": 150}
    found = minimize(loss, np.zeros(len(least)), jac=True, method="L-BFGS-B", bounds=least, options=options).x
    weights = {names[i]: float(w / deviation[i]) for i, w in zip(np.flatnonzero(used), found, strict=True)}
    return {**{name: value for name, value in at_least.items() if value and name in names}, **weights}


def calibrated(weights: dict[str, float], scores: Floats, labels: NDArray[np.bool_]) -> Sum:
    """The sum with the slope and offset that make its chances true (Platt 1999)."""

    def loss(w: Floats) -> float:
        z = w[0] * scores + w[1]
        return float(np.mean(np.logaddexp(0, z) - labels * z))

    slope, offset = minimize(loss, np.array([1.0, -3.0 - float(scores.mean())])).x
    return Sum(_rounded(weights), round(float(slope), 5), round(float(offset), 5))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in weights.items()}


def fit_units(samples: Sequence[Sample], columns: Sequence[int] | None = None) -> dict[str, float]:
    """The units' weights; `columns` are the features that may be used."""
    if columns is not None:
        samples = [msgspec.structs.replace(s, values=s.values[:, columns]) for s in samples]
    names = NAMES if columns is None else [NAMES[i] for i in columns]
    return fit(samples, names, RIDGE, AT_LEAST)


def folds(samples: Sequence[Sample]) -> dict[str, int]:
    """A fold for each package; large and small ones are spread evenly."""
    names = sorted({s.group for s in samples}, key=lambda n: (n in corpora.LARGE, n))
    return {name: i % FOLDS for i, name in enumerate(names)}


def cross_validated(
    samples: Sequence[Sample], fitted: Callable[[Sequence[Sample]], dict[str, float]], names: Sequence[str]
) -> tuple[list[Floats], list[tuple[list[str], dict[str, float]]]]:
    """(sums of each sample, (packages, weights) for each fold), both from fits that have not seen the packages."""
    fold = folds(samples)
    by_fold = [fitted([s for s in samples if fold[s.group] != f]) for f in range(FOLDS)]
    vectors = [np.array([w.get(name, 0.0) for name in names]) for w in by_fold]
    sums = [s.values @ vectors[fold[s.group]] for s in samples]
    return sums, [([n for n, of in fold.items() if of == f], w) for f, w in enumerate(by_fold)]


# ---------------------------------------------------------------- what it is worth


def estimated(samples: Sequence[Sample], sums: Sequence[Floats]) -> str:
    """A row of figures: coverage with a simple packing, and recall by depth."""
    covered: dict[int, list[float]] = {4000: [], 8000: [], 20000: []}
    depths: dict[int, list[float]] = {d: [] for d in answers.DEPTHS}
    for sample, sum_ in zip(samples, sums, strict=True):
        assert sample.question is not None
        length = np.array([end - start for _, start, end in sample.places])
        order = np.argsort(-(sum_ - THRIFT * np.log(length + 4)), kind="stable")
        places = [sample.places[i] for i in order]
        for budget, values in covered.items():
            values.append(answers.coverage(sample.question, sample.root, _packed(places, budget))[0])
        ranked = [sample.places[i] for i in np.argsort(-sum_, kind="stable")]
        for depth, share in answers.recall(sample.question, sample.root, ranked).items():
            depths[depth].append(share)
    return " | ".join(f"{np.mean(v):.3f}" for v in (*covered.values(), *depths.values()))


def _packed(places: Sequence[answers.Place], budget: int) -> list[str]:
    room, shown = 4 * (budget - FRAME), dict[str, set[int]]()
    out: list[str] = []
    for path, start, end in places[:400]:
        text = answers.lines(path)
        new = [i for i in range(start, min(end, len(text))) if i not in shown.get(path, set())]
        cost = sum(len(text[i]) + 1 for i in new) + 4 * FENCE
        if new and cost <= room:
            room -= cost
            shown.setdefault(path, set()).update(new)
            out += [text[i] for i in new]
        elif room < 1200:
            break
    return out


def ndcg(sample: Sample, sums: Floats) -> float:
    """NDCG@10 as the benchmark counts it: binary gain at the rank of the first match of each target."""
    first = [sample.paths[i] for i in np.argsort(-sums, kind="stable")[:10]]
    ranks = {next((r for r, p in enumerate(first, 1) if _same(p, t)), None) for t in sample.targets}
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(sample.targets))))
    return sum(1 / math.log2(r + 1) for r in ranks if r) / ideal


FAMILIES = {
    "callers and callees": ("caller", "callee", "uses"),
    "how known a name is": ("mentions", "definitions"),
    "complexity": ("complexity", "simple", "straight", "prior_complex"),
    "file as a whole": ("file_words", "file_meaning", "prior_file"),
    "class and neighbours": ("scope", "parent", "before", "after"),
    "feedback of the best": ("feedback",),
    "coverage of the words": ("covered", "hits"),
    "kind of definition": ("is_",),
    "tests, docs, examples": ("test", "docs", "minor"),
    "meaning": ("similarity", "semantic", "file_meaning"),
}
"""Features by the parts of their names."""


def _table(samples: Sequence[Sample], sums: Sequence[Floats], ablation: bool) -> Iterator[str]:
    """Rows of figures, printed as they come."""

    def row(text: str) -> str:
        print(text, flush=True)
        return text

    yield row("| features | @4000 | @8000 | @20000 |" + "".join(f" recall@{d} |" for d in answers.DEPTHS))
    yield row("|---" * (4 + len(answers.DEPTHS)) + "|")
    yield row(f"| all {len(NAMES)} | {estimated(samples, sums)} |")
    for name, title in (
        ("prior", "keyword and meaning added up"),
        ("similarity", "meaning alone"),
        ("body", "BM25 alone"),
    ):
        scores = [5.0 * s.values[:, NAMES.index(name)].astype(np.float64) for s in samples]
        yield row(f"| {title} | {estimated(samples, scores)} |")
    for family, parts in FAMILIES.items() if ablation else ():
        left = [i for i, name in enumerate(NAMES) if not any(part in name for part in parts)]
        without, _ = cross_validated(samples, lambda s, left=left: fit_units(s, left), NAMES)  # type: ignore[misc]
        yield row(f"| without {family} | {estimated(samples, without)} |")


def main(arguments: list[str]) -> int:
    """Print the tables; with --write put the weights in place."""
    parser = argparse.ArgumentParser(prog="scripts/train_ranking")
    parser.add_argument("--corpora", type=Path, default=corpora.FOLDER)
    parser.add_argument("--semble", type=Path)
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    samples = unit_samples(corpora.questions(), options.corpora)
    sums, by_fold = cross_validated(samples, fit_units, NAMES)
    table = list(_table(samples, sums, options.ablation))
    flat, truth = np.concatenate(sums), np.concatenate([s.labels > 0 for s in samples])
    units = calibrated(fit_units(samples), flat, truth)
    files = msgspec.json.decode(FILE.read_bytes(), type=Weights).files if FILE.is_file() else Sum({})
    if options.semble:
        queries = file_samples(options.semble, options.trees)
        ranked, _ = cross_validated(queries, lambda s: fit(s, of_files.NAMES, RIDGE_FILES, {}), of_files.NAMES)
        scores = [ndcg(s, r) for s, r in zip(queries, ranked, strict=True)]
        print(f"files: NDCG@10 {np.mean(scores):.4f} over {len(scores)} queries, cross-validated by repository")
        files = Sum(_rounded(fit(queries, of_files.NAMES, RIDGE_FILES, {})))
    if options.write and options.ablation:
        (corpora.DATA / "ablation.md").write_text("\n".join(table) + "\n")
    if options.write:
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(Weights(units, files)), indent=1) + b"\n")
        held = [(packages, Weights(Sum(_rounded(w), units.slope, units.offset), files)) for packages, w in by_fold]
        HELD_OUT.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, held)) + b"\n]\n")
        print(f"written: {FILE.name}, {HELD_OUT.name}")
    return 0
