"""Manifest parsing by file name: selects the parser and limits its result.

Manifests declare name, description, dependencies, commands and entry points.  Nothing is executed, resolved or
fetched; malformed or oversized data is skipped.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable

from promptls.knowledge.project import build_file_parsers, manifest_parsers
from promptls.knowledge.project.manifest import ProjectManifest, TextPairs, clean_line

MAX_CHARACTERS = 300_000
"""Maximum length of a manifest; longer files are generated."""
MAX_DEPENDENCIES = 500
"""Maximum number of dependencies; this and the following limits bound the memory for a hostile manifest."""
MAX_COMMANDS = 40
MAX_ENTRY_POINTS = 20
MAX_PATHS = 5_000

MAX_VERSIONS = 4
"""Maximum number of required versions kept of a manifest."""

ManifestParser = Callable[[str], ProjectManifest]


def parser_for(name: str) -> ManifestParser | None:
    """Return the parser for a file name, or None if it is not a manifest."""
    base = name.rsplit("/", 1)[-1].lower()
    found = _PARSERS_BY_NAME.get(base)
    if found is None:
        found = next((reader for ending, reader in _PARSERS_BY_SUFFIX if base.endswith(ending)), None)
    if found is None and base.startswith("requirements") and base.endswith(".txt"):
        found = manifest_parsers.requirements
    return found


def parse_manifest(name: str, text: str) -> ProjectManifest:
    """Parse a manifest by its file name; return an empty one if it is malformed, too long or not a manifest."""
    reader = parser_for(name)
    if reader is None or len(text) > MAX_CHARACTERS:
        return ProjectManifest()
    try:
        found = reader(text)
    except (ValueError, RecursionError, configparser.Error):  # errors of TOML and JSON are ValueErrors
        return ProjectManifest()
    return ProjectManifest(
        found.ecosystem,
        clean_line(found.name, 100),
        clean_line(found.description, 400),
        _clean_names(found.dependencies),
        tuple(dict.fromkeys((clean_line(n, 60), clean_line(c, 160)) for n, c in found.commands if c))[:MAX_COMMANDS],
        tuple(dict.fromkeys((clean_line(n, 60), clean_line(t, 160)) for n, t in found.entry_points if t))[
            :MAX_ENTRY_POINTS
        ],
        _clean_names(found.development),
        found.main_files,
        _only_text_pairs(found.exports),
        _only_text_pairs(found.subpath_imports),
        _only_text_pairs(found.namespaces),
        versions=tuple(version for version in found.versions if version)[:MAX_VERSIONS],
        runtime=None if found.runtime is None else _clean_names(found.runtime),
    )


def _only_text_pairs(pairs: TextPairs) -> TextPairs:
    """Return the pairs of strings; parsers do not check the types of values."""
    return tuple(pair for pair in pairs if isinstance(pair[0], str) and isinstance(pair[1], str))[:MAX_PATHS]


def _clean_names(dependencies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean_line(name, 120) for name in dependencies))[:MAX_DEPENDENCIES]


_PARSERS_BY_NAME: dict[str, ManifestParser] = {
    "pyproject.toml": manifest_parsers.pyproject,
    "setup.cfg": manifest_parsers.setup_cfg,
    "setup.py": manifest_parsers.setup_py,
    "pipfile": manifest_parsers.pipfile,
    "tox.ini": manifest_parsers.tox,
    "noxfile.py": manifest_parsers.noxfile,
    "package.json": manifest_parsers.package_json,
    "deno.json": manifest_parsers.deno,
    "deno.jsonc": manifest_parsers.deno,
    "cargo.toml": manifest_parsers.cargo,
    "go.mod": build_file_parsers.go_mod,
    "pom.xml": build_file_parsers.pom,
    "build.gradle": build_file_parsers.gradle,
    "build.gradle.kts": build_file_parsers.gradle,
    "settings.gradle": build_file_parsers.gradle,
    "settings.gradle.kts": build_file_parsers.gradle,
    "build.sbt": build_file_parsers.sbt,
    "composer.json": manifest_parsers.composer,
    "gemfile": build_file_parsers.gemfile,
    "pubspec.yaml": build_file_parsers.pubspec,
    "mix.exs": build_file_parsers.mix,
    "makefile": build_file_parsers.makefile,
    "gnumakefile": build_file_parsers.makefile,
    "justfile": build_file_parsers.justfile,
    ".justfile": build_file_parsers.justfile,
    "taskfile.yml": build_file_parsers.taskfile,
    "taskfile.yaml": build_file_parsers.taskfile,
    "dockerfile": build_file_parsers.dockerfile,
    "containerfile": build_file_parsers.dockerfile,
    "cmakelists.txt": build_file_parsers.cmake,
}
_PARSERS_BY_SUFFIX: tuple[tuple[str, ManifestParser], ...] = (
    (".gemspec", build_file_parsers.gemspec),
    (".csproj", build_file_parsers.csproj),
    (".fsproj", build_file_parsers.csproj),
    (".vbproj", build_file_parsers.csproj),
)
