"""Estimates of quality from the scores of candidates, without building prompts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from evaluation import _answers as answers
from evaluation import _corpora as corpora
from numpy.typing import NDArray

TOKEN_COST_EXPONENT = 0.75
"""As in profiles/default.toml, in units of the raw score."""
PROMPT_TOKENS, FENCE_TOKENS = 250, 16
"""Tokens of a prompt without blocks, and of the fence around a block, for the estimate of packing."""

Floats = NDArray[np.float64]
Ranking = tuple[corpora.Question, str, Sequence[answers.Place], Floats]
"""A question, the root of its workspace, the candidates, and their scores."""


def coverage_and_recall(rankings: Iterable[Ranking]) -> str:
    """Return a row of figures: mean coverage with a simple packing, and recall by depth."""
    covered: dict[int, list[float]] = {4000: [], 8000: [], 20000: []}
    depths: dict[int, list[float]] = {d: [] for d in answers.DEPTHS}
    for question, root, places, scores in rankings:
        length = np.array([end - start for _, start, end in places])
        order = np.argsort(-(scores - TOKEN_COST_EXPONENT * np.log(length + 4)), kind="stable")
        packed = [places[i] for i in order]
        for budget, values in covered.items():
            values.append(answers.coverage(question, root, _pack(packed, budget))[0])
        ranked = [places[i] for i in np.argsort(-scores, kind="stable")]
        for depth, share in answers.recall(question, root, ranked).items():
            depths[depth].append(share)
    return " | ".join(f"{np.mean(v):.3f}" for v in (*covered.values(), *depths.values()))


def _pack(places: Sequence[answers.Place], budget: int) -> list[str]:
    room, shown = 4 * (budget - PROMPT_TOKENS), dict[str, set[int]]()
    out: list[str] = []
    for path, start, end in places[:400]:
        text = answers.lines(path)
        new = [i for i in range(start, min(end, len(text))) if i not in shown.get(path, set())]
        cost = sum(len(text[i]) + 1 for i in new) + 4 * FENCE_TOKENS
        if new and cost <= room:
            room -= cost
            shown.setdefault(path, set()).update(new)
            out += [text[i] for i in new]
        elif room < 1200:
            break
    return out
