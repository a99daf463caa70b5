"""The resolver of files and lines: "@src/a.py", "@a.py:10-20", "@root:src/a.py".

Several files of one name are candidates, never a guess, unless what the user is looking at decides it; then
the reason says so.  A folder written without its slash, a root written without its colon and a file that
the index does not know yet are found as well.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.index import files
from promptls.mentions.context import Request
from promptls.mentions.grammar import is_package, looks_like_path
from promptls.mentions.outcomes import file_outcome, many, read_as, refused, unresolved
from promptls.mentions.path_lookup import (
    Found,
    Rung,
    find_files,
    find_folders,
    name_for,
    nearest_first,
    on_disk,
    roots_named,
)
from promptls.mentions.resolvers import file_sets, folder
from promptls.mentions.suggest import near_path, stem_path
from promptls.model import Mention, MentionOutcome

_WEB = ("http", "https", "ftp")


def resolve(mention: Mention, request: Request) -> MentionOutcome:
    """The file that the mention names."""
    snapshot = request.snapshot
    roots = roots_named(snapshot, mention.root)
    if not roots and mention.root:
        return _without_root(mention, request)
    found = find_files(request, mention.target, roots)
    if len(found.paths) == 1:
        return file_outcome(mention, request, found.paths[0], _how(mention, request, found))
    if found.paths:
        picked, why = _pick(request, found)
        if picked:
            others = [path for path in found.paths if path != picked]
            outcome = file_outcome(mention, request, picked, f"{len(found.paths)} files fit {mention.text}; {why}.")
            return replace(outcome, candidates=many(mention, request, others).candidates)
        return many(mention, request, found.paths)
    if mention.lines is None:
        as_folder = _as_folder(mention, request)
        if as_folder is not None:
            return as_folder
    path = on_disk(request, mention.target, roots)
    if path is not None:
        if files.is_folder(path):
            return folder.from_disk(mention, request, path)
        return file_outcome(mention, request, path)
    if mention.lines is None and file_sets.is_pattern(mention.target):
        return file_sets.resolve_glob(mention, request)
    return _missing(mention, request, found.outside)


def paths(mention: Mention, request: Request) -> Sequence[str]:
    """All files that a path may mean, nearest first; for the scope of a symbol."""
    return nearest_first(
        request, find_files(request, mention.target, roots_named(request.snapshot, mention.root)).paths
    )


def _how(mention: Mention, request: Request, found: Found) -> str:
    """What was read differently from how it was written."""
    label = request.snapshot.label(found.paths[0])
    same = unicodedata.normalize("NFC", label).endswith(unicodedata.normalize("NFC", mention.target))
    if found.rung in (Rung.FOLDED, Rung.FOLDED_END) and not same:
        return f"{mention.text} was taken for {label}, whose letters differ in case."
    return ""


def _pick(request: Request, found: Found) -> tuple[str, str]:
    """(the one of several files that the editor's state speaks for, why), or ("", "")."""
    client = request.client
    if client.active in found.paths:
        return client.active, "this is the active document"
    opened = [path for path in client.open if path in found.paths]
    if len(opened) == 1:
        return opened[0], "this is the one that is open"
    here = client.active.rsplit("/", 1)[0] if client.active else ""
    beside = [path for path in found.paths if here and path.rsplit("/", 1)[0] == here]
    if not opened and len(beside) == 1:
        return beside[0], "this is the one beside the active document"
    return "", ""


def _as_folder(mention: Mention, request: Request) -> MentionOutcome | None:
    """The folder, or the root, that was written like a file."""
    found = find_folders(request, mention.target, roots_named(request.snapshot, mention.root))
    # A word in prose is no folder because of a letter case that it does not have.
    bare = not mention.root and "/" not in mention.target and "\\" not in mention.target
    if found.paths and not (bare and found.rung in (Rung.FOLDED, Rung.FOLDED_END)):
        outcome = folder.of(replace(mention, kind="folder"), request, found.paths)
        name = name_for(request.snapshot, found.paths[0], folder=True) if len(found.paths) == 1 else None
        return read_as(outcome, mention, f"{mention.text} is a folder, {name}." if name else "It is a folder.")
    if bare and len(request.snapshot.roots) > 1:
        for root in request.snapshot.roots:
            if root.name == mention.target:
                outcome = folder.of(replace(mention, kind="workspace"), request, (root.path,))
                return read_as(outcome, mention, f"{mention.text} is a whole workspace folder, @{root.name}:.")
    return None


def _without_root(mention: Mention, request: Request) -> MentionOutcome:
    """ "@x:y" where no root is called x: a URI, or a file whose name has a colon."""
    if mention.root in _WEB:
        return refused(mention, "Web pages are not fetched: prompts are made from this machine only.")
    if mention.root == "file":
        path = files.from_uri(f"file:{mention.target}") or ""
        return read_as(resolve(replace(mention, target=path, root=""), request), mention, "")
    whole = replace(mention, target=f"{mention.root}:{mention.target}", root="")
    outcome = resolve(whole, request)
    if outcome.status != "unresolved":
        return read_as(outcome, mention, "")
    return folder.no_root(mention, request, resolve(replace(mention, root=""), request))


def _missing(mention: Mention, request: Request, outside: bool) -> MentionOutcome:
    target = mention.target
    absolute = target.replace("\\", "/")
    if outside or absolute.startswith("~/") or (absolute.startswith("/") and files.stat(absolute) is not None):
        return refused(mention, f"{target} is outside of the workspace; only files of its folders can be mentioned.")
    if mention.lines is None and not looks_like_path(target) and not is_package(target):
        suggestion = stem_path(request, target)  # a word in prose is like many names
    else:
        suggestion = near_path(request, target, roots_named(request.snapshot, mention.root), is_package(target))
    return unresolved(mention, f'There is no file "{target}" in the workspace.', suggestion)
