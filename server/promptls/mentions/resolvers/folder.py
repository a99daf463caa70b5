"""Resolver of folders: "@dir/", "@root:dir/"; also used for folders written as files.

The first target of the outcome is the folder itself.  Its files follow level by level, up to a limit.  Packing decides
which of them go into a prompt, and in which form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from promptls.index import folder_exists, secret_reason
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes.constructors import (
    ambiguous_paths,
    file_outcome,
    included,
    refused,
    unresolved,
    with_note,
)
from promptls.mentions.outcomes.suggestions import suggest_path
from promptls.mentions.path_lookup import (
    access_denied_reason,
    find_files,
    find_folders,
    find_on_disk,
    find_roots,
    mention_for,
)
from promptls.mentions.syntax.line_syntax import LAST_LINE
from promptls.model import Item, Mention, MentionOutcome, Origin, Span

MAX_FILES = 200
"""Maximum number of files of a folder that packing considers."""


def resolve(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of a folder to the folder and its files."""
    snapshot = context.snapshot
    roots = find_roots(snapshot, mention.root)
    if mention.root and not roots:
        return unknown_root(mention, context, resolve(replace(mention, root=""), context))
    matches = find_folders(context, mention.target, roots)
    if matches.paths:
        note = ""
        if matches.level.differs_in_case and len(matches.paths) == 1:
            note = f"{mention.text} was resolved to {snapshot.label(matches.paths[0])}/ ignoring case."
        return with_note(folder_outcome(mention, context, matches.paths), mention, note)
    files = find_files(context, mention.target, roots)
    if len(files.paths) == 1:
        note = f"{snapshot.label(files.paths[0])} is a file, not a folder."
        return file_outcome(mention, context, files.paths[0], note)
    path = find_on_disk(context, mention.target, roots)
    if path is not None:
        return unindexed_folder(mention, context, path)
    if matches.outside or mention.target.startswith("~"):
        return refused(mention, f"{mention.target} is outside of the workspace; mention a folder inside.")
    return unresolved(
        mention,
        f'Folder "{mention.target}" not found in the workspace.',
        suggest_path(context, mention.target, roots),
    )


def folder_outcome(
    mention: Mention, context: ResolveContext, folders: Sequence[str], include_all: bool = False
) -> MentionOutcome:
    """Return the outcome for indexed folders; several are ambiguous unless all of them are included."""
    if len(folders) > 1 and not include_all:
        return ambiguous_paths(mention, context, folders, folder=True)
    files, index = context.snapshot.files, context.path_index
    items = [Item(folder, Span(0, 0), "folder", Origin.MENTION, 1.0) for folder in folders]
    paths = list(islice((path for path in _by_level(context, folders) if _is_shown(context, path)), MAX_FILES))
    for path in paths:
        outline = files[path].outline
        # The span of a file without an outline is open; the reader clamps it to the text.
        end = outline.lines if outline is not None else LAST_LINE
        items.append(Item(path, Span(0, end), "file", Origin.MENTION, 1.0))
    reason = ""
    count = sum(map(index.file_count, folders))
    if count > MAX_FILES:
        reason = f"Contains {count:,} files; only the {len(paths)} nearest to its top are considered."
    return included(mention, items, reason)


def unindexed_folder(mention: Mention, context: ResolveContext, path: str) -> MentionOutcome:
    """Return the outcome for a folder (or file) that exists on disk but not in the index."""
    if not folder_exists(path):
        return file_outcome(mention, context, path, f"{context.snapshot.label(path)} is a file, not a folder.")
    denied = access_denied_reason(context, path)
    if denied:
        return refused(mention, denied)
    label = context.snapshot.label(path)
    return MentionOutcome(mention, "omitted", reason=f"The folder {label}/ contains no indexed files.")


def unknown_root(mention: Mention, context: ResolveContext, without_root: MentionOutcome) -> MentionOutcome:
    """Return the outcome for an unknown root name; `without_root` is the outcome of the mention without it."""
    names = ", ".join(sorted(root.name for root in context.snapshot.roots)) or "none"
    suggestion = without_root.suggestion
    if without_root.status == "included":
        item = without_root.targets[0]
        is_folder = item.kind == "folder"
        lines = None if is_folder else mention.lines
        suggestion = mention_for(context.snapshot, item.path, folder=is_folder, lines=lines) or ""
    return unresolved(mention, f'Workspace folder "{mention.root}" not found; available: {names}.', suggestion)


def _by_level(context: ResolveContext, folders: Iterable[str]) -> Iterator[str]:
    """Yield the files of folders level by level."""
    index = context.path_index
    level = list(folders)
    while level:
        children = sorted({child for folder in level for child in index.children(folder)})
        yield from (child for child in children if child[-1] != "/")
        level = [child[:-1] for child in children if child[-1] == "/"]
        context.token.check()


def _is_shown(context: ResolveContext, path: str) -> bool:
    """Return whether a file has a text that may be shown; rules are checked only for files the walk has not listed."""
    entry = context.snapshot.files[path]
    return (
        not entry.skip_reason
        and not secret_reason(entry.name)
        and (bool(entry.mtime_ns) or not access_denied_reason(context, path))
    )
