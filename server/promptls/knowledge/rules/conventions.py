"""Where assistants keep their rules: one row for each, looked for in the folder of a file in play and above.

A plain table.  Sources: the documentation of the tools named; for Cody `.sourcegraph/*.rule.md` in any folder
from the file up to the root, for CodeBuddy the list in its settings.
"""

from __future__ import annotations

from msgspec import Struct

Place = tuple[str, tuple[str, ...], int]
"""A folder, the endings of its rules files, and how many levels of folders below it count."""

RULE_DEPTH = 2


class Family(Struct, frozen=True):
    """How one tool lays out its rules below a folder."""

    name: str
    files: tuple[str, ...] = ()
    folders: tuple[Place, ...] = ()
    asks_for_filter: bool = False  # a file of `folders` without a filter waits to be asked for


FAMILIES: tuple[Family, ...] = (  # of two rules that are equal otherwise, the earlier row comes first
    Family("promptls", (".promptls/rules.md",), ((".promptls/rules", (".md",), RULE_DEPTH),)),
    Family("agents", ("AGENTS.md",)),
    Family("claude", ("CLAUDE.local.md", "CLAUDE.md", ".claude/CLAUDE.md"), ((".claude/rules", (".md",), RULE_DEPTH),)),
    Family("gemini", ("GEMINI.md",)),
    Family("cursor", (".cursorrules",), ((".cursor/rules", (".mdc", ".md"), RULE_DEPTH),)),
    Family(
        "copilot",
        (".github/copilot-instructions.md",),
        ((".github/instructions", (".instructions.md",), RULE_DEPTH),),
        asks_for_filter=True,
    ),
    Family("windsurf", (".windsurfrules",), ((".windsurf/rules", (".md",), 0),)),
    Family("cline", (".clinerules",), ((".clinerules", (".md", ".txt"), 0),)),
    Family("cody", (), ((".sourcegraph", (".rule.md",), 0),)),
    Family(
        "codebuddy",
        ("CODEBUDDY.md", ".codebuddyrules", ".codebuddy/rules.md"),
        ((".codebuddy/rules", (".md",), 0),),
    ),
)

ENTRIES = tuple(
    dict.fromkeys(
        name.split("/")[0]
        for family in FAMILIES
        for name in (*family.files, *(folder for folder, _, _ in family.folders))
    )
)
"""What a folder must hold for any of it to be there: a handful of look-ups instead of a listing."""

_NAMES = frozenset(name.rsplit("/", 1)[-1] for family in FAMILIES for name in family.files) - {"rules.md"}


def is_convention(name: str) -> bool:
    """Whether a file of this name (relative to a root) is a rules file by its name alone, such as AGENTS.md."""
    return name.rsplit("/", 1)[-1] in _NAMES
