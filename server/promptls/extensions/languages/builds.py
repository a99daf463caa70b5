"""Build, configuration and infrastructure languages."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.extensions.languages import CALL_WITH_PARENTHESES, outlined
from promptls.languages.python import PYTHON

_CMAKE_COMMANDS = {
    "add_library": "target",
    "add_executable": "target",
    "add_custom_target": "target",
    "project": "module",
    "set": "variable",
    "option": "constant",
}

CMAKE = outlined(
    "cmake",
    "cmake",
    file_names=("cmakelists.txt",),
    line_comments=("#",),
    block_comments=(("#[[", "]]"),),
    definition_calls=_CMAKE_COMMANDS | {name.upper(): kind for name, kind in _CMAKE_COMMANDS.items()},
    ignores_case=True,
)

STARLARK = replace(
    PYTHON,
    name="starlark",
    aliases=("bazel", "bzl", "buck", "tilt"),
    extensions=("bzl", "star", "bazel", "sky", "bxl"),
    file_names=("BUILD", "WORKSPACE", "BUCK", "tiltfile"),
    shebangs=(),
    pack_grammar="starlark",
    query_files=("starlark", "python"),
    definition_calls={"name": "target"},
    imports=None,
    names_without_import=True,
)

MESON = outlined("meson", "", file_names=("meson.build", "meson_options.txt", "meson.options"), line_comments=("#",))

JUST = outlined(
    "just",
    "just",
    aliases=("justfile",),
    file_names=("justfile", ".justfile"),
    scanner="lines",
    line_comments=("#",),
    definition_patterns=(
        ("variable", r"(?:export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:="),
        ("target", r"@?(?P<name>[A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?:(?!=)"),
        ("target", r"alias[ \t]+(?P<name>[\w-]+)[ \t]*:="),
    ),
)

BICEP = outlined("bicep", "bicep bicepparam", line_comments=("//",), block_comments=(("/*", "*/"),))

REGO = outlined("rego", "rego", aliases=("opa",), line_comments=("#",), name_separators=(".",))

GN = outlined(
    "gn",
    "gn gni",
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("#",),
    definition_patterns=(
        ("function", r"template\([ \t]*\"(?P<name>[^\"$\n]{1,100})\"[ \t]*\)"),
        (
            "target",
            r"[ \t]*(?!import\b|if\b|foreach\b|set_defaults\b)\w+\([ \t]*\"(?P<name>[^\"$\n]{1,100})\"[ \t]*\)[ \t]*\{",
        ),
        ("variable", r"(?P<name>[a-z]\w*)[ \t]*=(?!=)"),
    ),
)

PUPPET = outlined(
    "puppet",
    "pp",
    scanner="lines",
    call_patterns=(
        r"\b(?:include|require|contain|node)[ \t]+(?P<name>[\w:]+)",
        r"\bclass[ \t]*\{[ \t]*['\"](?P<name>[\w:]+)['\"]",
        r"^[ \t]*(?P<name>[a-z][\w:]*)[ \t]*\{",
        CALL_WITH_PARENTHESES,
    ),
    line_comments=("#",),
    name_separators=("::",),
    definition_patterns=(
        ("class", r"[ \t]*class[ \t]+(?P<name>[a-z][\w:]*)"),
        ("function", r"[ \t]*(?:define|function|plan)[ \t]+(?P<name>[a-z][\w:]*)"),
        ("block", r"[ \t]*node[ \t]+['\"]?(?P<name>[\w.-]+)"),
        ("type", r"[ \t]*type[ \t]+(?P<name>[A-Z][\w:]*)[ \t]*="),
    ),
)

JSONNET = outlined(
    "jsonnet",
    "jsonnet libsonnet",
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("//", "#"),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", r"[ \t]*(?:local[ \t]+)?(?P<name>[A-Za-z_]\w*)\([^()\n]{0,200}\)[ \t]*(?:=|:{1,3}(?!:))"),
        ("variable", r"[ \t]*local[ \t]+(?P<name>[A-Za-z_]\w*)[ \t]*="),
        ("key", r"[ \t]{0,2}['\"]?(?P<name>[A-Za-z_]\w*)['\"]?[ \t]*\+?:{1,3}(?!:)"),
    ),
)

CUE = outlined(
    "cue",
    "cue",
    scanner="lines",
    line_comments=("//",),
    definition_patterns=(
        ("type", r"(?P<name>_?#\w+)[ \t]*:"),
        ("key", r"(?P<name>\"[^\"\n]{1,80}\"|[A-Za-z_$][\w$]*)[!?]?[ \t]*:"),
    ),
)
