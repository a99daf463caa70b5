"""Where imports lead: from a statement as written to files of the workspace and what they offer.

`Resolver(snapshot)` is a value for one snapshot.  What it works out is kept by the identity of a file's entry,
and the tree of names by the identity of the set of files, so that an edit costs one file.  Reads outlines and a
few configuration files, never follows a path out of the workspace; what is not there is third party: ().
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from promptls.graph.imports.by_path import STANDARD_HEADERS
from promptls.graph.imports.configs import Configs, Read
from promptls.graph.imports.file_tree import Tree
from promptls.graph.imports.python import python_module
from promptls.graph.imports.registry import WAYS
from promptls.graph.imports.types import ALL, Ground, Target
from promptls.index import files
from promptls.index.snapshot import Snapshot
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.model import FileEntry, Import

__all__ = ["STANDARD_HEADERS", "Resolver", "Resolvers", "Target"]

CONFIGS = ("package.json", "tsconfig.json", "jsconfig.json", "go.mod", "cargo.toml", "composer.json", "pubspec.yaml")
"""Names of configuration files that are looked at, lower case."""

INNER = frozenset({"python", "javascript", "jsx", "typescript", "tsx", "scala", "rust"})
"""Languages where a function may import for itself."""

Bindings = Mapping[str, Target]
Inner = tuple[tuple[int, Target], ...]

_LIMITS = files.Limits()


class Resolver:
    """Import resolution of one snapshot; any thread."""

    def __init__(self, snapshot: Snapshot, before: Resolver | None = None) -> None:
        """`before`: the resolver of an earlier snapshot, whose work is used as far as it still holds."""
        self.snapshot = snapshot
        self._marks = _marks(snapshot)
        self._targets: dict[tuple[str, Import], tuple[Target, ...]] = {}
        self._bindings: dict[str, tuple[FileEntry, Bindings, Mapping[str, Inner]]] = {}
        self._ground: Ground
        if before is not None and before._holds_for(snapshot, self._marks):
            self._ground, self._targets, self._bindings = before._ground, before._targets, before._bindings
        else:
            tree = Tree(snapshot)
            self._ground = Ground(tree, Configs(tree, _reader(snapshot)))

    def _holds_for(self, snapshot: Snapshot, marks: tuple[tuple[str, bytes], ...]) -> bool:
        """Whether another snapshot has the same files and configurations, whatever else is in them."""
        mine = self.snapshot
        return mine.basenames is snapshot.basenames and mine.roots == snapshot.roots and self._marks == marks

    def targets(self, entry: FileEntry, imported: Import) -> tuple[Target, ...]:
        """What an import leads to, one target for each of its names where they are known; () for third parties."""
        key = (entry.path, imported)
        known = self._targets.get(key)
        if known is None:
            language = entry.outline.language if entry.outline is not None else ""
            way = WAYS.get(language)
            known = way(self._ground, entry, imported.module, imported.names) if way is not None else ()
            self._targets[key] = known
        return known

    def bindings(self, entry: FileEntry) -> Bindings:
        """What the names stand for that a file's imports bring, as far as that is in the workspace.

        What a function imports for itself is among them where the file says nothing else of a name.
        """
        return self._known(entry)[1]

    def within(self, entry: FileEntry) -> Mapping[str, Inner]:
        """What the names stand for that functions of a file import for themselves: (line, target) for each."""
        return self._known(entry)[2]

    def _known(self, entry: FileEntry) -> tuple[FileEntry, Bindings, Mapping[str, Inner]]:
        known = self._bindings.get(entry.path)
        if known is None or known[0] is not entry:
            imports = entry.outline.imports if entry.outline is not None else ()
            inner = _in_functions(entry, imports)
            within: dict[str, Inner] = {}
            for one in inner:
                for name, target in self._bound(entry, (one,)).items():
                    within[name] = (*within.get(name, ()), (one.line, target))
            own = set(inner)
            outer = [one for one in imports if one not in own]
            bound = {name: targets[-1][1] for name, targets in within.items()} | self._bound(entry, outer)
            known = self._bindings[entry.path] = (entry, bound, within)
        return known

    def _bound(self, entry: FileEntry, imports: Sequence[Import]) -> dict[str, Target]:
        out: dict[str, Target] = {}
        language = entry.outline.language if entry.outline is not None else ""
        for one in imports:
            if one.names:
                found = self.targets(entry, one)
                if len(found) != len(one.names):
                    continue  # "*" gave many files, or only some of the names are here
                for name, local, target in zip(one.names, one.locals or one.names, found, strict=True):
                    if local == ALL:
                        continue
                    out[local] = Target(target.path) if name == ALL else target
                continue
            if language == "python" and not one.locals:
                head = one.module.partition(".")[0]
                place = python_module(self._ground, entry, head) if head else ""
                if place:
                    out[head] = Target(place)
                continue
            found = self.targets(entry, one)
            local = one.locals[0] if one.locals else _own_name(one.module, language)
            if found and local:
                out[local] = Target(found[0].path, "" if found[0].name == ALL else found[0].name)
        return out


def _in_functions(entry: FileEntry, imports: Sequence[Import]) -> list[Import]:
    """The imports that stand in functions, where a language has such."""
    if entry.outline is None or not imports or entry.outline.language not in INNER:
        return []
    starts: list[int] = []
    ends: list[int] = []  # of the outermost ones: functions in functions end before what is around them
    for span in (symbol.span for symbol in entry.outline.symbols if symbol.kind in CALLABLE_KINDS):
        if not ends or span.start >= ends[-1]:
            starts.append(span.start)
            ends.append(span.end)
    return [one for one in imports if (at := bisect_left(starts, one.line)) and one.line < ends[at - 1]]


class Resolvers:
    """Makes the resolver of each snapshot from that of the one before; any thread."""

    def __init__(self) -> None:
        self._last: Resolver | None = None

    def at(self, snapshot: Snapshot) -> Resolver:
        """The resolver of a snapshot."""
        last = self._last
        if last is None or last.snapshot is not snapshot:
            last = self._last = Resolver(snapshot, last)
        return last


def _own_name(module: str, language: str) -> str:
    """What a file calls a module that it imports without saying a name."""
    if language == "go":
        last = module.rstrip("/").rpartition("/")[2]
        if last[:1] == "v" and last[1:].isdigit():
            last = module.rstrip("/").rpartition("/")[0].rpartition("/")[2]
        return last.rpartition(".")[2].replace("-", "_")
    if language == "rust":
        return module.rpartition("::")[2]
    if language in ("elixir", "haskell", "perl", "php", "java", "kotlin", "scala"):
        return module.replace("::", ".").replace("\\", ".").rpartition(".")[2]
    return ""


def _marks(snapshot: Snapshot) -> tuple[tuple[str, bytes], ...]:
    """(path, digest) of the configuration files: with another one, imports may lead elsewhere."""
    paths = [path for name in CONFIGS for path in snapshot.basenames.get(name, ())]
    return tuple((path, entry.digest) for path in paths if (entry := snapshot.files.get(path)) is not None)


def _reader(snapshot: Snapshot) -> Read:
    lock = threading.Lock()

    def read(path: str) -> str:
        document = snapshot.documents.get(path)
        if document is not None:
            return document.text
        if path not in snapshot.files:
            return ""
        with lock:
            got = files.read_text(path, _LIMITS)
        return "" if isinstance(got, files.Skipped) else got.text

    return read
