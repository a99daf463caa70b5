"""Walks list the same files as git for arbitrary names and rules, with and without running git."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from promptls.index.files import uris
from promptls.index.files.read import FileLimits
from promptls.index.files.walk import explain_path, ignored_paths, walk_files
from trees import alone, git

LIMITS = FileLimits()
POSIX = os.name == "posix"

PLAIN = ["a", "b", "ab", "foo", "foo.py", "b.py", "a b", "é", "[a]", "#x", "!y", ".hid", "-r", "'q", "%41", "😀", "A"]
WILD = ["a\\b", "*", "?", "x\ny", 'd"q', "a ", ":m", "\t", "aab", "\udcff.py"] if POSIX else []
NAMES = st.sampled_from(PLAIN + WILD)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)

PIECES = [
    *("a", "b", "ab", "foo", ".py", "é", "A", "*", "*", "*", "**", "?", "/", "/", "/", "**/", "/**", "/**/", "-", "'"),
    *(
        "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[[:upper:]]", "[A-Z]", "[é]", "[]a]", "[a\\]]", "[!]-a]",
        "[a-]",
    ),
    *("[[:x:]]", "[", "\\", "\\a", "\\*", "\\#", "\\!", "\\/", "#", "!", " ", "\\ ", "\t"),
]  # fmt: skip
PATTERNS = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join),
    PATHS.map(lambda path: path.replace("\n", "?")),
    PATHS.map(lambda path: "/" + path.replace("\n", "*") + "/"),
)
LINES = st.builds(lambda negated, pattern: negated + pattern, st.sampled_from(["", "", "", "!"]), PATTERNS)
RULES = st.lists(LINES, min_size=1, max_size=5).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n", "\r\n".join(lines) + "\r\n"])
)


class Tree(Struct, frozen=True):
    files: tuple[str, ...]
    rules: dict[str, str]  # folder → its ignore file
    exclude: str = ""
    users: str = ""
    fold: bool = False


@st.composite
def trees(draw: st.DrawFn, only_files: bool = False) -> Tree:
    paths = sorted(set(draw(st.lists(PATHS, min_size=1, max_size=25))))
    files = [p for p in paths if not any(q.startswith(p + "/") for q in paths)]
    folders = sorted({f.rpartition("/")[0] for f in files} | {""})
    rules = draw(st.dictionaries(st.sampled_from(folders), RULES, max_size=3))
    if only_files:
        return Tree(tuple(files), rules)
    return Tree(tuple(files), rules, draw(st.just("") | RULES), draw(st.just("") | RULES), draw(st.booleans()))


def write_tree(root: Path, tree: Tree, ignore: str = ".gitignore") -> str:
    root.mkdir()
    for name in tree.files:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    for folder, rules in tree.rules.items():
        (root / folder / ignore).write_bytes(rules.encode("utf-8", "surrogateescape"))
    return root.as_posix()


def init(root: str, tree: Tree) -> None:
    """Create a repository without starting git, for speed."""
    for folder in ("objects", "refs", "info"):
        Path(root, ".git", folder).mkdir(parents=True)
    Path(root, ".git/HEAD").write_text("ref: refs/heads/main\n")
    users = f'[core]\nignorecase = {str(tree.fold).lower()}\nexcludesFile = ".git/users"\n'
    Path(root, ".git/config").write_text("[core]\nrepositoryformatversion = 0\n" + users)
    Path(root, ".git/info/exclude").write_bytes(tree.exclude.encode("utf-8", "surrogateescape"))
    Path(root, ".git/users").write_bytes(tree.users.encode("utf-8", "surrogateescape"))


def entries(root: str) -> tuple[list[str], list[str]]:
    """Return the names of (files, folders)."""
    files, folders = [], []
    for place, below, here in os.walk(root):
        way = Path(place).relative_to(root).as_posix() + "/" if place != root else ""
        below[:] = [name for name in below if name != ".git"]
        files += [way + name for name in here]
        folders += [way + name for name in below]
    return files, folders


def readable(names: list[str]) -> set[str]:
    """Return the names that are valid UTF-8; others are never listed."""
    return {name for name in names if not any("\ud800" <= c <= "\udfff" for c in name)}


def git_lists(root: str) -> set[str]:
    out = git(root, "ls-files", "-z", "-co", "--exclude-standard")
    return readable([n for n in os.fsdecode(out).split("\0") if n and not Path(root, n).is_dir()])


def git_ignores(root: str, names: list[str]) -> dict[str, tuple[int, str]]:
    """Return name → (line, rule) of the names ignored according to `git check-ignore`."""
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    fields = os.fsdecode(git(root, "check-ignore", "-v", "-z", "--stdin", data=given, fine=(0, 1))).split("\0")
    hits = {fields[i + 3][2:]: (int(fields[i + 1]), fields[i + 2]) for i in range(0, len(fields) - 3, 4)}
    return {name: hit for name, hit in hits.items() if not hit[1].startswith("!")}


def listed(root: str) -> set[str]:
    return {found.name for found in walk_files(root, LIMITS)}


def ignored(root: str, names: list[str]) -> set[str]:
    start = len(root) + 1
    return {path[start:] for path in ignored_paths(root, [f"{root}/{name}" for name in names])}


@pytest.fixture(autouse=True, scope="module")
def _no_user_git_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        alone(tmp_path_factory.mktemp("home"), patch)
        yield


def check(examples: int):  # type: ignore[no-untyped-def]
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=examples * int(os.environ.get("PROMPTLS_TEST_EXAMPLES", "1")),
        deadline=None,
        suppress_health_check=quiet,
    )


@check(40)
@given(trees(), st.randoms(use_true_random=False))
def test_walk_in_a_repository_equals_git(tree: Tree, chance: object) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = write_tree(Path(base, "r"), tree)
        init(root, tree)
        tracked = [name for name in tree.files if chance.random() < 0.2]  # type: ignore[attr-defined]
        if tracked and not tree.fold:  # ignoring case, git takes "a" for the tracked "A"
            git(root, "add", "-f", "--", *[f":(literal){name}" for name in tracked])
        files, folders = entries(root)
        expected, decisions = git_lists(root), git_ignores(root, files + folders)
        assert listed(root) == expected
        names = sorted(readable(files + folders))
        refused = ignored(root, names)
        assert refused & set(files) == readable(files) - expected
        # check-ignore treats a name with a wildcard as a pattern: "*/a" counts as tracked because "b/a" is.
        names = [name for name in names if not set("*?[\\") & set(name)]
        assert refused & set(names) == set(decisions) & set(names)
        for name in names[:3]:
            decision = explain_path(root, f"{root}/{name}", LIMITS)
            assert (
                (decision.line, decision.rule) == decisions[name]
                if name in decisions
                else decision.rule[:1] in ("", "!")
            )
        # With a "!" in a .promptlsignore, the walk evaluates all rules without git; this pattern matches nothing.
        Path(root, ".promptlsignore").write_text("!nothing/of/that/name\n")
        assert listed(root) - {".promptlsignore"} == expected


@check(40)
@given(trees(only_files=True))
def test_walk_outside_a_repository_equals_git(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as base:
        twin = write_tree(Path(base, "twin"), tree)
        init(twin, Tree((), {}, fold=uris.CASE_INSENSITIVE))
        names = sorted(readable([name for kind in entries(twin) for name in kind]))
        expected, refused = git_lists(twin), set(git_ignores(twin, names))
        root = write_tree(Path(base, "r"), tree)
        assert listed(root) == expected
        assert ignored(root, names) == refused
        # A .promptlsignore has the same syntax.
        promptls_rules = write_tree(Path(base, "own"), tree, ".promptlsignore")
        assert listed(promptls_rules) == {name.replace(".gitignore", ".promptlsignore") for name in expected}


@check(40)
@given(
    trees(only_files=True), trees(only_files=True), st.dictionaries(st.sampled_from(["", "a", "b"]), RULES), st.data()
)
def test_walk_and_ignored_paths_agree(
    outer: Tree, inner: Tree, promptls_rules: dict[str, str], data: st.DataObject
) -> None:
    """With nested repositories and `.promptlsignore` files, each file is either listed or ignored."""
    with tempfile.TemporaryDirectory() as base:
        root = write_tree(Path(base, "r"), outer)
        if data.draw(st.booleans(), label="outer is a repository"):
            init(root, outer)
        place = Path(root, data.draw(st.sampled_from(["n", "n/m", "a.d"]), label="inner"))
        place.parent.mkdir(exist_ok=True)
        init(write_tree(place, inner), inner)
        for folder, rules in promptls_rules.items():
            if Path(root, folder).is_dir():
                Path(root, folder, ".promptlsignore").write_bytes(rules.encode("utf-8", "surrogateescape"))
        files = sorted(readable(entries(root)[0]))
        assert listed(root) == set(files) - ignored(root, files)
        for name in files[:4]:
            decision = explain_path(root, f"{root}/{name}", LIMITS)
            assert decision.indexed == (name in listed(root))
            assert decision.indexed or decision.reason
