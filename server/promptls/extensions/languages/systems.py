"""Compiled languages and assembly."""

from __future__ import annotations

from promptls.extensions.languages import outlined

ADA = outlined("ada", "adb ads ada", line_comments=("--",), name_separators=(".",))

D = outlined(
    "d",
    "d di",
    aliases=("dlang",),
    shebangs=("rdmd", "dub"),
    line_comments=("//",),
    block_comments=(("/*", "*/"), ("/+", "+/")),
)

NIM = outlined("nim", "nim nims nimble", line_comments=("#",), block_comments=(("#[", "]#"),))

PASCAL = outlined(
    "pascal",
    "pas dpr dpk lpr lpk",
    aliases=("delphi", "objectpascal", "freepascal"),
    shared_extensions=(("pp", r"(?i)^[ \t]*(?:unit|program|library)[ \t]+[\w.]+[ \t]*;"),),
    line_comments=("//",),
    block_comments=(("{", "}"), ("(*", "*)")),
    name_separators=(".",),
    assignment_defines_method=True,
    methods_in_other_files="anywhere",
)

FORTRAN = outlined("fortran", "f90 f95 f03 f08 f15 f18 f for f77 ftn fpp", line_comments=("!",))

OBJECTIVE_C = outlined(
    "objc",
    "m mm",
    aliases=("objective-c", "objectivec", "objcpp", "objective-cpp", "objectivecpp"),
    shared_extensions=(("h", r"^[ \t]*(?:@(?:interface|protocol|implementation|class|import)\b|#[ \t]*import\b)"),),
    mask="objc_macros",
    query_files=("objc", "c"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    reserved_names=frozenset("case defined do else for if return sizeof switch while".split()),
    methods_in_other_files="anywhere",
)

SOLIDITY = outlined(
    "solidity",
    "sol",
    aliases=("sol",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    method_owner_kinds=frozenset({"class", "interface", "struct", "enum", "module"}),
)

COBOL = outlined(
    "cobol",
    "cob cbl cobol cpy ccp",
    scanner="lines",
    line_comments=("*", "      *", "*>"),
    definition_patterns=(
        ("module", r"(?:\d{6}|[ \t]{0,7})[ \t]*PROGRAM-ID[ \t]*\.[ \t]*['\"]?(?P<name>[A-Z0-9][\w-]*)"),
        ("section+", r"(?:\d{6}|[ \t]{0,6})[ \t]{0,2}(?P<name>[A-Z0-9][\w-]*[ \t]+DIVISION)\b"),
        (
            "function+",
            r"(?:\d{6} |[ \t]{0,7})(?P<name>(?!END-)[A-Z0-9][\w-]*)(?:[ \t]+SECTION)?[ \t]*\.[ \t]*(?:$|\d{8}$)",
        ),
        ("struct", r"(?:\d{6} |[ \t]{0,7})[ \t]{0,4}01[ \t]+(?!FILLER\b)(?P<name>[A-Z][\w-]*)"),
    ),
)

ASSEMBLY = outlined(
    "assembly",
    "asm s nasm a51 masm",
    aliases=("asm", "nasm", "gas"),
    scanner="lines",
    line_comments=(";", "#", "//", "@"),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        (
            "function+",
            r"(?:(?:ENTRY|FUNC|GLOBAL|SYM_\w*START\w*)\()?(?P<name>[A-Za-z_$?@][\w$?@.]*)(?:\)[ \t]*$|::?(?=[ \t]*(?:$|[^=:]))|[ \t]+PROC\b)",
        ),
        ("macro", r"[ \t]*\.macro[ \t]+(?P<name>[\w.$]+)"),
        ("macro", r"[ \t]*%macro[ \t]+(?P<name>[\w.$]+)"),
        ("macro", r"(?P<name>\w+)[ \t]+MACRO\b"),
        ("constant", r"[ \t]*\.(?:equ|set)[ \t]+(?P<name>[\w.$]+)[ \t]*,"),
        ("constant", r"(?P<name>[A-Za-z_]\w*)[ \t]+(?:EQU|=)[ \t]"),
    ),
)

ODIN = outlined("odin", "odin", line_comments=("//",), block_comments=(("/*", "*/"),))

HARE = outlined("hare", "ha", line_comments=("//",), name_separators=("::",))

CAIRO = outlined("cairo", "cairo", line_comments=("//",))

CRYSTAL = outlined(
    "crystal",
    "cr",
    shebangs=("crystal",),
    scanner="lines",
    line_comments=("#",),
    name_separators=("::", "."),
    definition_patterns=(
        ("function", r"[ \t]*(?:(?:private|protected|abstract)[ \t]+){0,2}def[ \t]+(?:self\.)?(?P<name>\w+[!?=]?)"),
        ("macro", r"[ \t]*(?:private[ \t]+)?macro[ \t]+(?P<name>\w+[!?]?)"),
        ("constant", r"[ \t]*(?P<name>[A-Z][A-Z0-9_]{2,})[ \t]*="),
    ),
)

V = outlined(
    "vlang",
    "vv",
    aliases=("v",),
    shared_extensions=(
        (
            "v",
            r"^(?:pub[ \t]+)?fn[ \t]+(?:\([^)\n]{1,80}\)[ \t]*)?\w+[\w.]*(?:\[|\()|^module[ \t]+\w+[ \t]*$|^import[ \t]+\w",
        ),
    ),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
)

WEBASSEMBLY = outlined(
    "wat",
    "wat wast",
    aliases=("wast",),
    scanner="lines",
    line_comments=(";;",),
    definition_patterns=(
        ("function", r"[ \t]*\(func[ \t]+(?P<name>\$[^\s()]+)"),
        ("constant", r"[ \t]*\((?:global|memory|table|data|elem)[ \t]+(?P<name>\$[^\s()]+)"),
        ("type", r"[ \t]*\(type[ \t]+(?P<name>\$[^\s()]+)"),
        ("module", r"[ \t]*\(module[ \t]+(?P<name>\$[^\s()]+)"),
    ),
)
