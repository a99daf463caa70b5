"""Prior knowledge of the vocabulary: stems, WordNet synonyms and teacher vectors.

WordNet is read from the files of Debian's package wordnet-base. Synonyms are those of the most frequent senses of
nouns, verbs and adjectives that have at most three tokens and a sufficient similarity by the teacher. A synonym of two
words ("log in") counts as two tokens, because the model uses bags of tokens.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from py_rust_stemmers import SnowballStemmer
from tokenizers import Tokenizer

SENSES = 3
CLOSE = 0.38  # cosine below which two words are synonyms of another sense
WIDTH = 8  # synonyms of a word


class Teacher:
    """all-MiniLM-L6-v2, from the folder that holds its weights."""

    def __init__(self, folder: Path, fast: bool = False) -> None:
        from transformers import BertConfig, BertModel

        self.fast = fast  # bfloat16: twice as fast where the processor has it, cosine to the exact vector > .9999

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.model = BertModel.from_pretrained(str(folder), config=BertConfig.from_pretrained(str(folder))).eval()

    @torch.no_grad()
    def embed(self, texts: list[str], longest: int = 64, batch: int = 64) -> NDArray[np.float32]:
        """Return unit vectors by mean pooling."""
        self.tokenizer.enable_truncation(longest)
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        order = np.argsort([len(i) for i in ids], kind="stable")
        out = np.zeros((len(texts), 384), np.float32)
        for begin in range(0, len(order), batch):
            rows = order[begin : begin + batch]
            width = max(len(ids[r]) for r in rows)
            tokens = torch.zeros((len(rows), width), dtype=torch.long)
            mask = torch.zeros((len(rows), width), dtype=torch.long)
            for n, r in enumerate(rows):
                tokens[n, : len(ids[r])] = torch.tensor(ids[r])
                mask[n, : len(ids[r])] = 1
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.fast):
                hidden = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state
            pooled = (hidden.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            out[rows] = torch.nn.functional.normalize(pooled, dim=1).numpy()
        return out


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Return the tokens by id."""
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]


def stems(words: list[str]) -> NDArray[np.int64]:
    """Return a number per token, the same for words with one stem."""
    stemmer = SnowballStemmer("english")
    known: dict[str, int] = {}
    return np.array([known.setdefault(stemmer.stem_word(w), len(known)) for w in words], np.int64)


def synonyms(
    tokenizer: Tokenizer, wordnet: Path, table: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return ([token, WIDTH, 3] of tokens padded with 0, number of synonyms per token)."""
    words = vocabulary(tokenizer)
    ids = {word: i for i, word in enumerate(words)}
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    found: dict[int, dict[tuple[int, ...], None]] = defaultdict(dict)
    for part in ("verb", "noun", "adj"):
        synsets: dict[str, list[str]] = {}
        for line in (wordnet / f"data.{part}").read_text("utf-8").split("\n"):
            if line[:1].isdigit():
                cells = line.split(" ")
                synsets[cells[0]] = [
                    re.sub(r"\(\w+\)$", "", w).lower() for w in cells[4 : 4 + 2 * int(cells[3], 16) : 2]
                ]
        for line in (wordnet / f"index.{part}").read_text("utf-8").split("\n"):
            cells = line.split()
            if not cells or line.startswith(" ") or cells[0] not in ids:
                continue
            count = int(cells[2])
            for offset in cells[-count:][:SENSES]:
                for other in synsets.get(offset, ()):
                    tokens = tuple(i for i in tokenizer.encode(other.replace("_", " ")).ids if i > 1)
                    if other == cells[0] or not 1 <= len(tokens) <= 3 or len(tokens) > other.count("_") + 1:
                        continue
                    mean = unit[list(tokens)].mean(0)
                    if unit[ids[cells[0]]] @ mean / max(float(np.linalg.norm(mean)), 1e-9) > CLOSE:
                        found[ids[cells[0]]][tokens] = None
    out = np.zeros((len(words), WIDTH, 3), np.int32)
    counts = np.zeros(len(words), np.int32)
    for token, others in found.items():
        for n, tokens in enumerate(list(others)[:WIDTH]):
            out[token, n, : len(tokens)] = tokens
            counts[token] = n + 1
    return out, counts
