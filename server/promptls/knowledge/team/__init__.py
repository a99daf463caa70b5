"""Team knowledge: owners, contributors and co-changed files of the active files.  Off by default.

`team_entries` returns the prompt entries of the section "team".
"""

from __future__ import annotations

from promptls.knowledge.team.codeowners import CodeOwners, file_owners, load_codeowners, parse_codeowners
from promptls.knowledge.team.notes import team_entries
from promptls.knowledge.team.people import Person, RootPeople, load_people

__all__ = [
    "CodeOwners",
    "Person",
    "RootPeople",
    "file_owners",
    "load_codeowners",
    "load_people",
    "parse_codeowners",
    "team_entries",
]
