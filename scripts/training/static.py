"""Static embedding model: e(text) = normalise(Σ over distinct tokens of w[token] · √count · mean place weight · E[token]).

The place of an occurrence is its distance from the beginning of the text: heads and documentation come first.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from training.bags import PLACES, Bags, Ints, read


class Static(nn.Module):
    """A table of token vectors, with a weight per token and per place."""

    def __init__(self, table: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.ones(PLACES))
        self.table = nn.Parameter(torch.from_numpy(table.copy()))
        self.weights = nn.Parameter(torch.from_numpy(weights.copy()))
        self.temperature = nn.Parameter(torch.tensor(float(np.log(1 / 0.05))))

    def forward(self, batch: Bags) -> torch.Tensor:
        """Return the unit vectors of the rows of a batch."""
        tokens = torch.from_numpy(batch.tokens)
        mass = torch.zeros(len(tokens)).index_add(
            0, torch.from_numpy(batch.of), self.places[torch.from_numpy(batch.places)]
        )
        scale = self.weights[tokens] * mass / torch.from_numpy(np.sqrt(batch.counts))
        pooled = nn.functional.embedding_bag(
            tokens, self.table, torch.from_numpy(batch.starts), mode="sum", per_sample_weights=scale
        )
        return nn.functional.normalize(pooled, dim=1)

    @torch.no_grad()
    def vectors(self, flat: NDArray[np.uint16], at: Ints, rows: Ints, longest: int = 256) -> NDArray[np.float32]:
        """Return the vectors of many texts."""
        found = []
        for begin in range(0, len(rows), 2048):
            found.append(self(read(flat, at, rows[begin : begin + 2048], longest)).numpy())
        return np.concatenate(found)
