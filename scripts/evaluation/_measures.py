"""Measures of rankings: functions and files among the first results, and NDCG@10 on the public benchmark."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from evaluation._corpora import Question
from evaluation._documents import function_spans
from msgspec import Struct

from promptls.index.snapshot import Snapshot

FUNCTION_DEPTHS = (5, 10, 50)
FILE_DEPTH = 5
NDCG_DEPTH = 10
Region = tuple[str, int, int]
"""(path relative to the workspace, first line counted from 0, line after the last)"""


class Target(Struct, frozen=True):
    """A file that a query of the benchmark wants, or lines of it (0-based, `end` after the last)."""

    path: str
    start: int = 0
    end: int = 1 << 30


class BenchmarkQuery(Struct, frozen=True):
    """A query of the public benchmark."""

    text: str
    targets: tuple[Target, ...]


def add_benchmark_options(parser: argparse.ArgumentParser) -> None:
    """Add the options `--benchmark` and `--benchmark-trees`."""
    parser.add_argument("--benchmark", type=Path, help="folder of the public benchmark semble: annotations, repos.json")
    parser.add_argument("--benchmark-trees", type=Path, help="folder of its repositories, by name")


def read_benchmark(options: argparse.Namespace) -> Iterator[tuple[Path, list[BenchmarkQuery]]]:
    """Yield (tree, queries) of the repositories whose tree exists."""
    for repository in json.loads((options.benchmark / "repos.json").read_text()) if options.benchmark else ():
        tree = options.benchmark_trees / repository["name"]
        if not tree.is_dir():
            print(f"{repository['name']}: no tree")
            continue
        found = json.loads((options.benchmark / "annotations" / f"{repository['name']}.json").read_text())
        dead = set(repository.get("dead_queries", ()))
        yield tree, [BenchmarkQuery(q["query"], tuple(_targets(q))) for q in found if q["query"] not in dead]


def _targets(annotation: Mapping[str, list[str | dict[str, str | int]]]) -> Iterator[Target]:
    for target in (*annotation.get("relevant", ()), *annotation.get("secondary", ())):
        if isinstance(target, str):
            yield Target(target)
        else:
            first = target.get("start_line")
            last = target.get("end_line") or first
            yield Target(str(target["path"]), int(first) - 1, int(last or 0)) if first else Target(str(target["path"]))


def same_path(path: str, target: str) -> bool:
    """Return whether a path and a target are the same, or one is below the other's root."""
    return path == target or path.endswith("/" + target) or target.endswith("/" + path)


def ndcg(targets: Sequence[Target], ranked: Sequence[Region]) -> float:
    """Return NDCG@10 as the benchmark defines it: binary gain at the rank of the first result for each target."""
    ranks = {
        next((r for r, region in enumerate(ranked[:NDCG_DEPTH], 1) if _matches(region, target)), 0)
        for target in targets
    }
    ideal = sum(1 / math.log2(i + 2) for i in range(min(NDCG_DEPTH, len(targets))))
    return sum(1 / math.log2(rank + 1) for rank in ranks if rank) / ideal if ideal else 0.0


def _matches(region: Region, target: Target) -> bool:
    path, start, end = region
    return same_path(path, target.path) and start < target.end and target.start < end


def best_of_each_file(ranked: Iterable[Region]) -> list[Region]:
    """Return the first region of each file."""
    best: dict[str, Region] = {}
    for region in ranked:
        best.setdefault(region[0], region)
    return list(best.values())


def localisation(question: Question, snapshot: Snapshot, ranked: Sequence[Region]) -> dict[str, float]:
    """Return whether all needed functions, and all needed files, are among the first distinct ones of a ranking."""
    spans = {entry.name: [(a, b) for a, b, _ in function_spans(entry)] for entry in snapshot.files.values()}
    wanted = {_function_at(g.path, g.start - 1, g.end, spans) or (g.path, -g.start) for g in question.gold}
    order = list(dict.fromkeys(at for path, a, b in ranked if (at := _function_at(path, a, b, spans)) is not None))
    files = list(dict.fromkeys(path for path, _, _ in ranked))
    row = {f"function@{k}": float(wanted <= set(order[:k])) for k in FUNCTION_DEPTHS}
    return row | {f"file@{FILE_DEPTH}": float({g.path for g in question.gold} <= set(files[:FILE_DEPTH]))}


def _function_at(
    path: str, start: int, end: int, spans: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[str, int] | None:
    """Return the function that a region shows: the only one inside of it, else the one around its start."""
    common = [(a, b) for a, b in spans.get(path, ()) if a < end and start < b]
    whole = [a for a, b in common if start <= a and b <= end]
    if len(whole) > 1 or not common:
        return None
    return path, whole[0] if whole else common[0][0]
