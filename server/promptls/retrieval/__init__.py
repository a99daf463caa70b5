"""Retrieval: ranks regions of the workspace by their relevance to a question.

The stages are first-stage scores for all chunks (`scorers`), candidate generation (`candidates`), feature extraction
(`features`) and a linear ranking model (`linear_model`).  Independent of prompts, budgets and LSP.
"""

from promptls.retrieval.retrieve import (
    RetrievalIndex,
    RetrievalResult,
    RetrievalStrategy,
    retrieve,
    score_first_stage,
    search,
    search_by_file,
)

__all__ = [
    "RetrievalIndex",
    "RetrievalResult",
    "RetrievalStrategy",
    "retrieve",
    "score_first_stage",
    "search",
    "search_by_file",
]
