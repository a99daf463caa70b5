"""The files of a root: listing them all, and saying of one why it is or is not among them.

`walk`, `ignored` and `explain` agree: a file is listed if and only if it is not `ignored`, and it is indexed
if and only if, beyond that, its text can be read.
"""

from __future__ import annotations

import os
import posixpath
import stat as modes
from collections.abc import Iterable, Iterator

from msgspec import Struct

from promptls.index.files import git_ignore
from promptls.index.files.ignore import Folder, Verdict, View, lists_again, mode_of, never, ruled
from promptls.index.files.read import Limits, Skipped, exhausted, read_text
from promptls.index.files.uris import WINDOWS
from promptls.model import CancelToken

_OUTSIDE = Verdict(False, "it is outside of the workspace folder")
_DEFAULTS = Limits()


class Found(Struct, frozen=True, gc=False):
    """A file that the walk lists."""

    path: str
    name: str  # relative to the root
    size: int  # bytes
    mtime_ns: int


def walk(root: str, limits: Limits, token: CancelToken | None = None, under: str = "") -> Iterator[Found]:
    """All files of a root that are not ignored; what their text is like does not matter here.

    `under`: only what is in the folder of this name (relative to the root).  Ends after `limits.max_files`.
    Raises `Cancelled`, and OSError where the system lacks what is needed to look (no descriptors, no memory); a
    folder that cannot be read is passed over, a root that does not exist is empty.
    """
    view = View(root)
    if under and ignored(root, [f"{view.root}/{under}"], limits):
        return
    count = 0
    trees = [under]
    done: set[str] = set()
    while trees:
        if token is not None:
            token.check()
        tree = view.folder(trees.pop())
        if tree.name in done:
            continue
        done.add(tree.name)
        for found in _tree(view, tree, trees, token):
            if limits.policy and limits.policy.refusal(found.name):
                continue
            yield found
            count += 1
            if count >= limits.max_files:
                return
            if token is not None and not count % 256:
                token.check()


def ignored(root: str, paths: Iterable[str], limits: Limits = _DEFAULTS) -> set[str]:
    """Those of the paths that a walk would not list, whether they exist or not; folders by their rules.

    Three processes for the root, two for each other work tree concerned, for any number of paths.  Raises OSError
    where the system lacks what is needed to tell.
    """
    return {path for path, verdict in _verdicts(root, list(paths), limits).items() if not verdict.indexed}


def explain(root: str, path: str, limits: Limits) -> Verdict:
    """Whether the text of a file is indexed, and if not, the rule or the property of the file that says so."""
    verdict = _verdicts(root, [path], limits)[path]
    if not verdict.indexed:
        return verdict
    got = read_text(path, limits)
    return Verdict(False, got.reason) if isinstance(got, Skipped) else verdict


def _tree(view: View, tree: Folder, trees: list[str], token: CancelToken | None) -> Iterator[Found]:
    """The files from a folder down to where other work trees begin; those are added to `trees`."""
    if tree.out is not None:
        return
    if tree.repo is None:
        yield from _scan(view, tree, trees, token)
        return
    names = _listed(tree, tree.repo, token)
    # All folders first: only then it is known whether a "!" among the rules lists what git left out.
    folders = {name: view.folder(name) for name in {name.rpartition("/")[0] for name in names or ()}}
    seen: set[str] = set()
    if names is None or view.negates:
        alone = _without_git(view, tree.tree)
        for found in _scan(alone, alone.folder(tree.name), trees, token):
            seen.add(found.name)
            yield found
    for found in _chosen(view, names or [], folders, tree.tree, trees):
        if found.name not in seen:
            yield found


def _without_git(view: View, tree: str) -> View:
    """A view of the same root that decides by itself in this tree."""
    alone = View(view.root or "/", alone=True)
    if tree:
        alone.adopt(view.folder(tree))
    return alone


def _listed(tree: Folder, repo: git_ignore.Repo, token: CancelToken | None) -> list[str] | None:
    """What git lists in a folder, by names relative to the root; None if it fails."""
    start = tree.tree + "/" if tree.tree else ""
    names = git_ignore.files(repo, tree.name[len(start) :], token)
    return [start + name for name in names] if names is not None and start else names


def _chosen(view: View, names: list[str], folders: dict[str, Folder], tree: str, trees: list[str]) -> Iterator[Found]:
    """Those files among git's names that are regular files and that no rule of ours ignores."""
    last = ""
    for name in names:
        parent, _, base = name.rpartition("/")
        folder = folders[parent]
        if folder.out is not None or name == last:  # a file in conflict comes once for each side
            continue
        last = name
        if folder.tree != tree:
            trees.append(folder.tree)
            continue
        rule = view.decide(folder, base, is_folder=False) if folder.own else None
        if not base or (rule is not None and not rule.indexed):
            continue
        path = f"{view.root}/{name}"
        try:
            found = os.lstat(path)
        except OSError:  # tracked, but deleted or not checked out
            continue
        if modes.S_ISDIR(found.st_mode):  # a submodule
            inner = view.enter(folder, base)
            if inner.out is None and inner.tree == inner.name:
                trees.append(inner.name)
        elif never(base, found.st_mode) is None:
            yield Found(path, name, found.st_size, found.st_mtime_ns)


def _scan(view: View, start: Folder, trees: list[str], token: CancelToken | None) -> Iterator[Found]:
    """The files from a folder down by the view's own rules; where other trees begin goes to `trees`."""
    waiting = [start] if start.out is None else []
    while waiting:
        folder = waiting.pop()
        if token is not None:
            token.check()
        try:
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if exhausted(error):
                raise  # what is not seen is not gone
            continue
        below: list[Folder] = []
        way = folder.name + "/" if folder.name else ""
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    inner = view.enter(folder, entry.name)
                    if inner.out is None and inner.tree == inner.name:
                        trees.append(inner.name)
                    elif inner.out is None:
                        below.append(inner)
                    continue
                if not entry.is_file(follow_symlinks=False) or never(entry.name, 0) is not None:
                    continue
                rule = view.decide(folder, entry.name, is_folder=False)
                if rule is not None and not rule.indexed:
                    continue
                found = entry.stat(follow_symlinks=False)
            except OSError:  # gone in between
                continue
            yield Found(f"{view.root}/{way}{entry.name}", way + entry.name, found.st_size, found.st_mtime_ns)
        waiting += reversed(below)


class _Open(Struct, frozen=True):
    """A path that our rules leave to git: the last word of each of these names in each of these trees."""

    name: str
    questions: tuple[tuple[str, str], ...]  # (tree, name), outermost last
    rule: Verdict | None  # what our rules say
    again: bool  # a "!" of a .promptlsignore lists it, or a folder above


def _verdicts(root: str, paths: list[str], limits: Limits) -> dict[str, Verdict]:
    """What the rules say of each path; the text of files is not looked at."""
    view = View(root)
    verdicts: dict[str, Verdict] = {}
    left: dict[str, _Open] = {}
    for path in paths:
        name = _name(view.root, path)
        got = _OUTSIDE if name is None else _refused(view, name, limits) or _judged(view, name)
        if isinstance(got, Verdict):
            verdicts[path] = got
        else:
            left[path] = got
    asked: dict[str, list[str]] = {}
    for tree, name in dict.fromkeys(question for case in left.values() for question in case.questions):
        asked.setdefault(tree, []).append(name)
    alone = View(root, alone=True) if asked and view.negates else None
    answers = {(tree, name): v for tree, names in asked.items() for name, v in _asked(view, tree, names).items()}
    for path, case in left.items():
        hits = [answers[question] for question in case.questions if question in answers]
        hit = next((h for h in reversed(hits) if not h.indexed), None)
        if hit is not None and case.again and alone is not None:
            hit = _alone(alone, case.name)
        listed = case.rule or (hits[0] if hits and hits[0].indexed else None) or Verdict(True, "")
        verdicts[path] = hit if hit is not None and not hit.indexed else listed
    return verdicts


def _refused(view: View, name: str, limits: Limits) -> Verdict | None:
    """The verdict of the user's policy, None if it has nothing against a name."""
    if not name or not limits.policy:
        return None
    why = limits.policy.refusal(name, modes.S_ISDIR(mode_of(f"{view.root}/{name}")))
    return Verdict(False, why) if why else None


def _judged(view: View, name: str) -> Verdict | _Open:
    """The verdict on one name as far as the view knows, else what is to be asked of git."""
    if not name:
        return Verdict(True, "")
    parent, _, base = name.rpartition("/")
    folder = view.folder(parent)
    mode = mode_of(f"{view.root}/{name}")
    is_folder = modes.S_ISDIR(mode)
    out = view.enter(folder, base).out if is_folder else folder.out or never(base, mode)
    if out is not None:
        return out
    rule = view.decide(folder, base, is_folder)
    if rule is not None and not rule.indexed:
        return rule
    questions = [(folder.tree, name)] if folder.repo is not None else []
    while folder.tree:
        boundary = folder.tree
        folder = view.folder(boundary.rpartition("/")[0])
        if folder.repo is not None:
            questions.append((folder.tree, boundary))
    again = view.folder(parent).again or (rule is not None and lists_again(rule))
    return _Open(name, tuple(questions), rule, again)


def _asked(view: View, tree: str, names: list[str]) -> dict[str, Verdict]:
    """What git's rules say of names in one tree; nothing for a name that none of them matches."""
    repo = view.folder(tree).repo
    if repo is None:
        return {}
    start = len(tree) + 1 if tree else 0
    hits = git_ignore.matches(repo, [name[start:] for name in names])
    if hits is not None:
        return {name: ruled(h.file, h.line, h.text) for name in names if (h := hits.get(name[start:])) is not None}
    alone, kept = _without_git(view, tree), git_ignore.tracked(repo, [name[start:] for name in names])
    return {name: v for name in names if name[start:] not in kept and (v := _alone(alone, name)) is not None}


def _alone(view: View, name: str) -> Verdict | None:
    """What the rules of a view that knows them all say of a name."""
    parent, _, base = name.rpartition("/")
    folder = view.folder(parent)
    return folder.out or view.decide(folder, base, modes.S_ISDIR(mode_of(f"{view.root}/{name}")))


def _name(root: str, path: str) -> str | None:
    """The path relative to the root, None if it is not below it by its letters."""
    path = posixpath.normpath(path.replace("\\", "/") if WINDOWS else path)
    if path.startswith("//") and not root.startswith("//"):
        path = path[1:]
    top, place = (root.lower(), path.lower()) if WINDOWS else (root, path)
    if place in (top, top + "/"):
        return ""
    return path[len(root) + 1 :] if place.startswith(top + "/") else None
