"""Parsers of build files: programs, XML and task runners, of which a few fields are matched by regular expressions.

Nothing is executed, and every pattern takes linear time.
"""

from __future__ import annotations

import json
import re

from promptls.knowledge.project.manifest import ProjectManifest, only_strings, required_version

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


_SBT = re.compile(r"""%%?\s*"([\w.-]{1,100})"\s*%""")
_SBT_NAME = re.compile(r"""^[ \t]*name\s*:=\s*"([^"\n]{1,100})\"""", re.MULTILINE)


def sbt(text: str) -> ProjectManifest:
    """Parse build.sbt."""
    name_match = _SBT_NAME.search(text)
    commands = (("build", "sbt compile"), ("test", "sbt test"))
    return ProjectManifest(
        "maven", name_match[1] if name_match else "", "", tuple(n.lower() for n in _SBT.findall(text)), commands
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
_RECIPE = re.compile(r"^@?([A-Za-z][\w-]{0,40})(?:[ \t]+[^:\n]{0,100})?:(?!=)", re.MULTILINE)


def makefile(text: str) -> ProjectManifest:
    """Parse Makefile."""
    names = [name for name in dict.fromkeys(_TARGET.findall(text)) if "." not in name]
    return ProjectManifest(commands=tuple((name, f"make {name}") for name in names))


def justfile(text: str) -> ProjectManifest:
    """Parse justfile."""
    names = [name for name in dict.fromkeys(_RECIPE.findall(text)) if name not in ("set", "alias", "import", "mod")]
    return ProjectManifest(commands=tuple((name, f"just {name}") for name in names))


_TASK = re.compile(r"^  ([\w:-]{1,40}):", re.MULTILINE)


def taskfile(text: str) -> ProjectManifest:
    """Parse Taskfile.yml."""
    at = text.find("\ntasks:")
    return ProjectManifest(
        commands=tuple((name, f"task {name}") for name in _TASK.findall(text[at:])) if at >= 0 else ()
    )


_DOCKER = re.compile(r"^(?:CMD|ENTRYPOINT)[ \t]+([^\n]{1,300})", re.MULTILINE | re.IGNORECASE)


def dockerfile(text: str) -> ProjectManifest:
    """Parse Dockerfile."""
    found = _DOCKER.findall(text)[-2:]
    return ProjectManifest(entry_points=tuple(("container runs", _unquoted(command)) for command in found))


def _unquoted(command: str) -> str:
    """Return a command of a Dockerfile as a command line: ["a", "b"] is a b."""
    try:
        words = json.loads(command)
    except (ValueError, RecursionError):
        return command.strip()
    return " ".join(only_strings(words)) if isinstance(words, list) else command.strip()


_CMAKE = re.compile(r"^[ \t]*project\s*\(\s*([\w.+-]{1,100})", re.MULTILINE | re.IGNORECASE)
_CMAKE_DESCRIPTION = re.compile(r"""\bDESCRIPTION\s+"([^"\n]{1,400})\"""")


def cmake(text: str) -> ProjectManifest:
    """Parse CMakeLists.txt."""
    name_match, description_match = _CMAKE.search(text), _CMAKE_DESCRIPTION.search(text)
    commands = (("build", "cmake -B build && cmake --build build"),) if name_match else ()
    return ProjectManifest(
        "", name_match[1] if name_match else "", description_match[1] if description_match else "", (), commands
    )
