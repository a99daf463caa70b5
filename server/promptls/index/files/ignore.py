"""Ignore rules of a root: git's rules, `.promptlsignore`, other tools' files, and files that are always excluded.

Each folder has the rules that apply in it.  A folder is loaded once, from the root down, and nothing below an excluded
folder is loaded.  The first of these that applies to a file or folder decides:
1. Always excluded: folders of version control (`.git`, `.hg`, `.jj`), symbolic links, pipes and devices, pseudo file
   systems (`/proc`), names that are not valid UTF-8, and backup files of editors (`x~`, `#x#`, `.#x`, `.x.swp`).
2. The last matching rule of the `.promptlsignore` files from the top of the work tree down.  They also apply in nested
   repositories and to tracked files, and with "!" they list files that git ignores.  As in a `.gitignore`, files
   below an excluded folder can only be listed after the folder itself: "!build/" first.
3. The ignore files of other tools (the setting index.ignoreFiles), each like a `.promptlsignore` of its own.  They only
   exclude: "!" undoes a rule of the same file and lists nothing that another file or git ignores.
4. In a work tree, git.  Each nested repository has its own rules.
5. Elsewhere, the `.gitignore` files from the root down, in a Mercurial repository its `.hgignore`, then BUILT_IN_RULES.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH112, PTH113, PTH120
from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.files import git_ignore
from promptls.index.files.gitignore import IgnoreRule, IgnoreRules, parse_mercurial_rules, parse_rules
from promptls.index.files.read import file_type_problem, read_small_file
from promptls.index.files.uris import CASE_INSENSITIVE

IGNORE_FILE = ".promptlsignore"
MAX_IGNORE_FILE_BYTES = 250_000  # larger ignore files are not read
BUILT_IN_RULES = parse_rules(
    b"node_modules/\nbower_components/\n.venv/\nvenv/\n__pycache__/\n*.egg-info/\n*.dist-info/\nsite-packages/\n"
    b".tox/\n.nox/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.gradle/\n.terraform/\n",
    "built-in",
    CASE_INSENSITIVE,
)
_EDITOR_BACKUP = re.compile(r"#.*#|\.#.*|.*~|\..*\.sw[a-px]|\..*\.un~", re.DOTALL)
"""Names of the auto-save, lock and backup files of Emacs, and of the swap, backup and undo files of Vim."""
_VCS_FOLDERS = frozenset({".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", ".repo"})
CHECKPOINT_FOLDER = ".ipynb_checkpoints"  # where Jupyter saves a copy of each notebook
_PSEUDO_FILE_SYSTEMS = ("/proc", "/sys", "/dev")  # reading their files may be endless, or block


class IgnoreDecision(Struct, frozen=True):
    """Decision whether a path is indexed, with its reason."""

    indexed: bool
    reason: str  # for users; "" for an indexed path that no rule matches
    rule: str = ""  # line of the ignore file
    file: str = ""  # absolute path of the ignore file, or "built-in"
    line: int = 0  # 1-based


RuleLevels = tuple[tuple[IgnoreRules, bytes], ...]  # (rules, path from their folder to this one); the last match wins


class FolderRules(Struct, frozen=True):
    """Rules that apply to the entries of a folder."""

    name: str  # relative to the root, "" for the root
    path: str
    tree: str  # name of the top folder of its work tree, "" if that is the root or above it
    repo: git_ignore.WorkTree | None  # None: not in a work tree, or git cannot read it
    ignore_case: bool = CASE_INSENSITIVE  # whether git's rules ignore case
    user_rules: RuleLevels = ()  # .promptlsignore and other tools' files
    git_rules: RuleLevels = ()  # .gitignore and others, where promptls evaluates them itself
    exclusion: IgnoreDecision | None = None  # why the folder and everything below it is excluded
    reincluded: bool = False  # a "!" in a .promptlsignore matches the folder or one above


class IgnoreTree:
    """Folders of a root with their rules, loaded lazily.  Created for one walk or query, because rules may change.

    With `without_git`, the rules in work trees are evaluated from the same files without git; tracked files are then
    treated as untracked.  Otherwise git's rules are omitted, and the caller queries git.
    """

    __slots__ = ("folders", "has_negation", "ignore_files", "root", "tool_folders", "without_git")

    def __init__(self, root: str, ignore_files: tuple[str, ...] = (), without_git: bool = False) -> None:
        self.root = root.rstrip("/")  # "" for "/"
        self.ignore_files = ignore_files  # names of other tools' files
        self.tool_folders: set[str] | None = None  # names of the folders that may have one, if known; else all
        self.without_git = without_git
        self.has_negation = False  # a .promptlsignore loaded so far has a "!"
        self.folders: dict[str, FolderRules] = {"": self._load_root(root)}

    def folder(self, name: str) -> FolderRules:
        """Return the folder of this name; it need not exist."""
        loaded = self.folders.get(name)
        if loaded is not None:
            return loaded
        missing = []
        while loaded is None:
            name, _, base = name.rpartition("/")
            missing.append(base)
            loaded = self.folders.get(name)
        for base in reversed(missing):
            loaded = self.enter(loaded, base)
        return loaded

    def enter(self, parent: FolderRules, base: str) -> FolderRules:
        """Return the subfolder `base` of `parent`."""
        name = f"{parent.name}/{base}" if parent.name else base
        folder = self.folders.get(name)
        if folder is None:
            folder = self.folders[name] = self._load_folder(parent, base, name)
        return folder

    def mount(self, folder: FolderRules) -> FolderRules:
        """Add the top folder of a work tree from another ignore tree, with the rules that this tree evaluates."""
        tree_start = self._start_tree(replace(folder, user_rules=()), folder.repo)
        folder = self.folders[folder.name] = replace(tree_start, user_rules=folder.user_rules)
        return folder

    def decide(self, folder: FolderRules, base: str, is_folder: bool) -> IgnoreDecision | None:
        """Return the decision of the loaded rules for an entry, None if no rule matches."""
        raw = os.fsencode(base)
        match = user_match(folder.user_rules, raw, is_folder) or _last_match(folder.git_rules, raw, is_folder)
        return rule_decision(match[1].file, match[0].line, match[0].text) if match else None

    def _load_folder(self, parent: FolderRules, base: str, name: str) -> FolderRules:
        path = f"{self.root}/{name}"
        mode = file_mode(path)
        step = os.fsencode(base) + b"/"
        folder = FolderRules(
            name,
            path,
            parent.tree,
            parent.repo,
            parent.ignore_case,
            tuple((rules, prefix + step) for rules, prefix in parent.user_rules),
            tuple((rules, prefix + step) for rules, prefix in parent.git_rules),
            parent.exclusion or always_excluded(base, mode),
            parent.reincluded,
        )
        if folder.exclusion is not None:
            return folder
        if path in _PSEUDO_FILE_SYSTEMS:
            return replace(folder, exclusion=IgnoreDecision(False, "it is in a pseudo file system of the kernel"))
        rule = self.decide(parent, base, is_folder=True)
        if rule is not None and not rule.indexed:
            return replace(folder, exclusion=rule)
        if rule is not None and is_reinclusion(rule):
            folder = replace(folder, reincluded=True)
        if not modes.S_ISDIR(mode):
            return folder
        if os.path.lexists(path + "/.git"):
            if self._is_copy_of_tree(path, parent):
                return replace(
                    folder, exclusion=IgnoreDecision(False, "it is a linked work tree of the same repository")
                )
            repo = git_ignore.find_work_tree(path)
            if not repo.prefix if repo is not None else git_ignore.has_git_folder(path):
                return self._start_tree(replace(folder, tree=name), repo)
        if folder.repo is None and rule is None and _is_bare_repository(path):
            return replace(folder, exclusion=IgnoreDecision(False, "it belongs to git itself"))
        if _is_cvs_folder(path, base):
            return replace(folder, exclusion=IgnoreDecision(False, "it belongs to a version control system itself"))
        return self._with_rule_files(folder)

    def _is_copy_of_tree(self, path: str, parent: FolderRules) -> bool:
        """Return whether a folder is a linked work tree (git worktree) of the repository around it."""
        if os.path.isdir(path + "/.git"):
            return False
        top = parent.repo.top if parent.repo is not None else f"{self.root}/{parent.tree}".rstrip("/")
        common = git_ignore.common_git_folder(path)
        return common != "" and common == git_ignore.common_git_folder(top)

    def _load_root(self, root: str) -> FolderRules:
        """Load the root, with the rules of the folders above it in the same work tree."""
        folder = FolderRules("", self.root or "/", "", None)
        repo = git_ignore.find_work_tree(root)
        if repo is not None:
            rules = git_ignore.check_ignore(replace(repo, folder=repo.top), [repo.prefix[:-1]]) if repo.prefix else {}
            if rules is None or not any(rule.is_exclusion for rule in rules.values()):
                return self._start_tree(folder, repo)
        elif top := _top_of_unreadable_tree(root):
            relative = os.path.relpath(os.path.realpath(root), top).replace(os.sep, "/")
            if relative == "." or IgnoreTree(top, self.ignore_files).folder(relative).exclusion is None:
                return self._start_tree(folder, None, top, "" if relative == "." else relative + "/")
        # A root that its repository ignores was opened on purpose; only the rules in the root apply.
        return self._start_tree(folder, None)

    def _start_tree(
        self, folder: FolderRules, repo: git_ignore.WorkTree | None, top: str = "", prefix: str = ""
    ) -> FolderRules:
        """Return a folder that starts a work tree, with the rules from the top of the tree down to it.

        Without `repo`, the tree starts at `top`, by default the folder; `prefix` is the path from there to the folder.
        """
        ignore_case, sources = CASE_INSENSITIVE, []
        if repo is None:
            top = top or folder.path
            sources = [BUILT_IN_RULES, _read_rules(top + "/.git/info/exclude", ignore_case)]
        else:
            top, prefix = repo.top, repo.prefix
            if self.without_git:
                ignore_case, excludes_file = git_ignore.ignore_settings(repo)
                sources = [
                    _read_rules(excludes_file, ignore_case),
                    _read_rules(repo.exclude_file, ignore_case),
                ]
        git_rules = tuple((rules, os.fsencode(prefix)) for rules in sources if rules is not None)
        folder = replace(folder, repo=repo, ignore_case=ignore_case, git_rules=git_rules)
        parts = prefix.split("/")[:-1]
        for depth in range(len(parts)):
            above = top.rstrip("/") + "".join("/" + part for part in parts[:depth])
            folder = self._with_rule_files(folder, above, "".join(part + "/" for part in parts[depth:]))
        return self._with_rule_files(folder, folder.path)

    def with_listed(self, folder: FolderRules, names: Iterable[str]) -> FolderRules:
        """Return a folder with the files of other tools among its entries, unless it has been loaded with them."""
        if self.tool_folders is None:
            return folder
        found = [name for name in self.ignore_files if name in names]
        if found:
            folder = self.folders[folder.name] = self._with_user_rules(folder, folder.path.rstrip("/"), found)
        return folder

    def _with_user_rules(self, folder: FolderRules, source: str, names: Iterable[str], prefix: str = "") -> FolderRules:
        for name in names:
            rules = _read_rules(f"{source}/{name}", CASE_INSENSITIVE, self.root or "/")
            if rules is not None:
                self.has_negation |= rules.has_negation and name == IGNORE_FILE
                folder = replace(folder, user_rules=(*folder.user_rules, (rules, os.fsencode(prefix))))
        return folder

    def _with_rule_files(self, folder: FolderRules, source: str = "", prefix: str = "") -> FolderRules:
        """Return the folder with the ignore files in `source`, by default the folder; `prefix` leads from there to it."""
        may_have_more = bool(source) or self.tool_folders is None or folder.name in self.tool_folders
        source = (source or folder.path).rstrip("/")
        names = (IGNORE_FILE, *(self.ignore_files if may_have_more else ()))
        folder = self._with_user_rules(folder, source, names, prefix)
        if folder.repo is None and os.path.isdir(source + "/.hg"):
            data = read_small_file(source + "/.hgignore", MAX_IGNORE_FILE_BYTES, roots=(self.root or "/",))
            mercurial = parse_mercurial_rules(data, source + "/.hgignore") if data else None
            if mercurial is not None:
                folder = replace(folder, git_rules=(*folder.git_rules, (mercurial, os.fsencode(prefix))))
        if self.without_git or folder.repo is None:
            git_rules = _read_rules(source + "/.gitignore", folder.ignore_case, self.root or "/")
            if git_rules is not None:
                folder = replace(folder, git_rules=(*folder.git_rules, (git_rules, os.fsencode(prefix))))
        return folder


def always_excluded(base: str, mode: int) -> IgnoreDecision | None:
    """Return why an entry is excluded regardless of rules, None otherwise; `mode` is 0 if it does not exist."""
    name = base.lower() if CASE_INSENSITIVE else base
    if name == ".git":
        return IgnoreDecision(False, "it belongs to git itself")
    if name in _VCS_FOLDERS:
        return IgnoreDecision(False, "it belongs to a version control system itself")
    if not base.isascii() and undecodable_part(base):
        return IgnoreDecision(False, "its name is not valid UTF-8")
    if base == CHECKPOINT_FOLDER:
        return IgnoreDecision(False, "it holds backup copies of notebooks")
    if modes.S_ISDIR(mode):
        return None
    if (base[:1] in "#." or base[-1:] == "~") and _EDITOR_BACKUP.fullmatch(base):
        return IgnoreDecision(False, "it is a backup file of an editor")
    reason = file_type_problem(mode) if mode else ""
    return IgnoreDecision(False, reason) if reason else None


def undecodable_part(name: str) -> str:
    """Return the part of a name up to the first file or folder that is not valid UTF-8, "" if all are."""
    try:
        name.encode()
        return ""
    except UnicodeEncodeError as error:
        end = name.find("/", error.start)
        return name if end < 0 else name[:end]


def rule_decision(file: str, line: int, rule: str) -> IgnoreDecision:
    """Return the decision of a line of an ignore file."""
    where = "built-in" if file == "built-in" else f"{file}, line {line}"
    if rule.startswith("!"):
        return IgnoreDecision(True, f'the rule "{rule}" lists it ({where})', rule, file, line)
    return IgnoreDecision(False, f'the rule "{rule}" ignores it ({where})', rule, file, line)


def is_reinclusion(rule: IgnoreDecision) -> bool:
    """Return whether a decision comes from a "!" in a .promptlsignore, which overrides git."""
    return rule.indexed and rule.file.endswith("/" + IGNORE_FILE)


def file_mode(path: str) -> int:
    """Return the mode of a file, folder or link, 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def user_match(levels: RuleLevels, base: bytes, is_folder: bool) -> tuple[IgnoreRule, IgnoreRules] | None:
    """Return the rule of `.promptlsignore` files that decides, else an excluding rule of another tool's files."""
    exclusion = None
    decided: set[str] = set()
    for rules, prefix in reversed(levels):
        name = rules.file.rpartition("/")[2]
        rule = rules.match(prefix + base, is_folder) if name not in decided else None
        if rule is not None and name == IGNORE_FILE:
            return rule, rules
        if rule is not None:
            decided.add(name)
            exclusion = exclusion or (None if rule.negated else (rule, rules))
    return exclusion


def is_ignore_file(base: str) -> bool:
    """Return whether a name is that of an ignore file, of any tool."""
    return base.endswith("ignore") or base == ".aiexclude"


def _last_match(levels: RuleLevels, base: bytes, is_folder: bool) -> tuple[IgnoreRule, IgnoreRules] | None:
    for rules, prefix in reversed(levels):
        rule = rules.match(prefix + base, is_folder)
        if rule is not None:
            return rule, rules
    return None


def _read_rules(path: str, ignore_case: bool, root: str | None = None) -> IgnoreRules | None:
    """Read an ignore file; git follows links to the user's own ignore file, but not to those in the tree (`root`)."""
    roots = None if root is None else (root,)
    data = read_small_file(path, MAX_IGNORE_FILE_BYTES, roots is None, strict=True, roots=roots) if path else None
    return parse_rules(data, path, ignore_case) if data else None


def _is_cvs_folder(path: str, base: str) -> bool:
    return base == "CVS" and (os.path.isfile(path + "/Entries") or os.path.isfile(path + "/Root"))


def _is_bare_repository(path: str) -> bool:
    return os.path.isfile(path + "/HEAD") and os.path.isdir(path + "/objects") and os.path.isdir(path + "/refs")


def _top_of_unreadable_tree(root: str) -> str:
    """Return the nearest folder at or above `root` with a `.git` that git could not read, "" without one."""
    folder = os.path.realpath(root)
    while not git_ignore.has_git_folder(folder):
        folder, child = os.path.dirname(folder), folder
        if folder == child:
            return ""
    return folder.replace(os.sep, "/")
