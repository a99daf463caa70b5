"""Contrastive training on pairs of a text and the code that it describes.

A batch consists of groups of pairs of one package (or of small packages of one language), so that negatives are
similar. The code side is the text that the server would embed, with parts of its head and documentation dropped at
random. Three techniques make the model generalize beyond equal words: on some rows the code loses every word of the
query ("gap"), words of the query are replaced by WordNet synonyms, and the similarity of two queries by the teacher
softens the negatives ("soft").
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from training import words
from training.bags import Bags, Ints, bags, gather, positions, read, without
from training.prepare import KINDS
from training.static import Static


class Recipe(NamedTuple):
    """Hyperparameters; the defaults are those of the shipped model."""

    name: str = "model"
    dimension: int = 512
    steps: int = 1700
    batch: int = 2048
    rate: float = 2e-3
    drop_code: float = 0.25
    drop_text: float = 0.1
    first: float = 1.0  # share of the texts of each kind per epoch
    later: float = 0.5
    comment: float = 0.35
    message: float = 0.15
    names: float = 0.2
    commit: float = 1.0
    gap: float = 0.1  # share of rows whose code loses the words of the text
    synonyms: float = 0.15  # share of a text's words that are replaced, in half of the texts
    soft: float = 0.15  # weight of the teacher's similarities
    sharp: float = 0.06  # temperature of the teacher's similarities
    echo: float = 0.3  # weight of agreement with the teacher on the similarity of two texts
    longer: float = 0.25  # share of the texts that another sentence about the same record is added to
    path: float = 0.2  # share of rows that have the path, …
    headless: float = 0.2  # … no head, …
    documented: float = 0.45  # … another sentence of the documentation
    places: int = 1  # whether a token's place in the text counts
    group: int = 256  # pairs of one package in a batch
    ema: float = 0.9
    seed: int = 0


SHIPPED = (
    Recipe(name="long"),
    Recipe(
        name="wide",
        seed=1,
        steps=900,
        comment=0.6,
        later=0.8,
        longer=0.4,
        gap=0.15,
        echo=0.5,
        documented=0.5,
        group=512,
    ),
    Recipe(name="plain", seed=2, steps=900, longer=0.15, gap=0.05, soft=0.2, echo=0.2, documented=0.4),
)
"""The shipped model is the mean of these runs (see `export`); it is better at questions than each of them."""


class Data:
    """The arrays of `prepare`, and the ranges of each package."""

    def __init__(self, work: Path) -> None:
        with np.load(work / "data.npz") as arrays:
            self.fields: dict[str, tuple[NDArray[np.uint16], Ints]] = {
                name: (arrays[name], arrays[f"{name}_at"]) for name in ("path", "head", "code", "text")
            }
            self.owner: NDArray[np.int32] = arrays["owner"]  # the record of each text
            self.kind: NDArray[np.int8] = arrays["kind"]
            self.package: NDArray[np.int32] = arrays["package"]  # of each record
            self.language: NDArray[np.int16] = arrays["language"]
            self.dev: NDArray[np.int32] = arrays["dev"]  # development packages
        described = np.flatnonzero(self.kind <= KINDS.index("comment"))
        self.said_at = np.searchsorted(self.owner[described], np.arange(len(self.package) + 1))
        self.said = described  # texts that describe a record, in order of record


def initial(work: Path, data: Data, teacher: Path, dimension: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the initial table: the teacher vector of every token, centred and projected to principal components."""
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    file = work / "tokens.npy"
    if not file.exists():
        np.save(file, words.Teacher(teacher).embed(words.vocabulary(tokenizer), 8, 256))
    table = np.load(file)
    table = table - table.mean(0)
    _, axes = np.linalg.eigh(table.T @ table)
    table = table @ axes[:, ::-1]
    wide = np.zeros((len(table), dimension), np.float32)
    width = min(dimension, table.shape[1])
    wide[:, :width] = table[:, :width]
    if dimension > width:
        wide[:, width:] = np.random.default_rng(0).normal(0, wide.std() * 0.5, (len(table), dimension - width))
    wide /= np.linalg.norm(wide, axis=1).mean()
    counts = np.bincount(np.concatenate([data.fields[name][0] for name in ("code", "text")]), minlength=len(table))
    share = counts / counts.sum()
    return wide, (1e-3 / (1e-3 + share)).astype(np.float32)


class Batches:
    """An endless sequence of batches."""

    def __init__(self, data: Data, recipe: Recipe, stem: NDArray[np.int64], synonyms: tuple[Ints, Ints]) -> None:
        self.data, self.recipe, self.stem, self.synonyms = data, recipe, stem, synonyms
        self.random = np.random.default_rng(recipe.seed)
        self.usable = ~np.isin(data.package, data.dev)[data.owner]
        self.epoch = 0

    def __iter__(self) -> Iterator[tuple[Ints, Bags, Bags]]:
        recipe, data = self.recipe, self.data
        share = np.array([recipe.first, recipe.later, recipe.comment, recipe.message, recipe.names, recipe.commit])[
            data.kind
        ]
        while True:
            chosen = np.flatnonzero(self.usable & (self.random.random(len(share)) < share))
            shuffled = self.random.random(data.package.max() + 1)
            package = data.package[data.owner[chosen]]
            order = np.lexsort((self.random.random(len(chosen)), shuffled[package], data.language[data.owner[chosen]]))
            chosen = chosen[order]
            groups = chosen[: len(chosen) // recipe.group * recipe.group].reshape(-1, recipe.group)
            self.random.shuffle(groups)
            size = recipe.batch // recipe.group
            for at in range(0, len(groups) - size + 1, size):
                yield self._batch(groups[at : at + size].reshape(-1))
            self.epoch += 1

    def _batch(self, texts: Ints) -> tuple[Ints, Bags, Bags]:
        """Return (texts, their bags, the bags of their records)."""
        data, recipe, draw = self.data, self.recipe, self.random.random
        n = len(texts)
        records = data.owner[texts].astype(np.int64)
        row, token, _ = gather(*data.fields["text"], texts, 64)
        second = np.full(n, -1)
        if recipe.longer:
            which, other = self._others(records, texts, np.flatnonzero(draw(n) < recipe.longer))
            part, tokens, _ = gather(*data.fields["text"], other, 64)
            row, token = np.concatenate([row, which[part]]), np.concatenate([token, tokens])
            second[which] = other
        named = data.kind[texts] == KINDS.index("name")
        headless = (draw(n) < recipe.headless) | named
        room = np.full(n, 256, np.int64)
        parts = []
        for field, rows in (
            ("path", draw(n) < recipe.path),
            ("head", ~headless),
            ("text", draw(n) < recipe.documented),
            ("code", np.ones(n, np.bool_)),
        ):
            which = np.flatnonzero(rows)
            of = records[which]
            if field == "text":  # any description of the record except the query
                which, of = self._others(records, texts, which)
                new = of != second[which]
                which, of = which[new], of[new]
            part, tokens, lengths = gather(
                *data.fields[field], of, np.minimum(room[which], 80 if field != "code" else 256)
            )
            room[which] -= lengths
            parts.append((which[part], tokens))
        code_row, code, code_at = positions(*(np.concatenate(p) for p in zip(*parts, strict=True)), n)
        alive = draw(len(code)) >= recipe.drop_code
        if recipe.gap:
            alive &= without(code_row, code, self.stem, row, token, draw(n) < recipe.gap)
        answers = bags(code_row[alive], code[alive], code_at[alive], n)
        row, token, at = positions(row, token, n)
        alive = draw(len(token)) >= recipe.drop_text
        row, token, at = row[alive], token[alive], at[alive]
        if recipe.synonyms:
            row, token, at = self._replaced(row, token, at, n)
        return texts, bags(row, token, at, n), answers

    def _others(self, records: Ints, texts: Ints, which: Ints) -> tuple[Ints, Ints]:
        """Return, for the rows `which`, (rows that have another text for their record, that text)."""
        data = self.data
        first, last = data.said_at[records[which]], data.said_at[records[which] + 1]
        at = first + (self.random.random(len(which)) * (last - first)).astype(np.int64)
        picked = data.said[np.minimum(at, len(data.said) - 1)]
        has = (last > first) & (picked != texts[which])
        return which[has], picked[has]

    def echoes(self, known: Ints, blocks: int = 8, size: int = 96) -> tuple[Ints, Bags]:
        """Return (indices into `known`, bags) of texts that the teacher embedded, in groups of neighbours."""
        starts = self.random.integers(0, len(known) - size, blocks)
        places = (starts[:, None] + np.arange(size)).ravel()
        return places, read(*self.data.fields["text"], known[places], 40)

    def _replaced(self, row: Ints, token: Ints, at: Ints, n: int) -> tuple[Ints, Ints, Ints]:
        """Replace some words of half of the texts by synonyms."""
        others, counts = self.synonyms
        hit = np.flatnonzero(
            (counts[token] > 0)
            & (self.random.random(len(token)) < self.recipe.synonyms)
            & (self.random.random(n) < 0.5)[row]
        )
        which = (self.random.random(len(hit)) * counts[token[hit]]).astype(np.int64)
        new = others[token[hit], which].astype(np.int64)
        token = token.copy()
        token[hit] = new[:, 0]
        more = new[:, 1:].ravel()
        return (
            np.concatenate([row, np.repeat(row[hit], 2)[more > 0]]),
            np.concatenate([token, more[more > 0]]),
            np.concatenate([at, np.repeat(at[hit], 2)[more > 0]]),
        )


def train(work: Path, teacher: Path, wordnet: Path, recipe: Recipe, threads: int = 1) -> Path:
    """Train one run and return the file with table and weights."""
    torch.set_num_threads(threads)
    torch.manual_seed(recipe.seed)
    started, spent = time.monotonic(), time.process_time()
    data = Data(work)
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    table, weights = initial(work, data, teacher, recipe.dimension)
    stem = words.stems(words.vocabulary(tokenizer))
    synonyms = words.synonyms(tokenizer, wordnet, np.load(work / "tokens.npy"))
    known, opinions = _opinions(work)
    opinion_of = np.full(len(data.owner), -1, np.int32)
    opinion_of[known] = np.arange(len(known))
    model = Static(table, weights)
    optimizer = torch.optim.Adam(
        [
            {"params": [model.table], "lr": recipe.rate},
            {"params": [model.weights], "lr": recipe.rate * 3},
            {"params": [model.temperature], "lr": recipe.rate},
            {"params": [model.places], "lr": recipe.rate},
        ],
        betas=(0.9, 0.99),
        fused=True,
    )
    slow = Static(table, weights)
    log = (work / f"{recipe.name}.log").open("w", buffering=1)

    def say(what: str) -> None:
        line = f"{time.monotonic() - started:6.0f}s wall {time.process_time() - spent:6.0f}s cpu {what}"
        print(line, flush=True)
        log.write(line + "\n")

    say(json.dumps(recipe._asdict()))
    say(f"{int((synonyms[1] > 0).sum())} words with synonyms, {len(known)} texts with the teacher's opinion")
    losses: list[float] = []
    batches = Batches(data, recipe, stem, synonyms)
    for step, (texts, asked, answers) in enumerate(batches, 1):
        rate = min(step / 50, 1.0) * max(0.0, 1 - step / recipe.steps)
        for group, base in zip(optimizer.param_groups, (1, 3, 1, 2 if recipe.places else 0), strict=True):
            group["lr"] = recipe.rate * base * rate
        loss = _loss(model, asked, answers, texts, data, opinions, opinion_of, recipe)
        if recipe.echo and len(known):
            places, echoes = batches.echoes(known)
            loss = loss + recipe.echo * _disagreement(model(echoes), opinions[places], recipe.sharp)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 4 == 0:
            decay = min(recipe.ema, step / (step + 20))
            with torch.no_grad():
                slow.table.lerp_(model.table, 1 - decay)
                slow.weights.lerp_(model.weights, 1 - decay)
                slow.places.lerp_(model.places, 1 - decay)
        if step % 200 == 0 or step == recipe.steps:
            every, hard = development(slow, data, stem)
            say(
                f"step {step} epoch {batches.epoch} loss {np.mean(losses[-100:]):.4f} temperature "
                f"{float(torch.exp(-model.temperature.detach())):.4f} dev NDCG@10 {every:.4f} few words shared {hard:.4f}"
            )
        if step == recipe.steps:
            break
    out = work / f"{recipe.name}.npz"
    np.savez(out, **{name: value.detach().numpy() for name, value in slow.named_parameters()})
    return out


def _opinions(work: Path) -> tuple[Ints, NDArray[np.float16]]:
    """Return (texts embedded by the teacher, their vectors)."""
    file = work / "opinions.npz"
    if not file.exists():
        return np.zeros(0, np.int64), np.zeros((0, 384), np.float16)
    with np.load(file) as found:
        return found["texts"], found["vectors"]


def _disagreement(vectors: torch.Tensor, opinions: NDArray[np.float16], sharp: float) -> torch.Tensor:
    """Return the loss between the similarity rankings of the model and the teacher."""
    teacher = torch.from_numpy(opinions.astype(np.float32))
    own = torch.eye(len(vectors), dtype=torch.bool)
    likes = torch.softmax((teacher @ teacher.T / sharp).masked_fill(own, -1e4), dim=1)
    ours = torch.log_softmax((vectors @ vectors.T / sharp).masked_fill(own, -1e4), dim=1)
    return -(likes * ours).sum(1).mean()


def _loss(
    model: Static,
    asked: Bags,
    answers: Bags,
    texts: Ints,
    data: Data,
    opinions: NDArray[np.float16],
    opinion_of: NDArray[np.int32],
    recipe: Recipe,
) -> torch.Tensor:
    """Return the cross entropy in both directions; other texts of the same record are not negatives."""
    scores = model(asked) @ model(answers).T * torch.exp(model.temperature.clamp(max=4.6))
    owner = torch.from_numpy(data.owner[texts])
    same = owner[:, None] == owner[None, :]
    same.fill_diagonal_(False)
    scores = scores.masked_fill(same, -1e4)
    target = torch.eye(len(texts))
    of = opinion_of[texts]
    known = np.flatnonzero(of >= 0)
    if recipe.soft and len(known) > 32:
        vectors = torch.from_numpy(opinions[of[known]].astype(np.float32))
        at = torch.from_numpy(known)
        likes = torch.softmax((vectors @ vectors.T / recipe.sharp).masked_fill(same[at][:, at], -1e4), dim=1)
        target[at[:, None], at[None, :]] *= 1 - recipe.soft
        target[at[:, None], at[None, :]] += recipe.soft * likes
    there = -(target * torch.log_softmax(scores, 1)).sum(1).mean()
    back = -(target.T * torch.log_softmax(scores, 0)).sum(0).mean()
    return 0.7 * there + 0.3 * back


def development(model: Static, data: Data, stem: NDArray[np.int64]) -> tuple[float, float]:
    """Return NDCG@10 of first sentences → code in development packages: of all, and of the quarter with the fewest shared words."""
    gains, shares = [], []
    for package in data.dev:
        records = np.flatnonzero(data.package == package)
        place = np.full(len(data.package), -1)
        place[records] = np.arange(len(records))
        asked = np.flatnonzero((data.kind == 0) & (place[data.owner] >= 0))
        head, head_token, _ = gather(*data.fields["head"], records, 80)
        row, token, _ = gather(*data.fields["code"], records, 200)
        both, tokens = np.concatenate([head, row]), np.concatenate([head_token, token])
        with torch.no_grad():
            known = model(bags(*positions(both, tokens, len(records)), len(records))).numpy()
        found = model.vectors(*data.fields["text"], asked) @ known.T
        right = place[data.owner[asked]]
        rank = (found > found[np.arange(len(asked)), right][:, None]).sum(1)
        gains.append(np.where(rank < 10, 1 / np.log2(rank + 2), 0))
        row, token, _ = gather(*data.fields["text"], asked, 64)
        has = np.isin((right[row] << 20) | stem[token], np.unique((both << 20) | stem[tokens]))
        shares.append(np.bincount(row, has, len(asked)) / np.maximum(np.bincount(row, minlength=len(asked)), 1))
    every = float(np.mean([g.mean() for g in gains]))
    gain, share = np.concatenate(gains), np.concatenate(shares)
    return every, float(gain[share <= np.quantile(share, 0.25)].mean())


def opinions(work: Path, teacher: Path, count: int, threads: int = 1) -> None:
    """Write the teacher vectors of `count` first sentences, sampled evenly over the packages."""
    torch.set_num_threads(threads)
    data = Data(work)
    usable = np.flatnonzero((data.kind == KINDS.index("first")) & ~np.isin(data.package, data.dev)[data.owner])
    chosen = np.sort(np.random.default_rng(0).choice(usable, min(count, len(usable)), replace=False))
    texts = json.loads((work / "texts.json").read_text())
    mind = words.Teacher(teacher, fast=True)
    started = time.monotonic()
    parts = []
    for begin in range(0, len(chosen), 16_384):
        parts.append(mind.embed([texts[i] for i in chosen[begin : begin + 16_384]], 40).astype(np.float16))
        print(f"{time.monotonic() - started:6.0f}s {begin + len(parts[-1])} opinions", flush=True)
        np.savez(work / "opinions.part.npz", texts=chosen[: begin + len(parts[-1])], vectors=np.concatenate(parts))
    (work / "opinions.part.npz").rename(work / "opinions.npz")
