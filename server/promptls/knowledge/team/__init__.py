"""Who knows the code in play: its owners, those who changed it, and what changes together with it.  Off by default.

`team_notes` is what the prompt shows; `codebuddy_team` is that system's form of it.
"""

from __future__ import annotations

from promptls.knowledge.team.codeowners import Owners, find_owners, owners_of, parse_owners
from promptls.knowledge.team.notes import codebuddy_team, team_notes
from promptls.knowledge.team.people import People, Person, find_people

__all__ = [
    "Owners",
    "People",
    "Person",
    "codebuddy_team",
    "find_owners",
    "find_people",
    "owners_of",
    "parse_owners",
    "team_notes",
]
