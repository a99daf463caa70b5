"""The resolvers of what has changed: "@diff", "@recent", "@commit:…", "@branch:…".

Differences against the working tree are made here, from git's texts and the snapshot's, so that unsaved text counts;
those between commits are git's.  Each file is an exhibit of its own, so that a budget is shared by file.
Ignored files and files of secrets are left out and named.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from promptls.context.git.ask import Answer, ask, without_filters
from promptls.context.mentions.lookup import barred, roots_named
from promptls.context.mentions.outcomes import included, unresolved
from promptls.context.mentions.request import Request
from promptls.index import disk
from promptls.index.snapshot import split_lines
from promptls.model import AnyOutline, CancelToken, Item, Mention, MentionOutcome, Origin, Problem, Root, Span, TextView

MOST_FILES = 100
"""Files of one difference; further ones are named only."""

MOST_LINES = 20_000
"""Lines of a text beyond which it is not compared."""

MOST_BYTES = 8_000_000
CONTEXT = 3

_REVISION = re.compile(r"[\w./@{}~^+=-][\w./@{}~^+=:-]*")
_RANGE = re.compile(r"(?P<a>.*?)(?P<dots>\.{2,3})(?P<b>.*)")
_AGO = re.compile(r"(\d+)\s*(s|m|min|h|d|w)$")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FILE = re.compile(r"^diff --git .*$", re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_SIGNS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name for a tree without files


class _Change(Struct, frozen=True):
    """One file that differs: absolute path, text before and after (None: not there)."""

    path: str
    before: str | None
    after: str | None


# ---------------------------------------------------------------- the working tree


def resolve_diff(mention: Mention, request: Request) -> MentionOutcome:
    """What has changed since the last commit, or between two."""
    which = mention.target
    if which and which not in ("staged", "unstaged", "unsaved"):
        return _between(mention, request, which)
    changes: list[_Change] = []
    notes: list[str] = []
    for root in roots_named(request.snapshot, ""):
        found = list(_unsaved(request, root)) if which == "unsaved" else _working(request, root, which)
        if isinstance(found, Problem):
            notes.append(found.message)
        else:
            changes += found
    if not changes:
        what = {"": "Nothing has changed", "staged": "Nothing is staged"}.get(which, f"Nothing is {which}")
        return unresolved(mention, " ".join(notes or [f"{what} in the workspace."]))
    return _shown(mention, request, f"diff {which}".strip(), changes, notes)


def resolve_staged(mention: Mention, request: Request) -> MentionOutcome:
    """What the next commit will change."""
    return replace(resolve_diff(replace(mention, target="staged"), request), mention=mention)


def _unsaved(request: Request, root: Root) -> Iterator[_Change]:
    """Open documents whose text is not that of the disk."""
    for path, document in sorted(request.snapshot.documents.items()):
        if request.snapshot.root_of(path) == root:
            got = disk.read_any(path, request.sources.limits)
            saved = None if isinstance(got, disk.Skipped) else got.text
            if saved != document.text:
                yield _Change(path, saved, document.text)


def _working(request: Request, root: Root, which: str) -> list[_Change] | Problem:
    """Files of a root that differ from the last commit (or the index, or it from the commit)."""
    head = "HEAD"
    known = ask(root.path, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1), token=request.token)
    if isinstance(known, Problem):
        return known
    if not known.out.strip():
        head = _EMPTY_TREE
    base = {"staged": ["--cached", head], "unstaged": [], "": [head]}[which]
    listed = _differing(root, *base, token=request.token)
    if isinstance(listed, Problem):
        return listed
    names = [os.fsdecode(raw) for raw in listed.out.split(b"\0") if raw]
    if which != "staged":
        new = ask(root.path, "ls-files", "--others", "--exclude-standard", "-z", token=request.token)
        names += [os.fsdecode(raw) for raw in new.out.split(b"\0") if raw] if isinstance(new, Answer) else []
        inside = (p for p in request.snapshot.documents if request.snapshot.root_of(p) == root)
        names += [path[len(root.path) + 1 :] for path in inside]
    out: list[_Change] = []
    for name in dict.fromkeys(names):
        request.token.check()
        path = f"{root.path}/{name}"
        before = _blob(root, head if which != "unstaged" else "", name, request)
        after = _blob(root, "", name, request) if which == "staged" else _current(path, request)
        if before != after:
            out.append(_Change(path, before, after))
    return out


def _differing(root: Root, *base: str, token: CancelToken) -> Answer | Problem:
    """Names of the files that differ from a commit or the index.  No filter of the repository's cleans them for that,
    and nobody looks into submodules, where that would be another repository's."""
    safe = without_filters(root.path, token)
    if isinstance(safe, Problem):
        return safe
    return ask(
        root.path, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "--relative",
        *base, "--", token=token, configuration=safe,
    )  # fmt: skip


def _blob(root: Root, revision: str, name: str, request: Request) -> str | None:
    """The text of a file in a commit, in the index for "", None if it is not there."""
    got = ask(root.path, "show", "--no-textconv", f"{revision}:./{name}", fine=(0, 128), token=request.token)
    if isinstance(got, Problem) or (not got.out and not _exists(root, revision, name, request)):
        return None
    return got.out.decode("utf-8", "replace")


def _exists(root: Root, revision: str, name: str, request: Request) -> bool:
    return isinstance(ask(root.path, "cat-file", "-e", f"{revision}:./{name}", token=request.token), Answer)


def _current(path: str, request: Request) -> str | None:
    document = request.snapshot.documents.get(path)
    if document is not None:
        return document.text
    view = request.sources.read(path, explicit=True)
    return view.text if isinstance(view, TextView) else None


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
        after = _current(path, request)
        if after != before:
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
    if not changes and not fresh:
        return unresolved(mention, "Nothing was edited in this time.")
    outcome = _shown(mention, request, f"recent {which}".strip(), changes, [])
    files = [Item(path, Span(0, 1 << 30), "file", Origin.MENTION, 1.0) for _, path in fresh[:10]]
    more = f" {len(fresh)} files have changed on disk." if fresh else ""
    return included(mention, [*outcome.targets, *files], f"{outcome.reason}{more}".strip())


# ---------------------------------------------------------------- commits


def resolve_commit(mention: Mention, request: Request) -> MentionOutcome:
    """What a commit has changed, or all between two."""
    if _RANGE.fullmatch(mention.target):
        return _between(mention, request, mention.target)
    root, why = _root_with(request, mention.target)
    if root is None:
        return unresolved(mention, why)
    got = ask(
        root.path, "show", "--first-parent", "-M", f"-U{CONTEXT}", "--no-color", "--no-ext-diff", "--no-textconv",
        "--relative", "--format=commit %h%nAuthor: %an%nDate: %ad%n%n%w(0,4,4)%B", "--date=iso", "--end-of-options",
        f"{mention.target}^{{commit}}", "--", most=MOST_BYTES, token=request.token,
    )  # fmt: skip
    if isinstance(got, Problem):
        return unresolved(mention, got.message)
    return _parted(mention, request, root, got, f"commit {mention.target}")


def resolve_branch(mention: Mention, request: Request) -> MentionOutcome:
    """What a branch has changed since it left the main one."""
    name = mention.target or "HEAD"
    root, why = _root_with(request, name)
    if root is None:
        return unresolved(mention, why)
    main = _main_branch(root, request)
    if not main:
        return unresolved(mention, "No main branch is known here: there is no origin/HEAD, main, master or trunk.")
    return _between(mention, request, f"{main}...{name}")


def _main_branch(root: Root, request: Request) -> str:
    said = ask(root.path, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", fine=(0, 1), token=request.token)
    names = [said.out.decode("utf-8", "replace").strip()] if isinstance(said, Answer) else []
    names += [f"refs/heads/{name}" for name in ("main", "master", "trunk", "develop")]
    return next((name for name in names if name and _is_commit(root, name, request)), "")


def _between(mention: Mention, request: Request, text: str) -> MentionOutcome:
    found = _RANGE.fullmatch(text)
    first, dots, last = (found["a"] or "HEAD", found["dots"], found["b"] or "HEAD") if found else (text, "..", "")
    root, why = _root_with(request, first)
    if root is not None and last:
        root, why = _root_with(request, last)
    if root is None:
        return unresolved(mention, why)
    if not last:  # "@diff:main": the working tree against it
        changes = list(_against(request, root, first))
        if not changes:
            return unresolved(mention, f"Nothing differs from {first}.")
        return _shown(mention, request, f"diff {first}", changes, [])
    got = ask(
        root.path, "diff", "-M", f"-U{CONTEXT}", "--no-color", "--no-ext-diff", "--no-textconv", "--relative",
        "--end-of-options", f"{first}{dots}{last}", "--", most=MOST_BYTES, token=request.token,
    )  # fmt: skip
    if isinstance(got, Problem):
        return unresolved(mention, got.message)
    subjects = ask(
        root.path, "log", "--format=%h %s", "-n", "50", "--end-of-options", f"{first}..{last}", "--",
        token=request.token,
    )  # fmt: skip
    said = subjects.out if isinstance(subjects, Answer) else b""
    return _parted(mention, request, root, Answer(said + b"\n" + got.out, got.whole), f"{first}{dots}{last}")


def _against(request: Request, root: Root, revision: str) -> Iterator[_Change]:
    listed = _differing(root, "--end-of-options", revision, token=request.token)
    names = [os.fsdecode(raw) for raw in listed.out.split(b"\0") if raw] if isinstance(listed, Answer) else []
    unsaved = [p[len(root.path) + 1 :] for p in request.snapshot.documents if request.snapshot.root_of(p) == root]
    for name in dict.fromkeys([*names, *unsaved]):
        request.token.check()
        before, after = _blob(root, revision, name, request), _current(f"{root.path}/{name}", request)
        if before != after:
            yield _Change(f"{root.path}/{name}", before, after)


def _root_with(request: Request, revision: str) -> tuple[Root | None, str]:
    """The first root whose repository has a revision, or why there is none."""
    if not _REVISION.fullmatch(revision) or revision.startswith("-"):
        return None, f'"{revision}" is no name of a commit.'
    for root in request.snapshot.roots:
        if _is_commit(root, revision, request):
            return root, ""
    return None, f'There is no commit "{revision}" in the workspace.'


def _is_commit(root: Root, revision: str, request: Request) -> bool:
    known = ask(
        root.path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}",
        fine=(0, 1, 128), token=request.token,
    )  # fmt: skip
    return isinstance(known, Answer) and bool(known.out.strip())


# ---------------------------------------------------------------- exhibits


def _parted(mention: Mention, request: Request, root: Root, got: Answer, name: str) -> MentionOutcome:
    """What git has printed: what comes before the first file, then each file, as exhibits."""
    text = got.out.decode("utf-8", "replace")
    starts = [m.start() for m in _FILE.finditer(text)]
    head = text[: starts[0] if starts else len(text)].strip()
    items = [_exhibit(request, name, head)] if head else []
    notes = [] if got.whole else ["It is too long; its end is left out."]
    for i, start in enumerate(starts):
        part = text[start : starts[i + 1] if i + 1 < len(starts) else len(text)]
        old, label = _names(part)
        path = f"{root.path}/{label}"
        why = (
            f"A file of {name} is not shown: its name cannot be read."
            if not label
            else barred(request, path)
            if label == ".git" or path in request.snapshot.documents
            else _kept_back(request, path)
        )
        why = why or _kept_back(request, f"{root.path}/{old}")
        if why:
            notes.append(why)
        elif len(items) <= MOST_FILES:
            items.append(_exhibit(request, f"{label} ({name})", _body(part)))
    if not items:
        return unresolved(mention, " ".join(notes) or f"{name} has changed nothing.")
    files = len(items) - bool(head)
    return included(mention, items, " ".join([f"{_files(files)} changed.", *notes]) if files else " ".join(notes))


def _kept_back(request: Request, path: str) -> str:
    """Why a file of an old commit is not shown: it holds secrets.  It need not exist any more."""
    why = disk.secret(path)
    return f"{request.snapshot.label(path)} is not shown: {why}." if why and not request.sources.secrets else ""


def _names(part: str) -> tuple[str, str]:
    """The names of a part's file before and after, the same twice where it has but one; "" for what cannot be read."""
    head = part[:at] if (at := part.find("\n@@ ")) >= 0 else part
    said = {}
    for mark in ("--- ", "+++ ", "rename from ", "rename to "):
        found = re.search(rf"^{re.escape(mark)}(.*)$", head, re.MULTILINE)
        if found and found[1] != "/dev/null":
            said[mark] = _plain(found[1].split("\t")[0] if not found[1].startswith('"') else found[1], mark)
    old, new = said.get("--- ") or said.get("rename from "), said.get("+++ ") or said.get("rename to ")
    if old is None and new is None:  # only its mode has changed, or it is binary: both names are the same
        line = part.partition("\n")[0].removeprefix("diff --git ")
        both = line[: len(line) // 2], line[len(line) // 2 + 1 :]
        old, new = _plain(both[0], "--- "), _plain(both[1], "+++ ")
        if old != new:
            return "", ""
    return old or new or "", new or old or ""


def _plain(written: str, mark: str) -> str:
    """A name as git writes it in a difference, without its "a/", its quotes and what they escape."""
    if written.startswith('"'):
        inner = written[1:].rpartition('"')[0]
        raw = _ESCAPE.sub(_unescaped, inner.encode("utf-8", "surrogateescape"))
        written = os.fsdecode(raw)
    return written[2:] if mark in ("--- ", "+++ ") else written


def _unescaped(found: re.Match[bytes]) -> bytes:
    said = found[1]
    return bytes([int(said, 8) & 255]) if said.isdigit() else _SIGNS.get(said, said)


def _body(part: str) -> str:
    """A file's part without git's own header lines, except those that say that it is new, gone or renamed."""
    lines = part.rstrip("\n").split("\n")
    said = ("new file", "deleted file", "rename ", "Binary files", "old mode", "new mode")
    head = [line for line in lines[: _hunks(lines)] if line.startswith(said)]
    return "\n".join([*head, *lines[_hunks(lines) :]])


def _hunks(lines: list[str]) -> int:
    return next((i for i, line in enumerate(lines) if line.startswith("@@ ")), len(lines))


def _exhibit(request: Request, name: str, text: str, kind: str = "diff") -> Item:
    path = request.sources.exhibit(name, text)
    return Item(path, Span(0, len(split_lines(text))), kind, Origin.MENTION, 1.0)


def _shown(
    mention: Mention, request: Request, name: str, changes: Iterable[_Change], notes: list[str]
) -> MentionOutcome:
    """Each change as an exhibit, called `name` behind its file."""
    items: list[Item] = []
    added = removed = count = unsaved = 0
    for change in changes:
        request.token.check()
        why = barred(request, change.path)
        if why:
            notes.append(why)
            continue
        count += 1
        document = request.snapshot.documents.get(change.path)
        unsaved += document is not None and document.text == change.after
        if count > MOST_FILES:
            continue
        label = request.snapshot.label(change.path)
        view = request.sources.read(change.path, explicit=True)
        outline = view.entry.outline if isinstance(view, TextView) and view.text == change.after else None
        text, more, less = unified(change.before, change.after, outline)
        added, removed = added + more, removed + less
        items.append(_exhibit(request, f"{label} ({name})", text))
    if count > MOST_FILES:
        notes.append(f"Only the first {MOST_FILES} of {count:,} files are looked at.")
    if not items:
        return MentionOutcome(mention, "omitted", reason=" ".join(notes))
    open_ = f", {unsaved} of them open in the editor" if unsaved else ""
    return included(mention, items, " ".join([f"{_files(count)} changed, +{added} −{removed}{open_}.", *notes]))


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def unified(before: str | None, after: str | None, outline: AnyOutline | None = None) -> tuple[str, int, int]:
    """(unified difference, lines added, lines removed); each hunk names the definition that it begins in."""
    if before is None and after is None:
        return "", 0, 0
    old, new = split_lines(before or ""), split_lines(after or "")
    old, new = ([] if before is None else old), ([] if after is None else new)
    if max(len(old), len(new)) > MOST_LINES:
        return f"It has {len(new):,} lines, too many to compare.", 0, 0
    head = ["new file"] if before is None else ["deleted file"] if after is None else []
    out: list[str] = []
    more = less = 0
    for group in _groups(old, new):
        a, b = Span(group[0][1], group[-1][2]), Span(group[0][3], group[-1][4])
        first = next((g for g in group if g[0] != "equal"), group[0])
        name = _inside(outline, first[3])
        out.append(f"@@ -{_at(a)} +{_at(b)} @@{' ' + name if name else ''}")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [" " + line for line in old[i1:i2]]
            else:
                out += ["-" + line for line in old[i1:i2]] + ["+" + line for line in new[j1:j2]]
                less, more = less + i2 - i1, more + j2 - j1
    return "\n".join(head + out), more, less


def _groups(old: list[str], new: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Changed regions with `CONTEXT` lines around them; what is alike at both ends is not compared."""
    start, least = 0, min(len(old), len(new))
    while start < least and old[start] == new[start]:
        start += 1
    end = 0
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    start, end = max(0, start - CONTEXT), max(0, end - CONTEXT)
    middle = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=len(old) > 4000)
    for group in middle.get_grouped_opcodes(CONTEXT):
        yield [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in group]


def _at(span: Span) -> str:
    return f"{span.start + bool(len(span))},{len(span)}"


def _inside(outline: AnyOutline | None, line: int) -> str:
    around = [s for s in (outline.symbols if outline is not None else ()) if line in s.span and s.name]
    return min(around, key=lambda s: len(s.span)).qualified if around else ""
