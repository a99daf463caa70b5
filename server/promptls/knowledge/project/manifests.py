"""Manifests of projects: name, description, dependencies, commands and entry points, by file name.

Most formats are decoded as TOML, JSON or INI; of programs, XML and task runners a few fields are matched by regular
expressions in linear time.  Nothing is executed, resolved or fetched; malformed or oversized data is skipped.  A parser
may raise ValueError, RecursionError or configparser.Error for malformed text.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from promptls.util.decode import parse_toml
from promptls.util.text.display import truncate_words

TextPairs = tuple[tuple[str, str], ...]


class ProjectManifest(Struct, frozen=True):
    """Data of one manifest; fields without data are empty."""

    ecosystem: str = ""  # table of libraries.toml that contains its dependencies
    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()  # normalized names: lower case, in Python "-" instead of "_"
    commands: TextPairs = ()  # (purpose or name, command line)
    entry_points: TextPairs = ()  # (kind, path or module as written)
    development: tuple[str, ...] = ()  # dependencies for development or for extras only
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


def required_version(language: str, version: object) -> tuple[str, ...]:
    """Return the required version of a language as a tuple of one text, or () for a value that is not a version."""
    text = clean_line(version, 40)
    return (f"{language} {text}",) if re.search(r"\d", text) else ()


def get_table(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the table at a path of keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def only_strings(value: object) -> Iterator[str]:
    """Yield the strings in a list; nothing for other values."""
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else iter(())


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


# ---- package managers

_GO_MODULE = re.compile(r"^[ \t]*module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_GO_VERSION = re.compile(r"^go[ \t]+(\d[\d.]{0,20})", re.MULTILINE)
_GO_REQUIRE = re.compile(
    r"^(?:require[ \t]+|[ \t]+)([\w.-]+\.[\w-]+/\S+|\w[\w.-]*\.\w+/\S*|[\w.-]+\.\w+)[ \t]+v\d([^\n]*)", re.MULTILINE
)


def go_mod(text: str) -> ProjectManifest:
    """Parse go.mod."""
    module = _GO_MODULE.search(text)
    dependencies = [name.lower() for name, rest in _GO_REQUIRE.findall(text) if "// indirect" not in rest]
    commands = (("build", "go build ./..."), ("test", "go test ./..."), ("lint", "go vet ./..."))
    version = _GO_VERSION.search(text)
    versions = required_version("Go", version[1]) if version else ()
    return ProjectManifest("go", module[1] if module else "", "", tuple(dependencies), commands, versions=versions)


_XML_INNER = re.compile(r"<(dependencies|dependencyManagement|build|parent|profiles|plugins|modules)>", re.IGNORECASE)
_ARTIFACT = re.compile(r"<artifactId>\s*([\w.${}-]{1,120})\s*</artifactId>")
_MAVEN_NAME = re.compile(r"<name>([^<]{1,200})</name>")
_MAVEN_DESCRIPTION = re.compile(r"<description>([^<]{1,2000})</description>")


def pom(text: str) -> ProjectManifest:
    """Parse pom.xml."""
    parent = re.search(r"</parent>", text)
    own = text[parent.end() :] if parent else text
    inner = _XML_INNER.search(own)
    head = own[: inner.start()] if inner else own
    names = _ARTIFACT.findall(head)
    title, description_match = _MAVEN_NAME.search(head), _MAVEN_DESCRIPTION.search(head)
    dependencies = tuple(name.lower() for name in _ARTIFACT.findall(text))
    return ProjectManifest(
        "maven",
        names[0] if names else title[1].strip() if title else "",
        description_match[1] if description_match else "",
        dependencies,
        (("build", "mvn package"), ("test", "mvn test")),
    )


_GRADLE = re.compile(r"""["']([\w.-]{1,100}):([\w.-]{1,100})(?::[^"'\n]{0,100})?["']""")
_GRADLE_PLUGIN = re.compile(r"""\bid[ (]\s*["']([\w.-]{1,100})["']""")
_GRADLE_PLUGINS = {
    "org.springframework.boot": "spring-boot",
    "io.quarkus": "quarkus-core",
    "io.ktor.plugin": "ktor-server",
    "com.android.application": "appcompat",
}
_GRADLE_NAME = re.compile(r"""rootProject\.name\s*=\s*["']([^"'\n]{1,100})["']""")
_GRADLE_MAIN = re.compile(r"""mainClass(?:Name)?(?:\.set\()?\s{0,20}=?\s{0,20}["']([\w.$]{1,200})["']""")


def gradle(text: str) -> ProjectManifest:
    """Parse Gradle build files."""
    dependencies = [artifact.lower() for _, artifact in _GRADLE.findall(text)]
    dependencies += [_GRADLE_PLUGINS[name] for name in _GRADLE_PLUGIN.findall(text) if name in _GRADLE_PLUGINS]
    name_match, main = _GRADLE_NAME.search(text), _GRADLE_MAIN.search(text)
    commands = (("build", "gradle build"), ("test", "gradle test"))
    return ProjectManifest(
        "maven",
        name_match[1] if name_match else "",
        "",
        tuple(dependencies),
        commands,
        (("main class", main[1]),) if main else (),
    )


_GEM_FIELD = re.compile(r"""^[ \t]*\w+\.(name|summary|description)\s*=\s*["']([^"'\n]{1,400})["']""", re.MULTILINE)
_GEM = re.compile(
    r"""^[ \t]*(?:gem|\w+\.add_(?:runtime_|development_)?dependency)[ (]+["']([\w-]{1,100})["']""", re.MULTILINE
)


def gemspec(text: str) -> ProjectManifest:
    """Parse *.gemspec."""
    fields = dict(reversed(_GEM_FIELD.findall(text)))
    description = fields.get("summary") or fields.get("description", "")
    return ProjectManifest(
        "gem", fields.get("name", ""), description, tuple(name.lower() for name in _GEM.findall(text))
    )


def gemfile(text: str) -> ProjectManifest:
    """Parse Gemfile."""
    return ProjectManifest("gem", dependencies=tuple(name.lower() for name in _GEM.findall(text)))


_NUGET = re.compile(r"""<(?:PackageReference|PackageVersion)\s[^>]{0,50}?Include\s*=\s*"([^"\n]{1,100})\"""")
_NUGET_SDK = re.compile(r"""<Project\s+Sdk="Microsoft\.NET\.Sdk\.Web\"""")
_NUGET_NAME = re.compile(r"<(?:PackageId|AssemblyName)>([^<\n]{1,100})<")
_NUGET_DESCRIPTION = re.compile(r"<Description>([^<]{1,1000})<")


def csproj(text: str) -> ProjectManifest:
    """Parse *.csproj and other .NET project files."""
    name_match, description_match = _NUGET_NAME.search(text), _NUGET_DESCRIPTION.search(text)
    dependencies = [name.lower() for name in _NUGET.findall(text)]
    dependencies += ["microsoft.aspnetcore.app"] if _NUGET_SDK.search(text) else []
    commands = (("build", "dotnet build"), ("test", "dotnet test"))
    return ProjectManifest(
        "nuget",
        name_match[1] if name_match else "",
        description_match[1] if description_match else "",
        tuple(dependencies),
        commands,
    )


_YAML_TOP = re.compile(r"^(\w+):[ \t]*([^\n#]{0,400})", re.MULTILINE)
_YAML_KEY = re.compile(r"^  ([\w-]{1,100}):", re.MULTILINE)


def pubspec(text: str) -> ProjectManifest:
    """Parse pubspec.yaml."""
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    fields = {key: value.strip().strip("'\">|- ") for key, value in _YAML_TOP.findall(text)}
    listed = [part for part in parts if part.startswith(("dependencies:", "dev_dependencies:"))]
    dependencies = tuple(name for part in listed for name in _YAML_KEY.findall(part))
    tool = "flutter" if "flutter" in dependencies else "dart"
    return ProjectManifest(
        "pub", fields.get("name", ""), fields.get("description", ""), dependencies, (("test", f"{tool} test"),)
    )


_MIX_APP = re.compile(r"\bapp:\s*:(\w{1,100})")
_MIX_DESCRIPTION = re.compile(r"""\bdescription:\s*"([^"\n]{1,400})\"""")
_MIX_DEP = re.compile(r"\{:(\w{1,100}),\s*[\"~><=\[\w]")


def mix(text: str) -> ProjectManifest:
    """Parse mix.exs."""
    app, description_match = _MIX_APP.search(text), _MIX_DESCRIPTION.search(text)
    commands = (("build", "mix compile"), ("test", "mix test"))
    return ProjectManifest(
        "hex",
        app[1] if app else "",
        description_match[1] if description_match else "",
        tuple(_MIX_DEP.findall(text)),
        commands,
    )


# ---- task runners

_TARGET = re.compile(r"^([A-Za-z][\w.-]{0,40})[ \t]*:(?!=)", re.MULTILINE)


def makefile(text: str) -> ProjectManifest:
    """Parse Makefile."""
    names = [name for name in dict.fromkeys(_TARGET.findall(text)) if "." not in name]
    return ProjectManifest(commands=tuple((name, f"make {name}") for name in names))


_CMAKE = re.compile(r"^[ \t]*project\s*\(\s*([\w.+-]{1,100})", re.MULTILINE | re.IGNORECASE)
_CMAKE_DESCRIPTION = re.compile(r"""\bDESCRIPTION\s+"([^"\n]{1,400})\"""")


def cmake(text: str) -> ProjectManifest:
    """Parse CMakeLists.txt."""
    name_match, description_match = _CMAKE.search(text), _CMAKE_DESCRIPTION.search(text)
    commands = (("build", "cmake -B build && cmake --build build"),) if name_match else ()
    return ProjectManifest(
        "", name_match[1] if name_match else "", description_match[1] if description_match else "", (), commands
    )


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


MANIFEST_PARSERS: dict[str, ManifestParser] = {
    "pyproject.toml": pyproject,
    "setup.cfg": setup_cfg,
    "setup.py": setup_py,
    "requirements*.txt": requirements,
    "package.json": package_json,
    "cargo.toml": cargo,
    "go.mod": go_mod,
    "pom.xml": pom,
    "build.gradle": gradle,
    "build.gradle.kts": gradle,
    "settings.gradle": gradle,
    "settings.gradle.kts": gradle,
    "composer.json": composer,
    "gemfile": gemfile,
    "*.gemspec": gemspec,
    "*.csproj": csproj,
    "*.fsproj": csproj,
    "*.vbproj": csproj,
    "pubspec.yaml": pubspec,
    "mix.exs": mix,
    "makefile": makefile,
    "gnumakefile": makefile,
    "cmakelists.txt": cmake,
}
"""Parser by lower-case file name, or by "*" and the extension."""
