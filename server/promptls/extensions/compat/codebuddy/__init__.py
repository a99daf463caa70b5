"""The pipeline of CodeBuddy: keyword classifier, two searches, keyword density, a table of model budgets."""

from __future__ import annotations

from promptls.extensions.compat.codebuddy.classifier import classify
from promptls.extensions.compat.codebuddy.codebuddy_sections import memory_section, overview_section, team_section
from promptls.extensions.compat.codebuddy.layout import codebuddy_layout
from promptls.extensions.compat.codebuddy.model_budgets import model_budget
from promptls.extensions.compat.codebuddy.window_scoring import density_formula
from promptls.prompt.profile import ProfileHooks, read_profile
from promptls.prompt.sections import architecture_section

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
            "memory": memory_section,
            "overview": overview_section,
            "team": team_section,
        },
        budget=model_budget,
    ),
)

__all__ = ["PROFILE"]
