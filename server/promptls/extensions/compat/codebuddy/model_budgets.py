"""Token budgets of CodeBuddy by model name."""

from __future__ import annotations

BUDGETS = (
    ("qwen2.5-coder", 4000),
    ("qwen2.5-coder:3b", 3000),
    ("llama3.2", 3000),
    ("codellama", 3000),  # according to its documentation; 4000 in its code
    ("llama-3.3-70b", 20000),
    ("llama-4-scout", 20000),
    ("gpt-4", 6000),
    ("gpt-4-turbo", 20000),
    ("gpt-4o", 20000),
    ("gpt-3.5-turbo", 4000),
    ("claude-3-opus", 50000),
    ("claude-3-sonnet", 50000),
    ("claude-3-haiku", 20000),
)
DEFAULT_BUDGET = 4000


def model_budget(model: str) -> int:
    """Return the budget of a model: by its exact name, else the first entry where one name contains the other."""
    name = model.lower()
    exact = dict(BUDGETS).get(name)
    if exact is not None:
        return exact
    return next((tokens for known, tokens in BUDGETS if known in name or name in known), DEFAULT_BUDGET)
