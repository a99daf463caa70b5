"""Applicability of a rule file to the active files, with reason and order.

A pure function of the text, the location of the rule file and the active files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.knowledge.rules import frontmatter
from promptls.knowledge.rules.conventions import CONVENTIONS
from promptls.knowledge.rules.filters import (
    ActiveFile,
    MatchBudget,
    MatchBudgetExceeded,
    RuleFilter,
    matching_files,
    parse_filter,
)
from promptls.model import Problem, Root
from promptls.util.text.regex import RegexError

MAX_PRIORITY = 100
"""Largest absolute value of the front matter's `priority`; keeps numbers comparable across files."""
REQUESTED = "requested by name"


class RuleLocation(Struct, frozen=True):
    """Location of a rule file."""

    root: Root
    name: str  # relative to the root
    folder: str  # relative to the root; the rule applies to files in it and below
    convention: int  # index in CONVENTIONS
    label: str  # as shown in the prompt

    @property
    def path(self) -> str:
        """Absolute path."""
        return f"{self.root.path.rstrip('/')}/{self.name}"

    @property
    def in_rule_folder(self) -> bool:
        """True if the file is in a folder for rules, where files have front matter."""
        name = self.name[len(self.folder) + 1 :] if self.folder else self.name
        return any(name.startswith(f"{folder}/") for folder, _, _ in CONVENTIONS[self.convention].folders)


class Applicability(Struct, frozen=True):
    """The applicability of a rule file: either `reason` or `rejection` is set."""

    location: RuleLocation
    front_matter: frontmatter.FrontMatter
    filter: RuleFilter
    priority: int
    reason: str = ""  # why the rule applies
    rejection: str = ""  # why the rule does not apply
    position: int = 0  # position of the most important active file that the rule applies to
    problem: Problem | None = None

    @property
    def sort_key(self) -> tuple[int, bool, int, int, bool, int, str]:
        """Sort key: priority, general rules last, position of the active file, nearest folder, rules with filter first."""
        folder = self.location.folder
        general = not folder and not self.filter.is_limited and self.reason != REQUESTED
        depth = folder.count("/") + 1 if folder else 0
        position = 0 if general else self.position
        return (
            -self.priority,
            general,
            position,
            -depth,
            not self.filter.is_limited,
            self.location.convention,
            self.location.name,
        )


def check_applicability(
    location: RuleLocation,
    text: str,
    active_files: Sequence[ActiveFile],
    requested: Collection[str] = (),
    budget: MatchBudget | None = None,
) -> Applicability:
    """Parse the front matter of a rule file and match its filter against the active files.

    Args:
        location: Location of the rule file.
        text: Content of the rule file.
        active_files: Active files, most important first.
        requested: Names of requested rules, as in `collect_rules`.
        budget: Limits the time for all filters of a request.
    """
    front_matter = frontmatter.parse(text)
    rule_filter = parse_filter(
        front_matter, CONVENTIONS[location.convention].requires_filter and location.in_rule_folder
    )
    if front_matter.broken and not front_matter.found and location.in_rule_folder:
        rule_filter = RuleFilter(error='its front matter is invalid or does not end with a line "---"')
    result = Applicability(
        location,
        front_matter,
        rule_filter,
        _parse_priority(front_matter),
        problem=_front_matter_problem(location, front_matter, rule_filter),
    )
    candidates = [
        file
        for file in active_files
        if file.root == location.root.path and (not location.folder or file.name.startswith(f"{location.folder}/"))
    ]
    if _is_requested(location.label, requested):
        return _applicable(result, REQUESTED, candidates)
    if rule_filter.error:
        return replace(result, rejection=rule_filter.error)
    if rule_filter.on_request:
        return replace(result, rejection="applies only when requested by name")
    if not rule_filter.is_limited:
        return _applicable(result, f"folder {location.folder}" if location.folder else "always", candidates)
    try:
        matching, reason = matching_files(rule_filter, candidates, location.folder, budget or MatchBudget())
    except RegexError as error:
        return _rejected(result, f"invalid path filter: {error}")
    except MatchBudgetExceeded:
        return _rejected(result, "its filters take too long to match")
    return (
        _applicable(result, reason, matching)
        if matching
        else replace(result, rejection=f"no active file matches {reason}")
    )


def _applicable(result: Applicability, reason: str, files: Sequence[ActiveFile]) -> Applicability:
    return replace(result, reason=reason, position=files[0].position if files else 0)


def _rejected(result: Applicability, reason: str) -> Applicability:
    return replace(result, rejection=reason, problem=Problem(f"Ignoring the rule {result.location.label}: {reason}."))


def _front_matter_problem(
    location: RuleLocation, front_matter: frontmatter.FrontMatter, rule_filter: RuleFilter
) -> Problem | None:
    """Return a problem for invalid front matter, or None."""
    if front_matter.broken and front_matter.found:
        effect = "the rule is ignored" if rule_filter.error else "the line is ignored"
        line = front_matter.broken[0][1]
        return Problem(f"Invalid line {line} in the front matter of {location.label}; {effect}.", _GLOB_HINT)
    return (
        Problem(f"Ignoring the rule {location.label}: {rule_filter.error}.", _GLOB_HINT) if rule_filter.error else None
    )


_GLOB_HINT = 'Write globs as: globs: "src/**, *.py"'


def _parse_priority(front_matter: frontmatter.FrontMatter) -> int:
    """Parse the priority, an integer; higher priorities come first."""
    text = front_matter.fields.get("priority", "")
    if not isinstance(text, str) or len(text) > 5 or not text.removeprefix("-").isdecimal():
        return 0
    return max(-MAX_PRIORITY, min(MAX_PRIORITY, int(text)))


def _is_requested(label: str, requested: Collection[str]) -> bool:
    """Return true if a rule is requested by label, file name, or file name without extensions."""
    base = label.rsplit("/", 1)[-1]
    return bool({label, base, base.rsplit(".", 1)[0], base.split(".")[0]} & set(requested) - {""})
