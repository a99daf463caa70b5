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
from typing import Literal

from msgspec import Struct

from promptls.mentions.context import Request
from promptls.mentions.grammar import parse
from promptls.mentions.resolvers import (
    editor,
    file,
    file_sets,
    folder,
    git,
    relations,
    rules_memory,
    search,
    symbol,
    workspace,
)
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
    argument: Literal["nothing", "optional", "required"] = "nothing"  # whether "@name:argument" is its as well
    aliases: tuple[str, ...] = ()  # other names for it
    takes: Literal["", "symbol", "path"] = ""  # what an argument names, for completion
    offers: tuple[str, ...] = ()  # arguments to offer
    costly: bool = False  # whether it may take more than a few milliseconds
    needs: tuple[str, ...] = ()  # fields of the client's context that it cannot do without


class Registry(Struct, frozen=True):
    """The kinds that could be loaded, and what was wrong with the others."""

    kinds: Mapping[str, Kind]  # by name, in the order of menus
    problems: tuple[Problem, ...] = ()

    def words(self) -> dict[str, str]:
        """The names that are mentions by themselves, for `grammar.parse`, with whether they take an argument."""
        words = {alias: kind.argument for kind in self.kinds.values() if kind.word for alias in kind.aliases}
        return {**words, **{kind.name: kind.argument for kind in self.kinds.values() if kind.word}}

    def named(self, name: str) -> Kind | None:
        """The kind of this name, or the first that has it as another one."""
        found = self.kinds.get(name)
        return found or next((kind for kind in self.kinds.values() if name in kind.aliases), None)


BUILT_IN: tuple[Kind, ...] = (
    Kind(
        "file",
        (
            "@src/app.py",
            "@app.py",
            '@"with spaces.py"',
            "@app.py:10-20",
            "@app.py#L10",
            "@root:src/app.py",
            "@@name",
            "@src/*.{ts,tsx}",
        ),
        "A file by its path, the end of its path or its name; with lines, only those (1-based, inclusive); with stars or braces, all that fit.",
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
    Kind("active", ("@active",), "The document in front of you.", editor.resolve_active, 75, needs=("activeDocument",)),
    Kind(
        "selection", ("@selection",), "The lines that are selected.", editor.resolve_selection, 74, needs=("selection",)
    ),
    Kind(
        "open",
        ("@open",),
        "All documents that are open in the editor.",
        editor.resolve_open,
        73,
        needs=("openDocuments",),
    ),
    Kind(
        "visible",
        ("@visible",),
        "The documents that can be seen in the editor.",
        editor.resolve_visible,
        72,
        needs=("visibleDocuments",),
    ),
    Kind(
        "diff",
        ("@diff", "@diff:staged", "@diff:unstaged", "@diff:unsaved", "@diff:main..HEAD"),
        "What has changed since the last commit, with text that is not saved yet; or between two commits.",
        git.resolve_diff,
        70,
        argument="optional",
        aliases=("changes",),
        offers=("staged", "unstaged", "unsaved"),
        costly=True,
    ),
    Kind("staged", ("@staged",), "What the next commit will change.", git.resolve_staged, 69, costly=True),
    Kind(
        "recent",
        ("@recent", "@recent:10m", "@recent:prompt"),
        "What was edited within a time, or since the last prompt was built.",
        git.resolve_recent,
        69,
        argument="optional",
        offers=("prompt", "10m", "1h", "1d"),
        costly=True,
    ),
    Kind(
        "commit",
        ("@commit:1a2b3c4", "@commit:v1.0..v1.1"),
        "What a commit, or all between two, have changed, and what they say.",
        git.resolve_commit,
        68,
        argument="required",
        costly=True,
    ),
    Kind(
        "branch",
        ("@branch", "@branch:feature/login"),
        "What a branch has changed since it left the main one; without a name that which is checked out.",
        git.resolve_branch,
        67,
        argument="optional",
        costly=True,
    ),
    Kind(
        "codebase",
        ("@codebase", '@codebase:"where are retries limited"', '@codebase:src/net/:"retries"'),
        "What the workspace has on the question, or on what stands in quotes, everywhere or in a folder.",
        search.resolve_codebase,
        65,
        argument="optional",
        costly=True,
    ),
    Kind(
        "text",
        ("@text:timeout", '@text:"retry limit"', '@text:src/:"retry limit"'),
        "The lines that hold a text, letter case aside unless it has capitals, with what is around them.",
        search.resolve_text,
        64,
        argument="required",
        aliases=("grep",),
        costly=True,
    ),
    Kind(
        "regex",
        (r'@regex:"def \w+_cart"', r'@regex:src/:"TODO\(\w+\)"'),
        "The lines that a regular expression matches, with what is around them.",
        search.resolve_regex,
        63,
        argument="required",
        costly=True,
    ),
    Kind(
        "pattern",
        ('@pattern:"reserve($A, $$$)"', '@pattern:"(class_definition) @c"', '@pattern:src/:"$X == None"'),
        "Code of a shape: $A is one expression, $$$ any number of them; or what a tree-sitter query captures.",
        search.resolve_pattern,
        62,
        argument="required",
        costly=True,
    ),
    Kind(
        "callers",
        ("@callers:Cart.total", "@callers:src/cart.py#total"),
        "What calls a definition, as far as the syntax tells.",
        relations.resolve_callers,
        60,
        argument="required",
        takes="symbol",
        costly=True,
    ),
    Kind(
        "callees",
        ("@callees:Cart.total",),
        "What a definition calls, as far as the syntax tells.",
        relations.resolve_callees,
        59,
        argument="required",
        takes="symbol",
        costly=True,
    ),
    Kind(
        "usages",
        ("@usages:Money",),
        "Where a definition is used: called, extended, named as a type.",
        relations.resolve_usages,
        58,
        argument="required",
        aliases=("references",),
        takes="symbol",
        costly=True,
    ),
    Kind(
        "implementations",
        ("@implementations:Store", "@implementations:Store.load"),
        "What extends or implements a type, or overrides a method.",
        relations.resolve_implementations,
        57,
        argument="required",
        takes="symbol",
        costly=True,
    ),
    Kind(
        "tests",
        ("@tests:apply_discount", "@tests:src/cart.py"),
        "The tests of a definition or a file.",
        relations.resolve_tests,
        56,
        argument="required",
        takes="symbol",
        costly=True,
    ),
    Kind(
        "path",
        ("@path:main..Store.save",),
        "The shortest ways of calls from one definition to another.",
        relations.resolve_path,
        55,
        argument="required",
        takes="symbol",
        costly=True,
    ),
    Kind(
        "map",
        ("@map", "@map:src/"),
        "The outline of the files that most others lean on, everywhere or in a folder.",
        file_sets.resolve_map,
        50,
        argument="optional",
        aliases=("repomap",),
        takes="path",
        costly=True,
    ),
    Kind(
        "tree",
        ("@tree", "@tree:src/"),
        "The names of all folders and files, everywhere or in a folder.",
        file_sets.resolve_tree,
        49,
        argument="optional",
        takes="path",
        costly=True,
    ),
    Kind(
        "glob",
        ("@glob:src/**/*.sql", "@glob:*.{ts,tsx}"),
        "The files whose paths fit a pattern.",
        file_sets.resolve_glob,
        48,
        argument="required",
        costly=True,
    ),
    Kind(
        "layer",
        ("@layer:api",),
        "The files of a layer: api, service, data, ui, test and so on, or one of your own.",
        file_sets.resolve_layer,
        47,
        argument="required",
        costly=True,
    ),
    Kind(
        "rules", ("@rules",), "The rule files of the workspace: AGENTS.md and the like.", rules_memory.resolve_rules, 45
    ),
    Kind(
        "memory",
        ("@memory", '@memory:"deployment"'),
        "What promptls was told to remember, all of it or what is about something.",
        rules_memory.resolve_memory,
        44,
        argument="optional",
    ),
    Kind(
        "diagnostics",
        ("@diagnostics", "@diagnostics:errors", "@diagnostics:src/app.py"),
        "What the editor shows as wrong, with the code it is about.",
        editor.resolve_diagnostics,
        42,
        argument="optional",
        aliases=("problems",),
        offers=("errors", "warnings"),
        needs=("diagnostics",),
    ),
    Kind(
        "terminal",
        ("@terminal", "@terminal:50"),
        "The last output of the terminal, or its last lines.",
        editor.resolve_terminal,
        41,
        argument="optional",
        needs=("terminal",),
    ),
    Kind(
        "quickfix",
        ("@quickfix",),
        "The places in the editor's quickfix or location list, with the code around them.",
        editor.resolve_quickfix,
        40,
        needs=("quickfix",),
    ),
    Kind("clipboard", ("@clipboard",), "The clipboard.", editor.resolve_clipboard, 39, needs=("clipboard",)),
    Kind(
        "history",
        ("@history", "@history:4"),
        "Earlier turns of the conversation, or the last few.",
        editor.resolve_history,
        38,
        argument="optional",
        needs=("history",),
    ),
    Kind(
        "workspace",
        ("@workspace", "@root:"),
        "Everything: all folders of the workspace, or the one of this name.",
        workspace.resolve,
        37,
    ),
)
"""The kinds of this package; its own entry point names this table."""


@cache
def registry() -> Registry:
    """The kinds of all installed packages."""
    return load(entry_points(group=GROUP))


def needed(message: str, kinds: Registry | None = None) -> tuple[str, ...]:
    """The fields of the client's context that the mentions of a message cannot do without."""
    kinds = kinds or registry()
    found = (kinds.named(mention.kind) for mention in parse(message, kinds.words()))
    return tuple(dict.fromkeys(need for kind in found if kind is not None for need in kind.needs))


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
