"""The resolvers of what has changed: "@diff", "@recent", "@commit:…", "@branch:…".

Which files differ is git's answer; the differences themselves are made here, from git's texts, the disk's and the
editor's, so that unsaved text counts and no configuration says how they look.  Each file is an exhibit of its own, so
that a budget is shared by file.  Ignored files and files of secrets, also of old commits, are left out and named.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.git import diff, revisions
from promptls.index import files as disk
from promptls.index.snapshot import split_lines
from promptls.mentions.context import Request
from promptls.mentions.outcomes import included, unresolved
from promptls.mentions.path_lookup import barred, roots_named
from promptls.model import AnyOutline, CancelToken, Item, Mention, MentionOutcome, Origin, Problem, Root, Span, TextView
from promptls.util.line_diff import Run, aligned

MOST_FILES = 100
"""Files of one difference; further ones are counted only."""

MOST_NAMED = 10
"""Files that are left out and named; further ones are counted only."""

CONTEXT = 3
MOST_HEADING = 80  # characters of a line that stands for a definition

_RANGE = re.compile(r"(?P<a>.*?)(?P<dots>\.{2,3})(?P<b>.*)")
_AGO = re.compile(r"(\d+)\s*(s|m|min|h|d|w)$")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_HEADING = re.compile(r"[^\W\d]|\$")  # what git takes for the beginning of a definition
_CONFLICT = Problem("it is in conflict")

_Text = str | Problem | None
"""What stands in a file, or why that cannot be shown; None for a file that is not there."""


class _Change(Struct, frozen=True):
    """One file that differs, by its absolute path; of a text that is not read yet, where it is."""

    path: str
    before: _Text | diff.Version
    after: _Text | diff.Version
    root: str = ""  # path of the root whose repository has the versions
    was: str = ""  # the path before the file was renamed
    said: tuple[str, ...] = ()  # what has changed beside the text

    @property
    def now(self) -> bool:
        """Whether it leads to the text that is there now."""
        return not (isinstance(self.after, diff.Version) and self.after.id)


# ---------------------------------------------------------------- the working tree


def resolve_diff(mention: Mention, request: Request) -> MentionOutcome:
    """What has changed since the last commit, or between two."""
    which = mention.target
    if which and which not in ("staged", "unstaged", "unsaved"):
        return _asked(mention, request, which)
    changes: dict[str, _Change] = {}
    notes: list[str] = []
    for root in roots_named(request.snapshot, ""):
        found = _unsaved(request, root) if which == "unsaved" else _uncommitted(request, root, which)
        if isinstance(found, Problem):
            notes.append(found.message)
        else:
            changes |= {change.path: change for change in found}
    what = {"": "Nothing has changed", "staged": "Nothing is staged"}.get(which, f"Nothing is {which}")
    name = f"diff {which}".strip()
    return _shown(mention, request, list(changes.values()), name, f"{what} in the workspace.", notes)


def resolve_staged(mention: Mention, request: Request) -> MentionOutcome:
    """What the next commit will change."""
    return replace(resolve_diff(replace(mention, target="staged"), request), mention=mention)


def _unsaved(request: Request, root: Root) -> list[_Change]:
    """Open documents whose text is not that of the disk."""
    found: list[_Change] = []
    for path, document in sorted(request.snapshot.documents.items()):
        if request.snapshot.root_of(path) == root:
            saved = _saved(request, path, document.text)
            if not _alike(saved, document.text):
                found.append(_Change(path, saved, document.text))
    return found


def _uncommitted(request: Request, root: Root, which: str) -> list[_Change] | Problem:
    """Files of a root that differ from the last commit (or the index, or it from the commit)."""
    head = revisions.head(root.path, request.token)
    if isinstance(head, Problem):
        return head
    if which != "staged":
        return _working(request, root, "" if which == "unstaged" else head)
    differ = diff.staged(root.path, head, request.token)
    return differ if isinstance(differ, Problem) else [_change(request, root, file) for file in differ]


def _working(request: Request, root: Root, base: str) -> list[_Change] | Problem:
    """Files of a root that differ, as they are now, from a commit or tree (id), from the index without one."""
    differ = diff.working(root.path, base, request.token)
    if isinstance(differ, Problem):
        return differ
    new = diff.untracked(root.path, request.token)
    if isinstance(new, Problem):
        return new
    files = [*differ, *(diff.Difference(name, name, None, diff.NEW) for name in new)]
    found = {change.path: change for change in _unsaved(request, root)}  # what git does not name is as on the disk
    for file in files:
        change = _change(request, root, file)
        document = request.snapshot.documents.get(change.path)
        found[change.path] = change if document is None else replace(change, after=document.text)
    return list(found.values())


def _change(request: Request, root: Root, file: diff.Difference) -> _Change:
    """What git has named, by its absolute path."""
    path, was = f"{root.path}/{file.name}", f"{root.path}/{file.was}"
    said: list[str] = []
    if file.conflict:
        said.append("in conflict")
    if file.old is not None and file.new is not None and file.old.mode != file.new.mode:
        said += [f"old mode {file.old.mode}", f"new mode {file.new.mode}"]
    if was != path:
        said += [f"rename from {request.snapshot.label(was)}", f"rename to {request.snapshot.label(path)}"]
    missing = _CONFLICT if file.conflict else None
    return _Change(path, file.old or missing, file.new or missing, root.path, was, tuple(said))


def resolve_recent(mention: Mention, request: Request) -> MentionOutcome:
    """What was edited within a time; without one, since the last prompt, else within an hour."""
    edits, now = request.around.edits, time.time()
    if edits is None:
        return unresolved(mention, "Nothing is known of edits here.")
    which = mention.target
    moment = edits.marked or now - 3600
    if which and which != "prompt":
        ago = _AGO.fullmatch(which)
        if ago is None:
            return unresolved(mention, f'"{which}" is no time; write it as 30s, 10m, 2h or 1d.', "@recent:10m")
        moment = now - int(ago[1]) * _SECONDS[ago[2]]
    elif which == "prompt" and not edits.marked:
        return unresolved(mention, "No prompt was built yet since the server was started.", "@recent:1h")
    changes = []
    for path, before in edits.since(moment).items():
        after = _current(request, path)
        if not _alike(before, after):
            changes.append(_Change(path, before, after))
    known = {change.path for change in changes}
    fresh = sorted(
        (
            (entry.mtime_ns, path)
            for path, entry in request.snapshot.files.items()
            if entry.mtime_ns / 1e9 > moment and path not in known and path not in request.snapshot.documents
        ),
        reverse=True,
    )
    items, told = _exhibits(request, changes, f"recent {which}".strip())
    items += [Item(path, Span(0, 1 << 30), "file", Origin.MENTION, 1.0) for _, path in fresh[:10]]
    if fresh:
        told.append(f"{_files(len(fresh))} changed on disk.")
    return _outcome(mention, items, told, "Nothing was edited in this time.")


# ---------------------------------------------------------------- commits


def resolve_commit(mention: Mention, request: Request) -> MentionOutcome:
    """What a commit has changed, or all between two."""
    if _RANGE.fullmatch(mention.target):
        return _asked(mention, request, mention.target)
    found = _root_with(request, mention.target)
    if isinstance(found, Problem):
        return unresolved(mention, found.message)
    root, (id,) = found
    told = revisions.message(root.path, id, request.token)
    if isinstance(told, Problem):
        return unresolved(mention, told.message)
    before, said = told
    return _between(mention, request, root, before, id, f"commit {mention.target}", said)


def resolve_branch(mention: Mention, request: Request) -> MentionOutcome:
    """What a branch has changed since it left the main one."""
    name = mention.target or "HEAD"
    found = _root_with(request, name)
    if isinstance(found, Problem):
        return unresolved(mention, found.message)
    main = revisions.main_branch(found[0].path, request.token)
    if not main:
        return unresolved(mention, "No main branch is known here: there is no origin/HEAD, main, master or trunk.")
    return _range(mention, request, main, "...", name)


def _asked(mention: Mention, request: Request, text: str) -> MentionOutcome:
    """What lies between two commits, or, where one is named, between it and the working tree."""
    parts = _RANGE.fullmatch(text)
    if parts is not None:
        return _range(mention, request, parts["a"] or "HEAD", parts["dots"], parts["b"] or "HEAD")
    found = _root_with(request, text)
    if isinstance(found, Problem):
        return unresolved(mention, found.message)
    root, (id,) = found
    changes = _working(request, root, id)
    if isinstance(changes, Problem):
        return unresolved(mention, changes.message)
    return _shown(mention, request, changes, f"diff {text}", f"Nothing differs from {text}.")


def _range(mention: Mention, request: Request, first: str, dots: str, last: str) -> MentionOutcome:
    found = _root_with(request, first, last)
    if isinstance(found, Problem):
        return unresolved(mention, found.message)
    root, (one, other) = found
    before = one if dots == ".." else revisions.merge_base(root.path, one, other, request.token)
    if isinstance(before, Problem):
        return unresolved(mention, before.message)
    if not before:
        return unresolved(mention, f"{first} and {last} have no commit in common.")
    said = revisions.subjects(root.path, one, other, request.token)
    return _between(mention, request, root, before, other, f"{first}{dots}{last}", said)


def _between(
    mention: Mention, request: Request, root: Root, first: str, last: str, name: str, said: str
) -> MentionOutcome:
    """What differs between two commits (ids), behind what is said of them."""
    differ = diff.between(root.path, first, last, request.token)
    if isinstance(differ, Problem):
        return unresolved(mention, differ.message)
    changes = [_change(request, root, file) for file in differ]
    return _shown(mention, request, changes, name, f"{name} has changed nothing.", (), said)


def _root_with(request: Request, *names: str) -> tuple[Root, list[str]] | Problem:
    """The first root whose repository has commits of these names, and their ids; or why there is none."""
    why = Problem(f'There is no commit "{names[0]}" in the workspace.')
    for root in request.snapshot.roots:
        ids: list[str] = []
        for name in names:
            id = revisions.commit(root.path, name, request.token)
            if isinstance(id, Problem) or not id:
                why = id or Problem(f'There is no commit "{name}" in the workspace.')
                break
            ids.append(id)
        else:
            return root, ids
    return why


# ---------------------------------------------------------------- texts


def _current(request: Request, path: str) -> _Text:
    """The text that is there now, unsaved or on the disk."""
    text = request.sources.text(path)
    return None if isinstance(text, Problem) and disk.stat(path) is None else text


def _saved(request: Request, path: str, text: str) -> _Text:
    """What the disk holds of an open document, whose text may be as long as it is."""
    limits = request.sources.limits
    limits = replace(limits, max_file_size=max(limits.max_file_size, 4 * len(text)))
    got = disk.read_any(path, limits, request.sources.secrets)
    if isinstance(got, disk.ReadText):
        return got.text
    return None if disk.stat(path) is None else Problem(got.reason)


def _alike(before: _Text, after: _Text) -> bool:
    """Whether two texts are the same, however their lines end: editors and git each have a will of their own there."""
    if isinstance(before, str) and isinstance(after, str):
        return before == after or split_lines(before) == split_lines(after)
    return before is None and after is None


def _read(request: Request, changes: Sequence[_Change]) -> Iterator[tuple[_Change, _Text, _Text]]:
    """The changes with their texts before and after."""
    wanted: dict[str, list[str]] = {}
    for change in changes:
        for version in (change.before, change.after):
            if isinstance(version, diff.Version) and version.id and not version.submodule:
                wanted.setdefault(change.root, []).append(version.id)
    held: dict[tuple[str, str], str | Problem] = {}
    for root, ids in wanted.items():
        got = diff.texts(root, ids, request.sources.limits.max_file_size, request.token)
        held |= {(root, id): got if isinstance(got, Problem) else got[id] for id in ids}
    for change in changes:
        request.token.check()
        yield change, _text(request, change, change.before, held), _text(request, change, change.after, held)


def _text(
    request: Request, change: _Change, side: _Text | diff.Version, held: Mapping[tuple[str, str], str | Problem]
) -> _Text:
    if not isinstance(side, diff.Version):
        return side
    if side.submodule:
        return f"Subproject commit {side.id}" if side.id else Problem("it is a repository of its own")
    return held[change.root, side.id] if side.id else _current(request, change.path)


# ---------------------------------------------------------------- exhibits


def _shown(
    mention: Mention,
    request: Request,
    changes: Sequence[_Change],
    name: str,
    nothing: str,
    notes: Sequence[str] = (),
    said: str = "",
) -> MentionOutcome:
    """What becomes of a mention of changes, called `name`, and of a text that goes before them."""
    items, told = _exhibits(request, changes, name)
    head = [_exhibit(request, name, said)] if said else []
    return _outcome(mention, [*head, *items], told, nothing, notes)


def _outcome(
    mention: Mention, items: Sequence[Item], told: Sequence[str], nothing: str, notes: Sequence[str] = ()
) -> MentionOutcome:
    """`told`: what is to be said of what there is; `nothing`: what to say without any, unless `notes` tell why."""
    if items:
        return included(mention, items, " ".join([*told, *notes]))
    if told:
        return MentionOutcome(mention, "omitted", reason=" ".join([*told, *notes]))
    return unresolved(mention, " ".join(notes) or nothing)


def _exhibits(request: Request, changes: Sequence[_Change], name: str) -> tuple[list[Item], list[str]]:
    """What is shown of changes, each called `name` behind its file, and what is to be said of them."""
    hidden = _hidden(request, {path for change in changes for path in (change.path, change.was) if path})
    shown = [change for change in changes if not {change.path, change.was} & hidden]
    items: list[Item] = []
    added = removed = unsaved = 0
    count = len(shown)
    for change, before, after in _read(request, shown[:MOST_FILES]):
        edited = change.now and change.path in request.snapshot.documents
        if edited and _alike(before, after):  # only on the disk it is another one
            count -= 1
            continue
        unsaved += edited
        text, more, less = _told(request, change, before, after)
        added, removed = added + more, removed + less
        items.append(_exhibit(request, f"{request.snapshot.label(change.path)} ({name})", text))
    told: list[str] = []
    if count:
        open_ = f", {unsaved} of them open in the editor" if unsaved else ""
        told.append(f"{_files(count)} changed, +{added} −{removed}{open_}.")
    if count > MOST_FILES:
        told.append(f"Only the first {MOST_FILES} of {count:,} files are looked at.")
    for path in sorted(hidden)[:MOST_NAMED]:
        told.append(barred(request, path) or f"{request.snapshot.label(path)} is not shown.")
    if len(hidden) > MOST_NAMED:
        told.append(f"{_files(len(hidden) - MOST_NAMED)} more must not be shown.")
    return items, told


def _hidden(request: Request, paths: Iterable[str]) -> set[str]:
    """Those of the files that must not be shown, whether they are still there or not; `barred` tells why."""
    hidden: set[str] = set()
    asked: dict[str, list[str]] = {}
    for path in paths:
        root, entry = request.snapshot.root_of(path), request.snapshot.files.get(path)
        if root is not None and (entry is None or not entry.mtime_ns):
            asked.setdefault(root.path, []).append(path)  # git is asked of all of them together
        elif barred(request, path):
            hidden.add(path)
    for root_path, unlisted in asked.items():
        hidden |= disk.ignored(root_path, unlisted, request.sources.limits)
        hidden |= {path for path in unlisted if disk.secret(path) and not request.sources.secrets}
    return hidden


def _told(request: Request, change: _Change, before: _Text, after: _Text) -> tuple[str, int, int]:
    """(what is shown of a change, lines added, lines removed)."""
    head = ["new file"] if before is None else ["deleted file"] if after is None else []
    head += change.said
    if isinstance(before, Problem) or isinstance(after, Problem):
        why = next(text for text in (after, before) if isinstance(text, Problem))
        return "\n".join([*head, f"Its text is not shown: {why.message.removesuffix('.')}."]), 0, 0
    view = request.sources.read(change.path, explicit=True)
    outline = view.entry.outline if isinstance(view, TextView) and view.text == after else None
    text, more, less = unified(before, after, outline, request.token)
    if not text and not head:
        head = ["Only its encoding or the ends of its lines have changed."]
    return "\n".join([*head, text] if text else head), more, less


def _exhibit(request: Request, name: str, text: str) -> Item:
    path = request.sources.exhibit(name, text)
    return Item(path, Span(0, len(split_lines(text))), "diff", Origin.MENTION, 1.0)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def unified(
    before: str | None, after: str | None, outline: AnyOutline | None = None, token: CancelToken | None = None
) -> tuple[str, int, int]:
    """(unified difference, lines added, lines removed); each hunk names the definition that it begins in.

    Without an outline that is, as for git, the last line before it that begins with a letter.
    """
    old, new = (split_lines(text) if text else [] for text in (before, after))
    out: list[str] = []
    more = less = looked = 0
    above = ""
    for hunk in _hunks(aligned(old, new, token)):
        a, b = Span(hunk[0].old.start, hunk[-1].old.end), Span(hunk[0].new.start, hunk[-1].new.end)
        above = next((line for line in reversed(old[looked : a.start]) if _HEADING.match(line)), above)
        looked = a.start
        first = next(run for run in hunk if not run.same)
        name = _inside(outline, first.new.start) if outline is not None else above[:MOST_HEADING].rstrip()
        out.append(f"@@ -{_at(a)} +{_at(b)} @@{' ' + name if name else ''}")
        for run in hunk:
            gone, come = old[run.old.start : run.old.end], new[run.new.start : run.new.end]
            if run.same:
                out += [" " + line for line in come]
            else:
                out += ["-" + line for line in gone] + ["+" + line for line in come]
                less, more = less + len(gone), more + len(come)
    return "\n".join(out), more, less


def _hunks(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Lines that differ, with `CONTEXT` lines that do not on either side; what is so near to each other as one."""
    hunk: list[Run] = []
    for at, run in enumerate(runs):
        if not run.same or (0 < at < len(runs) - 1 and len(run.old) <= 2 * CONTEXT):
            hunk.append(run)
            continue
        if hunk:
            yield [*hunk, _part(run, 0, CONTEXT)]
        hunk = [_part(run, max(0, len(run.old) - CONTEXT), len(run.old))]
    if any(not run.same for run in hunk):
        yield hunk


def _part(run: Run, start: int, end: int) -> Run:
    """Lines `start` to `end` of lines that are the same."""
    end = min(end, len(run.old))
    old, new = run.old.start, run.new.start
    return Run(True, Span(old + start, old + end), Span(new + start, new + end))


def _at(span: Span) -> str:
    return f"{span.start + bool(len(span))},{len(span)}"


def _inside(outline: AnyOutline, line: int) -> str:
    around = [s for s in outline.symbols if line in s.span and s.name]
    return min(around, key=lambda s: len(s.span)).qualified if around else ""
