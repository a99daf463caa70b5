"""Resolvers of changes: "@diff", "@staged", "@recent", "@commit:…", "@branch:…".

Each changed file is a virtual document with a unified diff, so that the budget is shared by files.  Ignored and secret
files, also of old commits, are left out and listed in the reason.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from promptls.git import revisions
from promptls.git.runner import no_repository
from promptls.index import ignored_paths, is_notebook, secret_reason
from promptls.mentions.context import ResolveContext
from promptls.mentions.file_changes import (
    FileVersions,
    Text,
    commit_changes,
    current_text,
    read_changes,
    same_text,
    uncommitted_changes,
    unsaved_changes,
    working_tree_changes,
)
from promptls.mentions.outcomes.constructors import included, unresolved, virtual_item
from promptls.mentions.path_lookup import access_denied_reason, find_roots
from promptls.mentions.unified_diff import unified_diff
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Problem, Root, Span
from promptls.util.git_folder import find_git_folder
from promptls.util.text.plural import plural

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
        return unresolved(mention, "No default branch found (origin/HEAD, main, master or trunk).")
    return _range_outcome(mention, context, default, "...", name)


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
    return _commits_outcome(mention, context, root, base, last_id, f"{first}{dots}{last}", subjects)


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
    problem = Problem(f'Commit "{names[0]}" not found in the workspace.')
    for root in roots:
        ids: list[str] = []
        for name in names:
            id = revisions.resolve_commit(root.path, name, context.token)
            if isinstance(id, Problem) or not id:
                problem = id or Problem(f'Commit "{name}" not found in the workspace.')
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
    added = removed = unsaved = 0
    count = len(shown)
    for change, before, after in read_changes(context, shown[:MAX_FILES]):
        is_open = change.is_current and change.path in context.snapshot.documents
        if is_open and same_text(before, after):  # differs only on disk
            count -= 1
            continue
        unsaved += is_open
        text, more, less = _format_change(context, change, before, after)
        added, removed = added + more, removed + less
        item = virtual_item(context, f"{context.snapshot.label(change.path)} ({name})", text, "diff")
        items.append(replace(item, subject=change.path))
    notes: list[str] = []
    if count:
        open_note = f", {unsaved} of them open in the editor" if unsaved else ""
        notes.append(f"{plural(count, 'file')} changed, +{added} −{removed}{open_note}.")
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
