"""Calibration: the probability that the answer to a question needs a candidate.

The score of a candidate alone says little about this: whether a good candidate is needed also depends on how much better
it is than the others of the same question.  The calibration is a logistic regression (Platt 1999) on the score and on
its place among all scores of the question, and on the kind of question.  `scripts/train_ranking` fits it to cross-validated scores.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CALIBRATION_FEATURES = ("score", "log_share", "log_rank", "entropy", "open_question")
"""Features of the calibration; their order within a question is that of the scores.

`log_share` is the logarithm of the softmax of the scores, `entropy` the entropy of the softmax in nats, and `log_rank`
ln(1 + rank), where rank is the number of better scores.  `open_question` is 1 if the question asks how, why, what or
where: the answer needs more regions.  The share of a candidate's file and its length were tried too: the error was the
same, and recall was .02 lower at depth 50, because candidates of one file displaced those of others.
"""


class Calibration(Struct, frozen=True):
    """Weights of the calibration features: probability = 1 / (1 + exp(-(weights · features + offset)))."""

    weights: dict[str, float] = {}  # by feature name
    offset: float = 0.0

    def probabilities(self, scores: Floats, is_open: bool = False) -> Floats:
        """Return the probability that the answer needs each candidate.

        Args:
            scores: Scores of all candidates, float64[n].
            is_open: Whether the question is an open one.
        """
        values = calibration_features(scores, is_open)
        vector = np.array([self.weights.get(name, 0.0) for name in CALIBRATION_FEATURES])
        return np.asarray(1 / (1 + np.exp(-((values * vector).sum(axis=1) + self.offset))))


def calibration_features(scores: Floats, is_open: bool = False) -> Floats:
    """Return float64[n, 5]: the values of `CALIBRATION_FEATURES` for each candidate of one question."""
    descending = -np.round(scores, 6)
    rank = np.searchsorted(np.sort(descending), descending)  # equal scores share a rank, whatever their order
    above = scores - scores.max()
    log_share = above - np.log(np.exp(above).sum())
    entropy = -float((np.exp(log_share) * log_share).sum())
    constants = (np.full(len(scores), value) for value in (entropy, float(is_open)))
    return np.stack([scores, log_share, np.log1p(rank), *constants], axis=1)
