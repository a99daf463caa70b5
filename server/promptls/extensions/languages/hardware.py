"""Hardware description and shading languages."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.extensions.languages import CALL_WITH_PARENTHESES, outlined
from promptls.languages.language import Language

VERILOG = outlined(
    "verilog",
    "v vh vlg sv svh",
    aliases=("systemverilog", "sv"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    modules_are_called=True,
)

VHDL = outlined(
    "vhdl",
    "vhd vhdl vho",
    line_comments=("--",),
    ignores_case=True,
    declares_before=True,
    modules_are_called=True,
    member_operators=(),
)

GLSL = Language(
    name="glsl",
    aliases=("shader",),
    extensions=tuple("glsl vert frag geom comp tesc tese glslv glslf rgen rchit rmiss vsh fsh".split()),
    shared_extensions=(("fs", r"^[ \t]*(?:#version[ \t]+\d|void[ \t]+main[ \t]*\(|(?:uniform|varying|precision)[ \t]+\w)"),),
    pack_grammar="glsl",
    query_files=("shader", "c"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)  # fmt: skip

HLSL = replace(
    GLSL,
    name="hlsl",
    aliases=(),
    extensions=("hlsl", "hlsli", "fx", "fxh", "cginc", "usf", "ush"),
    shared_extensions=(),
    pack_grammar="hlsl",
)

WGSL = outlined(
    "wgsl",
    "wgsl",
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("variable", r"(?:@\w+(?:\([^)\n]{0,40}\))?[ \t]*){0,4}var(?:<[^>\n]{0,40}>)?[ \t]+(?P<name>\w+)[ \t]*[:=]"),
        (
            "constant",
            r"(?:@\w+(?:\([^)\n]{0,40}\))?[ \t]*){0,4}(?:const|override|let|alias)[ \t]+(?P<name>\w+)[ \t]*[:=]",
        ),
        ("function", r"(?:@\w+(?:\([^)\n]{0,40}\))?[ \t]*){0,4}fn[ \t]+(?P<name>\w+)[ \t]*\("),
    ),
)
