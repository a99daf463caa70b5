"""Linear ranking models of candidates and of files.

The weights are data: `scripts/train_ranking` fits `weights.json` to questions with known answers.  With few training
questions a linear model generalized better than boosted trees, and its scores can be explained feature by feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from promptls.retrieval.calibration import Calibration
from promptls.util.decode import decode_json

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
