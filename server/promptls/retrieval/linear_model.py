"""What the features are worth: two weighted sums, one that ranks units and one that ranks files.

The weights are data (`weights.json`, found by `scripts/train_ranking` on questions with known answers); a sum
of this kind generalised better from few questions than boosted trees did, and every part of it can be told.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

FILE = Path(__file__).with_name("weights.json")


class Sum(Struct, frozen=True):
    """One weighted sum.  A chance to be relevant is 1 / (1 + exp(-(slope · sum + offset)))."""

    weights: dict[str, float]  # by feature
    slope: float = 1.0
    offset: float = 0.0

    def of(self, values: NDArray[np.float32], names: tuple[str, ...]) -> NDArray[np.float64]:
        """float64[rows] of values float32[rows, names]; features without a weight do not count."""
        vector = np.array([self.weights.get(name, 0.0) for name in names], np.float64)
        return np.asarray((values * vector).sum(axis=1))  # no product of matrices: the same sum wherever a row stands

    def chances(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """How likely each is relevant."""
        return 1 / (1 + np.exp(-(self.slope * sums + self.offset)))


class Weights(Struct, frozen=True):
    """The file."""

    units: Sum
    files: Sum


@lru_cache(maxsize=1)
def bundled() -> Weights:
    """The weights of this package."""
    return msgspec.json.decode(FILE.read_bytes(), type=Weights)
