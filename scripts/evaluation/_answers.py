"""Coverage and recall: shares of the needed regions that are ranked, or shown in a prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path

from evaluation._corpora import LARGE, Gold, Question, voice

HIT = 0.8
"""Share of the lines of an essential region that counts as a hit."""
DEPTHS = (20, 50, 100, 400)
Place = tuple[str, int, int]
"""(path, first line counted from 0, line after the last)"""


@lru_cache(maxsize=1 << 14)
def lines(path: str) -> list[str]:
    """Return the lines of a file."""
    return Path(path).read_text("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _wanted(path: str, start: int, end: int) -> list[str]:
    """Return the non-trivial lines of a region, without indentation."""
    found = [line.strip() for line in lines(path)[start - 1 : end]]
    return [line for line in found if len(line) >= 12] or [line for line in found if line]


def coverage(question: Question, root: str, shown: Iterable[str]) -> tuple[float, bool]:
    """Return the grade-weighted share of needed lines that are shown, and whether an essential region is a hit."""
    have = {line.strip() for line in shown}
    got, all_, hit = 0.0, 0.0, False
    for gold in question.gold:
        share = share_of(gold, root, have)
        got, all_ = got + gold.grade * share, all_ + gold.grade
        hit |= gold.grade == 2 and share >= HIT
    return got / all_, hit


def essential(question: Question, root: str, shown: Iterable[str]) -> tuple[float, bool]:
    """Return the share of the essential regions that are shown, and whether all are."""
    have = {line.strip() for line in shown}
    hits = [share_of(gold, root, have) >= HIT for gold in question.gold if gold.grade == 2]
    return sum(hits) / max(1, len(hits)), all(hits)


def share_of(gold: Gold, root: str, have: AbstractSet[str]) -> float:
    """Return the share of the non-trivial lines of a region that are among some lines without indentation."""
    wanted = _wanted(f"{root}/{gold.path}", gold.start, gold.end)
    return sum(line in have for line in wanted) / max(1, len(wanted))


def recall(question: Question, root: str, ranked: Sequence[Place]) -> dict[int, float]:
    """Return, by depth, the share of essential regions of which at least half is within the first regions."""
    essential = [g for g in question.gold if g.grade == 2]
    out: dict[int, float] = {}
    for depth in DEPTHS:
        seen: dict[str, set[int]] = defaultdict(set)
        for path, start, end in ranked[:depth]:
            seen[path].update(range(start, end))
        found = [
            len(seen[f"{root}/{g.path}"] & set(range(g.start - 1, g.end))) * 2 >= g.end - g.start + 1 for g in essential
        ]
        out[depth] = sum(found) / max(1, len(found))
    return out


def groups(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the indices of the questions by group: size, style and language of the own ones, and other voices."""
    own = [i for i, q in enumerate(questions) if voice(q) == "own"]
    out: dict[str, list[int]] = {"own": own}
    out["small packages"] = [i for i in own if questions[i].corpus not in LARGE]
    out["large packages"] = [i for i in own if questions[i].corpus in LARGE]
    for name in ("style", "lang"):
        for value in sorted({getattr(questions[i], name) for i in own}):
            out[f"{name} {value}"] = [i for i in own if getattr(questions[i], name) == value]
    for name in sorted({voice(q) for q in questions} - {"own"}):
        out[f"voice {name}"] = [i for i, q in enumerate(questions) if voice(q) == name]
    return out
