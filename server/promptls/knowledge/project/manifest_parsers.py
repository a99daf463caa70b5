"""Parsers of structured manifests: one function per format, from text to a `Manifest`.

Most formats are decoded as TOML, JSON or INI; nothing is executed.  Parsers may raise ValueError, RecursionError or
configparser.Error for malformed text.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptls.knowledge.project.manifest import (
    ProjectManifest,
    decode_json,
    get_table,
    only_strings,
    required_version,
)
from promptls.util.toml import parse_toml

# ---- Python

_PEP508 = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def _requirement_names(requirements: Iterable[str]) -> Iterator[str]:
    """Yield the names of requirements ("Foo_Bar[x]>=1; python_version<'3'"), normalized as in PEP 503."""
    for requirement in requirements:
        found = _PEP508.match(requirement)
        if found is not None:
            yield re.sub(r"[-_.]+", "-", found[1]).lower()


def pyproject(text: str) -> ProjectManifest:
    """Parse pyproject.toml."""
    data = parse_toml(text)
    project, tool, poetry = get_table(data, "project"), get_table(data, "tool"), get_table(data, "tool", "poetry")
    dependencies = list(only_strings(project.get("dependencies")))
    dependencies += [name for name in get_table(poetry, "dependencies") if name != "python"]
    development: list[str] = []
    for group in (
        *get_table(project, "optional-dependencies").values(),
        *get_table(data, "dependency-groups").values(),
    ):
        development += only_strings(group)
    for group in get_table(poetry, "group").values():
        development += get_table(group, "dependencies")
    scripts = {**get_table(poetry, "scripts"), **get_table(project, "scripts"), **get_table(project, "gui-scripts")}
    return ProjectManifest(
        "python",
        project.get("name") or poetry.get("name") or "",
        project.get("description") or poetry.get("description") or "",
        tuple(_requirement_names(dependencies)),
        tuple(_python_commands(tool)),
        tuple((f"command {name}", target) for name, target in scripts.items() if isinstance(target, str)),
        tuple(_requirement_names(development)),
        versions=required_version(
            "Python", project.get("requires-python") or get_table(poetry, "dependencies").get("python")
        ),
    )


_PYTHON_TOOLS = {
    "pytest": ("test", "pytest"),
    "tox": ("test", "tox"),
    "nox": ("test", "nox"),
    "ruff": ("lint", "ruff check"),
    "mypy": ("types", "mypy"),
    "pyright": ("types", "pyright"),
    "black": ("format", "black ."),
    "flake8": ("lint", "flake8"),
    "pylint": ("lint", "pylint"),
}


def _python_commands(tool: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from (command for name, command in _PYTHON_TOOLS.items() if name in tool)
    for runner, table in (
        ("poe", get_table(tool, "poe", "tasks")),
        ("pdm run", get_table(tool, "pdm", "scripts")),
        ("hatch run", get_table(tool, "hatch", "envs", "default", "scripts")),
        ("task", get_table(tool, "taskipy", "tasks")),
        ("pixi run", get_table(tool, "pixi", "tasks")),
    ):
        yield from ((name, f"{runner} {name}") for name in table)


def setup_cfg(text: str) -> ProjectManifest:
    """Parse setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    scripts = parser.get("options.entry_points", "console_scripts", fallback="").splitlines()
    pairs = [tuple(map(str.strip, line.split("=", 1))) for line in scripts if "=" in line]
    return ProjectManifest(
        "python",
        parser.get("metadata", "name", fallback=""),
        parser.get("metadata", "description", fallback=""),
        tuple(_requirement_names(parser.get("options", "install_requires", fallback="").splitlines())),
        tuple(_PYTHON_TOOLS[name] for name in ("pytest", "mypy", "flake8") if parser.has_section(_section(name))),
        tuple((f"command {pair[0]}", pair[1]) for pair in pairs),
        versions=required_version("Python", parser.get("options", "python_requires", fallback="")),
    )


def _section(tool: str) -> str:
    return "tool:pytest" if tool == "pytest" else tool


_ARGUMENT = re.compile(r"""^[ \t]*(name|description|python_requires)\s*=\s*["']([^"'\n]{1,300})["']""", re.MULTILINE)
_REQUIRED = re.compile(r"install_requires\s*=\s*\[([^\]]{0,5000})\]")
_QUOTED = re.compile(r"""["']([^"'\n]{1,200})["']""")


def setup_py(text: str) -> ProjectManifest:
    """Parse setup.py."""
    fields = dict(reversed(_ARGUMENT.findall(text)))
    required = _REQUIRED.search(text)
    names = _requirement_names(_QUOTED.findall(required[1])) if required else ()
    return ProjectManifest(
        "python",
        fields.get("name", ""),
        fields.get("description", ""),
        tuple(names),
        versions=required_version("Python", fields.get("python_requires")),
    )


def requirements(text: str) -> ProjectManifest:
    """Parse requirements files of pip."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", "-", "http", "git+", ".", "/")))
    return ProjectManifest("python", dependencies=tuple(_requirement_names(lines)))


def pipfile(text: str) -> ProjectManifest:
    """Parse Pipfile."""
    data = parse_toml(text)
    dependencies, development = get_table(data, "packages"), get_table(data, "dev-packages")
    scripts = tuple((name, f"pipenv run {name}") for name in get_table(data, "scripts"))
    return ProjectManifest(
        "python",
        dependencies=tuple(_requirement_names(dependencies)),
        commands=scripts,
        development=tuple(_requirement_names(development)),
    )


def tox(text: str) -> ProjectManifest:
    """Parse tox.ini."""
    return ProjectManifest("python", commands=(("test", "tox"),) if "[tox]" in text or "[testenv" in text else ())


_NOX = re.compile(r"^@(?:nox\.)?session[^\n]*\n(?:@[^\n]*\n){0,5}def[ \t]+(\w+)", re.MULTILINE)


def noxfile(text: str) -> ProjectManifest:
    """Parse noxfile.py."""
    return ProjectManifest("python", commands=tuple((name, f"nox -s {name}") for name in _NOX.findall(text)))


# ---- JavaScript


def package_json(text: str) -> ProjectManifest:
    """Parse package.json."""
    data = decode_json(text)
    if not isinstance(data, dict):
        return ProjectManifest()
    dependencies: list[str] = []
    for key in ("dependencies", "peerDependencies", "devDependencies", "optionalDependencies"):
        dependencies += get_table(data, key)
    runner = str(data.get("packageManager", "npm")).partition("@")[0]
    runner = runner if runner in ("npm", "pnpm", "yarn", "bun") else "npm"
    scripts = [name for name in get_table(data, "scripts") if not name.startswith(("pre", "post")) or name == "preview"]
    binaries = data.get("bin")
    entries = [(f"command {name}", path) for name, path in get_table(data, "bin").items()]
    entries += [("command", binaries)] if isinstance(binaries, str) else []
    entries += [(what, data[what]) for what in ("main", "module", "browser") if isinstance(data.get(what), str)]
    exported = data.get("exports")
    entries += [("exports", exported)] if isinstance(exported, str) else []
    return ProjectManifest(
        "npm",
        data.get("name", ""),
        data.get("description", ""),
        tuple(name.lower() for name in dependencies),
        tuple((name, f"{runner} run {name}" if name != "test" else f"{runner} test") for name in scripts),
        tuple((what, path) for what, path in entries if isinstance(path, str)),
        main_files=tuple(data[key] for key in _MAIN_FILE_KEYS if isinstance(data.get(key), str)),
        exports=tuple((path, _conditional_target(target)) for path, target in get_table(data, "exports").items()),
        subpath_imports=tuple(
            (path, _conditional_target(target)) for path, target in get_table(data, "imports").items()
        ),
        versions=required_version("Node", get_table(data, "engines").get("node")),
        runtime=tuple(name.lower() for key in ("dependencies", "peerDependencies") for name in get_table(data, key)),
    )


_MAIN_FILE_KEYS = ("source", "module", "main", "types", "typings")
_CONDITIONS = ("source", "import", "module", "types", "default", "require", "node")


def _conditional_target(value: object, max_depth: int = 4) -> str:
    """Return the file of a conditional export or import, or "" if there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and max_depth:
        for condition in _CONDITIONS:
            if target := _conditional_target(value.get(condition), max_depth - 1):
                return target
    return ""


def deno(text: str) -> ProjectManifest:
    """Parse deno.json."""
    data = json.loads(re.sub(r"^[ \t]*//[^\n]*$", "", text, flags=re.MULTILINE))
    tasks = tuple((name, f"deno task {name}") for name in get_table(data, "tasks"))
    exported = data.get("exports") if isinstance(data, dict) else None
    entries = (("exports", exported),) if isinstance(exported, str) else ()
    return ProjectManifest(
        "npm", data.get("name", "") if isinstance(data, dict) else "", commands=tasks, entry_points=entries
    )


# ---- other structured formats


def cargo(text: str) -> ProjectManifest:
    """Parse Cargo.toml."""
    data = parse_toml(text)
    package = get_table(data, "package")
    dependencies: list[str] = []
    for table in (data, get_table(data, "workspace")):
        for key in ("dependencies", "build-dependencies"):
            dependencies += get_table(table, key)
    bins = data.get("bin")
    entries = [
        (f"command {binary.get('name', '')}", binary["path"])
        for binary in (bins if isinstance(bins, list) else ())
        if isinstance(binary, dict) and isinstance(binary.get("path"), str)
    ]
    commands = (("build", "cargo build"), ("test", "cargo test")) if package or "workspace" in data else ()
    return ProjectManifest(
        "cargo",
        package.get("name", ""),
        package.get("description", ""),
        tuple(name.lower() for name in dependencies),
        commands,
        tuple(entries),
        tuple(name.lower() for name in get_table(data, "dev-dependencies")),
        versions=(
            *required_version("Rust", package.get("rust-version")),
            *required_version("Rust edition", package.get("edition")),
        ),
    )


def composer(text: str) -> ProjectManifest:
    """Parse composer.json."""
    data = decode_json(text)
    if not isinstance(data, dict):
        return ProjectManifest()
    binaries = data.get("bin")
    return ProjectManifest(
        "composer",
        data.get("name", ""),
        data.get("description", ""),
        tuple(name.lower() for name in get_table(data, "require") if "/" in name),
        tuple(
            (name, f"composer {name}") for name in get_table(data, "scripts") if not name.startswith(("pre-", "post-"))
        ),
        tuple(
            ("command", path) for path in (only_strings(binaries) if isinstance(binaries, list) else [binaries]) if path
        ),
        tuple(name.lower() for name in get_table(data, "require-dev") if "/" in name),
        versions=required_version("PHP", get_table(data, "require").get("php")),
        namespaces=tuple(_autoloaded(data)),
    )


def _autoloaded(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pairs of namespace prefix and folder from the PSR-4 tables."""
    for key in ("autoload", "autoload-dev"):
        for prefix, folders in get_table(data, key, "psr-4").items():
            yield from ((prefix, folder) for folder in (folders if isinstance(folders, list) else [folders]))
