"""Conventions of a workspace: AGENTS.md, CLAUDE.md, .cursor/rules, .promptls/rules and the like.

`gather` finds those that hold for the files in play and says why; `rules_for` is what they say.
Nearest first, so that a cap cuts what is most general.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from promptls.index.snapshot import Sources
from promptls.knowledge.rules.discovery import Rule, Rules, gather
from promptls.model import Note

CODEBUDDY_TOKENS = 2_000
"""What CodeBuddy gives to project rules."""


def rules_for(sources: Sources, files: Sequence[str], named: Collection[str] = ()) -> tuple[Note, ...]:
    """What the rules for these files (absolute paths, most important first) say; see `gather`."""
    return gather(sources, files, named).notes


def codebuddy_cut(text: str, tokens: int = CODEBUDDY_TOKENS) -> str:
    """Rules cut as CodeBuddy does: to 4 characters a token, at the last line end if that is past 80 %."""
    most = 4 * tokens
    if len(text) <= most:
        return text
    kept = text[:most]
    end = kept.rfind("\n")
    return kept[:end] if end > 0.8 * most else kept


__all__ = ["CODEBUDDY_TOKENS", "Rule", "Rules", "codebuddy_cut", "gather", "rules_for"]
