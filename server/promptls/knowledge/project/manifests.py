"""Manifests of projects: name, description, dependencies, commands and entry points, by file name.

TOML and JSON are decoded; of other formats a few fields are matched by regular expressions in linear time.  Nothing is
executed, resolved or fetched; malformed or oversized data is skipped.  A parser may raise ValueError or RecursionError
for malformed text.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from promptls.util.decode import parse_toml
from promptls.util.text.display import truncate_words

TextPairs = tuple[tuple[str, str], ...]


class ProjectManifest(Struct, frozen=True):
    """Data of one manifest; fields without data are empty."""

    ecosystem: str = ""  # table of frameworks.toml that contains its dependencies
    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()  # normalized names: lower case, in Python "-" instead of "_"
    commands: TextPairs = ()  # (purpose or name, command line)
    entry_points: TextPairs = ()  # (kind, path or module as written)
    main_files: tuple[str, ...] = ()  # npm: entry files of the package, as written
    exports: TextPairs = ()  # npm: (subpath, file as written)
    subpath_imports: TextPairs = ()  # npm: ("#name", file as written)
    namespaces: TextPairs = ()  # Composer: (namespace prefix, folder as written) of autoloaded classes
    versions: tuple[str, ...] = ()  # required versions of languages: "Python >=3.10", "Go 1.22"
    runtime: tuple[str, ...] | None = None  # dependencies of the program itself; None: `dependencies`


_JSON_EXTENSIONS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
"""Strings (kept), comments and trailing commas (removed)."""


def decode_json(text: str) -> Any:
    """Decode JSON with comments and trailing commas.

    Raises:
        ValueError: The text is not valid.
        RecursionError: The text is nested too deeply.
    """
    return json.loads(_JSON_EXTENSIONS.sub(lambda match: match[1] or "", text))


def clean_line(value: object, max_characters: int) -> str:
    """Return text as one line of visible characters, or "" for other values."""
    if not isinstance(value, str):
        return ""
    folded = " ".join("".join(c if c.isprintable() else " " for c in value[: 4 * max_characters]).split())
    return truncate_words(folded, max_characters)


def get_table(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the table at a path of keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _versions(**versions: object) -> tuple[str, ...]:
    """Return the required versions of languages, without values that are not versions."""
    texts = ((language, clean_line(version, 40)) for language, version in versions.items())
    return tuple(f"{language} {text}" for language, text in texts if re.search(r"\d", text))


def _lower(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


# ---- Python

_PEP508 = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_PYTHON_TOOLS = {
    "pytest": ("test", "pytest"),
    "tox": ("test", "tox"),
    "ruff": ("lint", "ruff check"),
    "mypy": ("types", "mypy"),
    "pyright": ("types", "pyright"),
}


def _requirement_names(requirements: object) -> tuple[str, ...]:
    """Return the names of requirements ("Foo_Bar[x]>=1; python_version<'3'"), normalized as in PEP 503."""
    if not isinstance(requirements, list | tuple):
        return ()
    names = (match[1] for text in requirements if isinstance(text, str) and (match := _PEP508.match(text)))
    return tuple(re.sub(r"[-_.]+", "-", name).lower() for name in names)


def pyproject(text: str) -> ProjectManifest:
    """Parse pyproject.toml."""
    data = parse_toml(text)
    project, tool, poetry = get_table(data, "project"), get_table(data, "tool"), get_table(data, "tool", "poetry")
    poetry_dependencies = get_table(poetry, "dependencies")
    scripts = {**get_table(poetry, "scripts"), **get_table(project, "scripts"), **get_table(project, "gui-scripts")}
    return ProjectManifest(
        "python",
        project.get("name") or poetry.get("name") or "",
        project.get("description") or poetry.get("description") or "",
        _requirement_names(project.get("dependencies"))
        + _requirement_names([name for name in poetry_dependencies if name != "python"]),
        tuple(command for name, command in _PYTHON_TOOLS.items() if name in tool),
        tuple((f"command {name}", target) for name, target in scripts.items()),
        versions=_versions(Python=project.get("requires-python") or poetry_dependencies.get("python")),
    )


_ARGUMENT = re.compile(r"""^[ \t]*(name|description|python_requires)\s*=\s*["']([^"'\n]{1,300})["']""", re.MULTILINE)
_REQUIRED = re.compile(r"install_requires\s*=\s*\[([^\]]{0,5000})\]")
_QUOTED = re.compile(r"""["']([^"'\n]{1,200})["']""")


def setup_py(text: str) -> ProjectManifest:
    """Parse setup.py."""
    fields = dict(reversed(_ARGUMENT.findall(text)))
    required = _REQUIRED.search(text)
    names = _requirement_names(_QUOTED.findall(required[1])) if required else ()
    version = _versions(Python=fields.get("python_requires"))
    return ProjectManifest("python", fields.get("name", ""), fields.get("description", ""), names, versions=version)


def requirements(text: str) -> ProjectManifest:
    """Parse requirements files of pip."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "-", "http", "git+", ".", "/"))]
    return ProjectManifest("python", dependencies=_requirement_names(lines))


# ---- npm, Cargo, Composer

_MAIN_FILE_KEYS = ("source", "module", "main", "types", "typings")
_CONDITIONS = ("source", "import", "module", "types", "default", "require", "node")


def package_json(text: str) -> ProjectManifest:
    """Parse package.json."""
    data = get_table(decode_json(text))
    runtime = (*get_table(data, "dependencies"), *get_table(data, "peerDependencies"))
    runner = str(data.get("packageManager", "npm")).partition("@")[0]
    runner = runner if runner in ("npm", "pnpm", "yarn", "bun") else "npm"
    scripts = [name for name in get_table(data, "scripts") if not name.startswith(("pre", "post")) or name == "preview"]
    entries = [(f"command {name}", path) for name, path in get_table(data, "bin").items()]
    entries += [("command" if what == "bin" else what, data.get(what)) for what in ("bin", "main", "module", "exports")]
    return ProjectManifest(
        "npm",
        data.get("name", ""),
        data.get("description", ""),
        _lower((*runtime, *get_table(data, "devDependencies"))),
        tuple((name, f"{runner} run {name}" if name != "test" else f"{runner} test") for name in scripts),
        tuple(entries),
        main_files=tuple(data[key] for key in _MAIN_FILE_KEYS if isinstance(data.get(key), str)),
        exports=tuple((path, _conditional_target(value)) for path, value in get_table(data, "exports").items()),
        subpath_imports=tuple((path, _conditional_target(value)) for path, value in get_table(data, "imports").items()),
        versions=_versions(Node=get_table(data, "engines").get("node")),
        runtime=_lower(runtime),
    )


def _conditional_target(value: object, max_depth: int = 4) -> str:
    """Return the file of a conditional export or import, or "" if there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and max_depth:
        for condition in _CONDITIONS:
            if target := _conditional_target(value.get(condition), max_depth - 1):
                return target
    return ""


def cargo(text: str) -> ProjectManifest:
    """Parse Cargo.toml."""
    data = parse_toml(text)
    package = get_table(data, "package")
    bins = data.get("bin")
    entries = [
        (f"command {binary.get('name', '')}", binary.get("path", ""))
        for binary in (bins if isinstance(bins, list) else ())
        if isinstance(binary, dict)
    ]
    return ProjectManifest(
        "cargo",
        package.get("name", ""),
        package.get("description", ""),
        _lower((*get_table(data, "dependencies"), *get_table(data, "workspace", "dependencies"))),
        (("build", "cargo build"), ("test", "cargo test")) if package or "workspace" in data else (),
        tuple(entries),
        versions=_versions(Rust=package.get("rust-version"), **{"Rust edition": package.get("edition")}),
    )


def composer(text: str) -> ProjectManifest:
    """Parse composer.json."""
    data = get_table(decode_json(text))
    required = get_table(data, "require")
    scripts = [name for name in get_table(data, "scripts") if not name.startswith(("pre-", "post-"))]
    return ProjectManifest(
        "composer",
        data.get("name", ""),
        data.get("description", ""),
        _lower(name for name in required if "/" in name),
        tuple((name, f"composer {name}") for name in scripts),
        namespaces=tuple(_autoloaded(data)),
        versions=_versions(PHP=required.get("php")),
    )


def _autoloaded(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pairs of namespace prefix and folder from the PSR-4 tables."""
    for key in ("autoload", "autoload-dev"):
        for prefix, folders in get_table(data, key, "psr-4").items():
            yield from ((prefix, folder) for folder in (folders if isinstance(folders, list) else [folders]))


# ---- formats matched by regular expressions

MAX_CHARACTERS = 300_000
"""Maximum length of a manifest; longer files are generated."""
MAX_DEPENDENCIES = 500
"""Maximum number of dependencies; this and the following limits bound the memory for a hostile manifest."""
MAX_COMMANDS = 40
MAX_ENTRY_POINTS = 20
MAX_PATHS = 5_000

ManifestParser = Callable[[str], ProjectManifest]


def pattern_parser(
    ecosystem: str, dependency: str = "", name: str = "", description: str = "", commands: TextPairs = ()
) -> ManifestParser:
    """Return a parser that matches fields by regular expressions; the first group is the value, "" for no such field."""
    dependency_pattern, *field_patterns = (
        re.compile(pattern or r"(?!)()", re.MULTILINE) for pattern in (dependency, name, description)
    )

    def parse(text: str) -> ProjectManifest:
        title, about = (match[1].strip() if (match := pattern.search(text)) else "" for pattern in field_patterns)
        return ProjectManifest(ecosystem, title, about, _lower(dependency_pattern.findall(text)), commands)

    return parse


_GO_VERSION = re.compile(r"^go[ \t]+(\d[\d.]{0,20})", re.MULTILINE)
_GO_MOD = pattern_parser(
    "go",
    r"^(?:require[ \t]+|[ \t]+)([\w-][\w.-]*\.\w[^\s/]*(?:/\S*)?)[ \t]+v\d(?![^\n]*// indirect)",
    r"^[ \t]*module[ \t]+\"?([^\s\"]+)",
    commands=(("build", "go build ./..."), ("test", "go test ./..."), ("lint", "go vet ./...")),
)


def go_mod(text: str) -> ProjectManifest:
    """Parse go.mod."""
    version = _GO_VERSION.search(text)
    return replace(_GO_MOD(text), versions=_versions(Go=version[1] if version else ""))


_MAVEN_NAME = re.compile(r"<artifactId>\s*([\w.${}-]{1,120})\s*</artifactId>")
_MAVEN_NEED = re.compile(r"<(parent|dependency)>(.{0,2000}?)</\1>", re.DOTALL)
_POM = pattern_parser(
    "maven",
    description=r"<description>([^<]{1,2000})</description>",
    commands=(("build", "mvn package"), ("test", "mvn test")),
)


def pom(text: str) -> ProjectManifest:
    """Parse pom.xml. Plugins do not count as dependencies."""
    _, _, after_parent = text.rpartition("</parent>")
    name = _MAVEN_NAME.search(after_parent)
    needs = [
        (found[1].lower(), block) for _, block in _MAVEN_NEED.findall(text) if (found := _MAVEN_NAME.search(block))
    ]
    return replace(
        _POM(text),
        name=name[1] if name else "",
        dependencies=tuple(dict.fromkeys(need for need, _ in needs)),
        runtime=tuple(dict.fromkeys(need for need, block in needs if "<scope>test<" not in block)),
    )


_YAML_TOP = re.compile(r"^(\w+):[ \t]*([^\n#]{0,400})", re.MULTILINE)
_YAML_KEY = re.compile(r"^  ([\w-]{1,100}):", re.MULTILINE)


def pubspec(text: str) -> ProjectManifest:
    """Parse pubspec.yaml."""
    fields = {key: value.strip().strip("'\">|- ") for key, value in _YAML_TOP.findall(text)}
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    names = tuple(name for part in parts if part.startswith("dependencies:") for name in _YAML_KEY.findall(part))
    tool = "flutter" if "flutter" in names else "dart"
    commands = (("test", f"{tool} test"),)
    return ProjectManifest("pub", fields.get("name", ""), fields.get("description", ""), names, commands)


_TARGET = re.compile(r"^([A-Za-z][\w-]{0,40})[ \t]*:(?!=)", re.MULTILINE)


def makefile(text: str) -> ProjectManifest:
    """Parse Makefile."""
    return ProjectManifest(commands=tuple((name, f"make {name}") for name in dict.fromkeys(_TARGET.findall(text))))


_GRADLE = pattern_parser(
    "maven",
    r"""["'][\w.-]{1,100}:([\w.-]{1,100})(?::[^"'\n]{0,100})?["']""",
    r"""rootProject\.name\s*=\s*["']([^"'\n]{1,100})["']""",
    commands=(("build", "gradle build"), ("test", "gradle test")),
)
_GEM = pattern_parser(
    "gem",
    r"""^[ \t]*(?:gem|\w+\.add_(?:runtime_)?dependency)[ (]+["']([\w-]{1,100})["']""",
    r"""^[ \t]*\w+\.name\s*=\s*["']([^"'\n]{1,400})["']""",
    r"""^[ \t]*\w+\.summary\s*=\s*["']([^"'\n]{1,400})["']""",
)
_DOTNET = pattern_parser(
    "nuget",
    r"""<(?:Package(?:Reference|Version)\s[^>]{0,50}?Include\s*=\s*"|Project\s+Sdk="(?=Microsoft\.NET\.Sdk\.Web"))([^"\n]{1,100})\"""",
    r"<(?:PackageId|AssemblyName)>([^<\n]{1,100})<",
    r"<Description>([^<]{1,1000})<",
    (("build", "dotnet build"), ("test", "dotnet test")),
)
_MIX = pattern_parser(
    "hex",
    r"\{:(\w{1,100}),\s*[\"~><=\[\w]",
    r"\bapp:\s*:(\w{1,100})",
    r"""\bdescription:\s*"([^"\n]{1,400})\"""",
    (("build", "mix compile"), ("test", "mix test")),
)
_CMAKE = pattern_parser(
    "",
    name=r"(?i)^[ \t]*project\s*\(\s*([\w.+-]{1,100})",
    description=r"""\bDESCRIPTION\s+"([^"\n]{1,400})\"""",
    commands=(("build", "cmake -B build && cmake --build build"),),
)


def parser_for(name: str) -> ManifestParser | None:
    """Return the parser for a file name, or None if it is not a manifest."""
    base = name.rsplit("/", 1)[-1].lower()
    if base.startswith("requirements") and base.endswith(".txt"):
        base = "requirements*.txt"
    return MANIFEST_PARSERS.get(base) or MANIFEST_PARSERS.get(f"*{posixpath.splitext(base)[1]}")


def parse_manifest(name: str, text: str) -> ProjectManifest:
    """Parse a manifest by its file name; return an empty one if it is malformed, too long or not a manifest."""
    reader = parser_for(name)
    if reader is None or len(text) > MAX_CHARACTERS:
        return ProjectManifest()
    try:
        found = reader(text)
    except (ValueError, RecursionError):  # errors of TOML and JSON are ValueErrors
        return ProjectManifest()
    return replace(
        found,
        name=clean_line(found.name, 100),
        description=clean_line(found.description, 400),
        dependencies=_clean_names(found.dependencies),
        commands=_clean_pairs(found.commands)[:MAX_COMMANDS],
        entry_points=_clean_pairs(found.entry_points)[:MAX_ENTRY_POINTS],
        exports=_only_text_pairs(found.exports),
        subpath_imports=_only_text_pairs(found.subpath_imports),
        namespaces=_only_text_pairs(found.namespaces),
        runtime=None if found.runtime is None else _clean_names(found.runtime),
    )


def _clean_pairs(pairs: TextPairs) -> TextPairs:
    cleaned = ((clean_line(name, 60), clean_line(value, 160)) for name, value in pairs)
    return tuple(dict.fromkeys(pair for pair in cleaned if pair[1]))


def _only_text_pairs(pairs: TextPairs) -> TextPairs:
    """Return the pairs of strings; parsers do not check the types of values."""
    return tuple(pair for pair in pairs if isinstance(pair[0], str) and isinstance(pair[1], str))[:MAX_PATHS]


def _clean_names(dependencies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean_line(name, 120) for name in dependencies))[:MAX_DEPENDENCIES]


MANIFEST_PARSERS: dict[str, ManifestParser] = {
    "pyproject.toml": pyproject,
    "setup.py": setup_py,
    "requirements*.txt": requirements,
    "package.json": package_json,
    "cargo.toml": cargo,
    "go.mod": go_mod,
    "pom.xml": pom,
    "build.gradle": _GRADLE,
    "build.gradle.kts": _GRADLE,
    "settings.gradle": _GRADLE,
    "settings.gradle.kts": _GRADLE,
    "composer.json": composer,
    "gemfile": _GEM,
    "*.gemspec": _GEM,
    "*.csproj": _DOTNET,
    "*.fsproj": _DOTNET,
    "pubspec.yaml": pubspec,
    "mix.exs": _MIX,
    "makefile": makefile,
    "cmakelists.txt": _CMAKE,
}
"""Parser by lower-case file name, or by "*" and the extension."""
