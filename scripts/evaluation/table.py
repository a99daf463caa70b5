"""The quality of promptls next to that of other systems, in one table and one run.

`scripts/evaluate [--questions FILE … --trees FOLDER] [--benchmark FOLDER --benchmark-trees FOLDER]` measures the
development questions, those of `--questions` and the public benchmark.  Figures of promptls are held out by project:
the ranker is fitted to the questions of other projects (data/held_out.json), which may be asked by the same people.
Projects without questions in the fit are ranked with the weights that ship.

Measures: coverage and hit of prompts whose budget (characters / 4) is filled; coverage and tokens of prompts that end
where relevance ends, the default of promptls; for issues, whether all edited functions, or files, are among the first
results; NDCG@10 of the files of the benchmark.  Results are kept in ~/.cache/promptls-evaluation: a run that is interrupted
prints what it has, and the next one continues.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from evaluation import _answers as answers
from evaluation import _baselines as baselines
from evaluation import _corpora as corpora
from evaluation import _documents as documents
from evaluation import _measures as measures
from evaluation._typing_errors import with_typing_errors
from evaluation._workspace import engine_of
from msgspec import Struct, structs

import promptls
from promptls.api.build_prompt import build_prompt
from promptls.api.messages import params as protocol
from promptls.api.search import search
from promptls.engine import Engine
from promptls.index.embedding.embedder import EmbeddingSpec, model_identity
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.retrieval.retrieve import RetrievalStrategy

BUDGETS = {"2k": 2000, "8k": 8000}
TASK = "task"
"""Voice of people at work, whose questions need many regions."""
ISSUES = frozenset({"locbench"})
"""Voices whose needed regions are the functions that a fix edits."""
PROMPTLS = "promptls"
SETS = {
    "voice task": "real tasks",
    "own": "own questions",
    "small packages": "– small packages",
    "large packages": "– large packages",
    "style gap": "– without a word of the code",
    "voice history": "commit messages",
    "voice sweqapro": "explainers' questions",
    "voice locbench": "issues",
}
"""Titles of the groups of `answers.groups` that the table shows."""
BENCHMARK = "public benchmark"
MEASURES = {
    **{f"coverage@{name}": ".3f" for name in BUDGETS},
    "hit@8k": ".3f",
    "shown@8k": ".3f",
    "complete@8k": ".3f",
    "coverage, sized": ".3f",
    "shown, sized": ".3f",
    "complete, sized": ".3f",
    "tokens, sized": ",.0f",
    **{f"function@{k}": ".3f" for k in measures.FUNCTION_DEPTHS},
    f"file@{measures.FILE_DEPTH}": ".3f",
    "NDCG@10": ".3f",
}
"""Measures in the order of the table, and the format of their means."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "promptls-evaluation"

Row = dict[str, float]


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate", description=(__doc__ or "").split("\n")[0])
    corpora.add_options(parser)
    measures.add_benchmark_options(parser)
    names = (PROMPTLS, *baselines.SYSTEMS)
    parser.add_argument("--systems", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="measure every Nth question of each set")
    parser.add_argument("--typing-errors", type=int, default=0, metavar="N", help="misspell N words of each question")
    parser.add_argument("--write", action="store_true", help="write the table for the documentation")
    options = parser.parse_args(arguments)
    reasons = [reason for name in options.systems if (reason := baselines.missing(name))]
    for reason in reasons:
        print(reason, file=sys.stderr)
    systems = [name for name in options.systems if not baselines.missing(name)]
    jobs = workspaces(options)
    measured = Measured({name: [] for name in systems}, {name: [] for name in systems}, [])
    done = 0
    try:
        for done, job in enumerate(jobs):
            measure_workspace(job, systems, measured)
            print(f"{done + 1}/{len(jobs)} {job.tree.name}", file=sys.stderr, flush=True)
        done = len(jobs)
    except KeyboardInterrupt:
        print("Interrupted; the next run continues here.", file=sys.stderr)
    print(made := f"{table(measured)}\n\n{caption(options.every, done, len(jobs), reasons)}")
    if options.write:
        (corpora.DATA / "quality.md").write_text(made + "\n")
    return 0


class Workspace(Struct, frozen=True):
    """A tree with what is asked about it: questions or queries of the benchmark."""

    tree: Path
    questions: tuple[corpora.Question, ...] = ()
    queries: tuple[measures.BenchmarkQuery, ...] = ()


class Measured(Struct, frozen=True):
    """Rows by system, in the order of the questions."""

    rows: dict[str, list[Row]]
    benchmark: dict[str, list[Row]]
    questions: list[corpora.Question]


def workspaces(options: argparse.Namespace) -> list[Workspace]:
    """Return what is measured, in a fixed random order: the first workspaces are a sample of all sets."""
    asked = _sampled(corpora.read_questions(options), options.every)

    def misspelled(question: corpora.Question) -> corpora.Question:
        return structs.replace(question, question=with_typing_errors(question.question, options.typing_errors))

    found = [Workspace(tree, questions=tuple(map(misspelled, questions))) for tree, questions in asked]
    for tree, queries in measures.read_benchmark(options):
        found.append(Workspace(tree, queries=tuple(queries[:: options.every])))
    random.Random(0).shuffle(found)
    return found


def _sampled(
    by_tree: Sequence[tuple[Path, list[corpora.Question]]], every: int
) -> list[tuple[Path, list[corpora.Question]]]:
    """Return every Nth question of each voice, without the trees that have none left."""
    seen: dict[str, int] = defaultdict(int)
    out = []
    for tree, asked in by_tree:
        kept = []
        for question in asked:
            name = corpora.voice(question)
            if seen[name] % every == 0:
                kept.append(question)
            seen[name] += 1
        if kept:
            out.append((tree, kept))
    return out


def measure_workspace(job: Workspace, systems: Sequence[str], measured: Measured) -> None:
    """Add the rows of one workspace; promptls ranks it with weights that were fitted without its project."""
    with engine_of(job.tree) as (engine, root):
        held_out = corpora.held_out_weights().get(corpora.project(job.tree.name))
        engine.services = structs.replace(engine.services, strategy=RetrievalStrategy(weights=held_out))
        snapshot = engine.snapshot(CancelToken())
        workspace = baselines.Workspace(snapshot)
        rows: dict[str, tuple[list[Row], list[Row]]] = {}
        for name in systems:
            if name == PROMPTLS:
                kept, system = _Kept(name, snapshot, _package_digest()), partial(_Promptls, engine)
            else:
                kept, system = _Kept(name, snapshot, _baselines_digest()), partial(_Baseline, name, workspace)
            rows[name] = (
                kept.rows(job.questions, system, partial(_measure, snapshot=snapshot, root=root)),
                kept.rows(job.queries, system, _measure_files),
            )
    for name, (of_questions, of_queries) in rows.items():  # all or none, if it is interrupted
        measured.rows[name].extend(of_questions)
        measured.benchmark[name].extend(of_queries)
    measured.questions.extend(job.questions)


# ---------------------------------------------------------------- one question


class _Promptls:
    """promptls in this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def prompt(self, question: str, budget: int, fill: str = "full") -> str:
        wanted = {"message": question, "budget": {"tokens": budget, "counter": "chars4", "fill": fill}}
        params = msgspec.convert(wanted, protocol.BuildPromptParams)
        return str(build_prompt(self._engine, params, CancelToken())["prompt"])

    def functions(self, question: str) -> list[measures.Region]:
        return self._search(question, "none")

    def files(self, query: str) -> list[measures.Region]:
        return self._search(query, "file")

    def _search(self, query: str, group_by: str) -> list[measures.Region]:
        wanted = {"query": query, "limit": baselines.RANKED, "groupBy": group_by}
        hits = search(self._engine, msgspec.convert(wanted, protocol.SearchParams), CancelToken())["hits"]
        return [(hit["path"], hit["range"]["start"]["line"], hit["range"]["end"]["line"]) for hit in hits]


class _Baseline:
    """A baseline with the interface of promptls."""

    def __init__(self, name: str, workspace: baselines.Workspace) -> None:
        self._system = baselines.SYSTEMS[name](workspace)

    def prompt(self, question: str, budget: int) -> str:
        return baselines.build_prompt(self._system, question, budget)

    def functions(self, question: str) -> list[measures.Region]:
        return [(d.path, d.start, d.end) for d in self._system.search_functions(question)]

    def files(self, query: str) -> list[measures.Region]:
        return measures.best_of_each_file((d.path, d.start, d.end) for d in self._system.search(query))


_System = _Promptls | _Baseline


def _measure(system: _System, question: corpora.Question, snapshot: Snapshot, root: str) -> Row:
    row: Row = {}
    for name, budget in BUDGETS.items():
        prompt = system.prompt(question.question, budget)
        coverage, hit = answers.coverage(question, root, prompt.split("\n"))
        row[f"coverage@{name}"], row[f"hit@{name}"] = coverage, float(hit)
    is_task = corpora.voice(question) == TASK
    if is_task:  # one hit of many regions says little
        del row["hit@8k"]
        row["shown@8k"], row["complete@8k"] = answers.essential(question, root, prompt.split("\n"))
    if isinstance(system, _Promptls):
        prompt = system.prompt(question.question, BUDGETS["8k"], "relevant")
        row["coverage, sized"], _ = answers.coverage(question, root, prompt.split("\n"))
        row["tokens, sized"] = len(prompt) / 4
        if is_task:
            row["shown, sized"], row["complete, sized"] = answers.essential(question, root, prompt.split("\n"))
    if corpora.voice(question) in ISSUES:
        row |= measures.localisation(question, snapshot, system.functions(question.question))
    return row


def _measure_files(system: _System, query: measures.BenchmarkQuery) -> Row:
    return {"NDCG@10": measures.ndcg(query.targets, system.files(query.text))}


class _Kept:
    """Rows of one system for one workspace, kept on disk: an unchanged system is not run again on the same files."""

    def __init__(self, name: str, snapshot: Snapshot, code: str) -> None:
        self._file = CACHE / f"{documents.digest(snapshot)}-{name.replace(' ', '-')}-{code}.json"
        self._rows: dict[str, Row] = json.loads(self._file.read_text()) if self._file.is_file() else {}

    def rows(
        self,
        asked: Sequence[corpora.Question | measures.BenchmarkQuery],
        opened: Callable[[], _System],
        measure: Callable[[_System, Any], Row],
    ) -> list[Row]:
        """Return the rows of questions; open the system and measure those that are not on disk."""
        keys = [hashlib.blake2b(msgspec.json.encode(one), digest_size=8).hexdigest() for one in asked]
        if any(key not in self._rows for key in keys):
            system = opened()
            self._rows |= {k: measure(system, q) for k, q in zip(keys, asked, strict=True) if k not in self._rows}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._rows))
        return [self._rows[key] for key in keys]


@cache
def _package_digest() -> str:
    """Return a hash of promptls, of the weights that are held out, and of the measures."""
    found = hashlib.blake2b(digest_size=6)
    package = Path(promptls.__file__).parent
    files = [f for f in sorted(package.rglob("*")) if f.is_file() and "__pycache__" not in f.parts]
    for file in (*files, corpora.DATA / "held_out.json", *(Path(str(m.__file__)) for m in (answers, measures))):
        found.update(file.read_bytes())
    return found.hexdigest()


@cache
def _baselines_digest() -> str:
    """Return a hash of everything but the workspace that the rows of a baseline depend on."""
    found = hashlib.blake2b(model_identity(EmbeddingSpec()).encode(), digest_size=6)
    for module in (answers, baselines, documents, measures):
        found.update(Path(str(module.__file__)).read_bytes())
    for package in ("bm25s", "semble"):
        try:
            found.update(version(package).encode())
        except PackageNotFoundError:
            found.update(b"-")
    return found.hexdigest()


# ---------------------------------------------------------------- the table


def table(measured: Measured) -> str:
    """Return a Markdown table: a row per set and measure, a column per system; means with their standard errors."""
    rows = measured.rows
    out = ["| questions | n | measure | " + " | ".join(rows) + " |", "|---" * (len(rows) + 3) + "|"]
    groups = answers.groups(measured.questions)
    sets = [(title, {s: [rows[s][i] for i in groups.get(g, ())] for s in rows}) for g, title in SETS.items()]
    for title, by_system in (*sets, (BENCHMARK, measured.benchmark)):
        for measure, style in MEASURES.items():
            cells = {name: [row[measure] for row in found if measure in row] for name, found in by_system.items()}
            count = max(map(len, cells.values()), default=0)
            if count:
                shown = " | ".join(_mean(values, style) for values in cells.values())
                out.append(f"| {title} | {count} | {measure} | {shown} |")
    return "\n".join(out)


def _mean(values: Sequence[float], style: str) -> str:
    if not values:
        return "–"
    mean = f"{np.mean(values):{style}}"
    return f"{mean} ± {np.std(values, ddof=1) / len(values) ** 0.5:{style}}" if len(values) > 1 else mean


def caption(every: int, done: int, total: int, reasons: Iterable[str]) -> str:
    """Return the sentences below the table."""
    sentences = ["Means ± standard errors over the questions, in one run."]
    if every > 1:
        sentences.append(f"A fixed sample: one of {every} questions of each set.")
    if done < total:
        sentences.append(f"The run was stopped: {done} of {total} workspaces, in a fixed random order.")
    return " ".join([*sentences, *reasons])
