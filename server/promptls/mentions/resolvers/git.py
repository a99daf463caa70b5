"""Resolvers of changes: "@diff", "@staged", "@recent", "@commit:…", "@branch:…".

Each changed file is a virtual document with a unified diff, so that the budget is shared by files.  Ignored and secret
files, also of old commits, are left out and listed in the reason.

Git determines which files differ.  Their texts are read from git, from disk and from the editor, so that unsaved text
is included and the result does not depend on git's configuration.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.git import diff, revisions
from promptls.git.runner import MISSING_OBJECTS, no_repository
from promptls.index import (
    FileContent,
    file_stat,
    folder_exists,
    ignored_paths,
    is_inside,
    is_notebook,
    read_any_text,
    split_lines,
)
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import included, unresolved, virtual_item
from promptls.mentions.path_lookup import access_denied_reason, find_roots
from promptls.model import AnyOutline, CancelToken, FileText, Item, Mention, MentionOutcome, Origin, Problem, Root, Span
from promptls.redaction.secret_files import secret_reason
from promptls.util.git_process import find_git_folder
from promptls.util.text.display import plural
from promptls.util.text.line_diff import DiffBlock, patience_diff

MAX_FILES = 100
"""Maximum number of files of one diff; further ones are only counted."""

MAX_LISTED_HIDDEN = 10
"""Maximum number of hidden files listed in a reason; further ones are only counted."""

MAX_RECENT_FILES = 10
"""Maximum number of files of "@recent" that changed only on disk."""

DEFAULT_RECENT_S = 3600
"""Period of "@recent" before the first prompt, in seconds."""

_RANGE = re.compile(r"(?P<a>.*?)(?P<dots>\.{2,3})(?P<b>.*)")
_PERIOD = re.compile(r"(\d+)\s*(s|m|min|h|d|w)$")
_UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def resolve_diff(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@diff" to uncommitted changes, or to the changes between two commits."""
    which = mention.target
    if which and which not in ("staged", "unstaged", "unsaved"):
        return _revision_outcome(mention, context, which)
    changes: dict[str, FileVersions] = {}
    notes: list[str] = []
    for root in find_roots(context.snapshot, ""):
        root_changes = (
            unsaved_changes(context, root) if which == "unsaved" else uncommitted_changes(context, root, which)
        )
        if isinstance(root_changes, Problem):
            notes.append(root_changes.message)
        else:
            changes |= {change.path: change for change in root_changes}
    empty = f"No {which or 'uncommitted'} changes in the workspace."
    return _changes_outcome(mention, context, list(changes.values()), f"diff {which}".strip(), empty, notes)


def resolve_staged(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@staged" to the staged changes."""
    return replace(resolve_diff(replace(mention, target="staged"), context), mention=mention)


def resolve_recent(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@recent" to edits within a period, since the last prompt, or within the last hour."""
    edits, now = context.services.edits, time.time()
    if edits is None:
        return unresolved(mention, "No edit history is available.")
    which = mention.target
    since = edits.prompt_marked_at or now - DEFAULT_RECENT_S
    if which and which != "prompt":
        period = _PERIOD.fullmatch(which)
        if period is None:
            return unresolved(mention, f'Invalid period "{which}"; use 30s, 10m, 2h or 1d.', "@recent:10m")
        since = now - int(period[1]) * _UNIT_S[period[2]]
    elif which == "prompt" and not edits.prompt_marked_at:
        return unresolved(mention, "No prompt was built since the server started.", "@recent:1h")
    changes = []
    for path, before in edits.texts_at(since).items():
        after = current_text(context, path)
        if not same_text(before, after):
            changes.append(FileVersions(path, before, after))
    edited = {change.path for change in changes}
    changed_on_disk = sorted(
        (
            (entry.mtime_ns, path)
            for path, entry in context.snapshot.files.items()
            if entry.mtime_ns / 1e9 > since and path not in edited and path not in context.snapshot.documents
        ),
        reverse=True,
    )
    items, notes = _diff_items(context, changes, f"recent {which}".strip())
    items += [
        Item(path, Span(0, 1 << 30), "file", Origin.MENTION, 1.0) for _, path in changed_on_disk[:MAX_RECENT_FILES]
    ]
    if changed_on_disk:
        notes.append(f"{plural(len(changed_on_disk), 'file')} changed on disk.")
    return _outcome(mention, items, notes, "No edits within this period.")


def resolve_commit(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@commit:…" to the changes and messages of a commit or a range of commits."""
    if _RANGE.fullmatch(mention.target):
        return _revision_outcome(mention, context, mention.target)
    commits = _find_commits(context, mention.target)
    if isinstance(commits, Problem):
        return unresolved(mention, commits.message)
    root, (id,) = commits
    details = revisions.commit_message(root.path, id, context.token)
    if isinstance(details, Problem):
        return unresolved(mention, details.message)
    parent, message = details
    return _commits_outcome(mention, context, root, parent, id, f"commit {mention.target}", message)


def resolve_branch(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@branch" to the changes of a branch since it diverged from the default branch."""
    name = mention.target or "HEAD"
    commits = _find_commits(context, name)
    if isinstance(commits, Problem):
        return unresolved(mention, commits.message)
    default = revisions.default_branch(commits[0].path, context.token)
    if not default:
        reason = "No default branch found: no branch of a remote, and no main, master, trunk or develop."
        return unresolved(mention, reason)
    outcome = _range_outcome(mention, context, default, "...", name)
    since = f"Changes since {revisions.short_ref(default)}."
    return replace(outcome, reason=f"{since} {outcome.reason}".strip()) if outcome.targets else outcome


def _revision_outcome(mention: Mention, context: ResolveContext, revision: str) -> MentionOutcome:
    """Return the changes in a range of commits, or from one commit to the working tree."""
    range_ = _RANGE.fullmatch(revision)
    if range_ is not None:
        return _range_outcome(mention, context, range_["a"] or "HEAD", range_["dots"], range_["b"] or "HEAD")
    commits = _find_commits(context, revision)
    if isinstance(commits, Problem):
        return unresolved(mention, commits.message)
    root, (id,) = commits
    changes = working_tree_changes(context, root, id)
    if isinstance(changes, Problem):
        return unresolved(mention, changes.message)
    return _changes_outcome(mention, context, changes, f"diff {revision}", f"No changes since {revision}.")


def _range_outcome(mention: Mention, context: ResolveContext, first: str, dots: str, last: str) -> MentionOutcome:
    commits = _find_commits(context, first, last)
    if isinstance(commits, Problem):
        return unresolved(mention, commits.message)
    root, (first_id, last_id) = commits
    base = first_id if dots == ".." else revisions.merge_base(root.path, first_id, last_id, context.token)
    if isinstance(base, Problem):
        return unresolved(mention, base.message)
    if not base:
        return unresolved(mention, f"{first} and {last} have no common ancestor.")
    subjects = revisions.subjects_between(root.path, first_id, last_id, context.token)
    name = f"{revisions.short_ref(first)}{dots}{last}"
    return _commits_outcome(mention, context, root, base, last_id, name, subjects)


def _commits_outcome(
    mention: Mention, context: ResolveContext, root: Root, first: str, last: str, name: str, messages: str
) -> MentionOutcome:
    """Return the outcome for the changes between two commit ids, with commit messages first."""
    changes = commit_changes(context, root, first, last)
    if isinstance(changes, Problem):
        return unresolved(mention, changes.message)
    return _changes_outcome(mention, context, changes, name, f"No changes in {name}.", (), messages)


def _find_commits(context: ResolveContext, *names: str) -> tuple[Root, list[str]] | Problem:
    """Return the first root whose repository contains all commits, and their ids, or the problem."""
    roots = [root for root in context.snapshot.roots if find_git_folder(root.path) is not None]
    if context.snapshot.roots and not roots:
        return no_repository(context.snapshot.roots[0].path)
    problem = Problem("The workspace has no folder.")
    for root in roots:
        ids: list[str] = []
        for name in names:
            id = revisions.resolve_commit(root.path, name, context.token)
            if isinstance(id, Problem) or not id:
                unborn = f"The current branch of {root.name} has no commits yet."
                problem = id or Problem(unborn if name == "HEAD" else f'Commit "{name}" not found in the workspace.')
                break
            ids.append(id)
        else:
            return root, ids
    return problem


def _changes_outcome(
    mention: Mention,
    context: ResolveContext,
    changes: Sequence[FileVersions],
    name: str,
    empty: str,
    problems: Sequence[str] = (),
    messages: str = "",
) -> MentionOutcome:
    """Return the outcome for changes called `name`, with commit messages as the first item."""
    items, notes = _diff_items(context, changes, name)
    head = [virtual_item(context, name, messages, "diff")] if messages else []
    return _outcome(mention, [*head, *items], notes, empty, problems)


def _outcome(
    mention: Mention, items: Sequence[Item], notes: Sequence[str], empty: str, problems: Sequence[str] = ()
) -> MentionOutcome:
    """Return the outcome for items with notes; `empty` is the reason without items, unless there are problems."""
    if items:
        return included(mention, items, " ".join([*notes, *problems]))
    if notes:
        return MentionOutcome(mention, "omitted", reason=" ".join([*notes, *problems]))
    return unresolved(mention, " ".join(problems) or empty)


def _diff_items(context: ResolveContext, changes: Sequence[FileVersions], name: str) -> tuple[list[Item], list[str]]:
    """Return one item per changed file and the notes on counts and hidden files."""
    hidden = _hidden_paths(context, {path for change in changes for path in (change.path, change.old_path) if path})
    shown = [change for change in changes if not {change.path, change.old_path} & hidden]
    items: list[Item] = []
    added = removed = unsaved = missing = 0
    count = len(shown)
    for change, before, after in read_changes(context, shown[:MAX_FILES]):
        is_open = change.is_current and change.path in context.snapshot.documents
        if is_open and same_text(before, after):  # differs only on disk
            count -= 1
            continue
        unsaved += is_open
        missing += any(isinstance(one, Problem) and one.message == MISSING_OBJECTS for one in (before, after))
        text, more, less = _format_change(context, change, before, after)
        added, removed = added + more, removed + less
        item = virtual_item(context, f"{context.snapshot.label(change.path)} ({name})", text, "diff")
        items.append(replace(item, subject=change.path))
    notes: list[str] = []
    if count:
        open_note = f", {unsaved} of them open in the editor" if unsaved else ""
        notes.append(f"{plural(count, 'file')} changed, +{added} −{removed}{open_note}.")
    if missing:
        notes.append(f"{plural(missing, 'file')} not shown: {MISSING_OBJECTS}.")
    if count > MAX_FILES:
        notes.append(f"Only the first {MAX_FILES} of {count:,} files are considered.")
    for path in sorted(hidden)[:MAX_LISTED_HIDDEN]:
        notes.append(access_denied_reason(context, path) or f"{context.snapshot.label(path)} is not shown.")
    if len(hidden) > MAX_LISTED_HIDDEN:
        notes.append(f"Not shown: {plural(len(hidden) - MAX_LISTED_HIDDEN, 'more file')}.")
    return items, notes


def _hidden_paths(context: ResolveContext, paths: Iterable[str]) -> set[str]:
    """Return the paths that must not be shown; the files may no longer exist."""
    hidden: set[str] = set()
    unlisted_by_root: dict[str, list[str]] = {}
    for path in paths:
        root, entry = context.snapshot.root_of(path), context.snapshot.files.get(path)
        if root is not None and (entry is None or not entry.mtime_ns):
            unlisted_by_root.setdefault(root.path, []).append(path)  # one call of git for all of them
        elif access_denied_reason(context, path):
            hidden.add(path)
    for root_path, unlisted in unlisted_by_root.items():
        hidden |= ignored_paths(root_path, unlisted, context.sources.limits)
        hidden |= {path for path in unlisted if secret_reason(path, [root_path]) and not context.sources.allow_secrets}
    return hidden


def _format_change(context: ResolveContext, change: FileVersions, before: Text, after: Text) -> tuple[str, int, int]:
    """Return the text of a change and the numbers of added and removed lines."""
    head = ["new file"] if before is None else ["deleted file"] if after is None else []
    head += change.notes
    if isinstance(before, Problem) or isinstance(after, Problem):
        problem = next(text for text in (after, before) if isinstance(text, Problem))
        return "\n".join([*head, f"Its text is not shown: {problem.message.removesuffix('.')}."]), 0, 0
    view = context.sources.read(change.path, explicit=True)
    outline = view.entry.outline if isinstance(view, FileText) and view.text == after else None
    text, added, removed = unified_diff(before, after, outline, context.token)
    if not text and not head:
        invisible = "its outputs or metadata" if is_notebook(change.path) else "its encoding or the ends of its lines"
        head = [f"Only {invisible} have changed."]
    return "\n".join([*head, text] if text else head), added, removed


# ---------------------------------------------------------------- changed files and their texts

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
    return list(changes.values())


def _submodule_text(context: ResolveContext, path: str, version: diff.FileVersion) -> Text:
    """Return a version of a submodule as git shows it; the current one is the commit that is checked out."""
    id: str | Problem = version.id
    # Without a repository of its own, git would use the one that contains it; a link may lead out of the workspace.
    has_repository = folder_exists(f"{path}/.git") or file_stat(f"{path}/.git") is not None
    if not id and has_repository and any(is_inside(root.path, path) for root in context.snapshot.roots):
        id = revisions.resolve_commit(path, "HEAD", context.token)
    return f"Subproject commit {id}" if id and isinstance(id, str) else Problem("the submodule is not checked out")


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
    before, after = (
        _submodule_text(context, path, side) if side is not None and side.is_submodule else side or missing
        for side in (file.old, file.new)
    )
    return FileVersions(path, before, after, root.path, old_path, tuple(notes))


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


# ---------------------------------------------------------------- unified diffs whose hunk headers name the enclosing symbol

CONTEXT_LINES = 3
"""Unchanged lines before and after a change, as in git."""

MAX_HEADING_CHARS = 80
"""Maximum length of a hunk heading without an outline, as in git."""

_HEADING = re.compile(r"[^\W\d]|\$")
"""Start of a line that git uses as a hunk heading."""


def unified_diff(
    before: str | None, after: str | None, outline: AnyOutline | None = None, token: CancelToken | None = None
) -> tuple[str, int, int]:
    """Return the unified diff of two texts and the numbers of added and removed lines.

    A hunk heading is the symbol in which the hunk starts.  Without an outline it is the last line before the hunk
    that starts with a letter, as in git.
    """
    old, new = (split_lines(text) if text else [] for text in (before, after))
    out: list[str] = []
    added = removed = searched = 0
    heading = ""
    for hunk in _hunks(patience_diff(old, new, token)):
        old_span = Span(hunk[0].old.start, hunk[-1].old.end)
        new_span = Span(hunk[0].new.start, hunk[-1].new.end)
        heading = next((line for line in reversed(old[searched : old_span.start]) if _HEADING.match(line)), heading)
        searched = old_span.start
        first = next(block for block in hunk if not block.equal)
        name = (
            _enclosing_symbol(outline, first.new.start) if outline is not None else heading[:MAX_HEADING_CHARS].rstrip()
        )
        out.append(f"@@ -{_format_range(old_span)} +{_format_range(new_span)} @@{' ' + name if name else ''}")
        for block in hunk:
            old_lines, new_lines = old[block.old.start : block.old.end], new[block.new.start : block.new.end]
            if block.equal:
                out += [" " + line for line in new_lines]
            else:
                out += ["-" + line for line in old_lines] + ["+" + line for line in new_lines]
                removed, added = removed + len(old_lines), added + len(new_lines)
    return "\n".join(out), added, removed


def _hunks(blocks: Sequence[DiffBlock]) -> Iterator[list[DiffBlock]]:
    """Group changes with their context; changes whose contexts touch share a hunk."""
    hunk: list[DiffBlock] = []
    for i, block in enumerate(blocks):
        if not block.equal or (0 < i < len(blocks) - 1 and len(block.old) <= 2 * CONTEXT_LINES):
            hunk.append(block)
            continue
        if hunk:
            yield [*hunk, _slice(block, 0, CONTEXT_LINES)]
        hunk = [_slice(block, max(0, len(block.old) - CONTEXT_LINES), len(block.old))]
    if any(not block.equal for block in hunk):
        yield hunk


def _slice(block: DiffBlock, start: int, end: int) -> DiffBlock:
    """Return the lines `start` to `end` of an equal block."""
    end = min(end, len(block.old))
    old, new = block.old.start, block.new.start
    return DiffBlock(True, Span(old + start, old + end), Span(new + start, new + end))


def _format_range(span: Span) -> str:
    return f"{span.start + bool(len(span))},{len(span)}"


def _enclosing_symbol(outline: AnyOutline, line: int) -> str:
    enclosing = [s for s in outline.symbols if line in s.span and s.name]
    return min(enclosing, key=lambda s: len(s.span)).qualified if enclosing else ""
