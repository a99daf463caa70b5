"""Hardware description and shading languages."""

from __future__ import annotations

from promptls.languages.language import Language

VERILOG = Language(
    name="verilog",
    extensions=("v", "vh", "vlg"),
    pack_grammar="verilog",
    query_files=("verilog",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)

SYSTEMVERILOG = Language(
    name="systemverilog",
    aliases=("sv",),
    dialect_of="verilog",
    extensions=("sv", "svh"),
    pack_grammar="verilog",
    query_files=("verilog",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)

VHDL = Language(
    name="vhdl",
    extensions=("vhd", "vhdl", "vho"),
    pack_grammar="vhdl",
    query_files=("vhdl",),
    line_comments=("--",),
    names_without_import=True,
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

HLSL = Language(
    name="hlsl",
    extensions=("hlsl", "hlsli", "fx", "fxh", "cginc", "usf", "ush"),
    pack_grammar="hlsl",
    query_files=("shader", "c"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)

WGSL = Language(
    name="wgsl",
    extensions=("wgsl",),
    scanner="lines",
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
    names_without_import=True,
)
