"""Rule files of a workspace: AGENTS.md, CLAUDE.md, .cursor/rules, .promptls/rules and similar conventions.

`collect_rules` returns the rules that apply to the active files, nearest first, and the reasons.
"""

from __future__ import annotations

from promptls.knowledge.rules.discovery import RuleFile, RuleSet, collect_rules

__all__ = ["RuleFile", "RuleSet", "collect_rules"]
