"""Markup, data, schema, style sheet, query and configuration languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.import_statements import ParsedImport, call_parser, parse_aliased, parse_quoted
from promptls.languages.language import Imports, Language, PathImports

_STYLES = PathImports(("", ".scss", ".css", "/_index.scss"), as_module=True, partials=True)


def _parse_html(text: str) -> Iterator[ParsedImport]:
    match = re.search(r"\b(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", text)
    if match and text.startswith(("src", "<link")):
        yield ParsedImport(match.group(1))


def _parse_nix(text: str) -> Iterator[ParsedImport]:
    if match := re.match(r"import\s+<?([^\s>]+)", text):
        yield ParsedImport(match.group(1))


MARKDOWN = Language(
    name="markdown",
    aliases=("md",),
    extensions=("md", "markdown", "mkd"),
    pack_grammar="markdown",
    query_files=("markdown",),
    block_comments=(("<!--", "-->"),),
)

HTML = Language(
    name="html",
    extensions=("html", "htm", "xhtml"),
    pack_grammar="html",
    query_files=("html",),
    embedded=(("markup", "javascript"),),
    scanner="template",
    block_comments=(("<!--", "-->"),),
    definition_calls={"id": "section"},
    imports=Imports(_parse_html, PathImports(as_module=True)),
    family="web",
)

CSS = Language(
    name="css",
    extensions=("css",),
    pack_grammar="css",
    query_files=("css",),
    block_comments=(("/*", "*/"),),
    ignored_references=frozenset({"calc", "url", "var"}),
    imports=Imports(parse_quoted, _STYLES),
    family="web",
    names_without_import=True,
)

SCSS = Language(
    name="scss",
    dialect_of="css",
    extensions=("scss",),
    pack_grammar="scss",
    query_files=("css",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    imports=Imports(parse_quoted, _STYLES),
    family="web",
)

JSON = Language(
    name="json",
    aliases=("jsonc",),
    extensions=("json", "jsonc", "json5", "webmanifest", "geojson"),
    pack_grammar="json",
    query_files=("json",),
    path_queries=((r"(?:^|/)(?:package|composer|deno)\.jsonc?$", "json_commands"),),
    member_calls={'"scripts"': "target", '"tasks"': "target"},
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
)

YAML = Language(
    name="yaml",
    aliases=("yml",),
    extensions=("yaml", "yml"),
    file_names=(".clang-format", ".clang-tidy"),
    pack_grammar="yaml",
    query_files=("yaml",),
    path_queries=(
        (r"(?:^|/)values[^/]*\.ya?ml$", "yaml_values"),  # Helm
        (r"(?:^|/)(?:handlers|tasks)/[^/]+\.ya?ml$", "yaml_names"),  # Ansible
    ),
    line_comments=("#",),
    definition_calls={"name": "target"},
    member_calls={"handlers": "target", "sources": "namespace", "tables": "table"},  # Ansible, and the sources of dbt
    family="relations",
)

_COMMAND_TABLES = (
    "project.scripts project.gui-scripts project.entry-points scripts gui-scripts tool.poetry.scripts tool.poetry.plugins "
    "tool.pdm.scripts tool.poe.tasks"
).split()
"""Tables of pyproject.toml whose keys are commands or entry points."""

TOML = Language(
    name="toml",
    extensions=("toml",),
    file_names=("cargo.lock", "poetry.lock", "uv.lock", "pipfile"),
    pack_grammar="toml",
    query_files=("toml",),
    path_queries=((r"(?:^|/)pyproject\.toml$", "toml_commands"),),
    line_comments=("#",),
    member_calls=dict.fromkeys(_COMMAND_TABLES, "target"),
)

GRAPHQL = Language(
    name="graphql",
    extensions=("graphql", "gql", "graphqls"),
    pack_grammar="graphql",
    query_files=("graphql",),
    line_comments=("#",),
    names_without_import=True,
)

PROTO = Language(
    name="proto",
    aliases=("protobuf",),
    extensions=("proto",),
    pack_grammar="proto",
    query_files=("proto",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    imports=Imports(parse_aliased, PathImports(anywhere=True)),
    names_without_import=True,
)

HCL = Language(
    name="hcl",
    aliases=("terraform",),
    extensions=("hcl", "tf", "tfvars"),
    pack_grammar="hcl",
    query_files=("hcl",),
    mask="hcl",
    line_comments=("#",),
    member_calls={"locals": "variable"},
    block_prefixes={
        "data": "data",
        "ephemeral": "ephemeral",
        "locals": "local",
        "resource": "",
        "variable": "var",
    },
    names_without_import=True,
)

NIX = Language(
    name="nix",
    extensions=("nix",),
    pack_grammar="nix",
    query_files=("nix",),
    line_comments=("#",),
    name_separators=(".",),
    imports=Imports(_parse_nix, PathImports(("", ".nix", "/default.nix"), as_module=True)),
)

DOCKERFILE = Language(
    name="dockerfile",
    aliases=("docker",),
    extensions=("dockerfile",),
    file_names=("dockerfile", "containerfile"),
    pack_grammar="dockerfile",
    query_files=("dockerfile",),
    mask="dockerfile",
    line_comments=("#",),
)

MAKE = Language(
    name="make",
    aliases=("makefile",),
    extensions=("mk", "mak"),
    file_names=("makefile", "gnumakefile"),
    shebangs=("make",),
    pack_grammar="make",
    query_files=("make",),
    line_comments=("#",),
    imports=Imports(call_parser("include", "-include", "sinclude"), PathImports()),
    names_without_import=True,
)
