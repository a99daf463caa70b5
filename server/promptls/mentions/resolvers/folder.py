"""The resolver of folders: "@dir/", "@root:dir/"; and what a folder gives, for everybody who finds one.

The outcome's first target is the folder itself; the files in it follow, those nearest to its top first, up to
a cap.  Which of them go into a prompt, and in which form, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from promptls.index import files as disk
from promptls.mentions.completion.index import paths_of
from promptls.mentions.context import Request
from promptls.mentions.grammar import LAST_LINE
from promptls.mentions.outcomes import file_outcome, included, many, read_as, refused, unresolved
from promptls.mentions.path_lookup import Rung, barred, find_files, find_folders, name_for, on_disk, roots_named
from promptls.mentions.suggest import near_path
from promptls.model import Item, Mention, MentionOutcome, Origin, Span

MAX_FILES = 200


def resolve(mention: Mention, request: Request) -> MentionOutcome:
    """The folder that the mention names, with its files."""
    snapshot = request.snapshot
    roots = roots_named(snapshot, mention.root)
    if mention.root and not roots:
        return no_root(mention, request, resolve(replace(mention, root=""), request))
    found = find_folders(request, mention.target, roots)
    if found.paths:
        note = ""
        if found.rung in (Rung.FOLDED, Rung.FOLDED_END) and len(found.paths) == 1:
            note = f"{mention.text} was taken for {snapshot.label(found.paths[0])}/, whose letters differ in case."
        return read_as(of(mention, request, found.paths), mention, note)
    files = find_files(request, mention.target, roots)
    if len(files.paths) == 1:
        note = f"{snapshot.label(files.paths[0])} is a file, not a folder."
        return file_outcome(mention, request, files.paths[0], note)
    path = on_disk(request, mention.target, roots)
    if path is not None:
        return from_disk(mention, request, path)
    if found.outside or mention.target.startswith("~"):
        return refused(mention, f"{mention.target} is outside of the workspace; only folders in it can be mentioned.")
    return unresolved(
        mention,
        f'There is no folder "{mention.target}" in the workspace.',
        near_path(request, mention.target, roots),
    )


def of(mention: Mention, request: Request, folders: Sequence[str], all_of_them: bool = False) -> MentionOutcome:
    """The outcome for folders known to the index; several are candidates unless all are meant."""
    if len(folders) > 1 and not all_of_them:
        return many(mention, request, folders, folder=True)
    snapshot, catalog = request.snapshot, paths_of(request.snapshot)
    items = [Item(folder, Span(0, 0), "folder", Origin.MENTION, 1.0) for folder in folders]
    shown = list(islice((path for path in _nearest(request, folders) if _shown(request, path)), MAX_FILES))
    for path in shown:
        outline = snapshot.files[path].outline
        # The end of a file not outlined yet is open: whoever reads it cuts it to the text.
        end = outline.lines if outline is not None else LAST_LINE
        items.append(Item(path, Span(0, end), "file", Origin.MENTION, 1.0))
    reason = ""
    count = sum(map(catalog.count, folders))
    if count > MAX_FILES:
        reason = f"It holds {count:,} files; {len(shown)} of them, those nearest to its top, are looked at."
    return included(mention, items, reason)


def _nearest(request: Request, folders: Iterable[str]) -> Iterator[str]:
    """The files of folders, level by level."""
    catalog = paths_of(request.snapshot)
    level = list(folders)
    while level:
        children = sorted({child for folder in level for child in catalog.children(folder)})
        yield from (child for child in children if child[-1] != "/")
        level = [child[:-1] for child in children if child[-1] == "/"]
        request.token.check()


def _shown(request: Request, path: str) -> bool:
    """Whether a file has a text that may be shown; only what no walk has listed costs a look at the rules."""
    entry = request.snapshot.files[path]
    return not entry.skipped and not disk.secret(path) and (bool(entry.mtime_ns) or not barred(request, path))


def from_disk(mention: Mention, request: Request, path: str) -> MentionOutcome:
    """The outcome for a folder (or file) that is on disk but not in the index."""
    if not disk.is_folder(path):
        return file_outcome(mention, request, path, f"{request.snapshot.label(path)} is a file, not a folder.")
    why = barred(request, path)
    if why:
        return refused(mention, why)
    label = request.snapshot.label(path)
    return MentionOutcome(mention, "omitted", reason=f"The folder {label}/ holds no file that is indexed.")


def no_root(mention: Mention, request: Request, elsewhere: MentionOutcome) -> MentionOutcome:
    """The outcome where no root has the name; `elsewhere`: what the rest of the mention names by itself."""
    names = ", ".join(sorted(root.name for root in request.snapshot.roots)) or "none"
    suggestion = elsewhere.suggestion
    if elsewhere.status == "included":
        item = elsewhere.targets[0]
        of_folder = item.kind == "folder"
        lines = None if of_folder else mention.lines
        suggestion = name_for(request.snapshot, item.path, folder=of_folder, lines=lines) or ""
    return unresolved(mention, f'No workspace folder is called "{mention.root}"; the folders are: {names}.', suggestion)
