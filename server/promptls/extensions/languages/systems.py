"""Compiled languages and assembly."""

from __future__ import annotations

from promptls.languages.language import Language

ADA = Language(
    name="ada",
    extensions=("adb", "ads", "ada"),
    pack_grammar="ada",
    query_files=("ada",),
    line_comments=("--",),
    name_separators=(".",),
    names_without_import=True,
)

D = Language(
    name="d",
    aliases=("dlang",),
    extensions=("d", "di"),
    shebangs=("rdmd", "dub"),
    pack_grammar="d",
    query_files=("d",),
    line_comments=("//",),
    block_comments=(("/*", "*/"), ("/+", "+/")),
    names_without_import=True,
)

NIM = Language(
    name="nim",
    extensions=("nim", "nims", "nimble"),
    pack_grammar="nim",
    query_files=("nim",),
    line_comments=("#",),
    block_comments=(("#[", "]#"),),
    names_without_import=True,
)

PASCAL = Language(
    name="pascal",
    aliases=("delphi", "objectpascal", "freepascal"),
    extensions=("pas", "dpr", "dpk", "lpr", "lpk"),
    shared_extensions=(("pp", r"(?i)^[ \t]*(?:unit|program|library)[ \t]+[\w.]+[ \t]*;"),),
    pack_grammar="pascal",
    query_files=("pascal",),
    line_comments=("//",),
    block_comments=(("{", "}"), ("(*", "*)")),
    name_separators=(".",),
    assignment_defines_method=True,
    methods_in_other_files="anywhere",
    names_without_import=True,
)

FORTRAN = Language(
    name="fortran",
    extensions=tuple("f90 f95 f03 f08 f15 f18 f for f77 ftn fpp".split()),
    pack_grammar="fortran",
    query_files=("fortran",),
    line_comments=("!",),
    names_without_import=True,
)

OBJECTIVE_C = Language(
    name="objc",
    aliases=("objective-c", "objectivec", "objcpp", "objective-cpp", "objectivecpp"),
    extensions=("m", "mm"),
    shared_extensions=(("h", r"^[ \t]*(?:@(?:interface|protocol|implementation|class|import)\b|#[ \t]*import\b)"),),
    pack_grammar="objc",
    mask="objc_macros",
    query_files=("objc", "c"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    reserved_names=frozenset("case defined do else for if return sizeof switch while".split()),
    methods_in_other_files="anywhere",
    names_without_import=True,
)

SOLIDITY = Language(
    name="solidity",
    aliases=("sol",),
    extensions=("sol",),
    pack_grammar="solidity",
    query_files=("solidity",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    method_owner_kinds=frozenset({"class", "interface", "struct", "enum", "module"}),
    names_without_import=True,
)

COBOL = Language(
    name="cobol",
    extensions=("cob", "cbl", "cobol", "cpy", "ccp"),
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
    names_without_import=True,
)

ASSEMBLY = Language(
    name="assembly",
    aliases=("asm", "nasm", "gas"),
    extensions=("asm", "s", "nasm", "a51", "masm"),
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
    names_without_import=True,
)
