"""Configuration of import resolution: package manifests and the aliases in tsconfig.json.

Files are not trusted: sizes are limited, malformed files are ignored, and paths never lead out of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from promptls.graph.imports.file_tree import FileTree
from promptls.knowledge.project.manifests import ProjectManifest, decode_json, get_table, parse_manifest

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

    def packages(self) -> dict[str, str]:
        """Return the folder of each npm package by name."""
        return self._folders("package.json")

    def crates(self) -> dict[str, str]:
        """Return the folder of each crate by name as written in code."""
        return self._folders("Cargo.toml")

    def modules(self) -> dict[str, str]:
        """Return the folder of each Go module by module path."""
        return self._folders("go.mod")

    def pubs(self) -> dict[str, str]:
        """Return the folder of each Dart package by name."""
        return self._folders("pubspec.yaml")

    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of PHP namespace prefix and folder of its classes, longest prefix first."""
        if self._namespaces is None:
            pairs = (pair for path in self._tree.files_named("composer.json") for pair in self._namespace_folders(path))
            self._namespaces = tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair)))
        return self._namespaces

    def _namespace_folders(self, path: str) -> Iterator[tuple[str, str]]:
        for prefix, relative in self.manifest(path).namespaces:
            if folder := self._tree.join(path.rpartition("/")[0], relative):
                yield prefix, folder

    def _folders(self, file_name: str) -> dict[str, str]:
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
