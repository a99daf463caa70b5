"""The owner of what is known of the project: tallies that follow the snapshot file by file.

A question about the architecture pays for the files that changed since the last one.  Of a large workspace, in which
that can take seconds, and while files are still read, it gets what was known a moment ago; `follow` brings that up to
date when nobody waits.  Needs no git.  Texts are read for manifests, readmes and a few scripts only, each once for each of its versions.
"""

from __future__ import annotations

import posixpath
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable

from immutables import Map
from msgspec import Struct

from promptls.graph.layers import layer_of
from promptls.index.snapshot import Snapshot, Sources, Step, difference, remembered, split_lines
from promptls.knowledge.project import facts as f
from promptls.knowledge.project.facts import ProjectFacts, Tally
from promptls.knowledge.project.import_counts import Places, Seen, imported, places_of
from promptls.knowledge.project.manifest import Manifest
from promptls.knowledge.project.manifests import read_manifest, reader_of
from promptls.knowledge.project.readme import Opening, is_readme, opening
from promptls.model import FileEntry, Root
from promptls.util.hashing import digest_of

AT_ONCE = 8_000
"""Files of a workspace in which a question waits for all that has changed, some 200 ms when files have come or gone."""
MANY = 200
"""Changed files that a question takes in where it waits for little, some 10 ms."""
REST = 20
"""Times as long as following has taken nothing is followed: a twentieth of one core at the most."""
MOST_MANIFESTS = 200
MOST_DEPTH = 4  # folders above a manifest that counts
MOST_SCRIPTS = 60  # that are read to see whether they guard their main part

_GUARD = re.compile(r"^if[ \t]+__name__[ \t]*==[ \t]*['\"]__main__['\"]", re.MULTILINE)
_SCRIPT = re.compile(
    r"(?:[^/]+/)?(?:main|app|cli|run|server|manage|train|worker|bot)\w*\.py|[^/]+\.py|(?:scripts|bin)/[^/]+\.py"
)


class _Read(Struct, frozen=True):
    """What the text of one version of a file said."""

    digest: bytes
    manifest: Manifest | None = None
    opening: Opening | None = None
    guarded: bool = False


class _State:
    """One root."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.tally = Tally(0, Counter(), Counter(), Counter(), Counter())
        self.names: set[str] = set()
        self.manifests: set[str] = set()
        self.readmes: set[str] = set()
        self.scripts: set[str] = set()  # that may guard their main part
        self.begin: set[str] = set()  # names that programs begin in
        self.places: Places | None = None
        self.targets: dict[str, frozenset[str]] = {}
        self.seen: Seen = {}
        self.read: dict[str, _Read] = {}
        self.go: dict[str, str] = {}


class Projects:
    """Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: Map[str, FileEntry] = Map()
        self._step: Step | None = None
        self._rest_until = 0.0  # time.monotonic()
        self.behind = False  # whether somebody was given what was known a moment ago
        self._states: dict[str, _State] = {}
        self._facts: tuple[ProjectFacts, ...] = ()
        self._roots: tuple[Root, ...] = ()

    def at(self, sources: Sources, complete: bool = True) -> tuple[ProjectFacts, ...]:
        """The facts of each workspace folder, in the snapshot's order; () while those of a large one are unknown.

        `complete`: whether all files of the index are there.
        """
        snapshot = sources.snapshot
        large = len(snapshot.files) > AT_ONCE
        exact = complete and not large
        if not self._lock.acquire(blocking=exact):
            return self._known(snapshot)
        try:
            if not exact and self._much(snapshot) and (large or self._known(snapshot)):
                self.behind = True
                return self._known(snapshot)
            return self._brought(sources)
        finally:
            self._lock.release()

    def follow(self, sources: Sources) -> None:
        """Take in what a question would not wait for, however long that takes; and then nothing more for a while."""
        began = time.monotonic()
        with self._lock:
            if began >= self._rest_until and (not self._facts or self._much(sources.snapshot)):
                self._brought(sources)
                self.behind = False
                now = time.monotonic()
                self._rest_until = now + REST * (now - began)

    def _known(self, snapshot: Snapshot) -> tuple[ProjectFacts, ...]:
        return self._facts if self._roots == snapshot.roots else ()

    def _much(self, snapshot: Snapshot) -> bool:
        """Whether it takes long to follow: many files have changed, or in a large workspace, where importers are looked
        for among all, some have come or gone."""
        if self._files is snapshot.files:
            return False
        if self._roots != snapshot.roots or not remembered(self._step, snapshot):
            return True
        changed, gone = difference(self._files, self._step, snapshot)
        if len(snapshot.files) > AT_ONCE and (gone or any(entry.path not in self._files for entry in changed)):
            return True
        return len(changed) + len(gone) > MANY

    def _brought(self, sources: Sources) -> tuple[ProjectFacts, ...]:
        snapshot = sources.snapshot
        if self._roots != snapshot.roots:
            self._roots, self._files, self._step = snapshot.roots, Map(), None
            self._states = {root.path: _State(root) for root in snapshot.roots}
            self._facts = ()
        if not self._facts or self._files is not snapshot.files:
            self._take_in(snapshot)
            self._facts = tuple(_facts(sources, state) for state in self._states.values())
        return self._facts

    def _take_in(self, snapshot: Snapshot) -> None:
        new, gone = difference(self._files, self._step, snapshot)
        changed: dict[str, list[tuple[FileEntry | None, FileEntry | None]]] = {}
        for entry in new:
            changed.setdefault(entry.root, []).append((self._files.get(entry.path), entry))
        for entry in gone:
            changed.setdefault(entry.root, []).append((entry, None))
        for root, pairs in changed.items():
            if root in self._states:
                _count(self._states[root], pairs)
        self._files, self._step = snapshot.files, snapshot.step
        for state in self._states.values():
            if state.root.path in changed:
                _connect(state, snapshot, [new for _, new in changed[state.root.path] if new is not None])


def _count(state: _State, pairs: Iterable[tuple[FileEntry | None, FileEntry | None]]) -> None:
    for old, new in pairs:
        for entry, sign in ((old, -1), (new, 1)):
            if entry is not None:
                _tally(state.tally, entry, sign)
        if new is None and old is not None:
            for named in (state.names, state.manifests, state.readmes, state.scripts, state.begin):
                named.discard(old.name)
            state.read.pop(old.name, None)
            state.places = None
        elif new is not None and new.name not in state.names:
            _name(state, new.name)
            state.places = None


def _name(state: _State, name: str) -> None:
    """Take in a file that was not there, by its name."""
    state.names.add(name)
    if reader_of(name) is not None and name.count("/") <= MOST_DEPTH:
        state.manifests.add(name)
    if "/" not in name and is_readme(name):
        state.readmes.add(name)
    if _SCRIPT.fullmatch(name):
        state.scripts.add(name)
    if f.entry_file(name):
        state.begin.add(name)


def _tally(tally: Tally, entry: FileEntry, sign: int) -> None:
    tally.files += sign
    folder = posixpath.dirname(entry.name)
    outline = entry.outline
    language = outline.language if outline is not None else "text"
    if outline is not None:
        tally.lines[language] += sign * outline.lines
        if language not in f.PROSE:
            tally.layers[layer_of(entry.name), folder] += sign
    if folder:
        tally.folders[entry.name.partition("/")[0], language] += sign


def _connect(state: _State, snapshot: Snapshot, changed: list[FileEntry]) -> None:
    """Follow the imports: of the changed files, or of all when files came or went."""
    base = state.root.path.rstrip("/")
    entries: Iterable[FileEntry] = changed
    go = _go_modules(state)
    if state.places is None or go != state.go:
        state.places, state.go = places_of(state.names), go
        state.targets.clear()
        state.seen.clear()
        state.tally.importers.clear()
        entries = (snapshot.files[f"{base}/{name}"] for name in state.names)
    for entry in entries:
        before = state.targets.pop(entry.name, frozenset())
        after: frozenset[str] = frozenset()
        outline = entry.outline
        if outline is not None and outline.language not in f.PROSE and outline.imports and not f.aside(entry.name):
            found = imported(state.places, entry.name, outline.language, outline.imports, go, state.seen)
            after = frozenset(name for name in found if not f.aside(name))
        if after:
            state.targets[entry.name] = after
        state.tally.importers.subtract(before)
        state.tally.importers.update(after)


def _go_modules(state: _State) -> dict[str, str]:
    found = {}
    for name, read in state.read.items():
        if read.manifest is not None and read.manifest.ecosystem == "go" and read.manifest.name:
            found[read.manifest.name] = posixpath.dirname(name)
    return found


def _facts(sources: Sources, state: _State) -> ProjectFacts:
    wanted = f.outermost(state.manifests)[:MOST_MANIFESTS]
    readme = f.outermost(state.readmes)[:1]
    scripts = f.outermost(state.scripts)[:MOST_SCRIPTS]
    for name in {*wanted, *readme, *scripts}:
        _look(sources, state, name)
    if _go_modules(state) != state.go:
        _connect(state, sources.snapshot, [])
    read = state.read
    manifests = [(n, m) for n in wanted if n in read and (m := read[n].manifest) is not None and m != Manifest()]
    head = (read[readme[0]].opening if readme and readme[0] in read else None) or Opening("", "")
    whole, most = f.naming(manifests, state.names)
    frameworks, libraries = f.used_of(manifests)
    return ProjectFacts(
        root=state.root.path,
        label=state.root.name,
        name=whole.name or head.title or most.name,
        description=whole.description or head.paragraph or most.description,
        files=state.tally.files,
        lines=sum(n for n in state.tally.lines.values() if n > 0),
        languages=f.languages_of(state.tally.lines),
        frameworks=frameworks,
        libraries=libraries,
        commands=f.commands_of(manifests),
        layers=f.layers_of(state.tally.layers),
        entries=f.entries_of(
            manifests, state.begin, [n for n in scripts if n in read and read[n].guarded], state.names
        ),
        hubs=f.hubs_of(state.tally.importers),
        folders=f.folders_of(state.tally.folders),
        manifests=tuple(name for name, _ in manifests),
    )


def _look(sources: Sources, state: _State, name: str) -> None:
    """Read a file unless this version of it was read before."""
    path = f"{state.root.path.rstrip('/')}/{name}"
    entry = sources.snapshot.files.get(path)
    known = state.read.get(name)
    if entry is not None and known is not None and entry.digest and known.digest == entry.digest:
        return
    state.read.pop(name, None)
    found = sources.text(path)
    if not isinstance(found, str):
        return
    text = "\n".join(split_lines(found))
    state.read[name] = _Read(
        digest_of(found),
        read_manifest(name, text) if reader_of(name) is not None else None,
        opening(text) if is_readme(name) else None,
        name.endswith(".py") and _GUARD.search(text) is not None,
    )
