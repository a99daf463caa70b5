"""Retrieval: ranks regions of the workspace by their relevance to a question.

The stages are first-stage scores for all chunks (`scorers`), candidate generation (`candidates`), feature extraction
(`features`) and a linear ranking model (`linear_model`), called by `retrieve`.  Independent of prompts, budgets and LSP.
"""
