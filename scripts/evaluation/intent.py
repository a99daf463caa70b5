"""Accuracy of question understanding on labelled questions, half of them held out from tuning.

Labels: `codebase`: whether the workspace can help; `action`: the first thing that is requested; `types` and
`categories`: all that apply. fix: something misbehaves. create: something new. refactor: the same behaviour in better
code. modify: any other change. explain: to know or find something. feature: a capability that does not exist yet.
implementation: code is to be written or changed, or a question about how it is done. general: about the code without
another topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptls.index.search.analyzer import STOP_WORDS, stem
from promptls.prompt.intent import Intent
from promptls.prompt.intent.categories import typo_categories, word_categories
from promptls.prompt.intent.detect import detect_intent
from promptls.prompt.intent.question_type import misspelled_verb

QUESTIONS = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "questions.jsonl"

Question = dict[str, Any]


class Figures(NamedTuple):
    """Figures of one split, as shares of 1."""

    count: int
    codebase: float
    action: float
    types_exact: float
    types_f1: float
    categories_exact: float
    categories_precision: float
    categories_recall: float
    categories_f1: float
    calibration: float  # expected calibration error of the confidence


def questions(split: str) -> list[Question]:
    """Return the labelled questions of a split, "tune" or "held"."""
    rows = (json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines())
    return [row for row in rows if row["split"] == split]


def likely_categories(intent: Intent) -> list[str]:
    """Return the names of the likely categories."""
    return [category.name for category in intent.categories if category.is_likely]


def figures(rows: Sequence[Question]) -> Figures:
    """Compare the detected intents with the labels."""
    read = [detect_intent(row["text"], row["text"]) for row in rows]
    pairs = list(zip(rows, read, strict=True))
    types = [(set(row["types"]), set(intent.types)) for row, intent in pairs]
    topics = [(set(row["categories"]), set(likely_categories(intent))) for row, intent in pairs]
    precision, recall, topics_f1 = micro(topics)
    return Figures(
        len(rows),
        share(row["codebase"] == intent.about_codebase for row, intent in pairs),
        share(row["action"] == intent.action for row, intent in pairs),
        share(a == b for a, b in types),
        micro(types)[2],
        share(a == b for a, b in topics),
        precision,
        recall,
        topics_f1,
        gap([(intent.confidence, row["codebase"] == intent.about_codebase) for row, intent in pairs]),
    )


def share(values: Iterable[bool]) -> float:
    """Return the share of true values."""
    listed = list(values)
    return sum(listed) / max(1, len(listed))


def micro(pairs: Sequence[tuple[set[str], set[str]]]) -> tuple[float, float, float]:
    """Return micro-averaged precision, recall and F1 of (expected, actual) pairs."""
    hits = sum(len(wanted & given) for wanted, given in pairs)
    precision = hits / max(1, sum(len(given) for _, given in pairs))
    recall = hits / max(1, sum(len(wanted) for wanted, _ in pairs))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def gap(verdicts: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error over five bins of equal width from 0.5 to 1."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for sure, right in verdicts:
        bins.setdefault(min(4, int((sure - 0.5) * 10)), []).append((sure, right))
    total = sum(abs(sum(s for s, _ in b) - sum(r for _, r in b)) for b in bins.values())
    return total / max(1, len(verdicts))


def taken_for_errors(words: Iterable[str]) -> list[str]:
    """Return the correctly spelled words that are mistaken for a misspelled keyword."""
    plain = [w for w in words if w.isascii() and w.isalpha() and w.islower() and w not in STOP_WORDS]
    verbs = ((w, misspelled_verb(w)) for w in plain)
    taken = {w for w, verb in verbs if verb and stem(verb[1]) != stem(w)}
    return sorted(taken | {w for w in plain if typo_categories(w) and not word_categories(w)})


def main(arguments: list[str]) -> int:
    """Print the figures; with `--ordinary FILE`, the words of a list that belong into ordinary.txt."""
    if "--ordinary" in arguments:
        listed = Path(arguments[arguments.index("--ordinary") + 1]).read_text("utf-8").split()
        print(" ".join(taken_for_errors(listed)))
        return 0
    for split in ("tune", "held"):
        shown = figures(questions(split))._asdict().items()
        print(split, " ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in shown))
    return 0
