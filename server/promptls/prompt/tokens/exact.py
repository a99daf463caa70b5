"""Counters that count as the model does, from files that are on the machine.

A Hugging Face tokenizer.json (read by tokenizers), or the rank file of a vocabulary of OpenAI (read by tiktoken,
an extra): named by the user, or in the cache that tiktoken keeps.  tiktoken would download what it does not find;
so its own look-up is never called: the file is read and checked here.  Writes nothing, opens no connection.
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

MAX_BYTES = 64 << 20
"""No tokenizer file is larger: those of vocabularies with 260,000 entries have 35 MB."""


class FileCounter(Struct, frozen=True):
    """The model's own tokenizer, read from the user's tokenizer.json.  Counts are without special tokens."""

    name: str
    tokenizer: Any  # tokenizers.Tokenizer: not imported here, because few people need it
    exact: bool = True

    def count(self, text: str) -> int:
        return len(self.tokenizer.encode(_encodable(text), add_special_tokens=False).ids)


class RankCounter(Struct, frozen=True):
    """A vocabulary of OpenAI.  Counts are without special tokens."""

    name: str
    encoding: Any  # tiktoken.Encoding
    exact: bool = True

    def count(self, text: str) -> int:
        return sum(len(self.encoding.encode_ordinary(part)) for part in _parts(_encodable(text)))


def _encodable(text: str) -> str:
    """Lone surrogates, which no tokenizer takes, as the replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_LONG_SPACE = re.compile(r"(?:\A|\S)\s{4000}")
"""tiktoken's regex engine panics on white space of some hundred thousand characters."""


def _parts(text: str) -> list[str]:
    """The text, cut inside very long white space: its tokens have at most a few hundred characters."""
    parts, start = [], 0
    while found := _LONG_SPACE.search(text, start):
        parts.append(text[start : found.end()])
        start = found.end()
        while text[start : start + 4000].isspace():
            parts.append(text[start : start + 4000])
            start += 4000
    parts.append(text[start:])
    return parts


# ---------------------------------------------------------------- rank files


class _Vocabulary(Struct, frozen=True):
    """What identifies the rank file of a vocabulary, and how it splits a text; as OpenAI publishes it."""

    sha256: str
    splits: str

    @property
    def address(self) -> str:
        """What tiktoken's cache knows the file by."""
        return f"https://openaipublic.blob.core.windows.net/encodings/{_name(self)}.tiktoken"


_WORD_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_RANKS = {
    "o200k_base": _Vocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _WORD_END + "|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _WORD_END + "|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "cl100k_base": _Vocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}


def _name(vocabulary: _Vocabulary) -> str:
    return next(name for name, known in _RANKS.items() if known == vocabulary)


def cached_ranks(vocabulary: str) -> RankCounter | Problem:
    """The counter of a vocabulary from tiktoken's cache: where its variables say, else in the temporary folder."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    path = Path(folder) / hashlib.sha1(_RANKS[vocabulary].address.encode(), usedforsecurity=False).hexdigest()
    if not folder or not path.is_file():
        return Problem(
            f"the ranks of {vocabulary} are not in tiktoken's cache, so its tokens are estimated",
            "let budget.tokenizer name the rank file; promptls never downloads it",
        )
    found = counter_from_file(str(path))
    if isinstance(found, RankCounter) and found.name == vocabulary:
        return found
    return found if isinstance(found, Problem) else Problem(f'"{path}" does not hold the ranks of {vocabulary}')


# ---------------------------------------------------------------- files

_LOADING = threading.Lock()


def counter_from_file(path: str) -> FileCounter | RankCounter | Problem:
    """A counter from a tokenizer.json, named "folder/tokenizer.json", or from a rank file, named as its vocabulary.

    Read once as long as the file is the same; any thread may ask.
    """
    where = Path(path).expanduser()
    try:
        state = where.stat()
    except OSError as error:
        return Problem(f'the tokenizer "{path}" could not be read: {error.strerror}')
    if state.st_size > MAX_BYTES:
        return Problem(f'the tokenizer "{path}" has {state.st_size >> 20} MB, more than any tokenizer')
    with _LOADING:
        return _load(str(where), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _load(path: str, modified: int, size: int) -> FileCounter | RankCounter | Problem:
    return _tokenizer(path) if path.endswith(".json") else _ranks(path)


def _tokenizer(path: str) -> FileCounter | Problem:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises plain Exception for a missing and for a malformed file
        return Problem(f'the tokenizer "{path}" could not be read: {error}')
    tokenizer.no_truncation()
    tokenizer.no_padding()
    where = Path(path)
    return FileCounter(f"{where.parent.name}/{where.name}", tokenizer)


def _ranks(path: str) -> RankCounter | Problem:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError as error:
        return Problem(f'the tokenizer "{path}" could not be read: {error.strerror}')
    digest = hashlib.sha256(data).hexdigest()
    name = next((name for name, known in _RANKS.items() if known.sha256 == digest), "")
    if not name:
        return Problem(
            f'"{path}" is neither a tokenizer.json nor the rank file of {" or ".join(_RANKS)} as published',
            "point the setting at the tokenizer.json of the model",
        )
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return Problem(f'the ranks in "{path}" need tiktoken', "install promptls[tiktoken]")
    try:
        ranks = {base64.b64decode(entry): int(rank) for entry, rank in map(bytes.split, data.splitlines())}
    except (ValueError, binascii.Error) as error:
        return Problem(f'the ranks in "{path}" could not be read: {error}')
    return RankCounter(
        name, tiktoken.Encoding(name, pat_str=_RANKS[name].splits, mergeable_ranks=ranks, special_tokens={})
    )
