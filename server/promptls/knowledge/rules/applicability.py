"""One rules file, judged: whether it holds for the files in play, why, and how much it matters.

A function of the text, of where the file lies and of the files in play.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.knowledge.rules import frontmatter
from promptls.knowledge.rules.conventions import FAMILIES
from promptls.knowledge.rules.filters import Filter, Played, filter_of, holding
from promptls.knowledge.rules.regexes import Effort, TooCostly, Unsupported
from promptls.model import Problem, Root

MOST_PRIORITY = 100
ASKED = "asked for"


class Place(Struct, frozen=True):
    """Where a rules file lies."""

    root: Root
    name: str  # relative to the root
    folder: str  # relative to the root: the rule is about what is in it and below
    family: int  # index in FAMILIES
    label: str  # as the prompt shows it

    @property
    def path(self) -> str:
        return f"{self.root.path.rstrip('/')}/{self.name}"

    @property
    def one_of_many(self) -> bool:
        """Whether it lies in a folder for rules, where files have heads."""
        name = self.name[len(self.folder) + 1 :] if self.folder else self.name
        return any(name.startswith(f"{folder}/") for folder, _, _ in FAMILIES[self.family].folders)


class Judged(Struct, frozen=True):
    """A rules file and whether it holds."""

    place: Place
    head: frontmatter.Head
    filter: Filter
    priority: int
    reason: str = ""  # why it holds
    refusal: str = ""  # why it does not
    position: int = 0  # of the most important file that it holds for
    problem: Problem | None = None

    @property
    def order(self) -> tuple[int, bool, int, int, bool, int, str]:
        """Sorts what comes first to the front.

        Priority; what holds everywhere goes last; then the most important file, the nearest folder, rules
        about some files before those about all.
        """
        folder = self.place.folder
        general = not folder and not self.filter.limited and self.reason != ASKED
        depth = folder.count("/") + 1 if folder else 0
        position = 0 if general else self.position
        return (-self.priority, general, position, -depth, not self.filter.limited, self.place.family, self.place.name)


def judge(
    place: Place, text: str, played: Sequence[Played], named: Collection[str] = (), effort: Effort | None = None
) -> Judged:
    """Read a rule's head and see for which of the files in play it holds; `named` as in `gather`."""
    head = frontmatter.parse(text)
    found = filter_of(head, FAMILIES[place.family].asks_for_filter and place.one_of_many)
    if head.broken and not head.found and place.one_of_many:
        found = Filter(trouble='its head is not understood, or does not end with a line "---"')
    judged = Judged(place, head, found, _priority(head), problem=_trouble(place, head, found))
    below = [
        file
        for file in played
        if file.root == place.root.path and (not place.folder or file.name.startswith(f"{place.folder}/"))
    ]
    if _is_asked(place.label, named):
        return _held(judged, ASKED, below)
    if found.trouble:
        return replace(judged, refusal=found.trouble)
    if found.asked:
        return replace(judged, refusal="it holds only when it is asked for")
    if not found.limited:
        return _held(judged, f"folder {place.folder}" if place.folder else "always", below)
    try:
        held, why = holding(found, below, place.folder, effort or Effort())
    except Unsupported as error:
        return _refused(judged, f"of its path filters, {error}")
    except TooCostly:
        return _refused(judged, "its filters take too long")
    return _held(judged, why, held) if held else replace(judged, refusal=f"no file in play is of {why}")


def _held(judged: Judged, reason: str, files: Sequence[Played]) -> Judged:
    return replace(judged, reason=reason, position=files[0].position if files else 0)


def _refused(judged: Judged, why: str) -> Judged:
    return replace(judged, refusal=why, problem=Problem(f"The rule {judged.place.label} is left out: {why}."))


def _trouble(place: Place, head: frontmatter.Head, found: Filter) -> Problem | None:
    """What is wrong with a head, and what that means."""
    if head.broken and head.found:
        line = f"line {head.broken[0][1]} of its head is not understood"
        does = "it is left out" if found.trouble else "the rest counts"
        return Problem(f"The rule {place.label}: {line}; {does}.", _SPELLING)
    return Problem(f"The rule {place.label} is left out: {found.trouble}.", _SPELLING) if found.trouble else None


_SPELLING = 'Globs are written as: globs: "src/**, *.py"'


def _priority(head: frontmatter.Head) -> int:
    """A whole number; higher comes first."""
    text = head.fields.get("priority", "")
    if not isinstance(text, str) or len(text) > 5 or not text.removeprefix("-").isdecimal():
        return 0
    return max(-MOST_PRIORITY, min(MOST_PRIORITY, int(text)))


def _is_asked(label: str, named: Collection[str]) -> bool:
    """Whether a rule is named: by label, file name, or file name without its endings."""
    base = label.rsplit("/", 1)[-1]
    return bool({label, base, base.rsplit(".", 1)[0], base.split(".")[0]} & set(named) - {""})
