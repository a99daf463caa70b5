"""Linear ranking models of candidates and of files.

The weights are data: `scripts/train_ranking` fits `weights.json` to questions with known answers.  With few training
questions a linear model generalized better than boosted trees, and its scores can be explained feature by feature.

The calibration gives the probability that the answer to a question needs a candidate.

The score of a candidate alone says little about this: whether a good candidate is needed also depends on how much better
it is than the others of the same question.  The calibration is a logistic regression (Platt 1999) on the score and on
its place among all scores of the question, and on the kind of question.  `scripts/train_ranking` fits it to cross-validated scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from promptls.util.decode import decode_json

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


# ---- models

WEIGHTS_FILE = Path(__file__).with_name("weights.json")


class LinearModel(Struct, frozen=True):
    """Weights of features."""

    weights: dict[str, float] = {}  # by feature name

    def score(self, values: NDArray[np.float32], names: tuple[str, ...]) -> NDArray[np.float64]:
        """Return the weighted sum of each row of `values` float32[rows, names]; a missing weight is 0."""
        vector = np.array([self.weights.get(name, 0.0) for name in names], np.float64)
        # Unlike a matrix product, this sum does not depend on the position of the row.
        return np.asarray((values * vector).sum(axis=1))


class LogisticModel(Struct, frozen=True):
    """Weights of a logistic regression."""

    weights: dict[str, float] = {}  # by feature name
    offset: float = 0.0

    def log_odds(self, values: Mapping[str, float]) -> float:
        """Return the log odds for the values of features."""
        return self.offset + sum(weight * values[name] for name, weight in self.weights.items())


class RankerWeights(Struct, frozen=True):
    """The models of `weights.json`."""

    candidates: LinearModel = field(name="units")
    open_questions: LinearModel  # of candidates, too; see `Query.is_open`
    files: LinearModel
    calibration: Calibration

    def candidate_model(self, is_open: bool) -> LinearModel:
        """Return the model of the candidates for an open question or for another one."""
        return self.open_questions if is_open else self.candidates


@lru_cache(maxsize=1)
def bundled_weights() -> RankerWeights:
    """Return the weights that ship with this package."""
    return decode_json(WEIGHTS_FILE.read_bytes(), RankerWeights)
