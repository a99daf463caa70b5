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
