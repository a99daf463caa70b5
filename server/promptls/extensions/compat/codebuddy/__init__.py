"""The pipeline of CodeBuddy: keyword classifier, two searches, keyword density, a table of model budgets."""

from __future__ import annotations

from promptls.extensions.compat.codebuddy.classifier import classify
from promptls.extensions.compat.codebuddy.codebuddy_sections import memory_section, overview_section, team_section
from promptls.extensions.compat.codebuddy.layout import codebuddy_layout
from promptls.extensions.compat.codebuddy.window_scoring import density_formula
from promptls.prompt.profile import ProfileHooks, read_profile
from promptls.prompt.sections import architecture_section, instructions_by_type

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


PROFILE = read_profile(
    "promptls.extensions.compat",
    "codebuddy",
    ProfileHooks(
        classify=classify,
        formula=density_formula,
        layout=codebuddy_layout,
        quotes_history=True,
        sections={
            "architecture": architecture_section,  # for every question
            "instructions": instructions_by_type,
            "memory": memory_section,
            "overview": overview_section,
            "team": team_section,
        },
        budget=model_budget,
    ),
)
