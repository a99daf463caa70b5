"""Build, configuration and infrastructure languages."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.languages.language import Language
from promptls.languages.python import PYTHON

_CMAKE_COMMANDS = {
    "add_library": "target",
    "add_executable": "target",
    "add_custom_target": "target",
    "project": "module",
    "set": "variable",
    "option": "constant",
}

CMAKE = Language(
    name="cmake",
    extensions=("cmake",),
    file_names=("cmakelists.txt",),
    pack_grammar="cmake",
    query_files=("cmake",),
    line_comments=("#",),
    block_comments=(("#[[", "]]"),),
    definition_calls=_CMAKE_COMMANDS | {name.upper(): kind for name, kind in _CMAKE_COMMANDS.items()},
    names_without_import=True,
)

STARLARK = replace(
    PYTHON,
    name="starlark",
    aliases=("bazel", "bzl", "buck", "tilt"),
    extensions=("bzl", "star", "bazel", "sky", "bxl"),
    file_names=("BUILD", "WORKSPACE", "BUCK", "tiltfile"),
    shebangs=(),
    pack_grammar="starlark",
    legacy_grammar="",
    query_files=("starlark", "python"),
    definition_calls={"name": "target"},
    imports=None,
    names_without_import=True,
)

MESON = Language(
    name="meson",
    extensions=(),
    file_names=("meson.build", "meson_options.txt", "meson.options"),
    pack_grammar="meson",
    query_files=("meson",),
    line_comments=("#",),
    names_without_import=True,
)

GN = Language(
    name="gn",
    extensions=("gn", "gni"),
    scanner="lines",
    line_comments=("#",),
    definition_patterns=(
        ("function", r"template\([ \t]*\"(?P<name>[^\"$\n]{1,100})\"[ \t]*\)"),
        (
            "target",
            r"[ \t]*(?!import\b|if\b|foreach\b|set_defaults\b)\w+\([ \t]*\"(?P<name>[^\"$\n]{1,100})\"[ \t]*\)[ \t]*\{",
        ),
        ("variable", r"(?P<name>[a-z]\w*)[ \t]*=(?!=)"),
    ),
    names_without_import=True,
)

JUST = Language(
    name="just",
    aliases=("justfile",),
    extensions=("just",),
    file_names=("justfile", ".justfile"),
    scanner="lines",
    line_comments=("#",),
    definition_patterns=(
        ("variable", r"(?:export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:="),
        ("target", r"@?(?P<name>[A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?:(?!=)"),
        ("target", r"alias[ \t]+(?P<name>[\w-]+)[ \t]*:="),
    ),
    names_without_import=True,
)

BICEP = Language(
    name="bicep",
    extensions=("bicep", "bicepparam"),
    pack_grammar="bicep",
    query_files=("bicep",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)

PUPPET = Language(
    name="puppet",
    extensions=("pp",),
    scanner="lines",
    line_comments=("#",),
    name_separators=("::",),
    definition_patterns=(
        ("class", r"[ \t]*class[ \t]+(?P<name>[a-z][\w:]*)"),
        ("function", r"[ \t]*(?:define|function|plan)[ \t]+(?P<name>[a-z][\w:]*)"),
        ("block", r"[ \t]*node[ \t]+['\"]?(?P<name>[\w.-]+)"),
        ("type", r"[ \t]*type[ \t]+(?P<name>[A-Z][\w:]*)[ \t]*="),
    ),
    names_without_import=True,
)  # fmt: skip

JSONNET = Language(
    name="jsonnet",
    extensions=("jsonnet", "libsonnet"),
    scanner="lines",  # the scanner of the grammar keeps state from text to text
    line_comments=("//", "#"),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", r"[ \t]*(?:local[ \t]+)?(?P<name>[A-Za-z_]\w*)\([^()\n]{0,200}\)[ \t]*(?:=|:{1,3}(?!:))"),
        ("variable", r"[ \t]*local[ \t]+(?P<name>[A-Za-z_]\w*)[ \t]*="),
        ("key", r"[ \t]{0,2}['\"]?(?P<name>[A-Za-z_]\w*)['\"]?[ \t]*\+?:{1,3}(?!:)"),
    ),
    names_without_import=True,
)

CUE = Language(
    name="cue",
    extensions=("cue",),
    scanner="lines",
    line_comments=("//",),
    definition_patterns=(
        ("type", r"(?P<name>_?#\w+)[ \t]*:"),
        ("key", r"(?P<name>\"[^\"\n]{1,80}\"|[A-Za-z_$][\w$]*)[!?]?[ \t]*:"),
    ),
    names_without_import=True,
)

REGO = Language(
    name="rego",
    aliases=("opa",),
    extensions=("rego",),
    pack_grammar="rego",
    query_files=("rego",),
    line_comments=("#",),
    name_separators=(".",),
    names_without_import=True,
)
