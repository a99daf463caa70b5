"""Folder tree of a project for an overview: the main folders with their number of files and their purpose.

Folders of tests, documentation, examples and build output have one line; hidden folders have none.  A chain of folders
with nothing else in them, such as "src/main/java/com/example", is one entry.  Pure functions of tallies.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from promptls.knowledge.project.file_kind import CORE, LAYER_DESCRIPTIONS, is_peripheral, layer_of

MAX_TOP_FOLDERS, MAX_SUBFOLDERS, MAX_TREE_FOLDERS = 12, 10, 24
"""Maximum number of top-level folders, of folders in one of them, and of all folders that share this number fairly."""
MAIN_SHARE, MIN_MAIN_FILES = 0.8, 20
"""Minimum share and number of the code files of a folder in the subfolder that the tree shows instead of it."""
MAX_FILE_NAMES = 20
"""Maximum number of file names listed for one folder."""
MAX_LISTED_FILES = 80
"""Maximum number of code files in a project whose tree lists file names, without tests and the like."""
MAX_PURPOSE_CHARACTERS = 70
"""Maximum length of the purpose of a folder."""

_FOLDER_ROLES = {
    name: role
    for names, role in (
        ("src lib", "source code"),
        ("app", "the application"),
        ("apps", "applications"),
        ("packages", "packages of a monorepo"),
        ("crates", "crates of a workspace"),
        ("pkg", "packages"),
        ("internal", "packages for this project alone"),
        ("cmd bin", "programs"),
        ("server", "the server"),
        ("backend", "the back end"),
        ("client", "the client"),
        ("frontend", "the front end"),
        ("web", "the web front end"),
        ("api", "the interface for others"),
        ("test tests spec", "tests"),
        ("e2e", "end-to-end tests"),
        ("docs doc", "documentation"),
        ("examples example", "examples"),
        ("scripts", "scripts for development"),
        ("tools", "tools for development"),
        ("benchmarks bench", "benchmarks"),
        ("fixtures", "test data"),
        ("migrations", "database migrations"),
        ("config", "configuration"),
        ("public static assets", "static files"),
        ("templates", "templates"),
        ("locales", "translations"),
        ("deploy k8s", "deployment"),
        ("infra terraform", "infrastructure"),
        ("docker", "containers"),
        ("vendor third_party", "copies of other projects"),
        ("proto", "protocol definitions"),
        (".github", "continuous integration and GitHub settings"),
        (".gitlab", "GitLab settings"),
        (".circleci", "continuous integration"),
        (".vscode", "editor settings"),
        ("editors", "editor clients"),
    )
    for name in names.split()
}

_AUXILIARY = frozenset(
    "test tests spec specs e2e testing testdata __tests__ integration docs doc documentation example examples samples demo demos"
    " benchmark benchmarks bench benches fixtures vendor third_party node_modules dist build out target coverage debian"
    " scripts tools hack ci assets static public images img locales changelog changes".split()
)
"""Folders of one line: their content does not show how the project works."""
_PROSE_AND_DATA = frozenset({"text", "markdown", "json", "yaml", "toml", "html", "css"})
_OBSOLETE = re.compile(r"(?:^|[/_-])(?:deprecated|legacy|archived?|obsolete)(?:[/_-]|$)", re.IGNORECASE)
_TEST_SUPPORT = re.compile(r"(?:^|[/_-])test(?:s|ing|utils?|data|kit|_?helpers?)?(?:/|$)", re.IGNORECASE)
_GO_PACKAGE = re.compile(r"^Package \w+ ")
_SENTENCE = re.compile(r"(?<=[.!?\u3002])\s")


class TreeFolder(Struct, frozen=True):
    """A folder of the tree."""

    path: str  # relative to the root, "" for the root
    depth: int  # 0 for the root and top-level folders
    files: int  # with subfolders; of the root its own files only
    purpose: str = ""
    names: tuple[str, ...] = ()  # main files directly in the folder
    omitted: int = 0  # subfolders that are not in the tree
    needs: tuple[str, ...] = ()  # names of other packages of the project that its manifest requires


def is_obsolete(path: str) -> bool:
    """Return whether a folder of a path is named as one of code that is kept for old users."""
    return _OBSOLETE.search(path) is not None


def folder_role(folder: str) -> str:
    """Return the usual purpose of a folder by its name, or ""."""
    return _FOLDER_ROLES.get(folder.lower(), "")


def first_sentence(text: str) -> str:
    """Return the first sentence of a documentation text, shortened to one line."""
    sentence = _SENTENCE.split(" ".join(text.split())[: 4 * MAX_PURPOSE_CHARACTERS], maxsplit=1)[0].rstrip(".")
    return (
        sentence if len(sentence) <= MAX_PURPOSE_CHARACTERS else sentence[: MAX_PURPOSE_CHARACTERS - 1].rstrip() + "…"
    )


def folder_tree(
    counts: Mapping[tuple[str, str], int],
    names: Collection[str],
    docs: Mapping[str, str],
    needs: Mapping[str, tuple[str, ...]],
) -> tuple[TreeFolder, ...]:
    """Return the tree of the main folders, parents before children.

    Args:
        counts: Number of files by folder and language, without files of subfolders.
        names: Names of all files, relative to the root.
        docs: Documentation of packages by folder.
        needs: Names of other packages of the project that a package requires, by its folder.
    """
    own = {folder: 0 for folder, _ in counts}
    code: dict[str, int] = {}
    for (folder, language), count in counts.items():
        own[folder] += max(0, count)
        for parent in _with_parents(folder) if language not in _PROSE_AND_DATA and count > 0 else ():
            code[parent] = code.get(parent, 0) + count
    totals: dict[str, int] = {}
    children: dict[str, set[str]] = {}
    for folder, count in own.items():
        for parent in _with_parents(folder) if count else ():
            totals[parent] = totals.get(parent, 0) + count
            if parent:
                children.setdefault(parent.rpartition("/")[0], set()).add(parent)
    listed: Collection[str] = ()
    if code.get("", 0) <= 10 * MAX_LISTED_FILES:
        main = [n for n in names if not _is_auxiliary(n.rpartition("/")[0]) and _CODE_FILE.fullmatch(_base(n))]
        listed = main if len(main) <= MAX_LISTED_FILES else ()
    tree: list[TreeFolder] = []
    root_names = _file_names("", listed)
    if root_names:
        tree.append(TreeFolder("", 0, own.get("", 0), "", root_names))
    ordered = [
        f
        for f in _by_size(children.get("", ()), totals, code)
        if folder_role(f) or ((code.get(f, 0) or not code) and not _is_auxiliary(f))
    ]
    tops = ordered[:MAX_TOP_FOLDERS]
    main_count = sum(not _is_auxiliary(top) for top in tops)
    max_below = min(MAX_SUBFOLDERS, max(2, (MAX_TREE_FOLDERS - len(tops)) // max(1, main_count)))
    for top in tops:
        folder = _main_folder(top, own, children, code)
        if _is_auxiliary(folder):
            tree.append(TreeFolder(top, 0, totals[top], folder_role(top)))
            continue
        below = [f for f in _by_size(children.get(folder, ()), totals, code) if not _is_auxiliary(f) and code.get(f, 0)]
        purpose = _purpose(top if top in docs else folder, docs)
        omitted = max(0, len(below) - max_below)
        needed = needs.get(top, ())
        tree.append(TreeFolder(folder, 0, totals[folder], purpose, _file_names(folder, listed), omitted, needed))
        for sub in below[:max_below]:
            inner = _main_folder(sub, own, children, {})
            purpose = _purpose(sub if sub in docs else inner, docs)
            needed = needs.get(sub, ())
            tree.append(TreeFolder(inner, 1, totals[inner], purpose, _file_names(inner, listed), needs=needed))
    return tuple(tree)


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _with_parents(folder: str) -> list[str]:
    """Return a folder and all folders around it; "" is the root."""
    parts = folder.split("/") if folder else []
    return ["", *("/".join(parts[: i + 1]) for i in range(len(parts)))]


def _by_size(folders: Collection[str], totals: Mapping[str, int], code: Mapping[str, int]) -> list[str]:
    """Return the visible folders: the project's code first, then the others, each by number of files."""
    visible = [f for f in folders if not _base(f).startswith(".")]
    return sorted(visible, key=lambda f: (_is_auxiliary(f), -code.get(f, 0), -totals[f], f))


def _is_auxiliary(folder: str) -> bool:
    return (
        not _AUXILIARY.isdisjoint(folder.lower().split("/"))
        or _TEST_SUPPORT.search(folder) is not None
        or is_obsolete(folder)
        or is_peripheral(f"{folder}/x")
    )


def _main_folder(folder: str, own: Mapping[str, int], children: Mapping[str, set[str]], code: Mapping[str, int]) -> str:
    """Return the innermost folder of a chain in which each folder contains only the next one, or most of its code."""
    while inner := sorted(children.get(folder, ()), key=lambda f: (-code.get(f, 0), f)):
        is_chain = len(inner) == 1 and not own.get(folder)
        if not is_chain and code.get(inner[0], 0) < max(MIN_MAIN_FILES, MAIN_SHARE * code.get(folder, 0)):
            break
        if not is_chain and _is_auxiliary(inner[0]):
            break
        folder = inner[0]
    return folder


def _purpose(folder: str, docs: Mapping[str, str]) -> str:
    name = _base(folder)
    layer = layer_of(f"{name}/x")
    described = first_sentence(_GO_PACKAGE.sub("", docs.get(folder, "")))
    return described or folder_role(name) or (LAYER_DESCRIPTIONS[layer].rstrip(".").lower() if layer != CORE else "")


def _file_names(folder: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the code files directly in a folder."""
    prefix = f"{folder}/" if folder else ""
    direct = sorted(n[len(prefix) :] for n in names if n.startswith(prefix) and "/" not in n[len(prefix) :])
    shown: Sequence[str] = [n for n in direct if _CODE_FILE.fullmatch(n) and not is_peripheral(n)]
    return (*shown[:MAX_FILE_NAMES], *(("…",) if len(shown) > MAX_FILE_NAMES else ()))


_CODE_FILE = re.compile(
    r"(?!(?:__init__|setup|conftest|noxfile|build|gulpfile|version|_version)\.)[\w-][\w.-]*"
    r"\.(?:py|pyx|js|mjs|cjs|jsx|ts|mts|tsx|go|rs|java|kt|kts|scala|c|h|cc|cpp|cxx|hpp|hh|cs|fs|rb|php|swift|m|mm|lua|pl|pm|ex|exs"
    r"|erl|hs|ml|mli|clj|dart|jl|r|R|vue|svelte|zig|nim|sh|sql|proto|el|vim|tf|elm|groovy|v|vhd|f90|pas)",
)
