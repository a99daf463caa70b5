"""Project index: facts about each workspace folder, updated incrementally with the snapshot.

A request updates the facts for the files changed since the last request.  While files are still being indexed, and in
large workspaces where an update can take seconds, a request gets the previous facts; `follow` updates them in idle
time.  Only manifests, readmes and a few scripts are read, once per version.
"""

from __future__ import annotations

import posixpath
import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable

from msgspec import Struct

from promptls.index import Change, Derived, Snapshot, SourceReader, file_stat, split_lines
from promptls.knowledge.project.facts import (
    EntryPoint,
    FileTally,
    ProjectFacts,
    entry_point_kind,
    entry_points,
    language_shares,
    main_dependencies,
    naming_manifest,
    needed_packages,
    outermost,
    project_commands,
    project_frameworks,
    required_versions,
)
from promptls.knowledge.project.file_kind import is_peripheral
from promptls.knowledge.project.folder_tree import folder_tree
from promptls.knowledge.project.manifests import ProjectManifest, parse_manifest, parser_for
from promptls.knowledge.project.readme import ReadmeOpening, is_readme, read_opening, readme_order
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import FileEntry, Import, Root, decode_size
from promptls.util.hashing import content_hash

MAX_INTERFACES = 4
"""Maximum number of packages whose interface is listed."""
MAX_DOCUMENTED = 200
"""Maximum number of index files that are read for the documentation of their package."""
MIN_EXPORTS = 2
"""Minimum number of names in a public interface."""
MAX_DEPTH = 3
"""Maximum number of folders above an index file of an outermost package: "packages/core/src/index.ts"."""

_INDEX_FILE = re.compile(
    r"(?:.*/)?(?:__init__\.pyi?|index\.(?:[cm]?[jt]sx?|d\.ts)|lib\.rs|mod\.rs|doc\.go|package-info\.java)"
    r"|[^/]+(?<!_test)\.go|(?:.*/)?([\w-]{1,100})/\1\.go"
)
_INTERFACE_FILE = re.compile(r"(?:.*/)?(?:__init__\.py|index\.[cm]?[jt]sx?|lib\.rs)")
_DOCUMENTED_FILE = re.compile(r".*\.(?:pyi?|rs|go|java)")
"""Index files whose first comment documents the package."""
_SCRIPT_ENDS = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx")
"""Ends of JavaScript files, in which an import is an export too only if the file does nothing else."""
_OWN_MODULE = re.compile(r"\.|self::|crate::|super::")


def package_docs(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> dict[str, str]:
    """Return the documentation of packages by folder, from at most `MAX_DOCUMENTED` index files, outermost first."""
    base = root.path.rstrip("/")
    docs: dict[str, str] = {}
    for name in outermost(filter(_DOCUMENTED_FILE.fullmatch, index_files))[:MAX_DOCUMENTED]:
        outline = snapshot.outline(f"{base}/{name}")
        doc = outline.doc if outline is not None else ""
        if doc and (not name.endswith(".go") or doc.startswith("Package ")):
            docs.setdefault(posixpath.dirname(name), doc)
    return docs


def library_interfaces(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> tuple[EntryPoint, ...]:
    """Return the public interfaces of the outermost packages of a workspace folder."""
    found: list[EntryPoint] = []
    folders: list[str] = []
    for name in outermost(filter(_INTERFACE_FILE.fullmatch, index_files)):
        folder = posixpath.dirname(name)
        is_inner = any(folder == other or other == "" or folder.startswith(f"{other}/") for other in folders)
        if is_inner or is_peripheral(name) or name.count("/") > MAX_DEPTH:
            continue
        exports = _exported_names(snapshot, f"{root.path.rstrip('/')}/{name}")
        if len(exports) >= MIN_EXPORTS:
            folders.append(folder)
            found.append(EntryPoint("public interface", name, exports=exports))
        if len(found) == MAX_INTERFACES:
            break
    return tuple(found)


def _exported_names(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    outline = snapshot.outline(path)
    if outline is None:
        return ()
    kinds = CALLABLE_KINDS | TYPE_KINDS | SPACE_KINDS
    defined = [s for s in outline.symbols if s.parent < 0 and s.kind in kinds and s.name]
    exports_imports = not path.endswith(_SCRIPT_ENDS) or not any(s.kind in CALLABLE_KINDS for s in defined)
    names = [name for imported in outline.imports if exports_imports for name in _imported_names(imported)]
    names += [s.name for s in defined if s.exported]
    return tuple(dict.fromkeys(name for name in names if name.isidentifier() and not name.startswith("_")))


def _imported_names(imported: Import) -> Iterable[str]:
    """Return the names that an import of the library's own modules brings into the index file."""
    if _OWN_MODULE.match(imported.module) is None:
        return ()
    return imported.local_names or imported.names or (re.split(r"[./:]", imported.module)[-1],)


# ---- index

MAX_SYNC_FILES = 8_000
"""Workspace size in files up to which a request waits for a complete update, about 50 ms."""
MAX_CHANGED_PER_REQUEST = 200
"""Maximum number of changed files for which a request waits in a larger workspace."""
IDLE_FACTOR = 20
"""Pause after an update in multiples of its duration; limits the load to 1/20 of a core."""
MAX_MANIFESTS = 200
"""Maximum number of manifests read in a workspace folder, outermost first."""
MAX_MANIFEST_DEPTH = 4
"""Maximum number of folders above a manifest."""
MAX_SCRIPTS = 60
"""Maximum number of scripts read to detect a main guard, outermost first."""

_MAIN_GUARD = re.compile(r"^if[ \t]+__name__[ \t]*==[ \t]*['\"]__main__['\"]", re.MULTILINE)
_SCRIPT = re.compile(
    r"(?:[^/]+/)?(?:main|app|cli|run|server|manage|train|worker|bot)\w*\.py|[^/]+\.py|(?:scripts|bin)/[^/]+\.py"
)


class _ParsedFile(Struct, frozen=True):
    """Data from one version of a manifest, readme or script."""

    content_hash: bytes
    stat: tuple[int, int] | None = None  # (size, mtime in ns) before it was read, None for an open document
    manifest: ProjectManifest | None = None
    opening: ReadmeOpening | None = None
    has_main_guard: bool = False


class _RootState:
    """Tallies and parsed files of one root."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.tally = FileTally(0, Counter(), Counter())
        self.names: set[str] = set()
        self.manifests: set[str] = set()
        self.readmes: set[str] = set()
        self.scripts: set[str] = set()  # may have a main guard
        self.entry_files: set[str] = set()  # conventional names of entry points
        self.index_files: set[str] = set()  # represent a package
        self.parsed: dict[str, _ParsedFile] = {}

    def update(self, old: FileEntry | None, new: FileEntry | None) -> None:
        """Replace an entry by its new version; None for a file that was added or is gone."""
        for entry, sign in ((old, -1), (new, 1)):
            if entry is not None:
                _update_tally(self.tally, entry, sign)
        if new is not None:
            if new.name not in self.names:
                self._add_name(new.name)
        elif old is not None:
            self.parsed.pop(old.name, None)
            for names in (
                self.names, self.manifests, self.readmes, self.scripts, self.entry_files, self.index_files,
            ):  # fmt: skip
                names.discard(old.name)

    def _add_name(self, name: str) -> None:
        self.names.add(name)
        if parser_for(name) is not None and name.count("/") <= MAX_MANIFEST_DEPTH:
            self.manifests.add(name)
        if "/" not in name and is_readme(name):
            self.readmes.add(name)
        if _SCRIPT.fullmatch(name):
            self.scripts.add(name)
        if entry_point_kind(name):
            self.entry_files.add(name)
        if _INDEX_FILE.fullmatch(name):
            self.index_files.add(name)


_RootStates = dict[str, _RootState]


class ProjectIndex:
    """Facts about all workspace folders.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all fields
        self._states: Derived[_RootStates] = Derived({}, _update_states)
        self._next_update = 0.0  # time.monotonic()
        self._facts: tuple[ProjectFacts, ...] = ()
        self._roots: tuple[Root, ...] = ()
        self.is_outdated = False
        """True after a request got outdated facts, until the next `follow`."""

    def get(self, sources: SourceReader, complete: bool = True) -> tuple[ProjectFacts, ...]:
        """Return the facts of each workspace folder; () if not known yet.  `complete`: the index contains all files."""
        snapshot = sources.snapshot
        is_large = len(snapshot.files) > MAX_SYNC_FILES
        must_be_exact = complete and not is_large
        if not self._lock.acquire(blocking=must_be_exact):
            return self._known_facts(snapshot)
        try:
            is_slow = not must_be_exact and self._is_update_slow(snapshot)
            if is_slow and (is_large or self._known_facts(snapshot)):
                self.is_outdated = True
                return self._known_facts(snapshot)
            return self._update(sources)
        finally:
            self._lock.release()

    def follow(self, sources: SourceReader) -> None:
        """Update the facts if requests do not; returns at once during the pause after the last update."""
        start = time.monotonic()
        with self._lock:
            if start >= self._next_update and (not self._facts or self._is_update_slow(sources.snapshot)):
                self._update(sources)
                self.is_outdated = False
                end = time.monotonic()
                self._next_update = end + IDLE_FACTOR * (end - start)

    def _known_facts(self, snapshot: Snapshot) -> tuple[ProjectFacts, ...]:
        return self._facts if self._roots == snapshot.roots else ()

    def _is_update_slow(self, snapshot: Snapshot) -> bool:
        """Return true if many files have changed."""
        change = self._states.pending(snapshot)
        if change is None:
            return False
        if self._roots != snapshot.roots or not change.is_incremental:
            return True
        return len(change.changed) + len(change.gone) > MAX_CHANGED_PER_REQUEST

    def _update(self, sources: SourceReader) -> tuple[ProjectFacts, ...]:
        snapshot = sources.snapshot
        if self._roots != snapshot.roots:
            self._roots = snapshot.roots
            self._states.reset({root.path: _RootState(root) for root in snapshot.roots})
            self._facts = ()
        is_modified = any(_is_modified(sources, state) for state in self._states.value.values())
        if not self._facts or is_modified or self._states.pending(snapshot) is not None:
            states = self._states.at(snapshot)
            self._facts = tuple(_build_facts(sources, state) for state in states.values())
        return self._facts


def _update_states(states: _RootStates, change: Change) -> _RootStates:
    for entry in change.changed:
        if entry.root in states:
            states[entry.root].update(change.before.get(entry.path), entry)
    for entry in change.gone:
        if entry.root in states:
            states[entry.root].update(entry, None)
    return states


def _update_tally(tally: FileTally, entry: FileEntry, sign: int) -> None:
    tally.files += sign
    folder = posixpath.dirname(entry.name)
    language, lines = decode_size(entry.encoded_outline) if entry.encoded_outline else ("text", 0)
    tally.lines[language] += sign * lines
    tally.folders[folder, language] += sign


def _build_facts(sources: SourceReader, state: _RootState) -> ProjectFacts:
    manifest_names = outermost(state.manifests)[:MAX_MANIFESTS]
    readmes = sorted(state.readmes, key=readme_order)[:1]
    scripts = outermost(state.scripts)[:MAX_SCRIPTS]
    for name in {*manifest_names, *readmes, *scripts}:
        _parse_file(sources, state, name)
    parsed = state.parsed
    parsed_manifests = ((name, parsed[name].manifest) for name in manifest_names if name in parsed)
    manifests = [(name, m) for name, m in parsed_manifests if m is not None and m != ProjectManifest()]
    opening = next((parsed[name].opening for name in readmes if name in parsed), None) or ReadmeOpening("", "")
    guarded = [name for name in scripts if name in parsed and parsed[name].has_main_guard]
    project = naming_manifest(manifests)
    interfaces = library_interfaces(sources.snapshot, state.root, state.index_files)
    docs = package_docs(sources.snapshot, state.root, state.index_files)
    described = {posixpath.dirname(name): m.description for name, m in manifests if m.description}
    package_doc = docs.get("", "") or next((docs.get(posixpath.dirname(one.target), "") for one in interfaces), "")
    return ProjectFacts(
        root=state.root.path,
        label=state.root.name,
        name=project.name or opening.title,
        description=project.description or opening.paragraph or package_doc,
        files=state.tally.files,
        lines=sum(n for n in state.tally.lines.values() if n > 0),
        languages=language_shares(state.tally.lines),
        frameworks=project_frameworks(manifests),
        commands=project_commands(manifests),
        entry_points=(*entry_points(manifests, state.entry_files, guarded, state.names), *interfaces),
        versions=required_versions(manifests),
        dependencies=main_dependencies(manifests),
        tree=folder_tree(state.tally.folders, state.names, {**described, **docs}, needed_packages(manifests)),
    )


def _is_modified(sources: SourceReader, state: _RootState) -> bool:
    """Return whether a parsed file has changed, on disk or in the editor; the index may not know it yet."""
    base = state.root.path.rstrip("/")
    return any(_is_outdated(sources, f"{base}/{name}", file) for name, file in state.parsed.items())


def _is_outdated(sources: SourceReader, path: str, file: _ParsedFile) -> bool:
    document = sources.snapshot.documents.get(path)
    if document is not None:
        return content_hash(document.text) != file.content_hash
    return file.stat is None or file_stat(path) != file.stat


def _parse_file(sources: SourceReader, state: _RootState, name: str) -> None:
    """Read and parse a file unless this version of it is already parsed."""
    path = f"{state.root.path.rstrip('/')}/{name}"
    stat = None if path in sources.snapshot.documents else file_stat(path)
    known = state.parsed.get(name)
    if known is not None and not _is_outdated(sources, path, known):
        return
    state.parsed.pop(name, None)
    text_or_problem = sources.read_text(path)
    if not isinstance(text_or_problem, str):
        return
    text = "\n".join(split_lines(text_or_problem))
    state.parsed[name] = _ParsedFile(
        content_hash(text_or_problem),
        stat,
        parse_manifest(name, text) if parser_for(name) is not None else None,
        read_opening(text) if is_readme(name) else None,
        name.endswith(".py") and _MAIN_GUARD.search(text) is not None,
    )
