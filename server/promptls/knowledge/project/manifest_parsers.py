"""The formats of manifests: one function each, from text to a `Manifest`.

Data is read as data; of programs and XML a few fields are told by their looks, nothing is run.  May raise
ValueError, RecursionError or configparser.Error for what is malformed; every pattern takes time in line with
its text.  Must not know files or their names.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptls.knowledge.project.manifest import Manifest, table_at, texts_of
from promptls.util.toml import read_toml

# ---- Python

_PEP508 = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def _pip(requirements: Iterable[str]) -> Iterator[str]:
    """Names of requirements ("Foo_Bar[x]>=1; python_version<'3'"), as PEP 503 normalises them."""
    for requirement in requirements:
        found = _PEP508.match(requirement)
        if found is not None:
            yield re.sub(r"[-_.]+", "-", found[1]).lower()


def pyproject(text: str) -> Manifest:
    data = read_toml(text)
    project, tool, poetry = table_at(data, "project"), table_at(data, "tool"), table_at(data, "tool", "poetry")
    wanted = list(texts_of(project.get("dependencies")))
    wanted += [name for name in table_at(poetry, "dependencies") if name != "python"]
    besides: list[str] = []
    for group in (*table_at(project, "optional-dependencies").values(), *table_at(data, "dependency-groups").values()):
        besides += texts_of(group)
    for group in table_at(poetry, "group").values():
        besides += table_at(group, "dependencies")
    scripts = {**table_at(poetry, "scripts"), **table_at(project, "scripts"), **table_at(project, "gui-scripts")}
    return Manifest(
        "python",
        project.get("name") or poetry.get("name") or "",
        project.get("description") or poetry.get("description") or "",
        tuple(_pip(wanted)),
        tuple(_python_commands(tool)),
        tuple((f"command {name}", target) for name, target in scripts.items() if isinstance(target, str)),
        tuple(_pip(besides)),
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
        ("poe", table_at(tool, "poe", "tasks")),
        ("pdm run", table_at(tool, "pdm", "scripts")),
        ("hatch run", table_at(tool, "hatch", "envs", "default", "scripts")),
        ("task", table_at(tool, "taskipy", "tasks")),
        ("pixi run", table_at(tool, "pixi", "tasks")),
    ):
        yield from ((name, f"{runner} {name}") for name in table)


def setup_cfg(text: str) -> Manifest:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    scripts = parser.get("options.entry_points", "console_scripts", fallback="").splitlines()
    pairs = [tuple(map(str.strip, line.split("=", 1))) for line in scripts if "=" in line]
    return Manifest(
        "python",
        parser.get("metadata", "name", fallback=""),
        parser.get("metadata", "description", fallback=""),
        tuple(_pip(parser.get("options", "install_requires", fallback="").splitlines())),
        tuple(_PYTHON_TOOLS[name] for name in ("pytest", "mypy", "flake8") if parser.has_section(_section(name))),
        tuple((f"command {pair[0]}", pair[1]) for pair in pairs),
    )


def _section(tool: str) -> str:
    return "tool:pytest" if tool == "pytest" else tool


_ARGUMENT = re.compile(r"""^[ \t]*(name|description)\s*=\s*["']([^"'\n]{1,300})["']""", re.MULTILINE)
_REQUIRED = re.compile(r"install_requires\s*=\s*\[([^\]]{0,5000})\]")
_QUOTED = re.compile(r"""["']([^"'\n]{1,200})["']""")


def setup_py(text: str) -> Manifest:
    said = dict(reversed(_ARGUMENT.findall(text)))
    required = _REQUIRED.search(text)
    names = _pip(_QUOTED.findall(required[1])) if required else ()
    return Manifest("python", said.get("name", ""), said.get("description", ""), tuple(names))


def requirements(text: str) -> Manifest:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", "-", "http", "git+", ".", "/")))
    return Manifest("python", dependencies=tuple(_pip(lines)))


def pipfile(text: str) -> Manifest:
    data = read_toml(text)
    wanted, besides = table_at(data, "packages"), table_at(data, "dev-packages")
    scripts = tuple((name, f"pipenv run {name}") for name in table_at(data, "scripts"))
    return Manifest("python", dependencies=tuple(_pip(wanted)), commands=scripts, development=tuple(_pip(besides)))


def tox(text: str) -> Manifest:
    return Manifest("python", commands=(("test", "tox"),) if "[tox]" in text or "[testenv" in text else ())


_NOX = re.compile(r"^@(?:nox\.)?session[^\n]*\n(?:@[^\n]*\n){0,5}def[ \t]+(\w+)", re.MULTILINE)


def noxfile(text: str) -> Manifest:
    return Manifest("python", commands=tuple((name, f"nox -s {name}") for name in _NOX.findall(text)))


# ---- JavaScript


def package_json(text: str) -> Manifest:
    data = json.loads(text)
    if not isinstance(data, dict):
        return Manifest()
    wanted: list[str] = []
    for key in ("dependencies", "peerDependencies", "devDependencies", "optionalDependencies"):
        wanted += table_at(data, key)
    runner = str(data.get("packageManager", "npm")).partition("@")[0]
    runner = runner if runner in ("npm", "pnpm", "yarn", "bun") else "npm"
    scripts = [name for name in table_at(data, "scripts") if not name.startswith(("pre", "post")) or name == "preview"]
    named = data.get("bin")
    entries = [(f"command {name}", path) for name, path in table_at(data, "bin").items()]
    entries += [("command", named)] if isinstance(named, str) else []
    entries += [(what, data[what]) for what in ("main", "module", "browser") if isinstance(data.get(what), str)]
    exported = data.get("exports")
    entries += [("exports", exported)] if isinstance(exported, str) else []
    return Manifest(
        "npm",
        data.get("name", ""),
        data.get("description", ""),
        tuple(name.lower() for name in wanted),
        tuple((name, f"{runner} run {name}" if name != "test" else f"{runner} test") for name in scripts),
        tuple((what, path) for what, path in entries if isinstance(path, str)),
    )


def deno(text: str) -> Manifest:
    data = json.loads(re.sub(r"^[ \t]*//[^\n]*$", "", text, flags=re.MULTILINE))
    tasks = tuple((name, f"deno task {name}") for name in table_at(data, "tasks"))
    exported = data.get("exports") if isinstance(data, dict) else None
    entries = (("exports", exported),) if isinstance(exported, str) else ()
    return Manifest("npm", data.get("name", "") if isinstance(data, dict) else "", commands=tasks, entries=entries)


# ---- others that are data


def cargo(text: str) -> Manifest:
    data = read_toml(text)
    package = table_at(data, "package")
    wanted: list[str] = []
    for table in (data, table_at(data, "workspace")):
        for key in ("dependencies", "build-dependencies"):
            wanted += table_at(table, key)
    bins = data.get("bin")
    entries = [
        (f"command {one.get('name', '')}", one["path"])
        for one in (bins if isinstance(bins, list) else ())
        if isinstance(one, dict) and isinstance(one.get("path"), str)
    ]
    commands = (("build", "cargo build"), ("test", "cargo test")) if package or "workspace" in data else ()
    return Manifest(
        "cargo",
        package.get("name", ""),
        package.get("description", ""),
        tuple(name.lower() for name in wanted),
        commands,
        tuple(entries),
        tuple(name.lower() for name in table_at(data, "dev-dependencies")),
    )


def composer(text: str) -> Manifest:
    data = json.loads(text)
    if not isinstance(data, dict):
        return Manifest()
    named = data.get("bin")
    return Manifest(
        "composer",
        data.get("name", ""),
        data.get("description", ""),
        tuple(name.lower() for name in table_at(data, "require") if "/" in name),
        tuple(
            (name, f"composer {name}") for name in table_at(data, "scripts") if not name.startswith(("pre-", "post-"))
        ),
        tuple(("command", path) for path in (texts_of(named) if isinstance(named, list) else [named]) if path),
        tuple(name.lower() for name in table_at(data, "require-dev") if "/" in name),
    )


# ---- others that are programs or XML: a few fields by their looks

_GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.MULTILINE)
_GO_REQUIRE = re.compile(
    r"^(?:require[ \t]+|[ \t]+)([\w.-]+\.[\w-]+/\S+|\w[\w.-]*\.\w+/\S*|[\w.-]+\.\w+)[ \t]+v\d([^\n]*)", re.MULTILINE
)


def go_mod(text: str) -> Manifest:
    module = _GO_MODULE.search(text)
    wanted = [name.lower() for name, rest in _GO_REQUIRE.findall(text) if "// indirect" not in rest]
    commands = (("build", "go build ./..."), ("test", "go test ./..."), ("lint", "go vet ./..."))
    return Manifest("go", module[1] if module else "", "", tuple(wanted), commands)


_XML_INNER = re.compile(r"<(dependencies|dependencyManagement|build|parent|profiles|plugins|modules)>", re.IGNORECASE)
_ARTIFACT = re.compile(r"<artifactId>\s*([\w.${}-]{1,120})\s*</artifactId>")
_MAVEN_NAME = re.compile(r"<name>([^<]{1,200})</name>")
_MAVEN_ABOUT = re.compile(r"<description>([^<]{1,2000})</description>")


def pom(text: str) -> Manifest:
    parent = re.search(r"</parent>", text)
    own = text[parent.end() :] if parent else text
    inner = _XML_INNER.search(own)
    head = own[: inner.start()] if inner else own
    names = _ARTIFACT.findall(head)
    title, about = _MAVEN_NAME.search(head), _MAVEN_ABOUT.search(head)
    wanted = tuple(name.lower() for name in _ARTIFACT.findall(text))
    return Manifest(
        "maven",
        names[0] if names else title[1].strip() if title else "",
        about[1] if about else "",
        wanted,
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


def gradle(text: str) -> Manifest:
    wanted = [artifact.lower() for _, artifact in _GRADLE.findall(text)]
    wanted += [_GRADLE_PLUGINS[name] for name in _GRADLE_PLUGIN.findall(text) if name in _GRADLE_PLUGINS]
    named, main = _GRADLE_NAME.search(text), _GRADLE_MAIN.search(text)
    commands = (("build", "gradle build"), ("test", "gradle test"))
    return Manifest(
        "maven", named[1] if named else "", "", tuple(wanted), commands, (("main class", main[1]),) if main else ()
    )


_SBT = re.compile(r"""%%?\s*"([\w.-]{1,100})"\s*%""")
_SBT_NAME = re.compile(r"""^[ \t]*name\s*:=\s*"([^"\n]{1,100})\"""", re.MULTILINE)


def sbt(text: str) -> Manifest:
    named = _SBT_NAME.search(text)
    commands = (("build", "sbt compile"), ("test", "sbt test"))
    return Manifest("maven", named[1] if named else "", "", tuple(n.lower() for n in _SBT.findall(text)), commands)


_GEM_FIELD = re.compile(r"""^[ \t]*\w+\.(name|summary|description)\s*=\s*["']([^"'\n]{1,400})["']""", re.MULTILINE)
_GEM = re.compile(
    r"""^[ \t]*(?:gem|\w+\.add_(?:runtime_|development_)?dependency)[ (]+["']([\w-]{1,100})["']""", re.MULTILINE
)


def gemspec(text: str) -> Manifest:
    said = dict(reversed(_GEM_FIELD.findall(text)))
    about = said.get("summary") or said.get("description", "")
    return Manifest("gem", said.get("name", ""), about, tuple(name.lower() for name in _GEM.findall(text)))


def gemfile(text: str) -> Manifest:
    return Manifest("gem", dependencies=tuple(name.lower() for name in _GEM.findall(text)))


_NUGET = re.compile(r"""<(?:PackageReference|PackageVersion)\s[^>]{0,50}?Include\s*=\s*"([^"\n]{1,100})\"""")
_NUGET_SDK = re.compile(r"""<Project\s+Sdk="Microsoft\.NET\.Sdk\.Web\"""")
_NUGET_NAME = re.compile(r"<(?:PackageId|AssemblyName)>([^<\n]{1,100})<")
_NUGET_ABOUT = re.compile(r"<Description>([^<]{1,1000})<")


def csproj(text: str) -> Manifest:
    named, about = _NUGET_NAME.search(text), _NUGET_ABOUT.search(text)
    wanted = [name.lower() for name in _NUGET.findall(text)]
    wanted += ["microsoft.aspnetcore.app"] if _NUGET_SDK.search(text) else []
    commands = (("build", "dotnet build"), ("test", "dotnet test"))
    return Manifest("nuget", named[1] if named else "", about[1] if about else "", tuple(wanted), commands)


_YAML_TOP = re.compile(r"^(\w+):[ \t]*([^\n#]{0,400})", re.MULTILINE)
_YAML_KEY = re.compile(r"^  ([\w-]{1,100}):", re.MULTILINE)


def pubspec(text: str) -> Manifest:
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    said = {key: value.strip().strip("'\">|- ") for key, value in _YAML_TOP.findall(text)}
    listed = [part for part in parts if part.startswith(("dependencies:", "dev_dependencies:"))]
    wanted = tuple(name for part in listed for name in _YAML_KEY.findall(part))
    tool = "flutter" if "flutter" in wanted else "dart"
    return Manifest("pub", said.get("name", ""), said.get("description", ""), wanted, (("test", f"{tool} test"),))


_MIX_APP = re.compile(r"\bapp:\s*:(\w{1,100})")
_MIX_ABOUT = re.compile(r"""\bdescription:\s*"([^"\n]{1,400})\"""")
_MIX_DEP = re.compile(r"\{:(\w{1,100}),\s*[\"~><=\[\w]")


def mix(text: str) -> Manifest:
    app, about = _MIX_APP.search(text), _MIX_ABOUT.search(text)
    commands = (("build", "mix compile"), ("test", "mix test"))
    return Manifest("hex", app[1] if app else "", about[1] if about else "", tuple(_MIX_DEP.findall(text)), commands)


# ---- runners

_TARGET = re.compile(r"^([A-Za-z][\w.-]{0,40})[ \t]*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z][\w-]{0,40})(?:[ \t]+[^:\n]{0,100})?:(?!=)", re.MULTILINE)


def makefile(text: str) -> Manifest:
    names = [name for name in dict.fromkeys(_TARGET.findall(text)) if "." not in name]
    return Manifest(commands=tuple((name, f"make {name}") for name in names))


def justfile(text: str) -> Manifest:
    names = [name for name in dict.fromkeys(_RECIPE.findall(text)) if name not in ("set", "alias", "import", "mod")]
    return Manifest(commands=tuple((name, f"just {name}") for name in names))


_TASK = re.compile(r"^  ([\w:-]{1,40}):", re.MULTILINE)


def taskfile(text: str) -> Manifest:
    at = text.find("\ntasks:")
    return Manifest(commands=tuple((name, f"task {name}") for name in _TASK.findall(text[at:])) if at >= 0 else ())


_DOCKER = re.compile(r"^(?:CMD|ENTRYPOINT)[ \t]+([^\n]{1,300})", re.MULTILINE | re.IGNORECASE)


def dockerfile(text: str) -> Manifest:
    found = _DOCKER.findall(text)[-2:]
    return Manifest(entries=tuple(("container runs", _unquoted(command)) for command in found))


def _unquoted(command: str) -> str:
    """A command of a Dockerfile as one would type it: ["a", "b"] is a b."""
    try:
        words = json.loads(command)
    except (ValueError, RecursionError):
        return command.strip()
    return " ".join(texts_of(words)) if isinstance(words, list) else command.strip()


_CMAKE = re.compile(r"^[ \t]*project\s*\(\s*([\w.+-]{1,100})", re.MULTILINE | re.IGNORECASE)
_CMAKE_ABOUT = re.compile(r"""\bDESCRIPTION\s+"([^"\n]{1,400})\"""")


def cmake(text: str) -> Manifest:
    named, about = _CMAKE.search(text), _CMAKE_ABOUT.search(text)
    commands = (("build", "cmake -B build && cmake --build build"),) if named else ()
    return Manifest("", named[1] if named else "", about[1] if about else "", (), commands)
