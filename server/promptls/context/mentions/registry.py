"""The kinds of mentions: which there are, how they are written, who resolves them.

Kinds enter by one door, the entry-point group `promptls.mentions`; ours are no exception.  An entry point
names a `Kind` or an iterable of them.  Loaded when first asked for; a kind that cannot be loaded is a
problem to report, never a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from logging import getLogger

from msgspec import Struct

from promptls.context.mentions import client, file, folder, symbol, workspace
from promptls.context.mentions.request import Request
from promptls.model import Mention, MentionOutcome, Problem

GROUP = "promptls.mentions"

log = getLogger(__name__)


class Kind(Struct, frozen=True):
    """A kind of mention.

    `resolve` says what became of one mention: items with the origin MENTION and the score 1, or a status
    and a sentence.  It looks at `request.token` in loops, reads text through `request.sources` only, and raises
    nothing but `Cancelled`.
    """

    name: str  # what `Mention.kind` holds; an identifier
    syntax: tuple[str, ...]  # how it is written, by example
    help: str  # one or two sentences
    resolve: Callable[[Mention, Request], MentionOutcome]
    priority: int = 0  # place in menus, highest first; of two kinds of one name the higher one counts
    word: bool = True  # called by its name, "@name"; False for the kinds that have a form of their own
    argument: bool = False  # "@name:argument" is its as well; without it that is a path in a root called so


class Registry(Struct, frozen=True):
    """The kinds that could be loaded, and what was wrong with the others."""

    kinds: Mapping[str, Kind]  # by name, in the order of menus
    problems: tuple[Problem, ...] = ()

    def words(self) -> dict[str, bool]:
        """The names that are mentions by themselves, for `grammar.parse`; True with an argument."""
        return {kind.name: kind.argument for kind in self.kinds.values() if kind.word}


BUILT_IN: tuple[Kind, ...] = (
    Kind(
        "file",
        ("@src/app.py", "@app.py", '@"with spaces.py"', "@app.py:10-20", "@app.py#L10", "@root:src/app.py", "@@name"),
        "A file by its path, the end of its path or its name; with lines, only those (1-based, inclusive).",
        file.resolve,
        100,
        word=False,
    ),
    Kind(
        "symbol",
        ("@#Name", "@#Class.method", "@src/app.py#Name", "@#module::name"),
        "A definition by its name, qualified as far as it takes to be clear, anywhere or in one file.",
        symbol.resolve,
        90,
        word=False,
    ),
    Kind(
        "folder",
        ("@src/", "@root:src/"),
        "A folder: its tree, and what of its files serves the question.",
        folder.resolve,
        80,
        word=False,
    ),
    Kind("active", ("@active",), "The document in front of you.", client.resolve_active, 70),
    Kind("selection", ("@selection",), "The lines that are selected.", client.resolve_selection, 60),
    Kind("open", ("@open",), "All documents that are open in the editor.", client.resolve_open, 50),
    Kind(
        "workspace",
        ("@workspace", "@root:"),
        "Everything: all folders of the workspace, or the one of this name.",
        workspace.resolve,
        40,
    ),
)
"""The kinds of this package; its own entry point names this table."""


@cache
def registry() -> Registry:
    """The kinds of all installed packages."""
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> Registry:
    """The kinds that these entry points name, and always our own (a source tree has no metadata)."""
    found: list[Kind] = list(BUILT_IN)
    problems: list[Problem] = []
    for point in points:
        try:
            loaded = point.load()
            kinds = [loaded] if isinstance(loaded, Kind) else list(loaded)
            wrong = [kind for kind in kinds if not isinstance(kind, Kind) or not kind.name.isidentifier()]
            if wrong:
                raise TypeError(f"{wrong[0]!r} is no kind with a proper name")
        except Exception as error:
            log.warning("mention kind %s (%s) cannot be loaded", point.name, point.value, exc_info=True)
            problems.append(
                Problem(
                    f'The mention kind "{point.name}" cannot be loaded from {point.value}: {error}.',
                    "Repair or remove the package that brings it; all other mentions work.",
                )
            )
            continue
        found += [kind for kind in kinds if kind not in BUILT_IN]
    chosen: dict[str, Kind] = {}
    for kind in sorted(found, key=lambda kind: -kind.priority):
        if kind.name in chosen:
            problems.append(
                Problem(
                    f'Two packages bring a mention kind "{kind.name}"; the one with the lower priority is left out.',
                    "Remove one of them, or rename its kind.",
                )
            )
            continue
        chosen[kind.name] = kind
    return Registry(chosen, tuple(problems))
