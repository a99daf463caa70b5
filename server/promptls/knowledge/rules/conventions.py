"""Rule file conventions of coding assistants: names and folders of rule files, one row per tool.

The names are searched in the folder of each active file and in all folders above.  Source: documentation of the tools.
"""

from __future__ import annotations

from msgspec import Struct

RuleFolder = tuple[str, tuple[str, ...], int]
"""Path of a folder, extensions of its rule files, and maximum depth of subfolders."""

MAX_RULE_DEPTH = 2
"""Maximum depth of subfolders in folders for rules."""


class RuleConvention(Struct, frozen=True):
    """Locations of one tool's rule files, relative to a folder."""

    name: str
    files: tuple[str, ...] = ()
    folders: tuple[RuleFolder, ...] = ()
    requires_filter: bool = False  # a file of `folders` without a filter applies only on request


CONVENTIONS: tuple[RuleConvention, ...] = (  # order breaks ties between rules
    RuleConvention("promptls", (".promptls/rules.md",), ((".promptls/rules", (".md",), MAX_RULE_DEPTH),)),
    RuleConvention("agents", ("AGENTS.md",)),
    RuleConvention(
        "claude", ("CLAUDE.local.md", "CLAUDE.md", ".claude/CLAUDE.md"), ((".claude/rules", (".md",), MAX_RULE_DEPTH),)
    ),
    RuleConvention("gemini", ("GEMINI.md",)),
    RuleConvention("cursor", (".cursorrules",), ((".cursor/rules", (".mdc", ".md"), MAX_RULE_DEPTH),)),
    RuleConvention(
        "copilot",
        (".github/copilot-instructions.md",),
        ((".github/instructions", (".instructions.md",), MAX_RULE_DEPTH),),
        requires_filter=True,
    ),
    RuleConvention("windsurf", (".windsurfrules",), ((".windsurf/rules", (".md",), 0),)),
    RuleConvention("cline", (".clinerules",), ((".clinerules", (".md", ".txt"), 0),)),
    RuleConvention("cody", (), ((".sourcegraph", (".rule.md",), 0),)),
    RuleConvention(
        "codebuddy",
        ("CODEBUDDY.md", ".codebuddyrules", ".codebuddy/rules.md"),
        ((".codebuddy/rules", (".md",), 0),),
    ),
)

TOP_LEVEL_NAMES = tuple(
    dict.fromkeys(
        name.split("/")[0]
        for family in CONVENTIONS
        for name in (*family.files, *(folder for folder, _, _ in family.folders))
    )
)
"""First path segments of all conventions; checking these few names is cheaper than listing a folder."""

_FILE_NAMES = frozenset(name.rsplit("/", 1)[-1] for family in CONVENTIONS for name in family.files) - {"rules.md"}


def is_convention(name: str) -> bool:
    """Return true if the name (relative to a root) alone identifies a rule file, such as AGENTS.md."""
    return name.rsplit("/", 1)[-1] in _FILE_NAMES
