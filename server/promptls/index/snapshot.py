"""The immutable view that a request works on.

A snapshot is a value: taking one is a reference copy, an update gives another one that shares all it
can (persistent maps).  `read` is the only way to text for everything above the index: the open buffer
if there is one, else the disk, and always together with the outline of exactly that text.
Knows nothing of the store, of workers or of LSP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from immutables import Map
from msgspec import Struct
from msgspec.structs import replace

from promptls.index import files as disk
from promptls.model import FileEntry, Outline, OutlineView, Problem, Root, Symbol, TextView, names_in, pack
from promptls.util.hashing import digest_of
from promptls.util.overlay_map import Layered

EXHIBIT = "promptls:"
"""Begins the path of what is no file: a diff, the output of a terminal.  See `Sources.exhibit`."""

V = TypeVar("V")

Place = tuple[str, int]
"""(path, index into the outline's chunks or symbols)"""

Outliner = Callable[[str, str, "int | None"], FileEntry]
"""(path, text, version) → the entry of exactly that text; must not block for long."""


STEPS, FEW = 64, 5_000
"""Changes that a snapshot remembers, and files that one of them may have."""


def is_exhibit(path: str) -> bool:
    """Whether a path names a text of this request and no file."""
    return path.startswith(EXHIBIT)


class OpenDocument(Struct, frozen=True):
    """What the editor holds for one file."""

    text: str
    version: int


class Step:
    """One change of the files; which one it is, its identity tells."""

    __slots__ = ("paths",)

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths


class Snapshot(Struct, frozen=True):
    """Everything known of the workspace at one moment."""

    generation: int = 0
    roots: tuple[Root, ...] = ()
    files: Map[str, FileEntry] = Map()
    names: Layered[Place] = Layered()  # lower-case symbol name → definitions
    basenames: Layered[str] = Layered()  # lower-case file name → paths
    documents: Map[str, OpenDocument] = Map()
    steps: tuple[Step, ...] = ()  # the last changes of `files`, as far as they are remembered

    @property
    def step(self) -> Step | None:
        """The change that led here; None where nothing is remembered."""
        return self.steps[-1] if self.steps else None

    def root_of(self, path: str) -> Root | None:
        """The innermost root that holds `path`."""
        held = [r for r in self.roots if path == r.path or path.startswith(r.path.rstrip("/") + "/")]
        return max(held, key=lambda r: len(r.path), default=None)

    def label(self, path: str) -> str:
        """The path as people write it: relative to its root, "root:path" in a workspace of several roots."""
        if is_exhibit(path):
            return path[len(EXHIBIT) :]
        root = self.root_of(path)
        if root is None:
            return PurePosixPath(path).name
        name = path[len(root.path.rstrip("/")) + 1 :]
        return f"{root.name}:{name}" if len(self.roots) > 1 else name

    def outline(self, path: str) -> OutlineView | None:
        """The structure of a file, None if there is no such file or it is known by name only."""
        entry = self.files.get(path)
        return entry.outline if entry is not None else None

    def defines(self, place: Place) -> bool:
        """Whether there is a symbol at a place of `names`, without a look at it."""
        outline = self.outline(place[0])
        return outline is not None and place[1] < len(outline.symbols)

    def symbol(self, place: Place) -> Symbol | None:
        """The symbol at a place of `names`, or None if the file has changed since."""
        outline = self.outline(place[0])
        return outline.symbols[place[1]] if outline is not None and place[1] < len(outline.symbols) else None


def with_entry(snapshot: Snapshot, path: str, entry: FileEntry | None) -> Snapshot:
    """The snapshot with one file replaced, added, or (entry None) removed."""
    return with_entries(snapshot, [(path, entry)])


def with_entries(snapshot: Snapshot, changes: Iterable[tuple[str, FileEntry | None]]) -> Snapshot:
    """The snapshot with these files replaced, added or removed; one generation later.

    `names` and `basenames` stay the same objects when nothing in them changes, as in most edits:
    what is built from them is kept by identity.
    """
    wanted = dict(changes)
    files = snapshot.files.mutate()
    names, basenames = _Moves[Place](), _Moves[str]()
    for path, entry in wanted.items():
        old = files.get(path)
        before, after = _symbol_names(old), _symbol_names(entry)
        if before != after:
            moved = {name for pair in zip_longest(before, after, fillvalue="") if pair[0] != pair[1] for name in pair}
            moved.discard("")
            for name in moved.intersection(before):
                names.gone[name].add(path)
            for i, name in enumerate(after):
                if name in moved:
                    names.come[name].append((path, i))
        if (old is None) != (entry is None):
            base = path.rsplit("/", 1)[-1].lower()
            basenames.come[base].append(path) if entry is not None else basenames.gone[base].add(path)
        if entry is not None:
            files[path] = entry
        elif old is not None:
            del files[path]
    few = len(wanted) <= FEW
    return replace(
        snapshot,
        generation=snapshot.generation + 1,
        steps=(*snapshot.steps, Step(tuple(wanted)))[-STEPS:] if few else (Step(()),),
        files=files.finish(),
        names=_moved(snapshot.names, names, lambda place: place[0]),
        basenames=_moved(snapshot.basenames, basenames, lambda path: path),
    )


class _Moves(Generic[V]):
    """What names lose and gain, collected: a popular one is written anew once, not once for each file."""

    __slots__ = ("come", "gone")

    def __init__(self) -> None:
        self.come: dict[str, list[V]] = defaultdict(list)
        self.gone: dict[str, set[str]] = defaultdict(set)  # paths


def _moved(known: Layered[V], moves: _Moves[V], path_of: Callable[[V], str]) -> Layered[V]:
    changes = {name: (*known.get(name), *come) for name, come in moves.come.items() if name not in moves.gone}
    for name, gone in moves.gone.items():
        kept = [place for place in known.get(name) if path_of(place) not in gone]
        changes[name] = (*kept, *moves.come.get(name, ()))
    return known.with_changes(changes)


def remembered(step: Step | None, snapshot: Snapshot) -> bool:
    """Whether a snapshot knows what has changed since a step."""
    return any(known is step for known in snapshot.steps)


def difference(
    before: Map[str, FileEntry], step: Step | None, snapshot: Snapshot
) -> tuple[list[FileEntry], list[FileEntry]]:
    """(entries of the snapshot that are not in `before`, those in `before` whose path has gone), by identity.

    `step` is that of the snapshot that `before` belongs to: as long as it is remembered, only what has changed since
    is looked at.
    """
    files = snapshot.files
    later = next((snapshot.steps[i + 1 :] for i, known in enumerate(snapshot.steps) if known is step), None)
    if later is None:
        changed = [entry for path, entry in files.items() if before.get(path) is not entry]
        return changed, [entry for path, entry in before.items() if path not in files]
    paths = {path for one in later for path in one.paths}
    now, then = {path: files.get(path) for path in paths}, {path: before.get(path) for path in paths}
    changed = [entry for path, entry in now.items() if entry is not None and then[path] is not entry]
    return changed, [entry for path, entry in then.items() if entry is not None and now[path] is None]


def _symbol_names(entry: FileEntry | None) -> list[str]:
    return [name.lower() for name in names_in(entry.outlined)] if entry is not None else []


class Sources:
    """A snapshot together with its texts, for the length of one request.

    Texts are read once and stay the same for the request.  `outliner` is asked when the disk holds
    something else than the index was told; without one such a file is reported as changed.
    """

    __slots__ = ("_outliner", "_views", "exhibits", "limits", "secrets", "snapshot")

    def __init__(
        self, snapshot: Snapshot, limits: disk.Limits, outliner: Outliner | None = None, secrets: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.limits = limits
        self._outliner = outliner
        self.secrets = secrets  # whether files made for secrets may be read when somebody asks for them
        self._views: dict[str, TextView | Problem] = {}
        self.exhibits: dict[str, TextView] = {}

    def read(self, path: str, explicit: bool = False) -> TextView | Problem:
        """The text of a file of the workspace with the outline made from it, or why there is none.

        `explicit`: somebody asked for this very file, so generated and minified ones are read too.
        """
        view = self._views.get(path)
        if view is None or (explicit and isinstance(view, Problem)):
            view = self._views[path] = self._read(path, explicit)
        return view

    def text(self, path: str) -> str | Problem:
        """The text of a file that somebody asked for, or why there is none; its structure nobody waits for."""
        view = self._views.get(path)
        if isinstance(view, TextView):
            return view.text
        document = self.snapshot.documents.get(path)
        if document is not None:
            return document.text
        got = disk.read_any(path, self.limits, self.secrets)
        return got.text if isinstance(got, disk.ReadText) else Problem(got.reason)

    def exhibit(self, name: str, text: str) -> str:
        """The path under which a text that is no file can be read during this request.

        `name` is what people see, with a number where another text has it already.
        """
        number, path = 1, EXHIBIT + name
        while (known := self.exhibits.get(path)) is not None and known.text != text:
            number += 1
            path = EXHIBIT + _distinct(name, number)
        lines = tuple(split_lines(text))
        entry = FileEntry(path, "", name, len(text), digest=digest_of(text), outlined=pack(Outline("text", len(lines))))
        self.lend({path: TextView(entry, text, lines)})
        return path

    def lend(self, exhibits: dict[str, TextView]) -> bool:
        """Let exhibits of another request be read in this one; False if here another text has the name of one."""
        if any(path in self.exhibits and self.exhibits[path].text != view.text for path, view in exhibits.items()):
            return False
        self.exhibits.update(exhibits)
        self._views.update(exhibits)
        return True

    def _read(self, path: str, explicit: bool) -> TextView | Problem:
        if is_exhibit(path):
            return Problem("it belongs to another request")
        entry = self.snapshot.files.get(path)
        document = self.snapshot.documents.get(path)
        if document is not None:
            text, version, same = document.text, document.version, _is_of(document.text, entry)
        else:
            got, same = self._on_disk(path, entry, explicit)
            if isinstance(got, disk.Skipped):
                return Problem(got.reason)
            text, version = got.text, None
        if entry is None or not same:
            if self._outliner is None:
                return Problem("the file has changed since it was indexed")
            entry = self._outliner(path, text, version)
        return TextView(entry, text, tuple(split_lines(text)))

    def _on_disk(self, path: str, entry: FileEntry | None, explicit: bool) -> tuple[disk.ReadText | disk.Skipped, bool]:
        """The text on disk, and whether the entry was made from it."""
        if explicit or (entry is not None and entry.outlined):  # a text that was taken in is not examined again
            got = disk.read_any(path, self.limits, explicit and self.secrets)
            same = isinstance(got, disk.ReadText) and _is_of(got.text, entry)
            if explicit or same:
                return got, same
        got = disk.read_text(path, self.limits)
        return got, isinstance(got, disk.ReadText) and _is_of(got.text, entry)


def _distinct(name: str, number: int) -> str:
    """The name with a number, in the brackets at its end if it has some: what a text is, is read off its name."""
    return f"{name[:-1]}, {number})" if name.endswith(")") else f"{name} ({number})"


def _is_of(text: str, entry: FileEntry | None) -> bool:
    """Whether an entry's outline was made from exactly this text."""
    return entry is not None and bool(entry.outlined) and entry.digest == digest_of(text)


def split_lines(text: str) -> list[str]:
    r"""Lines without their ends; only \n, \r\n and \r end a line, as in LSP."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if len(lines) > 1 and lines[-1] == "":
        lines.pop()
    return lines
