"""The project as a whole: what it is, what it is made of, where it begins, how it is built.

`Projects` is the owner and gives `ProjectFacts`; `architecture_notes` and `overview` are what a prompt shows.
"""

from __future__ import annotations

from promptls.knowledge.project.architecture_section import architecture_notes
from promptls.knowledge.project.facts import ProjectFacts, header_of
from promptls.knowledge.project.overview import (
    COMMON_FILES,
    OVERVIEW_WORDS,
    codebuddy_overview,
    files_meant,
    is_overview,
    overview,
)
from promptls.knowledge.project.projects import Projects

__all__ = [
    "COMMON_FILES",
    "OVERVIEW_WORDS",
    "ProjectFacts",
    "Projects",
    "architecture_notes",
    "codebuddy_overview",
    "files_meant",
    "header_of",
    "is_overview",
    "overview",
]
