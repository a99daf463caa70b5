"""Fit the weights of the team index: `scripts/train_team_ranking INDEX … [--questions FILE … --trees FOLDER] [--write]`.

An index contains the packages of the development questions, and may contain the repositories of `--questions`. For the
weights of hits, each question is asked as it is and with the name of its repository ("In flask, …"). For the need of
code that is not open, each development question is asked with each package open; all hits of this package are left out.
Printed figures are cross-validated by project. With --write, weights fitted to all questions go to the package, and
those of each fold to the evaluation.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from evaluation._workspace import engine_of
from msgspec import Struct, structs
from scipy.optimize import minimize

from promptls.engine import Engine
from promptls.extensions.team.client import TeamClient
from promptls.index import load_embedder
from promptls.index.configuration import index_config, store_identity
from promptls.mentions.context import ClientContext
from promptls.model import CancelToken
from promptls.prompt.context import implicit, team_context
from promptls.prompt.context.query_understanding import understand_query
from promptls.prompt.options import RecipeOptions, RequestOptions, resolve_options
from promptls.retrieval import team_source
from promptls.retrieval.linear_model import LinearModel, LogisticModel
from promptls.retrieval.query import Query
from promptls.retrieval.retrieve import RetrievalStrategy
from promptls.settings import Settings, TeamSettings
from training import ranking

TIMEOUT_S = 120.0
BUDGETS = (2000, 4000)
"""Tokens for hits in the printed table."""
LOWER_BOUNDS = {"spelled": 0.0, "covered_name": 0.0, "covered_path": 0.0}
"""Lower bounds of weights: positive evidence must not reduce a score."""
RIDGE_NEED = 1e-3
"""Strength of the L2 penalty on the weights of the need, for a mean loss."""
FENCE_CHARACTERS = 64
"""Characters around the text of a hit in a prompt."""


class Asked(Struct, frozen=True):
    """The hits of one question."""

    question: corpora.Question
    root: str  # folder of the repository
    repository: str
    is_named: bool
    hits: tuple[team_source.TeamHit, ...]
    sample: ranking.Sample
    absent: ranking.Sample  # the hits of other repositories, as if the answer were in an open folder


def main(arguments: list[str]) -> int:
    """Print the coverage by voice; with --write, also write the weights."""
    parser = argparse.ArgumentParser(prog="scripts/train_team_ranking")
    parser.add_argument("indexes", nargs="+", metavar="INDEX", help="folder or address of a team index")
    parser.add_argument("--write", action="store_true")
    corpora.add_options(parser)
    options = parser.parse_args(arguments)
    asked = [a for index in options.indexes for a in _ask(index, options)]
    samples = [a.sample for a in asked]
    scores, by_fold = ranking.cross_validate(samples, _fitted, team_source.HIT_FEATURE_NAMES)
    print(_table(asked, scores))
    weights = _fitted(samples)
    print({name: round(value, 2) for name, value in weights.items()})
    decisions = [d for index in options.indexes for d in _decisions(index, options)]
    folds = {project: number for number, (projects, _) in enumerate(by_fold) for project in projects}
    needs = [_fit_need([d for d in decisions if not d.is_of(folds, fold)]) for fold in range(len(by_fold))]
    print(_need_table(decisions, [needs[folds[d.asked_about]] for d in decisions]))
    need = _fit_need(decisions)
    print(need)
    if options.write:
        absent = [a.absent for a in asked if len(a.absent.labels)]
        unneeded = [_model(weights).score(s.values, team_source.HIT_FEATURE_NAMES) for s in absent]
        calibration = ranking.calibrate([*samples, *absent], [*scores, *unneeded])
        team_source.TEAM_WEIGHTS_FILE.write_bytes(
            _encoded(team_source.TeamWeights(_model(weights), calibration, need)) + b"\n"
        )
        held = [
            (projects, team_source.TeamWeights(_model(w), calibration, n))
            for (projects, w), n in zip(by_fold, needs, strict=True)
        ]
        corpora.HELD_OUT_TEAM.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, held)) + b"\n]\n")
        print(f"written: {team_source.TEAM_WEIGHTS_FILE.name}, {corpora.HELD_OUT_TEAM.name}")
    return 0


def _ask(index: str, options: argparse.Namespace) -> Iterator[Asked]:
    """Yield the hits of each question about a repository of an index, without and with its name."""
    config = index_config(Settings())
    embedder = load_embedder(config.embedding)
    client = TeamClient(TeamSettings(index=index, deadline_ms=60_000), lambda size: store_identity(config, size))
    client.weights = team_source.TeamWeights()
    if not client.wait_until_open(TIMEOUT_S):
        raise SystemExit(client.status()["message"])
    found = client.repositories()
    names = [r.name for r in found] if isinstance(found, tuple) else []
    try:
        for tree, questions in corpora.read_questions(options):
            for question in questions:
                repository = repository_of(question, names)
                if repository is None:
                    continue
                for is_named in (False, True):
                    text = named_question(question, repository) if is_named else question.question
                    query = ranking.query_of(text)
                    hits = client.start_search(query, embedder.embed_query, ())().hits
                    if not hits:
                        continue
                    others = [hit for hit in hits if hit.repository.name != repository]
                    samples = (_sample(question, repository, query, some) for some in (hits, others))
                    yield Asked(question, tree.resolve().as_posix(), repository, is_named, hits, *samples)
    finally:
        client.close()


# ---------------------------------------------------------------- whether the answer is in a repository that is not open


class Decision(Struct, frozen=True):
    """A question and an open package; the answer is in it, or in a repository of the index."""

    asked_about: str
    opened: str
    features: dict[str, float]

    @property
    def is_elsewhere(self) -> bool:
        """True if the answer is in a repository that is not open."""
        return self.asked_about != self.opened

    def is_of(self, folds: dict[str, int], fold: int) -> bool:
        """Return whether one of the packages is of a fold."""
        return fold in (folds[self.asked_about], folds[self.opened])


def _decisions(index: str, options: argparse.Namespace) -> Iterator[Decision]:
    """Yield all pairs of a development question and an open package."""
    questions = corpora.questions()
    held_out = corpora.held_out_weights()
    for name in dict.fromkeys(q.corpus for q in questions):
        with engine_of(corpora.tree(name, options.corpora)) as (engine, _):
            engine.apply(structs.replace(engine.settings, team=TeamSettings(index=index, deadline_ms=60_000)))
            assert engine.team is not None
            engine.team.wait_until_open(TIMEOUT_S)
            for question in questions:
                strategy = RetrievalStrategy(weights=held_out[question.corpus])
                engine.services = structs.replace(engine.services, strategy=strategy, team=engine.team)
                features = _need_features(engine, question, name)
                if features is not None:
                    yield Decision(question.corpus, name, features)
        print(f"{name}: {len(questions)} questions", flush=True)


def _need_features(engine: Engine, question: corpora.Question, opened: str) -> dict[str, float] | None:
    token = CancelToken()
    options = resolve_options(engine.settings, RequestOptions(), RecipeOptions())
    context = engine.resolve_context(ClientContext(), engine.snapshot(token), token, None)
    understanding = understand_query(question.question, question.question, options, context)
    search = team_context.start(understanding, options, context)
    if search is None:
        return None
    query = understanding.intent.query
    items = implicit.retrieve_items(query, (), context, implicit.max_candidates(options.profile, options.budget))
    local = implicit.read_relevant_items(items, context, options, related=False)
    answer = search.pending()
    others = tuple(hit for hit in answer.hits if hit.repository.name.rpartition("/")[2] != opened)
    return team_context.need_features(structs.replace(answer, hits=others), search, local)


def _fit_need(decisions: Sequence[Decision]) -> LogisticModel:
    """Fit a logistic regression; both answers together have the same weight."""
    names = tuple(decisions[0].features)
    values = np.array([[d.features[name] for name in names] for d in decisions])
    elsewhere = np.array([d.is_elsewhere for d in decisions])
    weight = np.where(elsewhere, 0.5 / elsewhere.sum(), 0.5 / (~elsewhere).sum())
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    scaled = (values - mean) / deviation

    def loss(w: ranking.Floats) -> tuple[float, ranking.Floats]:
        z = scaled @ w[1:] + w[0]
        error = weight * (1 / (1 + np.exp(-z)) - elsewhere)
        total = float((weight * (np.logaddexp(0, z) - elsewhere * z)).sum() + 0.5 * RIDGE_NEED * w[1:] @ w[1:])
        return total, np.concatenate([[error.sum()], scaled.T @ error + RIDGE_NEED * w[1:]])

    fitted = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    weights = fitted[1:] / deviation
    rounded = {name: round(float(w), 4) for name, w in zip(names, weights, strict=True)}
    return LogisticModel(rounded, round(float(fitted[0] - weights @ mean), 4))


def _need_table(decisions: Sequence[Decision], models: Sequence[LogisticModel]) -> str:
    """Return the mean probability that the answer is elsewhere, by where it is."""
    p = np.array([1 / (1 + np.exp(-m.log_odds(d.features))) for d, m in zip(decisions, models, strict=True)])
    elsewhere = np.array([d.is_elsewhere for d in decisions])
    loss = -0.5 * (np.log(p[elsewhere]).mean() + np.log(1 - p[~elsewhere]).mean())
    out = [
        f"need of other repositories: log loss {loss:.3f}",
        "| answer | n | mean | at least .3 |",
        "|---|---|---|---|",
    ]
    for name, chosen in (("other", p[elsewhere]), ("local", p[~elsewhere])):
        out.append(f"| {name} | {len(chosen)} | {chosen.mean():.3f} | {(chosen >= 0.3).mean():.3f} |")
    return "\n".join(out)


# ---------------------------------------------------------------- questions and repositories


def repository_of(question: corpora.Question, names: Sequence[str]) -> str | None:
    """Return the repository of the index that a question is about, None if there is none or more than one."""
    project = corpora.project(question.corpus).replace("+", "/")
    found = [n for n in names if n == project] or [n for n in names if n.rpartition("/")[2] == project]
    return found[0] if len(found) == 1 else None


def named_question(question: corpora.Question, repository: str) -> str:
    """Return the question with the name of its repository."""
    return f"In {repository.rpartition('/')[2]}, {question.question}"


def _sample(
    question: corpora.Question, repository: str, query: Query, hits: Sequence[team_source.TeamHit]
) -> ranking.Sample:
    values = team_source.extract_hit_features(query, hits)
    labels = np.array([_grade(question, repository, hit) for hit in hits], np.float32)
    return ranking.Sample(corpora.project(question.corpus), values, labels, is_open=query.is_open)


def _grade(question: corpora.Question, repository: str, hit: team_source.TeamHit) -> int:
    """Return the grade of a hit, by the rule for candidates of open folders."""
    if hit.repository.name != repository:
        return 0
    return ranking.grade(question, "", (f"/{hit.path}", hit.span.start, hit.span.end))


def _fitted(samples: Sequence[ranking.Sample]) -> dict[str, float]:
    return ranking.fit(samples, team_source.HIT_FEATURE_NAMES, ranking.RIDGE, LOWER_BOUNDS)


def _model(weights: dict[str, float]) -> LinearModel:
    return LinearModel({name: round(value, 5) for name, value in weights.items()})


def _encoded(weights: team_source.TeamWeights) -> bytes:
    return msgspec.json.format(msgspec.json.encode(weights), indent=1)


def _table(asked: Sequence[Asked], scores: Sequence[ranking.Floats]) -> str:
    """Return the mean coverage of the best hits at `BUDGETS`, by voice, with and without names."""
    values: dict[tuple[str, bool], list[list[float]]] = defaultdict(list)
    for a, row in zip(asked, scores, strict=True):
        best = [a.hits[i] for i in np.argsort(-row, kind="stable")]
        values[corpora.voice(a.question), a.is_named].append([_coverage(a, best, budget) for budget in BUDGETS])
    out = ["| questions | named | n | " + " | ".join(f"@{budget:,}" for budget in BUDGETS) + " |"]
    out.append("|---" * (3 + len(BUDGETS)) + "|")
    for (voice, is_named), rows in sorted(values.items()):
        means = " | ".join(f"{mean:.3f}" for mean in np.mean(rows, axis=0))
        out.append(f"| {voice} | {'yes' if is_named else 'no'} | {len(rows)} | {means} |")
    return "\n".join(out)


def _coverage(asked: Asked, hits: Sequence[team_source.TeamHit], budget: int) -> float:
    """Return the coverage of the first hits that fit into a budget in tokens of four characters."""
    room, shown = 4 * budget, list[str]()
    for hit in hits:
        cost = len(hit.text) + FENCE_CHARACTERS
        if cost <= room:
            room -= cost
            shown += hit.text.split("\n") if hit.repository.name == asked.repository else ()
    return answers.coverage(asked.question, asked.root, shown)[0]
