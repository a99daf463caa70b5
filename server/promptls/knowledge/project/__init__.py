"""Project knowledge: description, languages, frameworks, entry points, commands and layers of each workspace folder.

`ProjectIndex` computes `ProjectFacts`; `architecture_entries` and `overview_entries` format facts for a prompt.
"""

from __future__ import annotations

from promptls.knowledge.project.architecture_section import architecture_entries, project_entries
from promptls.knowledge.project.facts import ProjectFacts, project_header
from promptls.knowledge.project.overview import (
    OVERVIEW_WORDS,
    files_by_purpose,
    is_overview_question,
    overview_entries,
)
from promptls.knowledge.project.projects import ProjectIndex

__all__ = [
    "OVERVIEW_WORDS",
    "ProjectFacts",
    "ProjectIndex",
    "architecture_entries",
    "files_by_purpose",
    "is_overview_question",
    "overview_entries",
    "project_entries",
    "project_header",
]
