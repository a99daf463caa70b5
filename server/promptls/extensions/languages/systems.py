"""Compiled languages and assembly."""

from __future__ import annotations

from promptls.extensions.languages import CALL_WITH_PARENTHESES, COMMAND, outlined

ADA = outlined(
    "ada", "adb ads ada", line_comments=("--",), name_separators=(".",), ignores_case=True, declares_before=True
)

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
    ignores_case=True,
    declares_before=True,
    assignment_defines_method=True,
    methods_in_other_files="anywhere",
    implicit_self=True,
)

FORTRAN = outlined("fortran", "f90 f95 f03 f08 f15 f18 f for f77 ftn fpp", line_comments=("!",), ignores_case=True)

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
    implicit_self=True,
)

_COBOL_UNIT = r"[ \t]*(?:END[ \t]+PROGRAM|(?!END\b)[\w-]+[ \t]+DIVISION|[\w-]+[ \t]+SECTION[ \t]*\.)"

COBOL = outlined(
    "cobol",
    "cob cbl cobol cpy ccp",
    scanner="lines",
    member_operators=(),
    mask="fixed_columns",
    line_comments=("*>", "*", "/"),
    ignores_case=True,
    modules_are_called=True,
    definition_patterns=(
        (
            "module+",
            r"[ \t]*(?:PROGRAM|FUNCTION|CLASS)-ID[ \t]*\.[ \t]*['\"]?(?P<name>[A-Z0-9][\w-]*)",
            r"[ \t]*(?:END[ \t]+(?:PROGRAM|FUNCTION|CLASS)|ID(?:ENTIFICATION)?[ \t]+DIVISION)\b",
        ),
        ("section+", r"[ \t]*(?P<name>(?!ID\b|IDENTIFICATION\b)[A-Z]+[ \t]+DIVISION)\b", r"[ \t]*END[ \t]+PROGRAM"),
        (
            "section+",
            r"[ \t]{0,10}(?P<name>[A-Z0-9][\w-]*)[ \t]+SECTION[ \t]*\.",
            r"[ \t]*(?:END[ \t]+PROGRAM|[A-Z]+[ \t]+DIVISION)",
        ),
        (
            "function+",
            r"[ \t]{0,10}(?P<name>(?!(?:END-[\w-]+|EXIT|GOBACK|CONTINUE|ELSE|END)[ \t]*\.)[A-Z0-9][\w-]*)[ \t]*\.[ \t]*$",
            _COBOL_UNIT,
        ),
        (
            "struct+",
            r"[ \t]*01[ \t]+(?!FILLER\b)(?P<name>[A-Z][\w-]*)",
            r"[ \t]*(?:(?:01|66|77|88|[FS]D)[ \t]|COPY\b|EXEC\b)|" + _COBOL_UNIT,
        ),
    ),
    call_patterns=(
        r"(?<![\w-])(?:PERFORM|THRU|THROUGH|GO(?:[ \t]+TO)?)[ \t]+(?P<name>(?!TO\b)[A-Z0-9][\w-]*)",
        r"^[ \t]{9,80}(?P<name>[A-Z0-9][\w-]*)[ \t]*\.?[ \t]*$",  # continues a PERFORM
        r"(?<![\w-])(?:CALL|CANCEL)[ \t]+['\"](?P<name>[\w-]+)['\"]",
    ),
)

_DIRECTIVE = r"[ \t]*(?:[.%](?:globl|global|type|section|text|data|bss|rodata|macro)\b|(?:global|section|segment|extern)[ \t]|END\b)"

ASSEMBLY = outlined(
    "assembly",
    "asm s nasm a51 masm",
    aliases=("asm", "nasm", "gas"),
    scanner="lines",
    member_operators=(),
    line_comments=(";", "#", "//", "@"),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("macro", r"[ \t]*\.macro[ \t]+(?P<name>[\w.$]+)", r"[ \t]*\.endm"),
        ("macro", r"[ \t]*%i?macro[ \t]+(?P<name>[\w.$]+)", r"[ \t]*%endmacro"),
        ("macro", r"(?P<name>\w+)[ \t]+MACRO\b", r"[ \t]*ENDM\b"),
        ("function", r"(?P<name>[A-Za-z_$?@][\w$?@]*)[ \t]+PROC\b", r"[\w$?@]+[ \t]+ENDP\b"),
        (
            "function+",
            r"(?:(?:ENTRY|FUNC|GLOBAL|SYM_\w*START\w*)\()?(?P<name>[A-Za-z_$?][\w$?@.]*)(?:\)[ \t]*$|::?(?=[ \t]*(?:$|[^=:])))",
            _DIRECTIVE + r"|\w+[ \t]+(?:MACRO|PROC)\b",
        ),
        ("constant", r"[ \t]*\.(?:equ|set)[ \t]+(?P<name>[\w.$]+)[ \t]*,"),
        ("constant", r"(?P<name>[A-Za-z_]\w*)[ \t]+(?:EQU|=)[ \t]"),
    ),
    call_patterns=(
        r"(?:^|[ \t:])(?:l?call[lqw]?|inv?oke|bsr|[jr]?sr|jalr?|blx?r?|rcall|tail|jmp|b|j[a-z]{1,3}|b[a-z]{2}|b\.[a-z]{2}|cbn?z|tbn?z)"
        r"[ \t]+(?:[\w%$]+[ \t]*,[ \t]*){0,2}(?P<name>[A-Za-z_$?@][\w$?@.]*)",
        r"^(?:[\w.$]+:)?[ \t]+(?P<name>(?=\w*(?-i:[A-Z_]))[A-Za-z_]\w*)",  # of a macro
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
    call_patterns=(CALL_WITH_PARENTHESES, COMMAND),
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
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
)

WEBASSEMBLY = outlined(
    "wat",
    "wat wast",
    aliases=("wast",),
    scanner="lines",
    call_patterns=(r"\b(?:call|return_call|ref\.func)[ \t]+(?P<name>\$[^\s()]+)",),
    line_comments=(";;",),
    definition_patterns=(
        ("function", r"[ \t]*\(func[ \t]+(?P<name>\$[^\s()]+)"),
        ("constant", r"[ \t]*\((?:global|memory|table|data|elem)[ \t]+(?P<name>\$[^\s()]+)"),
        ("type", r"[ \t]*\(type[ \t]+(?P<name>\$[^\s()]+)"),
        ("module", r"[ \t]*\(module[ \t]+(?P<name>\$[^\s()]+)"),
    ),
)
