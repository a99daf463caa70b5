"""How many tokens a text costs, and how many a model should get.

Counters are values with a name; `exact` says whether the number is the model's own or an estimate.
`estimate` is calibrated (see the constants below), `chars4` is the usual ceil(characters / 4).
`counter_from_file` is the only function here that reads a file of the user's; nothing is downloaded.
Must not know what a prompt looks like.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from promptls.model import Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


class UnknownName(ValueError):
    """A name that is none of the valid ones; the message is one sentence for the user."""

    def __init__(self, field: str, value: str, valid: Iterable[str]) -> None:
        self.field = field
        self.value = value
        self.valid = tuple(sorted(valid))
        super().__init__(f'unknown {field} "{value}"; valid: {", ".join(self.valid)}')


class Counter(Protocol):
    """Counts tokens.  `count(a + b) <= count(a) + count(b) + 1` holds for every counter here."""

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    def count(self, text: str) -> int: ...


class Chars4(Struct, frozen=True):
    """ceil(code points / 4)."""

    name: str = "chars4"
    exact: bool = False

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


class Estimate(Struct, frozen=True):
    """A little more than what byte-pair vocabularies of 100k to 200k entries give for code and prose.

    The text is cut into the pieces that such tokenizers start from (a word with the sign before it,
    up to three digits, a run of punctuation, a run of white space) and each piece costs one token plus
    what its pairs of neighbouring characters say about the chance of a cut between them.
    """

    name: str = "estimate"
    exact: bool = False

    def count(self, text: str) -> int:
        hundredths = sum(map(_COSTS.__getitem__, _PIECES.findall(text)))
        return -(-hundredths // 100)


class FileCounter(Struct, frozen=True):
    """The model's own tokenizer, read from the user's tokenizer.json.  Counts are without special tokens."""

    name: str
    tokenizer: Any  # tokenizers.Tokenizer: not imported here, because few people need it
    exact: bool = True

    def count(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)


_COUNTERS: dict[str, Counter] = {"auto": Estimate(), "estimate": Estimate(), "chars4": Chars4()}


def counter(name: str = "auto") -> Counter:
    """The counter of that name ("auto" is the estimate).  Raises `UnknownName`."""
    try:
        return _COUNTERS[name]
    except KeyError:
        raise UnknownName("counter", name, _COUNTERS) from None


def counter_from_file(path: str) -> Counter | Problem:
    """A counter that uses a Hugging Face tokenizer.json; its name is the file's folder and name."""
    from tokenizers import Tokenizer

    if not path.endswith(".json"):
        return Problem(
            f'"{path}" is no tokenizer.json, the only kind of tokenizer file that can be read',
            "point the setting at the tokenizer.json of the model",
        )
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises plain Exception for a missing and for a malformed file
        return Problem(f'the tokenizer "{path}" could not be read: {error}')
    tokenizer.no_truncation()
    tokenizer.no_padding()
    where = Path(path)
    return FileCounter(f"{where.parent.name}/{where.name}", tokenizer)


# ---------------------------------------------------------------- models


@lru_cache(maxsize=1)
def models() -> tuple[int, dict[str, int]]:
    """(budget of an unknown model, budget by model name), tokens, from models.toml."""
    table = tomllib.loads(files(__package__).joinpath("models.toml").read_text("utf-8"))
    return table["default"], table["models"]


def budget_for(model: str) -> tuple[int, str | None]:
    """Budget in tokens for a model, and a sentence of warning if the model is not in the table.

    Case does not matter.  The name itself, else the longest name of the table that it starts with,
    also after "provider/" (any number of them) or "region.provider.".
    """
    default, table = models()
    names = [model.strip().lower()]
    while cut := re.match(r"[^/]*/|[a-z]+\.", names[-1]):
        names.append(names[-1][cut.end() :])
    for name in names:
        if name in table:
            return table[name], None
    matches = [known for known in table if any(name.startswith(known) for name in names)]
    if matches:
        return table[max(matches, key=len)], None
    return default, f'the model "{model}" is not in the model table; its budget is taken as {default} tokens'


# ---------------------------------------------------------------- the estimate

_PIECES = re.compile(
    r"[^\r\nA-Za-z0-9\x80-\U0010ffff]?(?:[A-Z]*[a-z]+|[A-Z]+)"  # a word and the sign before it
    r"|[0-9]{1,3}"
    r"| ?[!-/:-@\[-`{-~]+[\r\n]*"
    r"| ?[^\x00-\x7f]+"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    r"|.",
    re.ASCII | re.DOTALL,
)

# All constants below are hundredths of a token, fitted by non-negative least squares to o200k_base and
# cl100k_base (mean of the two) on 12 source trees; on 12 others the estimate is 3 to 4 % above the true
# count on average, off by 5 % (mean absolute error per file), and for one file in a hundred more than 9 %
# too low (lists of people's names, emoji tables, certificates).  Joining two texts never adds more than
# one token: costs of pairs are never negative, and what a joint can add to one piece stays below 100.
_LETTER_PAIRS = """\
61007107032000803000100001 15420554200026039025019207 13340190190015043020000003 14410039010183054012028103
01011001131000010000200001 03311001054100043010089220 85790950017121043002029934 03970665026423000040015343
21000005301100000000221070 32320206470402090100120209 44530407306590897928261965 10200011053034028110000709
00730933296010001411092511 18100105241120116700010909 10102012213100000011000204 03600352192017013020064119
01953931699058364087050009 14100004091200059010012000 19140111001632001100001706 03210290025104105012050006
01100003089000417000005740 04930321019666059358340329 14950290035590021018620091 07152734129417909560371006
74990986299230101111790813 21262399290986331370211008"""
"""Cost of a cut between two letters, in `_PAIR_UNIT`: row a-z is the first letter, column a-z the second."""

_PAIR_UNIT = 13
_PAIR_COST = {
    chr(97 + i) + chr(97 + j): min(99, _PAIR_UNIT * int(digit))
    for i, row in enumerate(_LETTER_PAIRS.split())
    for j, digit in enumerate(row)
}
_CAPITALS, _INNER_CAPITAL = 8, 28
_LETTER_LEAST = 5
"""No token has more than about twenty letters, however often a letter is repeated."""
_LEAD_COST = {".": (3, 28, 45), "_": (8, 45, 0), "\t": (8, 45, 0), " ": (0, 0, 0), "": (0, 0, 0)}
_OTHER_LEAD = (25, 37, 88)
"""For a sign that stands before a word in lower case, with a capital, in capitals."""

_SAME_SIGN, _OTHER_SIGN = 5, 35
_SPACES_PER_TOKEN = 60

_BLOCK_COST = (  # one character outside ASCII: (first code point after the block, cost)
    (0x0250, 90), (0x0370, 170), (0x0400, 85), (0x0530, 40), (0x0590, 180), (0x0600, 95), (0x0780, 72),
    (0x0E00, 95), (0x1100, 95), (0x1E00, 270), (0x1F00, 110), (0x2000, 240), (0x2070, 90), (0x2500, 170),
    (0x25A0, 60), (0x2E80, 220), (0x3040, 110), (0x3100, 95), (0x4E00, 270), (0xA000, 85), (0xAC00, 297),
    (0xD7B0, 90), (0xFE20, 270), (0xFF00, 120), (0x10000, 100), (0x1F000, 370), (0x20000, 220), (0x110000, 390),
)  # fmt: skip
"""What cl100k needs in prose and comments; o200k needs about two thirds of that for other scripts."""


def _cost(piece: str) -> int:
    """Hundredths of a token for one piece of `_PIECES`, before the margin."""
    last = piece[-1]
    if last >= "\x80":
        return sum(map(_character_cost, piece))
    if last.isalpha():
        return _word_cost(piece)
    if last.isdigit():
        return 100
    signs = piece.strip()
    if not signs:
        return 100 * -(-len(piece) // _SPACES_PER_TOKEN)
    return 100 + sum(_SAME_SIGN if a == b else _OTHER_SIGN for a, b in pairwise(signs[1:]))


def _word_cost(piece: str) -> int:
    word = piece if piece[0].isalpha() else piece[1:]
    small, capital, capitals = _LEAD_COST.get(piece[: len(piece) - len(word)], _OTHER_LEAD)
    if not word[0].isupper():
        cost = 100 + small
    elif len(word) > 1 and word.isupper():
        cost = 100 + capitals + _CAPITALS * (len(word) - 1)
    else:
        inner = sum(map(str.isupper, word)) - 1
        cost = 100 + capital + (_INNER_CAPITAL - _CAPITALS) * min(inner, 2) + _CAPITALS * inner
    cost += sum(_PAIR_COST[a + b] for a, b in pairwise(word.lower()))
    return max(cost, _LETTER_LEAST * len(word))


def _character_cost(character: str) -> int:
    point = ord(character)
    return next(cost for end, cost in _BLOCK_COST if point < end)


class _Costs(dict[str, int]):
    """Memo of `_cost`.  Bounded in entries and in their length; losing entries only costs time."""

    def __missing__(self, piece: str) -> int:
        cost = _cost(piece)
        if len(piece) <= 48:
            if len(self) >= 1 << 16:
                self.clear()
            self[piece] = cost
        return cost


_COSTS = _Costs()
