"""Training step `prepare`: records → training data.

Drops duplicates and bodies of held-out projects, keeps at most `PER_PACKAGE` records of a package, trains the tokenizer
on the rest, and writes all texts as token ids (one flat array with offsets per field). The teacher, all-MiniLM-L6-v2,
embeds every token of the vocabulary, which initializes the table, and the sentences, whose similarities the model
should preserve.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from training import collect

PER_PACKAGE = 4000
NAMED_ONLY = 0.3
"""Share of the undocumented records that is kept; queries for them contain only names."""

VOCABULARY = 32_000
DEV_PACKAGES = 12
PAD, UNKNOWN = "<|promptls:pad|>", "<|promptls:unk|>"
KINDS = ("first", "later", "comment", "message", "name", "commit")
"""Roles of a text in its record; "first" is the first sentence of the documentation."""

CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
WORDS = r"\p{L}+|[0-9]+"

Ragged = tuple[NDArray[np.uint16], NDArray[np.int64]]
"""(values, offsets): row i is values[offsets[i]:offsets[i + 1]]."""


def prepare(work: Path) -> None:
    """Write tokenizer.json and data.npz of the records under `work`."""
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f}s {what}", flush=True)

    records, packages = _load(work)
    say(f"{len(records)} records of {len(packages)} packages: {Counter(r['lang'] for r in records).most_common()}")
    file = work / "tokenizer.json"
    if not file.exists():
        train_tokenizer(records, file)
        say("tokenizer")
    tokenizer = Tokenizer.from_file(str(file))
    fields = {
        "path": [r["path"] for r in records],
        "head": [f"{r['qualified']} {r['name']} {r['name']} {r['signature']}" for r in records],
        "code": [r["code"] for r in records],
    }
    texts: list[str] = []
    owners: list[int] = []
    kinds: list[int] = []
    for i, record in enumerate(records):
        for kind, found in _texts(record):
            texts.append(found)
            owners.append(i)
            kinds.append(KINDS.index(kind))
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in (*fields.items(), ("text", texts)):
        flat, offsets = tokens_of(tokenizer, values, 60 if name == "path" else 256)
        arrays[name], arrays[f"{name}_at"] = flat, offsets
        say(f"{name}: {len(flat):,} tokens")
    arrays["owner"], arrays["kind"] = np.array(owners, np.int32), np.array(kinds, np.int8)
    numbers = {name: i for i, name in enumerate(packages)}
    arrays["package"] = np.array([numbers[r["package"]] for r in records], np.int32)
    languages = sorted({r["lang"] for r in records})
    arrays["language"] = np.array([languages.index(r["lang"]) for r in records], np.int16)
    arrays["dev"] = np.array([numbers[p] for p in _dev_packages(records)], np.int32)
    np.savez(work / "data.npz", **arrays)
    (work / "packages.json").write_text(json.dumps({"packages": packages, "languages": languages}))
    (work / "texts.json").write_text(json.dumps(texts))
    say(f"{len(texts)} texts: {dict(Counter(KINDS[k] for k in kinds))}")


def _load(work: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return all records of the allowed packages of packages.tsv, and the names of these packages."""
    blocked = set((work / "blocked.txt").read_text().split())
    kept: list[dict[str, Any]] = []
    seen: dict[str, dict[str, Any] | None] = {}  # by hash; None: left out
    draw = random.Random(0)
    packages: list[str] = []
    listed = {(p.kind, p.name) for p in collect.packages() if p.role == "train"}
    for file in sorted((work / "records").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            head = json.loads(next(lines))
            if (head.get("kind"), head["name"]) not in listed:
                continue
            rows = []
            for line in lines:
                row = json.loads(line)
                if row["hash"] in blocked:
                    continue
                if known := seen.get(row["hash"]):
                    known.setdefault("commits", []).extend(row.get("commits", ()))  # another commit, the same body
                    continue
                texts = row["doc"] or row["comments"] or row["messages"] or row.get("commits")
                is_kept = bool(texts) or (row["hash"] not in seen and draw.random() < NAMED_ONLY)
                seen[row["hash"]] = row if is_kept else None
                rows += [row] if is_kept else []
        if len(rows) > PER_PACKAGE:
            draw.shuffle(rows)
            rows = sorted(rows, key=lambda r: not (r["doc"] or r.get("commits")))[:PER_PACKAGE]
        for row in rows:
            row["package"] = head["name"]
        if rows:
            packages.append(head["name"])
            kept += rows
    return kept, list(dict.fromkeys(packages))


def _texts(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return (kind, text) of possible queries for a record."""
    for n, sentence in enumerate(record["doc"]):
        yield "first" if n == 0 else "later", sentence
    for comment in record["comments"]:
        yield "comment", comment
    for message in record["messages"]:
        yield "message", message
    for message in dict.fromkeys(record.get("commits", ())):
        yield "commit", message
    if len(record["name"]) > 3 and not record["name"].startswith("__"):
        yield "name", record["qualified"] if record["kind"] != "section" else record["name"]


def _dev_packages(records: Sequence[dict[str, Any]]) -> list[str]:
    """Choose development packages: documented, not large, in many languages."""
    documented = Counter(r["package"] for r in records if r["doc"] and r["kind"] == "function")
    size = Counter(r["package"] for r in records if r["kind"] == "function")
    language = {r["package"]: r["lang"] for r in records}
    fitting = [p for p in sorted(size) if documented[p] >= 120 and 250 <= size[p] <= 1100]
    random.Random(1).shuffle(fitting)
    found: list[str] = []
    for want in ("python", "go", "rust", "java", "typescript", "javascript", "ruby", "php", "cpp", "c", "go", "rust"):
        found += [p for p in fitting if language[p] == want and p not in found][:1]
    return found[:DEV_PACKAGES]


def train_tokenizer(records: Sequence[dict[str, Any]], file: Path) -> None:
    """Train a BPE tokenizer on lower-case words, with identifiers split and punctuation dropped."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex(CAMEL), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), "removed", invert=True)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, UNKNOWN], limit_alphabet=200, min_frequency=3, show_progress=False
    )
    tokenizer.train_from_iterator(_samples(records), trainer)
    tokenizer.save(str(file), pretty=False)


def _samples(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield text of all languages, subsampled for frequent ones; prose counts twice because queries are prose."""
    draw = random.Random(0)
    share = {lang: min(1.0, 40_000 / n) for lang, n in Counter(r["lang"] for r in records).items()}
    for record in records:
        if draw.random() < share[record["lang"]]:
            yield f"{record['qualified']} {record['signature']} {record['code'][:800]}"
        for text in (*record["doc"], *record["comments"]):
            yield text
            yield text


def tokens_of(tokenizer: Tokenizer, texts: Iterable[str], longest: int) -> Ragged:
    """Return the first `longest` tokens of each text without unknown tokens."""
    values: list[NDArray[np.uint16]] = []
    lengths: list[int] = []
    block: list[str] = []

    def flush() -> None:
        for encoded in tokenizer.encode_batch_fast(block, add_special_tokens=False):
            row = np.array([i for i in encoded.ids if i > 1][:longest], np.uint16)
            values.append(row)
            lengths.append(len(row))
        block.clear()

    for text in texts:
        block.append(text[: 7 * longest])
        if len(block) == 4096:
            flush()
    flush()
    return np.concatenate(values), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
