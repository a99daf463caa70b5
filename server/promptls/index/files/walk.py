"""File walk: list the files of a root, explain why a path is or is not listed, and detect changes since a walk.

`walk_files`, `ignored_paths` and `explain_path` agree.  A file is listed if and only if it is not ignored.  A listed
file is indexed if and only if its text can be read.

Changes are detected by `stat` of the known folders and files, in a quarter of the time of a walk.  Added, deleted and
renamed files change the mtime of their folder, and modified files their own.  Ignore files are compared by size and
mtime.  Other changes (rules outside the root, an ignored file that git tracks) are only detected by the next walk.
"""

from __future__ import annotations

import os
import posixpath
import stat as modes
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from promptls.index.files import git_ignore
from promptls.index.files.contained import open_folder
from promptls.index.files.ignore import (
    IGNORE_FILE,
    FolderRules,
    IgnoreDecision,
    IgnoreTree,
    always_excluded,
    file_mode,
    is_ignore_file,
    is_reinclusion,
    rule_decision,
    undecodable_part,
)
from promptls.index.files.read import (
    FileLimits,
    UnreadableFile,
    file_stat,
    folder_exists,
    is_out_of_resources,
    read_text,
)
from promptls.index.files.uris import WINDOWS, is_inside
from promptls.model import CancelToken

_OUTSIDE_ROOT = IgnoreDecision(False, "it is outside the workspace folder")
_DEFAULT_LIMITS = FileLimits()


class WalkNotes:
    """Links, files and folders that a walk leaves out, for the status."""

    def __init__(self) -> None:
        self.links: list[str] = []  # names of links
        self.linked_folders: list[str] = []  # names of links to folders outside of the root, which are not followed
        self.undecodable_names: set[str] = set()  # topmost files and folders whose name is not valid UTF-8


class FileInfo(Struct, frozen=True, gc=False):
    """File listed by a walk."""

    path: str
    name: str  # relative to the root
    size: int  # bytes
    mtime_ns: int


def walk_files(
    root: str,
    limits: FileLimits,
    token: CancelToken | None = None,
    folder: str = "",
    notes: WalkNotes | None = None,
) -> Iterator[FileInfo]:
    """Yield the files of a root that are not ignored, whatever their content, up to `limits.max_files`.

    With `folder`, only files in the folder of this name (relative to the root) are listed.  Unreadable folders are
    skipped, and a root that does not exist is empty.  `notes` receives what is left out.

    Raises:
        Cancelled: The token was cancelled.
        OSError: The system is out of file descriptors or memory.
    """
    ignore_tree = IgnoreTree(root, limits.ignore_files)
    notes = notes or WalkNotes()
    if folder and ignored_paths(root, [f"{ignore_tree.root}/{folder}"], limits):
        return
    count = 0
    trees = [folder]
    visited: set[str] = set()
    while trees:
        if token is not None:
            token.check()
        tree = ignore_tree.folder(trees.pop())
        if tree.name in visited:
            continue
        visited.add(tree.name)
        for file in _walk_work_tree(ignore_tree, tree, trees, token, notes):
            if limits.policy and limits.policy.exclusion_reason(file.name):
                continue
            yield file
            count += 1
            if count >= limits.max_files:
                return
            if token is not None and not count % 256:
                token.check()
    notes.linked_folders += [name for name in dict.fromkeys(notes.links) if _leads_outside(ignore_tree.root, name)]


def other_ignore_files(files: Iterable[FileInfo], limits: FileLimits) -> tuple[str, ...]:
    """Return the names of the listed ignore files besides git's."""
    names = (IGNORE_FILE, ".hgignore", *limits.ignore_files)
    return tuple(file.name for file in files if file.name.endswith(names))


def _leads_outside(root: str, name: str) -> bool:
    """Return whether a link leads to a folder outside of the root."""
    path = f"{root}/{name}"
    try:
        target = os.path.realpath(path)
    except OSError:  # the link was replaced meanwhile
        return False
    return folder_exists(target) and not is_inside(root, path)


def ignored_paths(root: str, paths: Iterable[str], limits: FileLimits = _DEFAULT_LIMITS) -> set[str]:
    """Return the paths that a walk would not list; the paths may be folders, and need not exist.

    Starts three git processes for the root, and two for each other work tree, for any number of paths.

    Raises:
        OSError: The system is out of file descriptors or memory.
    """
    return {path for path, decision in _decide_paths(root, list(paths), limits).items() if not decision.indexed}


def explain_path(root: str, path: str, limits: FileLimits) -> IgnoreDecision:
    """Return whether the text of a file is indexed, and the rule or property of the file that excludes it."""
    decision = _decide_paths(root, [path], limits)[path]
    if not decision.indexed:
        return decision
    text = read_text(path, limits, (root,))
    return IgnoreDecision(False, text.reason) if isinstance(text, UnreadableFile) else decision


def _walk_work_tree(
    ignore_tree: IgnoreTree, tree: FolderRules, trees: list[str], token: CancelToken | None, notes: WalkNotes
) -> Iterator[FileInfo]:
    """Yield the files of one work tree below a folder; nested work trees are added to `trees`."""
    if tree.exclusion is not None:
        return
    if tree.repo is None:
        yield from _walk_folders(ignore_tree, tree, trees, token, notes)
        return
    names = _list_with_git(tree, tree.repo, token)
    if names is not None:  # to look for each file in each folder takes longer than the listing
        ignore_tree.tool_folders = {
            name.rpartition("/")[0] for name in names if name.endswith(ignore_tree.ignore_files)
        }
    # Load all folders first: a "!" in any .promptlsignore can list files that git ignores.
    folders = {name: ignore_tree.folder(name) for name in {name.rpartition("/")[0] for name in names or ()}}
    seen: set[str] = set()
    if names is None or ignore_tree.has_negation:
        without_git = _tree_without_git(ignore_tree, tree.tree)
        for file in _walk_folders(without_git, without_git.folder(tree.name), trees, token, notes):
            seen.add(file.name)
            yield file
    for file in _filter_git_listing(ignore_tree, names or [], folders, tree.tree, trees, notes):
        if file.name not in seen:
            yield file


def _tree_without_git(ignore_tree: IgnoreTree, tree: str) -> IgnoreTree:
    """Return an ignore tree of the same root that evaluates the rules of one work tree without git."""
    without_git = IgnoreTree(ignore_tree.root or "/", ignore_tree.ignore_files, without_git=True)
    if tree:
        without_git.mount(ignore_tree.folder(tree))
    return without_git


def _list_with_git(tree: FolderRules, repo: git_ignore.WorkTree, token: CancelToken | None) -> list[str] | None:
    """Return the files listed by git in a folder, as names relative to the root; None if git fails."""
    prefix = tree.tree + "/" if tree.tree else ""
    names = git_ignore.list_files(repo, tree.name[len(prefix) :], token)
    return [prefix + name for name in names] if names is not None and prefix else names


def _filter_git_listing(
    ignore_tree: IgnoreTree,
    names: list[str],
    folders: dict[str, FolderRules],
    tree: str,
    trees: list[str],
    notes: WalkNotes,
) -> Iterator[FileInfo]:
    """Yield the names listed by git that are regular files and that no `.promptlsignore` ignores."""
    previous = ""
    for name in names:
        parent, _, base = name.rpartition("/")
        folder = folders[parent]
        if not name.isascii() and (part := undecodable_part(name)):
            notes.undecodable_names.add(part)
            continue
        if folder.exclusion is not None or name == previous:  # git lists a file in conflict once for each side
            continue
        previous = name
        if folder.tree != tree:
            trees.append(folder.tree)
            continue
        rule = ignore_tree.decide(folder, base, is_folder=False) if folder.user_rules else None
        if not base or (rule is not None and not rule.indexed):
            continue
        path = f"{ignore_tree.root}/{name}"
        try:
            stat = os.lstat(path)
        except OSError:  # tracked, but deleted or not checked out
            continue
        if modes.S_ISDIR(stat.st_mode):  # a submodule
            submodule = ignore_tree.enter(folder, base)
            if submodule.exclusion is None and submodule.tree == submodule.name:
                trees.append(submodule.name)
        elif modes.S_ISLNK(stat.st_mode):
            notes.links.append(name)
        elif always_excluded(base, stat.st_mode) is None:
            yield FileInfo(path, name, stat.st_size, stat.st_mtime_ns)


def _walk_folders(
    ignore_tree: IgnoreTree, top: FolderRules, trees: list[str], token: CancelToken | None, notes: WalkNotes
) -> Iterator[FileInfo]:
    """Yield the files below a folder by the rules of the ignore tree; nested work trees are added to `trees`."""
    ignore_tree.tool_folders = ignore_tree.tool_folders or set()  # the listings show where the files are
    stack = [top] if top.exclusion is None else []
    while stack:
        folder = stack.pop()
        if token is not None:
            token.check()
        subfolders: list[FolderRules] = []
        try:
            with open_folder(folder.path, (ignore_tree.root or "/",)) as listing:
                files = _classify_entries(ignore_tree, folder, listing, subfolders, trees, notes)
        except OSError as error:
            if is_out_of_resources(error):
                raise  # unread files must not count as deleted
            continue
        yield from files
        stack += reversed(subfolders)


def _classify_entries(
    ignore_tree: IgnoreTree,
    folder: FolderRules,
    listing: Iterable[os.DirEntry[str]],
    subfolders: list[FolderRules],
    trees: list[str],
    notes: WalkNotes,
) -> list[FileInfo]:
    """Return the listed files of a folder; its listed subfolders are added to `subfolders` or `trees`."""
    files: list[FileInfo] = []
    prefix = folder.name + "/" if folder.name else ""
    entries = sorted(listing, key=lambda entry: entry.name)
    folder = ignore_tree.with_listed(folder, {entry.name for entry in entries})
    for entry in entries:
        if not entry.name.isascii() and undecodable_part(entry.name):
            notes.undecodable_names.add(prefix + entry.name)
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                subfolder = ignore_tree.enter(folder, entry.name)
                if subfolder.exclusion is None and subfolder.tree == subfolder.name:
                    trees.append(subfolder.name)
                elif subfolder.exclusion is None:
                    subfolders.append(subfolder)
                continue
            if entry.is_symlink():
                notes.links.append(prefix + entry.name)
            if not entry.is_file(follow_symlinks=False) or always_excluded(entry.name, 0) is not None:
                continue
            rule = ignore_tree.decide(folder, entry.name, is_folder=False)
            if rule is not None and not rule.indexed:
                continue
            stat = entry.stat(follow_symlinks=False)
        except OSError as error:  # deleted meanwhile
            if is_out_of_resources(error):
                raise
            continue
        files.append(
            FileInfo(f"{ignore_tree.root}/{prefix}{entry.name}", prefix + entry.name, stat.st_size, stat.st_mtime_ns)
        )
    return files


class _UndecidedPath(Struct, frozen=True):
    """Path on which git has to decide, in its own work tree and in the ones around it."""

    name: str
    git_queries: tuple[tuple[str, str], ...]  # (tree, name), outermost last
    rule: IgnoreDecision | None  # decision of the `.promptlsignore` files
    reincluded: bool  # a "!" in a .promptlsignore matches it or a folder above


def _decide_paths(root: str, paths: list[str], limits: FileLimits) -> dict[str, IgnoreDecision]:
    """Decide by the rules for each path whether it is listed; the text of files is not read."""
    ignore_tree = IgnoreTree(root, limits.ignore_files)
    decisions: dict[str, IgnoreDecision] = {}
    undecided: dict[str, _UndecidedPath] = {}
    for path in paths:
        name = _relative_name(ignore_tree.root, path)
        decision = (
            _OUTSIDE_ROOT
            if name is None
            else _decide_by_policy(ignore_tree, name, limits) or _decide_by_rules(ignore_tree, name)
        )
        if isinstance(decision, IgnoreDecision):
            decisions[path] = decision
        else:
            undecided[path] = decision
    queries: dict[str, list[str]] = {}
    for tree, name in dict.fromkeys(query for case in undecided.values() for query in case.git_queries):
        queries.setdefault(tree, []).append(name)
    without_git = (
        IgnoreTree(root, limits.ignore_files, without_git=True) if queries and ignore_tree.has_negation else None
    )
    answers = {
        (tree, name): v for tree, names in queries.items() for name, v in _query_git(ignore_tree, tree, names).items()
    }
    for path, case in undecided.items():
        matches = [answers[question] for question in case.git_queries if question in answers]
        match = next((h for h in reversed(matches) if not h.indexed), None)
        if match is not None and case.reincluded and without_git is not None:
            match = _decide_without_git(without_git, case.name)
        listed = case.rule or (matches[0] if matches and matches[0].indexed else None) or IgnoreDecision(True, "")
        decisions[path] = match if match is not None and not match.indexed else listed
    return decisions


def _decide_by_policy(ignore_tree: IgnoreTree, name: str, limits: FileLimits) -> IgnoreDecision | None:
    """Return the decision of the file policy, None if it does not exclude the name."""
    if not name or not limits.policy:
        return None
    reason = limits.policy.exclusion_reason(name, modes.S_ISDIR(file_mode(f"{ignore_tree.root}/{name}")))
    return IgnoreDecision(False, reason) if reason else None


def _decide_by_rules(ignore_tree: IgnoreTree, name: str) -> IgnoreDecision | _UndecidedPath:
    """Return the decision of the rules in the ignore tree, or the queries that git has to answer."""
    if not name:
        return IgnoreDecision(True, "")
    parent, _, base = name.rpartition("/")
    folder = ignore_tree.folder(parent)
    mode = file_mode(f"{ignore_tree.root}/{name}")
    is_folder = modes.S_ISDIR(mode)
    exclusion = (
        ignore_tree.enter(folder, base).exclusion if is_folder else folder.exclusion or always_excluded(base, mode)
    )
    if exclusion is not None:
        return exclusion
    rule = ignore_tree.decide(folder, base, is_folder)
    if rule is not None and not rule.indexed:
        return rule
    queries = [(folder.tree, name)] if folder.repo is not None else []
    while folder.tree:
        boundary = folder.tree
        folder = ignore_tree.folder(boundary.rpartition("/")[0])
        if folder.repo is not None:
            queries.append((folder.tree, boundary))
    reincluded = ignore_tree.folder(parent).reincluded or (rule is not None and is_reinclusion(rule))
    return _UndecidedPath(name, tuple(queries), rule, reincluded)


def _query_git(ignore_tree: IgnoreTree, tree: str, names: list[str]) -> dict[str, IgnoreDecision]:
    """Return the decisions of git's rules for names in one work tree; names without a matching rule are omitted."""
    repo = ignore_tree.folder(tree).repo
    if repo is None:
        return {}
    prefix_length = len(tree) + 1 if tree else 0
    matches = git_ignore.check_ignore(repo, [name[prefix_length:] for name in names])
    if matches is not None:
        return {
            name: rule_decision(match.file, match.line, match.text)
            for name in names
            if (match := matches.get(name[prefix_length:])) is not None
        }
    without_git, tracked = (
        _tree_without_git(ignore_tree, tree),
        git_ignore.tracked_paths(repo, [name[prefix_length:] for name in names]),
    )
    return {
        name: decision
        for name in names
        if name[prefix_length:] not in tracked and (decision := _decide_without_git(without_git, name)) is not None
    }


def _decide_without_git(ignore_tree: IgnoreTree, name: str) -> IgnoreDecision | None:
    """Return the decision of an ignore tree that contains all rules, None if no rule matches."""
    parent, _, base = name.rpartition("/")
    folder = ignore_tree.folder(parent)
    return folder.exclusion or ignore_tree.decide(folder, base, modes.S_ISDIR(file_mode(f"{ignore_tree.root}/{name}")))


def _relative_name(root: str, path: str) -> str | None:
    """Return the path relative to the root, None if it is not inside it lexically."""
    path = posixpath.normpath(path.replace("\\", "/") if WINDOWS else path)
    if path.startswith("//") and not root.startswith("//"):
        path = path[1:]
    top, target = (root.lower(), path.lower()) if WINDOWS else (root, path)
    if target in (top, top + "/"):
        return ""
    return path[len(root) + 1 :] if target.startswith(top + "/") else None


CLOCK_SLACK_NS = 50_000_000
"""Nanoseconds before a walk within which an mtime is not trusted, because file system clocks are coarse."""
MAX_EMPTY_FOLDERS = 1_000
"""Maximum number of folders without files that are checked; the next walk covers the others."""
MAX_EMPTY_LEVELS = 8
"""Maximum depth of folders without files that are checked; each level starts git."""
RULE_FILES = (".gitignore", ".promptlsignore", ".hgignore", ".git/info/exclude")
"""Ignore files, relative to the folder that contains them; files of other tools are recorded if they are listed."""


class FolderStats(Struct, frozen=True, gc=False):
    """File system state of a root at a walk."""

    folders: dict[str, int]  # path → mtime in ns, -1 if a walk is needed
    rules: dict[str, tuple[int, int]]  # path → (size, mtime in ns)


def record_stats(root: str, files: Sequence[FileInfo], limits: FileLimits, began_ns: int) -> FolderStats:
    """Return the state of a root for `is_stale`, after a walk that began at `began_ns` (time.time_ns)."""
    folders = {root}
    for file in files:
        parent = file.path.rpartition("/")[0]
        while parent not in folders and len(parent) > len(root):
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    rules = {
        file.path: (file.size, file.mtime_ns) if file.mtime_ns < began_ns - CLOCK_SLACK_NS else (-1, -1)
        for file in files
        if is_ignore_file(file.name.rpartition("/")[2])
    }
    mtimes: dict[str, int] = {}
    pending = sorted(folders)
    empty = 0
    for _ in range(MAX_EMPTY_LEVELS):
        subfolders: list[str] = []
        for folder in pending:
            mtimes[folder] = _folder_mtime(folder, began_ns - CLOCK_SLACK_NS)
            subfolders += [subfolder for subfolder in _subfolders(folder) if subfolder not in folders]
            for path in (f"{folder.rstrip('/')}/{name}" for name in RULE_FILES):
                if (stat := file_stat(path)) is not None:
                    rules[path] = stat if stat[1] < began_ns - CLOCK_SLACK_NS else (-1, -1)
        subfolders = subfolders[: MAX_EMPTY_FOLDERS - empty]
        empty += len(subfolders)
        ignored = ignored_paths(root, subfolders, limits) if subfolders else set()
        pending = [folder for folder in subfolders if folder not in ignored]
    return FolderStats(mtimes, rules)


def is_stale(stats: FolderStats) -> bool:
    """Return whether a folder or an ignore file has changed, so that a walk is needed to list the files."""
    return any(recorded < 0 or _folder_mtime(path) != recorded for path, recorded in stats.folders.items()) or any(
        file_stat(path) != recorded for path, recorded in stats.rules.items()
    )


def modified_files(files: Iterable[tuple[str, int, int]]) -> list[str]:
    """Return the paths of the files (path, size, mtime in ns) that differ on disk."""
    modified: list[str] = []
    for path, size, mtime_ns in files:
        try:
            stat = os.lstat(path)
        except OSError:
            modified.append(path)
            continue
        if stat.st_mtime_ns != mtime_ns or stat.st_size != size:
            modified.append(path)
    return modified


def _folder_mtime(folder: str, before_ns: int | None = None) -> int:
    """Return the mtime of a folder; -1 if it does not exist, or if the mtime is not before `before_ns`."""
    try:
        stat = os.lstat(folder)
    except OSError:
        return -1
    if not modes.S_ISDIR(stat.st_mode) or (before_ns is not None and stat.st_mtime_ns >= before_ns):
        return -1
    return stat.st_mtime_ns


def _subfolders(folder: str) -> list[str]:
    """Return the subfolders of a folder, except links and `.git`."""
    try:
        with os.scandir(folder) as listing:
            names = [e.name for e in listing if e.name != ".git" and e.is_dir(follow_symlinks=False)]
            return [f"{folder.rstrip('/')}/{name}" for name in names]
    except OSError as error:
        if is_out_of_resources(error):
            raise
        return []
