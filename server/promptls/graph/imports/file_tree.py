"""Files and configuration of a snapshot for import resolution, and the interface of the resolver of a language.

The file tree depends on file names only, so it is reused after edits.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from promptls.graph.resolution.name_lookup import common_segments
from promptls.graph.resolution.resolved_names import Target
from promptls.index import Snapshot
from promptls.knowledge.project.manifests import ProjectManifest, decode_json, get_table, parse_manifest
from promptls.model import FileEntry

MAX_SAME_NAME = 200
"""Maximum number of files or folders of one name that are compared; bounds the time."""


class FileTree:
    """Files and folders by path.  Paths are absolute, with forward slashes."""

    __slots__ = ("_basenames", "_files", "_files_by_folder", "_folders_by_name", "_roots", "folders")

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = snapshot.files
        self._basenames = snapshot.basenames
        self._roots = tuple(sorted((root.path for root in snapshot.roots), key=len, reverse=True))
        files_by_folder: dict[str, list[str]] = {}
        for path in snapshot.files:
            files_by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        self._files_by_folder = {folder: tuple(sorted(paths)) for folder, paths in files_by_folder.items()}
        folders = set(self._files_by_folder)
        for folder in self._files_by_folder:
            while (folder := folder.rpartition("/")[0]) and folder not in folders:
                folders.add(folder)
        self.folders = frozenset(folders)
        self._folders_by_name: dict[str, tuple[str, ...]] | None = None

    def has_file(self, path: str) -> bool:
        """Return true if the file exists."""
        return path in self._files

    def first_file(self, paths: Iterable[str]) -> str:
        """Return the first of the paths that is a file, or ""."""
        return next((path for path in paths if path in self._files), "")

    def files_in(self, folder: str) -> tuple[str, ...]:
        """Return the files directly in a folder, sorted."""
        return self._files_by_folder.get(folder, ())

    def root_of(self, path: str) -> str:
        """Return the workspace folder that contains a path, or ""."""
        return next((root for root in self._roots if path == root or path.startswith(root + "/")), "")

    def join(self, folder: str, relative: str) -> str:
        """Resolve a relative path against a folder; return "" if it leaves the root of the folder."""
        path = posixpath.normpath(f"{folder}/{relative}")
        root = self.root_of(folder)
        return path if root and (path == root or path.startswith(root + "/")) else ""

    def parent_folders(self, path: str) -> Iterable[str]:
        """Yield the folders above a file, innermost first, up to its root."""
        root, folder = self.root_of(path), path.rpartition("/")[0]
        while folder and len(folder) >= len(root):
            yield folder
            folder = folder.rpartition("/")[0]

    def files_named(self, basename: str) -> tuple[str, ...]:
        """Return the files of this name, ignoring case."""
        return self._basenames.get(basename.lower(), ())[:MAX_SAME_NAME]

    def nearest_file(self, names: Iterable[str], near: str) -> str:
        """Return the file nearest to `near` whose path ends with one of these names, in order of precedence."""
        for name in names:
            tail = "/" + name
            matches = [path for path in self.files_named(name.rpartition("/")[2]) if path.endswith(tail)]
            if matches:
                return nearest_path(matches, near)
        return ""

    def nearest_folder(self, name: str, near: str) -> str:
        """Return the folder nearest to `near` whose path ends with this relative path, or ""."""
        last = name.rpartition("/")[2]
        matches = [f for f in self._folders_named(last) if f.endswith("/" + name)]
        return nearest_path(matches, near) if matches else ""

    def _folders_named(self, name: str) -> tuple[str, ...]:
        if self._folders_by_name is None:
            packages: dict[str, list[str]] = {}
            for folder in sorted(self.folders):
                packages.setdefault(folder.rpartition("/")[2], []).append(folder)
            self._folders_by_name = {last: tuple(matches) for last, matches in packages.items()}
        return self._folders_by_name.get(name, ())[:MAX_SAME_NAME]


def nearest_path(paths: Sequence[str], near: str) -> str:
    """Return the path with the most folders in common with `near`; ties: the shortest, then the first by name."""

    def rank(path: str) -> tuple[int, int, str]:
        return (-common_segments(path, near), path.count("/"), path)

    return min(paths, key=rank)


def unambiguous_nearest(paths: Sequence[str], near: str) -> str:
    """Return the path with more folders in common with `near` than any other, or "" if it is ambiguous."""
    ranked = sorted(paths, key=lambda path: -common_segments(path, near))
    if len(ranked) > 1 and common_segments(ranked[0], near) == common_segments(ranked[1], near):
        return ""
    return ranked[0] if ranked else ""


# ---- configuration

MAX_CHARACTERS = 300_000
"""Maximum length of a tsconfig.json; longer files are truncated, which makes them invalid."""
MAX_EXTENDS = 5
"""Maximum depth of tsconfig.json files that extend each other."""

Read = Callable[[str], str]
"""Reads the text of a path, "" if there is none."""


class Configs:
    """Configuration files of one tree; each is read once."""

    __slots__ = ("_aliases", "_folders_by_name", "_manifests", "_namespaces", "_read", "_tree")

    def __init__(self, tree: FileTree, read: Read) -> None:
        self._tree = tree
        self._read = read
        self._manifests: dict[str, ProjectManifest] = {}
        self._aliases: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self._folders_by_name: dict[str, dict[str, str]] = {}
        self._namespaces: tuple[tuple[str, str], ...] | None = None

    def nearest(self, path: str, *names: str) -> str:
        """Return the first of these files in the folders above a path, innermost first, or "" if there is none."""
        return next(
            (
                f
                for folder in self._tree.parent_folders(path)
                if (f := self._tree.first_file(f"{folder}/{n}" for n in names))
            ),
            "",
        )

    def manifest(self, path: str) -> ProjectManifest:
        """Return the manifest at a path, an empty one if there is none or it is malformed."""
        manifest = self._manifests.get(path)
        if manifest is None:
            manifest = self._manifests[path] = parse_manifest(path, self._read(path))
        return manifest

    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of PHP namespace prefix and folder of its classes, longest prefix first."""
        if self._namespaces is None:
            pairs = [
                (prefix, folder)
                for path in self._tree.files_named("composer.json")
                for prefix, relative in self.manifest(path).namespaces
                if (folder := self._tree.join(path.rpartition("/")[0], relative))
            ]
            self._namespaces = tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair)))
        return self._namespaces

    def folders(self, file_name: str) -> dict[str, str]:
        """Return the folders that contain a manifest, by the name of the package, crate or module as used in code."""
        if file_name not in self._folders_by_name:
            folders: dict[str, str] = {}
            for path in sorted(self._tree.files_named(file_name), key=lambda p: (p.count("/"), p)):
                name = self.manifest(path).name if path.endswith("/" + file_name) else ""
                if name:
                    name = name.replace("-", "_") if file_name == "Cargo.toml" else name
                    folders.setdefault(name, path.rpartition("/")[0])
            self._folders_by_name[file_name] = folders
        return self._folders_by_name[file_name]

    def aliases(self, path: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return pairs (pattern, paths) of the tsconfig.json above a file, longest pattern first.

        A "*" in the pattern stands for any text, a "*" in a path for the same text.
        """
        config = self.nearest(path, "tsconfig.json", "jsconfig.json")
        if not config:
            return ()
        if config not in self._aliases:
            aliases = self._tsconfig_paths(config, MAX_EXTENDS)
            self._aliases[config] = tuple(sorted(aliases, key=lambda alias: (-len(alias[0]), alias[0])))
        return self._aliases[config]

    def _tsconfig_paths(self, config: str, max_extends: int) -> list[tuple[str, tuple[str, ...]]]:
        table, folder = self._read_json(config), config.rpartition("/")[0]
        options = get_table(table, "compilerOptions")
        base_url = options.get("baseUrl")
        base = self._tree.join(folder, base_url) if isinstance(base_url, str) else ""
        aliases: list[tuple[str, tuple[str, ...]]] = []
        for pattern, paths in get_table(options, "paths").items():
            targets = [p for p in paths if isinstance(p, str)] if isinstance(paths, list) else []
            joined = (self._tree.join(base or folder, p) for p in targets)
            aliases.append((pattern, tuple(p for p in joined if p)))
        if base:
            aliases.append(("*", (f"{base}/*",)))
        extends = table.get("extends")
        for name in [extends] if isinstance(extends, str) else extends if isinstance(extends, list) else []:
            if max_extends and not aliases and isinstance(name, str) and name.startswith("."):
                path = self._tree.join(folder, name)
                extended = self._tree.first_file([path, path + ".json", path + "/tsconfig.json"])
                aliases += self._tsconfig_paths(extended, max_extends - 1) if extended else []
        return aliases

    def _read_json(self, path: str) -> dict[str, Any]:
        try:
            value = decode_json(self._read(path)[:MAX_CHARACTERS])
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


# ---- resolvers

WILDCARD = "*"
"""Stands for all names of a module."""


class ResolutionContext(NamedTuple):
    """Files and configuration of a snapshot, the input of all resolvers."""

    tree: FileTree
    configs: Configs


Names = tuple[str, ...]
Targets = tuple[Target, ...]
LanguageResolver = Callable[[ResolutionContext, FileEntry, str, Names], Targets]
"""Maps (context, importing file, module, names) to one target per name, or one for the module; () for third parties."""


def folder_of(entry: FileEntry) -> str:
    """Return the folder of a file."""
    return entry.path.rpartition("/")[0]


def make_targets(path: str, names: Names) -> Targets:
    """Return targets for imported names, or for the file as a module without names; () without a file."""
    if not path:
        return ()
    return tuple(Target(path, name) for name in names) if names else (Target(path),)
