"""Registry of mention kinds: names, syntax, help texts and resolvers.

Kinds are loaded from the entry-point group `promptls.mentions`, the built-in ones included.  An entry point names
a `MentionKind` or an iterable of them.  A kind that cannot be loaded is reported as a `Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from logging import getLogger

from promptls.mentions.kinds import KindRegistry, MentionKind
from promptls.mentions.resolvers import editor, file, file_sets, git, relations, symbol, team, text_search
from promptls.mentions.syntax.grammar import parse
from promptls.model import Problem

ENTRY_POINT_GROUP = "promptls.mentions"

BUILT_IN_PRIORITY = 100
"""Priority of all built-in kinds: a plugin kind with a greater one precedes and can replace them."""

log = getLogger(__name__)


BUILT_IN: tuple[MentionKind, ...] = (
    MentionKind(
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
        "A file by path, path suffix or name. Lines are 1-based and inclusive. A glob selects several files.",
        file.resolve_file,
        keyword=False,
    ),
    MentionKind(
        "symbol",
        ("@#Name", "@#Class.method", "@src/app.py#Name", "@#module::name"),
        "A symbol by name, qualified as far as necessary, anywhere or in one file.",
        symbol.resolve,
        keyword=False,
    ),
    MentionKind(
        "folder",
        ("@src/", "@root:src/"),
        "A folder: its tree, and the files relevant to the question.",
        file.resolve_folder,
        keyword=False,
    ),
    MentionKind(
        "active", ("@active",), "The active document.", editor.resolve_active, required_fields=("activeDocument",)
    ),
    MentionKind(
        "selection", ("@selection",), "The selected lines.", editor.resolve_selection, required_fields=("selection",)
    ),
    MentionKind(
        "open", ("@open",), "All documents open in the editor.", editor.resolve_open, required_fields=("openDocuments",)
    ),
    MentionKind(
        "visible",
        ("@visible",),
        "The documents visible in the editor.",
        editor.resolve_visible,
        required_fields=("visibleDocuments",),
    ),
    MentionKind(
        "diff",
        ("@diff", "@diff:staged", "@diff:unstaged", "@diff:unsaved", "@diff:main..HEAD"),
        "Uncommitted changes, unsaved text included, or the changes between two commits.",
        git.resolve_diff,
        argument="optional",
        aliases=("changes",),
        suggestions=("staged", "unstaged", "unsaved"),
        expensive=True,
        argument_type="revision",
    ),
    MentionKind("staged", ("@staged",), "Staged changes.", git.resolve_staged, expensive=True),
    MentionKind(
        "recent",
        ("@recent", "@recent:10m", "@recent:prompt"),
        "Edits within a period, or since the last prompt was built.",
        git.resolve_recent,
        argument="optional",
        suggestions=("prompt", "10m", "1h", "1d"),
        expensive=True,
    ),
    MentionKind(
        "commit",
        ("@commit:1a2b3c4", "@commit:v1.0..v1.1"),
        "Changes and messages of one commit or a range of commits.",
        git.resolve_commit,
        argument="required",
        expensive=True,
        argument_type="revision",
    ),
    MentionKind(
        "branch",
        ("@branch", "@branch:feature/login"),
        "Changes on a branch since it diverged from the default branch; defaults to the current branch.",
        git.resolve_branch,
        argument="optional",
        expensive=True,
        argument_type="branch",
    ),
    MentionKind(
        "codebase",
        ("@codebase", '@codebase:"where are retries limited"', '@codebase:src/net/:"retries"'),
        "Semantic and keyword search for the question or a quoted query, optionally in one folder.",
        text_search.resolve_codebase,
        argument="optional",
        expensive=True,
    ),
    MentionKind(
        "team",
        ('@team:"how are vouchers validated"', "@team:acme/shop/src/cart.py", "@team:acme/shop#Cart.total"),
        "Search in the team index for the question or a quoted query, or a file or symbol of one of its repositories.",
        team.resolve,
        argument="optional",
        expensive=True,
        argument_type="team",
    ),
    MentionKind(
        "text",
        ("@text:timeout", '@text:"retry limit"', '@text:src/:"retry limit"'),
        "Lines containing the text (smart case), with context.",
        text_search.resolve_text,
        argument="required",
        aliases=("grep",),
        expensive=True,
    ),
    MentionKind(
        "regex",
        (r'@regex:"def \w+_cart"', r'@regex:src/:"TODO\(\w+\)"'),
        "Lines matching a regular expression (RE2 syntax), with context.",
        text_search.resolve_regex,
        argument="required",
        expensive=True,
    ),
    MentionKind(
        "pattern",
        ('@pattern:"reserve($A, $$$)"', '@pattern:"(class_definition) @c"', '@pattern:src/:"$X == None"'),
        "Structural search: $A matches one expression, $$$ any number of them; or the captures of a tree-sitter query.",
        text_search.resolve_pattern,
        argument="required",
        expensive=True,
    ),
    MentionKind(
        "callers",
        ("@callers:Cart.total", "@callers:src/cart.py#total"),
        "Callers of a function, found by syntactic analysis; without any, the places that pass or register it.",
        relations.resolve_callers,
        argument="required",
        argument_type="symbol",
        expensive=True,
    ),
    MentionKind(
        "callees",
        ("@callees:Cart.total",),
        "Functions called by a function, found by syntactic analysis.",
        relations.resolve_callees,
        argument="required",
        argument_type="symbol",
        expensive=True,
    ),
    MentionKind(
        "usages",
        ("@usages:Money",),
        "Usages of a symbol: calls, values, subtypes, type annotations, imports.",
        relations.resolve_usages,
        argument="required",
        aliases=("references", "refs"),
        argument_type="symbol",
        expensive=True,
    ),
    MentionKind(
        "implementations",
        ("@implementations:Store", "@implementations:Store.load"),
        "Subtypes of a type, or overrides of a method.",
        relations.resolve_implementations,
        argument="required",
        argument_type="symbol",
        expensive=True,
    ),
    MentionKind(
        "tests",
        ("@tests:apply_discount", "@tests:src/cart.py"),
        "Tests of a symbol or a file.",
        relations.resolve_tests,
        argument="required",
        argument_type="target",
        expensive=True,
    ),
    MentionKind(
        "path",
        ("@path:main..Store.save",),
        "The shortest call paths from one function to another.",
        relations.resolve_path,
        argument="required",
        argument_type="symbol",
        expensive=True,
    ),
    MentionKind(
        "map",
        ("@map", "@map:src/"),
        "A repo map: outlines of the most-referenced files, optionally under one folder.",
        file_sets.resolve_map,
        argument="optional",
        aliases=("repomap",),
        argument_type="path",
        expensive=True,
    ),
    MentionKind(
        "tree",
        ("@tree", "@tree:src/"),
        "The names of all folders and files, optionally under one folder.",
        file_sets.resolve_tree,
        argument="optional",
        argument_type="path",
        expensive=True,
    ),
    MentionKind(
        "glob",
        ("@glob:src/**/*.sql", "@glob:*.{ts,tsx}"),
        "Files whose paths match a glob pattern.",
        file_sets.resolve_glob,
        argument="required",
        expensive=True,
    ),
    MentionKind(
        "layer",
        ("@layer:api",),
        "Files of one architectural layer: api, service, data, ui, test and others, or a layer of your settings.",
        file_sets.resolve_layer,
        argument="required",
        expensive=True,
        argument_type="layer",
    ),
    MentionKind("rules", ("@rules",), "Rule files of the workspace, such as AGENTS.md.", file_sets.resolve_rules),
    MentionKind(
        "memory",
        ("@memory", '@memory:"deployment"'),
        "Entries of the memory, all of them or those relevant to a query.",
        file_sets.resolve_memory,
        argument="optional",
    ),
    MentionKind(
        "diagnostics",
        ("@diagnostics", "@diagnostics:errors", "@diagnostics:src/app.py"),
        "Diagnostics reported by the editor, with the code they refer to.",
        editor.resolve_diagnostics,
        argument="optional",
        aliases=("problems",),
        suggestions=("errors", "warnings"),
        required_fields=("diagnostics",),
        argument_type="diagnostics",
    ),
    MentionKind(
        "terminal",
        ("@terminal", "@terminal:50"),
        "The latest terminal output, or its last lines.",
        editor.resolve_terminal,
        argument="optional",
        required_fields=("terminal",),
        suggestions=("20", "50", "200"),
    ),
    MentionKind(
        "quickfix",
        ("@quickfix",),
        "Locations in the editor's quickfix or location list, with the surrounding code.",
        editor.resolve_quickfix,
        required_fields=("quickfix",),
    ),
    MentionKind(
        "clipboard",
        ("@clipboard",),
        "The content of the clipboard.",
        editor.resolve_clipboard,
        required_fields=("clipboard",),
    ),
    MentionKind(
        "history",
        ("@history", "@history:4"),
        "Earlier turns of the conversation, or the last few.",
        editor.resolve_history,
        argument="optional",
        required_fields=("history",),
        suggestions=("1", "2", "4"),
    ),
    MentionKind(
        "workspace",
        ("@workspace", "@root:"),
        "The whole workspace, which is searched for the question, or the folder with this name.",
        file.resolve_workspace,
    ),
)
"""Built-in kinds in menu order; registered as an entry point like those of plugins."""


@cache
def registry() -> KindRegistry:
    """Return the kinds of all installed packages."""
    return load_kinds(entry_points(group=ENTRY_POINT_GROUP))


def required_context_fields(message: str, kinds: KindRegistry | None = None) -> tuple[str, ...]:
    """Return the fields of the client context that the mentions of a message need."""
    kinds = kinds or registry()
    mentioned = (kinds.get(mention.kind) for mention in parse(message, kinds.keywords()))
    return tuple(dict.fromkeys(field for kind in mentioned if kind is not None for field in kind.required_fields))


def load_kinds(points: Iterable[EntryPoint]) -> KindRegistry:
    """Load the kinds of entry points; built-in kinds are always present, even without package metadata."""
    loaded_kinds: list[MentionKind] = list(BUILT_IN)
    problems: list[Problem] = []
    for point in points:
        try:
            loaded = point.load()
            kinds = [loaded] if isinstance(loaded, MentionKind) else list(loaded)
            invalid = [kind for kind in kinds if not isinstance(kind, MentionKind) or not kind.name.isidentifier()]
            if invalid:
                raise TypeError(f"{invalid[0]!r} is not a MentionKind with an identifier as its name")
        except Exception as error:
            log.warning("cannot load the mention kind %s (%s)", point.name, point.value, exc_info=True)
            problems.append(
                Problem(
                    f'Cannot load the mention kind "{point.name}" from {point.value}: {error}.',
                    "Update or uninstall its package. All other mentions work.",
                )
            )
            continue
        loaded_kinds += [kind for kind in kinds if kind not in BUILT_IN]
    by_name: dict[str, MentionKind] = {}
    for kind in sorted(loaded_kinds, key=_sort_key):
        if kind.name in by_name:
            problems.append(
                Problem(
                    f'Two packages define the mention kind "{kind.name}"; the one with lower priority is ignored.',
                    "Uninstall one of them, or rename its kind.",
                )
            )
            continue
        by_name[kind.name] = kind
    return KindRegistry(by_name, tuple(problems))


def _sort_key(kind: MentionKind) -> int:
    return -(BUILT_IN_PRIORITY if kind in BUILT_IN else kind.priority)
