"""Exact token counters, from tokenizer files on this machine.

Two formats are read: a Hugging Face tokenizer.json (with the package tokenizers), and the rank file of an OpenAI
vocabulary (with tiktoken, an extra).  The file is named by the user, or found in tiktoken's cache.
tiktoken would download a missing file, so its loader is never called: the file is read and verified here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptls.model import Problem
from promptls.util.cancellation import check_each

MAX_BYTES = 64 << 20
"""Maximum size of a tokenizer file, in bytes; a vocabulary of 260,000 entries takes 35 MB."""


class FileCounter(Struct, frozen=True):
    """A counter with the tokenizer of a tokenizer.json; special tokens are not counted."""

    name: str
    tokenizer: Any  # tokenizers.Tokenizer; imported lazily, because few users need it
    exact: bool = True

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer.encode(_encodable(text), add_special_tokens=False).ids)


class RankCounter(Struct, frozen=True):
    """A counter with the ranks of an OpenAI vocabulary; special tokens are not counted."""

    name: str
    encoding: Any  # tiktoken.Encoding
    exact: bool = True

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return sum(len(self.encoding.encode_ordinary(part)) for part in check_each(_split_long_space(_encodable(text))))


def _encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers reject, by the replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_LONG_SPACE = re.compile(r"(?:\A|\S)\s{4000}")
"""tiktoken's regex engine panics on white space of some hundred thousand characters."""


def _split_long_space(text: str) -> list[str]:
    """Split the text inside very long white space, whose tokens have at most a few hundred characters."""
    parts, start = [], 0
    while match := _LONG_SPACE.search(text, start):
        parts.append(text[start : match.end()])
        start = match.end()
        while text[start : start + 4000].isspace():
            parts.append(text[start : start + 4000])
            start += 4000
    parts.append(text[start:])
    return parts


# ---------------------------------------------------------------- rank files


_WORD_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_RANKS = {
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _WORD_END + "|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _WORD_END + "|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}
"""By vocabulary: the SHA-256 of its rank file and its pattern that splits text, as published by OpenAI."""


def cached_ranks(vocabulary: str) -> RankCounter | Problem | None:
    """Return the counter of a vocabulary from tiktoken's cache; None if the cache does not have it.

    The cache is the folder of tiktoken's environment variables, else a folder in the temporary directory.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    url = f"https://openaipublic.blob.core.windows.net/encodings/{vocabulary}.tiktoken"
    path = Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    if not folder or not path.is_file():
        return None
    counter = counter_from_file(str(path))
    if isinstance(counter, RankCounter) and counter.name == vocabulary:
        return counter
    return counter if isinstance(counter, Problem) else Problem(f'"{path}" does not hold the ranks of {vocabulary}')


# ---------------------------------------------------------------- files

_LOAD_LOCK = threading.Lock()


def counter_from_file(path: str) -> FileCounter | RankCounter | Problem:
    """Load a counter from a tokenizer.json or from a rank file.

    A counter of a tokenizer.json is named "folder/tokenizer.json", one of a rank file after its vocabulary.
    The counter is cached until the file changes.  Thread-safe.
    """
    file = Path(path).expanduser()
    try:
        stat = file.stat()
    except OSError as error:
        return Problem(f'the tokenizer "{path}" could not be read: {error.strerror}')
    if stat.st_size > MAX_BYTES:
        return Problem(f'the tokenizer "{path}" has {stat.st_size >> 20} MB; the limit is {MAX_BYTES >> 20} MB')
    with _LOAD_LOCK:
        return _load(str(file), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _load(path: str, mtime_ns: int, size: int) -> FileCounter | RankCounter | Problem:
    return _load_tokenizer(path) if path.endswith(".json") else _load_ranks(path)


def _load_tokenizer(path: str) -> FileCounter | Problem:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises plain Exception for a missing and for a malformed file
        return Problem(f'the tokenizer "{path}" could not be read: {error}')
    tokenizer.no_truncation()
    tokenizer.no_padding()
    file = Path(path)
    return FileCounter(f"{file.parent.name}/{file.name}", tokenizer)


def _load_ranks(path: str) -> RankCounter | Problem:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError as error:
        return Problem(f'the tokenizer "{path}" could not be read: {error.strerror}')
    digest = hashlib.sha256(data).hexdigest()
    name = next((name for name, (published, _) in _RANKS.items() if published == digest), "")
    if not name:
        return Problem(
            f'"{path}" is neither a tokenizer.json nor the rank file of {" or ".join(_RANKS)} as published',
            "set budget.tokenizer to the tokenizer.json of the model",
        )
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return Problem(f'the rank file "{path}" needs tiktoken', "install promptls[tiktoken]")
    try:
        ranks = {base64.b64decode(entry): int(rank) for entry, rank in map(bytes.split, data.splitlines())}
    except (ValueError, binascii.Error) as error:
        return Problem(f'the ranks in "{path}" could not be read: {error}')
    return RankCounter(name, tiktoken.Encoding(name, pat_str=_RANKS[name][1], mergeable_ranks=ranks, special_tokens={}))
