"""Which files of a root are listed: git's rules, `.promptlsignore`, and what is never listed.

Each folder knows the rules that apply in it; a folder is looked at once, on the way down, and nothing below
one that is left out is looked at.  What decides about a file or folder, first come first served:
1. `.git`, symbolic links, pipes and devices, what the kernel makes up (`/proc`), names that are not UTF-8, copies
   that editors keep beside a file (`x~`, `#x#`, `.#x`, `.x.swp`): never listed.
2. The last matching rule of the `.promptlsignore` files from the top of the work tree down; they go on through
   repositories inside, apply to tracked files too, and with "!" list what git ignores.  As in a `.gitignore`,
   nothing can be listed again below a folder that is left out: "!build/" first.
3. In a work tree, git; each repository inside by its own rules.
4. Elsewhere the `.gitignore` files from the root down, then the short list BUILT_IN, then CACHEDIR.TAG.
"""

# Paths are strings here, letter for letter as git and the system give them.
# ruff: noqa: PTH112, PTH113, PTH116, PTH120
from __future__ import annotations

import os
import re
import stat as modes

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.files import git_ignore
from promptls.index.files.gitignore import Rule, Rules, parse
from promptls.index.files.read import kind_problem, read_small
from promptls.index.files.uris import FOLDS

OWN = ".promptlsignore"
MOST_RULES = 250_000  # bytes of an ignore file; a longer one is not read
BUILT_IN = parse(
    b"node_modules/\nbower_components/\n.venv/\nvenv/\n__pycache__/\n*.egg-info/\n*.dist-info/\nsite-packages/\n"
    b".hg/\n.svn/\n.bzr/\n.tox/\n.nox/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.gradle/\n.terraform/\n",
    "built-in",
    FOLDS,
)
_EDITORS_COPY = re.compile(r"#.*#|\.#.*|.*~|\..*\.sw[a-px]|\..*\.un~", re.DOTALL)
"""Names of Emacs' auto-saves, locks and backups, and of Vim's swap, backup and undo files."""
MOST_MOUNTS = 10_000_000  # bytes of the table of mounts
_OF_THE_KERNEL = frozenset(
    "proc sysfs cgroup cgroup2 devpts devtmpfs debugfs tracefs securityfs selinuxfs bpf pstore configfs fusectl mqueue "
    "hugetlbfs binfmt_misc efivarfs rpc_pipefs nsfs".split()
)
"""Kinds of file systems in which files are views of the kernel: endless, different at each reading, or a wait."""
_CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"  # bford.info/cachedir


class Verdict(Struct, frozen=True):
    """Whether a path is indexed, and what decided it."""

    indexed: bool
    reason: str  # for people; "" for a path that is indexed and that no rule mentions
    rule: str = ""  # the line of the ignore file
    file: str = ""  # absolute path of the ignore file, "built-in" for ours
    line: int = 0  # 1-based


Levels = tuple[tuple[Rules, bytes], ...]  # rules, and the path from where they apply to here; the last one wins


class Folder(Struct, frozen=True):
    """What applies to the entries of a folder."""

    name: str  # relative to the root, "" for the root
    path: str
    tree: str  # name of the folder at which its work tree begins, "" if that is at or above the root
    repo: git_ignore.Repo | None  # None: no work tree, or none that git can tell about
    fold: bool = FOLDS  # names match git's rules in either case
    own: Levels = ()  # .promptlsignore
    ignore: Levels = ()  # .gitignore and others, where git is not asked
    out: Verdict | None = None  # why it is left out, and all below it
    again: bool = False  # it, or a folder above, is listed because of a "!" in a .promptlsignore
    device: int = 0  # of the file system that it lies on; 0 where there is no folder


class View:
    """The folders of a root, looked at as they are asked for.  For one walk or one question: rules may change.

    `alone`: decide without git also in work trees, from the same files (except that tracked files count
    as if they were not); else git's rules are left out there, for the caller to ask git.
    """

    __slots__ = ("alone", "folders", "negates", "root")

    def __init__(self, root: str, alone: bool = False) -> None:
        self.root = root.rstrip("/")  # "" for "/"
        self.alone = alone
        self.negates = False  # a .promptlsignore seen so far has a "!"
        self.folders: dict[str, Folder] = {"": self._top(root)}

    def folder(self, name: str) -> Folder:
        """The folder of this name; it may be one that does not exist (any more)."""
        known = self.folders.get(name)
        if known is not None:
            return known
        missing = []
        while known is None:
            name, _, base = name.rpartition("/")
            missing.append(base)
            known = self.folders.get(name)
        for base in reversed(missing):
            known = self.enter(known, base)
        return known

    def enter(self, parent: Folder, base: str) -> Folder:
        """The folder called `base` in `parent`."""
        name = f"{parent.name}/{base}" if parent.name else base
        known = self.folders.get(name)
        if known is None:
            known = self.folders[name] = self._entered(parent, base, name)
        return known

    def adopt(self, folder: Folder) -> Folder:
        """A folder of another view at which a tree begins, with what this view wants to know of that tree."""
        begun = self._begun(replace(folder, own=()), folder.repo)
        folder = self.folders[folder.name] = replace(begun, own=folder.own)
        return folder

    def decide(self, folder: Folder, base: str, is_folder: bool) -> Verdict | None:
        """What the rules known here say of an entry, None if they say nothing."""
        raw = os.fsencode(base)
        hit = _last(folder.own, raw, is_folder) or _last(folder.ignore, raw, is_folder)
        return ruled(hit[1].file, hit[0].line, hit[0].text) if hit else None

    def _entered(self, parent: Folder, base: str, name: str) -> Folder:
        path = f"{self.root}/{name}"
        mode, device = _mode_and_device(path)
        step = os.fsencode(base) + b"/"
        folder = Folder(
            name,
            path,
            parent.tree,
            parent.repo,
            parent.fold,
            tuple((rules, way + step) for rules, way in parent.own),
            tuple((rules, way + step) for rules, way in parent.ignore),
            parent.out or never(base, mode),
            parent.again,
            device,
        )
        if folder.out is not None:
            return folder
        if device not in (parent.device, 0) and parent.device and (kind := _made_up().get(device)):
            return replace(folder, out=Verdict(False, f"it is no file on a disk: the kernel makes it up ({kind})"))
        rule = self.decide(parent, base, is_folder=True)
        if rule is not None and not rule.indexed:
            return replace(folder, out=rule)
        if rule is not None and lists_again(rule):
            folder = replace(folder, again=True)
        if not modes.S_ISDIR(mode):
            return folder
        if os.path.lexists(path + "/.git"):
            repo = git_ignore.locate(path)
            if not repo.prefix if repo is not None else git_ignore.looks_like_repo(path):
                return self._begun(replace(folder, tree=name), repo)
        if folder.repo is None and rule is None:
            out = _unwanted(path)
            if out is not None:
                return replace(folder, out=out)
        return self._with_files(folder)

    def _top(self, root: str) -> Folder:
        """The root itself, with the rules of the folders above it in the same work tree."""
        folder = Folder("", self.root or "/", "", None, device=_mode_and_device(self.root or "/", follow=True)[1])
        repo = git_ignore.locate(root)
        if repo is not None:
            hits = git_ignore.matches(replace(repo, at=repo.top), [repo.prefix[:-1]]) if repo.prefix else {}
            if hits is None or not any(hit.ignores for hit in hits.values()):
                return self._begun(folder, repo)
        elif top := _top_of_broken(root):
            away = os.path.relpath(os.path.realpath(root), top).replace(os.sep, "/")
            if away == "." or View(top).folder(away).out is None:
                return self._begun(folder, None, top, "" if away == "." else away + "/")
        # A root that its repository ignores was opened on purpose: by the rules in it alone.
        return self._begun(folder, None)

    def _begun(self, folder: Folder, repo: git_ignore.Repo | None, top: str = "", prefix: str = "") -> Folder:
        """A folder at which a tree begins for us, with the rules from the tree's top down to it.

        A tree without `repo` begins at `top`, by default at the folder; `prefix` is the way from there.
        """
        fold, sources = FOLDS, []
        if repo is None:
            top = top or folder.path
            sources = [BUILT_IN, _rules(top + "/.git/info/exclude", fold, follow=True)]
        else:
            top, prefix = repo.top, repo.prefix
            if self.alone:
                fold, users = git_ignore.settings(repo)
                sources = [_rules(users, fold, follow=True), _rules(repo.exclude, fold, follow=True)]
        ignore = tuple((rules, os.fsencode(prefix)) for rules in sources if rules is not None)
        folder = replace(folder, repo=repo, fold=fold, ignore=ignore)
        parts = prefix.split("/")[:-1]
        for depth in range(len(parts)):
            above = top.rstrip("/") + "".join("/" + part for part in parts[:depth])
            folder = self._with_files(folder, above, "".join(part + "/" for part in parts[depth:]))
        return self._with_files(folder)

    def _with_files(self, folder: Folder, place: str = "", way: str = "") -> Folder:
        """The folder with the ignore files of `place` (itself by default), from where `way` leads to it."""
        place = (place or folder.path).rstrip("/")
        own = _rules(f"{place}/{OWN}", FOLDS)
        if own is not None:
            self.negates |= own.negates
            folder = replace(folder, own=(*folder.own, (own, os.fsencode(way))))
        if self.alone or folder.repo is None:
            ignore = _rules(place + "/.gitignore", folder.fold)
            if ignore is not None:
                folder = replace(folder, ignore=(*folder.ignore, (ignore, os.fsencode(way))))
        return folder


def never(base: str, mode: int) -> Verdict | None:
    """Why an entry is not listed whatever the rules say; `mode` 0: it does not exist (any more)."""
    if base == ".git" or (FOLDS and base.lower() == ".git"):
        return Verdict(False, "it belongs to git itself")
    if not base.isascii():
        try:
            base.encode()
        except UnicodeEncodeError:
            return Verdict(False, "its name is not valid UTF-8")
    if modes.S_ISDIR(mode):
        return None
    if (base[:1] in "#." or base[-1:] == "~") and _EDITORS_COPY.fullmatch(base):
        return Verdict(False, "it is an editor's copy of another file")
    why = kind_problem(mode) if mode else ""
    return Verdict(False, why) if why else None


def ruled(file: str, line: int, rule: str) -> Verdict:
    """The verdict of a line of an ignore file."""
    where = "built-in" if file == "built-in" else f"{file}, line {line}"
    if rule.startswith("!"):
        return Verdict(True, f'the rule "{rule}" lists it ({where})', rule, file, line)
    return Verdict(False, f'the rule "{rule}" ignores it ({where})', rule, file, line)


def lists_again(rule: Verdict) -> bool:
    """Whether this is a "!" of a .promptlsignore, which counts for more than what git says."""
    return rule.indexed and rule.file.endswith("/" + OWN)


def mode_of(path: str) -> int:
    """The mode of a file, folder or link, 0 if there is none."""
    return _mode_and_device(path)[0]


def _mode_and_device(path: str, follow: bool = False) -> tuple[int, int]:
    try:
        found = os.stat(path, follow_symlinks=follow)
    except (OSError, ValueError):
        return 0, 0
    return found.st_mode, found.st_dev


def _made_up() -> dict[int, str]:
    """Kinds of mounted file systems whose files are no files, by their devices; none but on Linux.

    Each line of mountinfo: id, parent, major:minor, root, place, options, some that may lack, "-", kind, …: proc(5).
    """
    found: dict[int, str] = {}
    for line in (read_small("/proc/self/mountinfo", MOST_MOUNTS) or b"").decode("utf-8", "replace").splitlines():
        fields, _, told = line.partition(" - ")
        kind = told.split(" ", 1)[0]
        if kind in _OF_THE_KERNEL:
            major, _, minor = fields.split(" ", 3)[2].partition(":")
            found[os.makedev(int(major), int(minor))] = kind
    return found


def _last(levels: Levels, base: bytes, is_folder: bool) -> tuple[Rule, Rules] | None:
    for rules, way in reversed(levels):
        rule = rules.match(base, way + base, is_folder)
        if rule is not None:
            return rule, rules
    return None


def _rules(path: str, fold: bool, follow: bool = False) -> Rules | None:
    """The rules of an ignore file; git follows no link to one in the tree, but does to the user's own."""
    data = read_small(path, MOST_RULES, follow, strict=True) if path else None
    return parse(data, path, fold) if data else None


def _unwanted(path: str) -> Verdict | None:
    """Why a folder outside of git is left out though no rule names it."""
    tag = path + "/CACHEDIR.TAG"
    if (read_small(tag, 100_000, strict=True) or b"").startswith(_CACHE_TAG):
        return Verdict(False, f"the folder says that it is a cache ({tag})", "", tag, 1)
    if os.path.isfile(path + "/HEAD") and os.path.isdir(path + "/objects") and os.path.isdir(path + "/refs"):
        return Verdict(False, "it belongs to git itself")
    return None


def _top_of_broken(root: str) -> str:
    """The folder at or above `root` with a `.git` that git could not be asked about, "" without one."""
    place = os.path.realpath(root)
    while not git_ignore.looks_like_repo(place):
        place, below = os.path.dirname(place), place
        if place == below:
            return ""
    return place.replace(os.sep, "/")
