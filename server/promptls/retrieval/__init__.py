"""From a question to ranked regions of the workspace.

legs → units → features → weights: every row is scored by meaning and by words, the most promising places become
units, each unit is described by some numbers, and a weighted sum turns those into a score.  Knows nothing
of prompts, budgets or LSP.
"""

from promptls.retrieval.retrieve import Index, Retrieved, Strategy, retrieve, scanned, search

__all__ = ["Index", "Retrieved", "Strategy", "retrieve", "scanned", "search"]
