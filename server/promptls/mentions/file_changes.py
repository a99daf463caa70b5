"""Changed files of the working tree, the index, unsaved documents and commits, with their texts.

Git determines which files differ.  Their texts are read from git, from disk and from the editor, so that unsaved text
is included and the result does not depend on git's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.git import diff, revisions
from promptls.index import FileContent, file_stat, folder_exists, is_inside, read_any_text, split_lines
from promptls.mentions.context import ResolveContext
from promptls.model import Problem, Root

Text = str | Problem | None
"""Text of a file, or why it cannot be read; None for a file that does not exist."""

_CONFLICT = Problem("it is in conflict")


class FileVersions(Struct, frozen=True):
    """A changed file; a side is a `FileVersion` until its text is read."""

    path: str  # absolute
    before: Text | diff.FileVersion
    after: Text | diff.FileVersion
    root: str = ""  # path of the root whose repository contains the versions
    old_path: str = ""  # before a rename
    notes: tuple[str, ...] = ()  # changes of mode and name, in git's words

    @property
    def is_current(self) -> bool:
        """True if the new side is the current text."""
        return not (isinstance(self.after, diff.FileVersion) and self.after.id)


def unsaved_changes(context: ResolveContext, root: Root) -> list[FileVersions]:
    """Return the open documents of a root whose text differs from the file on disk."""
    changes: list[FileVersions] = []
    for path, document in sorted(context.snapshot.documents.items()):
        if context.snapshot.root_of(path) == root:
            saved = _saved_text(context, root, path, document.text)
            if not same_text(saved, document.text):
                changes.append(FileVersions(path, saved, document.text))
    return changes


def uncommitted_changes(context: ResolveContext, root: Root, which: str) -> list[FileVersions] | Problem:
    """Return the "staged", "unstaged" or all ("") changes of a root since the last commit."""
    head = revisions.resolve_head(root.path, context.token)
    if isinstance(head, Problem):
        return head
    if which != "staged":
        return working_tree_changes(context, root, "" if which == "unstaged" else head)
    files = diff.diff_index(root.path, head, context.token)
    return files if isinstance(files, Problem) else [_file_change(context, root, file) for file in files]


def working_tree_changes(context: ResolveContext, root: Root, base: str) -> list[FileVersions] | Problem:
    """Return the changes from a commit or tree id, or from the git index without one, to the current texts."""
    tracked = diff.diff_working_tree(root.path, base, context.token)
    if isinstance(tracked, Problem):
        return tracked
    untracked = diff.untracked_files(root.path, context.token)
    if isinstance(untracked, Problem):
        return untracked
    files = [*tracked, *(diff.ChangedFile(name, name, None, diff.UNTRACKED) for name in untracked)]
    # Git reports files that differ on disk; for all others only unsaved text is a change.
    changes = {change.path: change for change in unsaved_changes(context, root)}
    for file in files:
        change = _file_change(context, root, file)
        document = context.snapshot.documents.get(change.path)
        changes[change.path] = change if document is None else replace(change, after=document.text)
    changes |= {change.path: change for change in _submodule_changes(context, root, committed=bool(base))}
    return list(changes.values())


def _submodule_changes(context: ResolveContext, root: Root, committed: bool) -> list[FileVersions]:
    """Return the changes in submodules that are checked out, each compared with its own last commit or git index.

    A submodule that git cannot read has no changes: its own commit is compared by the repository that contains it.
    """
    names = diff.submodules(root.path, context.token)
    changes: list[FileVersions] = []
    for name in names if not isinstance(names, Problem) else ():
        submodule = Root(f"{root.path}/{name}", name, "")
        if not _is_checked_out(context, submodule.path):
            continue
        head = revisions.resolve_head(submodule.path, context.token)
        found = (
            head if isinstance(head, Problem) else working_tree_changes(context, submodule, head if committed else "")
        )
        changes += found if not isinstance(found, Problem) else ()
    return changes


def _is_checked_out(context: ResolveContext, submodule: str) -> bool:
    """Return whether a submodule has a repository; otherwise git would use the one that contains it.

    A folder outside of the workspace, to which a link may lead, is not a submodule.
    """
    has_repository = folder_exists(f"{submodule}/.git") or file_stat(f"{submodule}/.git") is not None
    return has_repository and any(is_inside(root.path, submodule) for root in context.snapshot.roots)


def _with_submodule_commits(context: ResolveContext, change: FileVersions) -> FileVersions:
    """Return a change with the commit ids of its submodule sides as texts, and the commits between them as notes."""
    ids: list[str] = []
    texts: list[Text | diff.FileVersion] = []
    for side in (change.before, change.after):
        if isinstance(side, diff.FileVersion) and side.is_submodule:
            id = side.id or _submodule_head(context, change.path)
            ids.append(id)
            texts.append(f"Subproject commit {id}" if id else Problem("the submodule is not checked out"))
        else:
            texts.append(side)
    notes = change.notes
    if len(ids) == 2 and all(ids):
        commits = _submodule_commits(context, change.path, *ids)
        notes += (f"submodule {ids[0][:10]}...{ids[1][:10]}:", *(f"  {line}" for line in commits))
    return replace(change, before=texts[0], after=texts[1], notes=notes)


def _submodule_head(context: ResolveContext, path: str) -> str:
    """Return the commit that is checked out in a submodule, "" if there is none."""
    head = revisions.resolve_commit(path, "HEAD", context.token) if _is_checked_out(context, path) else ""
    return head if isinstance(head, str) else ""


def _submodule_commits(context: ResolveContext, path: str, first: str, last: str) -> list[str]:
    """Return the commits between two commits of a submodule, or one line with the reason why they are unknown."""
    if not _is_checked_out(context, path):
        return ["commits are not shown: the submodule is not checked out"]
    commits = revisions.commits_apart(path, first, last, context.token)
    return commits if not isinstance(commits, Problem) else ["commits are not shown: the submodule does not have them"]


def commit_changes(context: ResolveContext, root: Root, first: str, last: str) -> list[FileVersions] | Problem:
    """Return the changes between two commit ids."""
    files = diff.diff_commits(root.path, first, last, context.token)
    return files if isinstance(files, Problem) else [_file_change(context, root, file) for file in files]


def read_changes(context: ResolveContext, changes: Sequence[FileVersions]) -> Iterator[tuple[FileVersions, Text, Text]]:
    """Yield the changes with their texts before and after."""
    paths_by_root: dict[str, dict[str, str]] = {}  # root → object id → path
    for change in changes:
        for version, path in ((change.before, change.old_path), (change.after, change.path)):
            if isinstance(version, diff.FileVersion) and version.id:
                paths_by_root.setdefault(change.root, {}).setdefault(version.id, path)
    blobs: dict[tuple[str, str], str | Problem] = {}
    for root, paths in paths_by_root.items():
        texts = diff.read_blobs(root, paths, context.sources.limits.max_file_size, context.token, paths)
        blobs |= {(root, id): texts if isinstance(texts, Problem) else texts[id] for id in paths}
    for change in changes:
        context.token.check()
        before = _side_text(context, change, change.before, blobs)
        yield change, before, _side_text(context, change, change.after, blobs)


def current_text(context: ResolveContext, path: str) -> Text:
    """Read the current text of a file, unsaved or from disk."""
    text = context.sources.read_text(path)
    return None if isinstance(text, Problem) and file_stat(path) is None else text


def same_text(before: Text, after: Text) -> bool:
    """Return whether two texts are equal, ignoring line endings, which editors and git convert."""
    if isinstance(before, str) and isinstance(after, str):
        return before == after or split_lines(before) == split_lines(after)
    return before is None and after is None


def _file_change(context: ResolveContext, root: Root, file: diff.ChangedFile) -> FileVersions:
    path, old_path = f"{root.path}/{file.name}", f"{root.path}/{file.old_name}"
    notes: list[str] = []
    if file.conflict:
        notes.append("in conflict")
    if file.old is not None and file.new is not None and file.old.mode != file.new.mode:
        notes += [f"old mode {file.old.mode}", f"new mode {file.new.mode}"]
    if old_path != path:
        notes += [f"rename from {context.snapshot.label(old_path)}", f"rename to {context.snapshot.label(path)}"]
    missing = _CONFLICT if file.conflict else None
    change = FileVersions(path, file.old or missing, file.new or missing, root.path, old_path, tuple(notes))
    is_submodule = any(side is not None and side.is_submodule for side in (file.old, file.new))
    return _with_submodule_commits(context, change) if is_submodule else change


def _saved_text(context: ResolveContext, root: Root, path: str, text: str) -> Text:
    """Read the file of an open document; it may be as long as the document."""
    limits = context.sources.limits
    limits = replace(limits, max_file_size=max(limits.max_file_size, 4 * len(text)))
    content = read_any_text(path, limits, [root.path], context.sources.allow_secrets)
    if isinstance(content, FileContent):
        return content.text
    return None if file_stat(path) is None else Problem(content.reason)


def _side_text(
    context: ResolveContext,
    change: FileVersions,
    side: Text | diff.FileVersion,
    blobs: Mapping[tuple[str, str], str | Problem],
) -> Text:
    if not isinstance(side, diff.FileVersion):
        return side
    return blobs[change.root, side.id] if side.id else current_text(context, change.path)
