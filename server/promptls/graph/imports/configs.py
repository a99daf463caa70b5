"""Configuration that says where modules are: package.json, tsconfig.json, go.mod, Cargo.toml, composer.json,
pubspec.yaml.

Hostile input: read within bounds, decoded with care, never followed out of the workspace.  A file that cannot
be understood says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from promptls.graph.imports.file_tree import Tree
from promptls.util.toml import read_toml

MOST_TEXT = 300_000
"""Characters of a configuration file."""
MOST_EXTENDS = 5
"""Configurations that one is built upon."""

Read = Callable[[str], str]
"""Path → text, "" where there is none."""

_JSON_NOISE = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_MODULE = re.compile(r"^\s*module\s+\"?([^\s\"]+)", re.MULTILINE)
_PUB = re.compile(r"^name:\s*[\"']?(\w+)", re.MULTILINE)


class Configs:
    """What the configuration files of one tree say; each is read once."""

    __slots__ = ("_aliases", "_named", "_namespaces", "_objects", "_read", "_tree")

    def __init__(self, tree: Tree, read: Read) -> None:
        self._tree = tree
        self._read = read
        self._objects: dict[str, dict[str, Any]] = {}
        self._aliases: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self._named: dict[str, dict[str, str]] = {}
        self._namespaces: tuple[tuple[str, str], ...] | None = None

    def nearest(self, path: str, *names: str) -> str:
        """The first of these files in the folders around a path, innermost first; "" if there is none."""
        return next(
            (f for folder in self._tree.above(path) if (f := self._tree.first(f"{folder}/{n}" for n in names))), ""
        )

    def json(self, path: str) -> dict[str, Any]:
        """A JSON file with comments and trailing commas; {} if it is none."""
        if path not in self._objects:
            text = self._read(path)[:MOST_TEXT]
            self._objects[path] = _table(lambda: msgspec.json.decode(_JSON_NOISE.sub(lambda m: m[1] or "", text)))
        return self._objects[path]

    def toml(self, path: str) -> dict[str, Any]:
        """A TOML file; {} if it is none."""
        if path not in self._objects:
            self._objects[path] = _table(lambda: read_toml(self._read(path)[:MOST_TEXT]))
        return self._objects[path]

    def packages(self) -> dict[str, str]:
        """Name of each package.json → its folder."""
        return self._by_name("package.json", lambda path: self.json(path).get("name"))

    def crates(self) -> dict[str, str]:
        """Name of each crate, as code writes it → its folder."""

        def name(path: str) -> object:
            package = self.toml(path).get("package")
            written = package.get("name") if isinstance(package, dict) else None
            return written.replace("-", "_") if isinstance(written, str) else None

        return self._by_name("Cargo.toml", name)

    def modules(self) -> dict[str, str]:
        """Path of each Go module → its folder."""

        def name(path: str) -> object:
            match = _MODULE.search(self._read(path)[:MOST_TEXT])
            return match[1] if match else None

        return self._by_name("go.mod", name)

    def pubs(self) -> dict[str, str]:
        """Name of each Dart package → its folder."""

        def name(path: str) -> object:
            match = _PUB.search(self._read(path)[:MOST_TEXT])
            return match[1] if match else None

        return self._by_name("pubspec.yaml", name)

    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """(beginning of a PHP namespace, folder of its classes) by each composer.json, longest beginning first."""
        if self._namespaces is None:
            found = (one for path in self._tree.called("composer.json") for one in self._autoloaded(path))
            self._namespaces = tuple(sorted(found, key=lambda one: (-len(one[0]), one)))
        return self._namespaces

    def _autoloaded(self, config: str) -> Iterator[tuple[str, str]]:
        for key in ("autoload", "autoload-dev"):
            section = self.json(config).get(key)
            table = section.get("psr-4") if isinstance(section, dict) else None
            for prefix, places in table.items() if isinstance(table, dict) else ():
                for place in places if isinstance(places, list) else [places]:
                    folder = self._tree.join(config.rpartition("/")[0], place) if isinstance(place, str) else ""
                    if folder:
                        yield prefix, folder

    def _by_name(self, file: str, name: Callable[[str], object]) -> dict[str, str]:
        if file not in self._named:
            found: dict[str, str] = {}
            for path in sorted(self._tree.called(file), key=lambda p: (p.count("/"), p)):
                called = name(path) if path.endswith("/" + file) else None
                if isinstance(called, str) and called:
                    found.setdefault(called, path.rpartition("/")[0])
            self._named[file] = found
        return self._named[file]

    def aliases(self, path: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """(pattern, places) of the tsconfig around a file, longest pattern first; "*" in both is what stands there."""
        config = self.nearest(path, "tsconfig.json", "jsconfig.json")
        if not config:
            return ()
        if config not in self._aliases:
            self._aliases[config] = tuple(sorted(self._paths(config, MOST_EXTENDS), key=lambda a: (-len(a[0]), a[0])))
        return self._aliases[config]

    def _paths(self, config: str, left: int) -> list[tuple[str, tuple[str, ...]]]:
        table, folder = self.json(config), config.rpartition("/")[0]
        options = table.get("compilerOptions")
        options = options if isinstance(options, dict) else {}
        base = options.get("baseUrl")
        start = self._tree.join(folder, base) if isinstance(base, str) else ""
        found: list[tuple[str, tuple[str, ...]]] = []
        paths = options.get("paths")
        for pattern, places in paths.items() if isinstance(paths, dict) else ():
            targets = [p for p in places if isinstance(p, str)] if isinstance(places, list) else []
            joined = (self._tree.join(start or folder, p) for p in targets)
            found.append((pattern, tuple(p for p in joined if p)))
        if start:
            found.append(("*", (f"{start}/*",)))
        extends = table.get("extends")
        for name in [extends] if isinstance(extends, str) else extends if isinstance(extends, list) else []:
            if left and not found and isinstance(name, str) and name.startswith("."):
                base_file = self._tree.join(folder, name)
                other = self._tree.first([base_file, base_file + ".json", base_file + "/tsconfig.json"])
                found += self._paths(other, left - 1) if other else []
        return found


def _table(decode: Callable[[], Any]) -> dict[str, Any]:
    try:
        value = decode()
    except (ValueError, RecursionError):  # what the decoders raise on bad text
        return {}
    return value if isinstance(value, dict) else {}
