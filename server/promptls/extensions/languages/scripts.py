"""Shells and scripting languages."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.extensions.languages import CALL_WITH_PARENTHESES, COMMAND, outlined
from promptls.languages.language import Language
from promptls.languages.scripting import LUA

POWERSHELL = outlined(
    "powershell",
    "ps1 psm1 psd1",
    aliases=("ps1", "pwsh", "posh"),
    shebangs=("pwsh", "powershell"),
    ignores_case=True,
    line_comments=("#",),
    block_comments=(("<#", "#>"),),
)

BATCH = outlined(
    "batch",
    "bat cmd",
    aliases=("bat", "batchfile", "dosbatch"),
    scanner="lines",
    ignores_case=True,
    call_patterns=(r"\b(?:call[ \t]+:|goto[ \t]+:?)(?P<name>[\w.-]+)",),
    line_comments=("rem ", "REM ", "Rem ", "::"),
    definition_patterns=(
        ("function+", r"[ \t]*:(?P<name>(?!:)[\w.-]+)"),
        ("constant", r"@?set[ \t]+\"?(?P<name>\w+)="),
    ),
)

FISH = outlined("fish", "fish", shebangs=("fish",), line_comments=("#",))

TCL = outlined(
    "tcl", "tcl tm itcl sdc xdc", shebangs=("tclsh", "wish", "expect"), line_comments=("#",), name_separators=("::",)
)

GDSCRIPT = outlined("gdscript", "gd", aliases=("gd", "godot"), line_comments=("#",))

LUAU = replace(
    LUA,
    name="luau",
    aliases=("roblox",),
    extensions=("luau",),
    shebangs=("luau",),
    pack_grammar="luau",
    query_files=("luau",),
    documentation="",
    imports=None,
)

CYTHON = Language(
    name="cython",
    aliases=("pyx",),
    extensions=("pyx", "pxd", "pxi"),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("#",),
    block_comments=(('"""', '"""'), ("'''", "'''")),
    definition_patterns=(
        ("function", r"[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*\("),
        ("function", r"[ \t]*cp?def[ \t]+(?!class\b|struct\b|enum\b|union\b|extern\b)(?:[\w.*&\[\], \t]{1,100}[ \t*&\]])?(?P<name>\w+)[ \t]*\([^\n]*(?:\)[^\n]*:|[,(])[ \t]*$"),
        ("class", r"[ \t]*(?:cdef[ \t]+|public[ \t]+|api[ \t]+){0,2}(?:class|cppclass)[ \t]+(?P<name>\w+)"),
        ("struct", r"[ \t]*(?:ctypedef|cdef)[ \t]+(?:public[ \t]+|packed[ \t]+)?(?:struct|union|enum)[ \t]+(?P<name>\w+)"),
    ),
    names_without_import=True,
)  # fmt: skip

VISUAL_BASIC = Language(
    name="vb",
    aliases=("visual-basic", "vba", "vbscript", "vbnet", "freebasic"),
    extensions=("vb", "bas", "vbs", "frm", "ctl", "vba", "bi"),
    shared_extensions=(("cls", r"^(?:VERSION 1\.0 CLASS|Attribute VB_|Option Explicit)"),),
    scanner="lines",
    line_comments=("'", "Rem ", "REM "),
    definition_patterns=(
        ("function", r"[ \t]*(?:(?:Public|Private|Protected|Friend|Shared|Static|Overrides|Overridable|MustOverride|Overloads|NotOverridable|Async|Partial|Default|ReadOnly|WriteOnly|Declare|PtrSafe|Shadows|Iterator|Custom)[ \t]+){0,6}(?:Sub|Function|Property(?:[ \t]+(?:Get|Let|Set))?|Operator|Event)[ \t]+(?P<name>\w+)", r"(?:[^\n'\"]*:)?[ \t]*End[ \t]+(?:Sub|Function|Property|Operator|Event)\b"),
        ("class", r"[ \t]*(?:(?:Public|Private|Protected|Friend|Shared|Partial|MustInherit|NotInheritable|Shadows)[ \t]+){0,4}(?:Class|Module|Structure|Interface|Enum|Type|Namespace)[ \t]+(?P<name>[\w.]+)[ \t]*$"),
        ("constant", r"[ \t]*(?:(?:Public|Private|Global|Friend)[ \t]+)?Const[ \t]+(?P<name>\w+)"),
    ),
    call_patterns=(
        CALL_WITH_PARENTHESES,
        r"\b(?:Call|AddressOf)[ \t]+(?:\w+\.){0,4}(?P<name>\w+)",
        r"(?:^|\b(?:Then|Else)\b|:)[ \t]*(?:[\w)]*\.){0,4}(?P<name>[^\W\d]\w*)(?=[ \t]+[^\s=.]|[ \t]*(?:$|:))",
    ),
    ignores_case=True,
    functions_as_members=True,
    implicit_self=True,
    names_without_import=True,
)  # fmt: skip

MATLAB = outlined(
    "matlab",
    "matlab",
    aliases=("octave",),
    shared_extensions=(
        ("m", r"^[ \t]*(?:function\b[^\n;{]*(?:=|\(|$)|classdef\b|%|(?:clc|clear|close all)\b|end;?[ \t]*$)"),
    ),
    shebangs=("octave",),
    line_comments=("%", "#"),
    block_comments=(("%{", "%}"),),
    name_separators=(".",),
)

NUSHELL = outlined(
    "nushell",
    "nu",
    aliases=("nu",),
    shebangs=("nu",),
    scanner="lines",
    call_patterns=(r"(?:^|[(|{;=])[ \t]*(?P<name>[^\W\d][\w-]*)",),
    line_comments=("#",),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:export[ \t]+)?(?:def|extern)(?:[ \t]+--?[\w-]+){0,3}[ \t]+(?P<name>[\w!-]+|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')",
        ),
        ("constant", r"(?:export[ \t]+)?(?:const|alias)[ \t]+(?P<name>[\w-]+)[ \t]*="),
    ),
)

COFFEESCRIPT = outlined(
    "coffeescript",
    "coffee litcoffee iced ls",
    aliases=("coffee",),
    file_names=("cakefile",),
    shebangs=("coffee", "lsc"),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES, COMMAND),
    line_comments=("#",),
    block_comments=(("###", "###"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]{0,8}(?:(?:module\.)?exports\.|@|\w+::|window\.)?(?P<name>[A-Za-z_$][\w$]*)[ \t]*[:=][ \t]*(?:\([^)\n]{0,120}\)[ \t]*)?[-=]>",
        ),
    ),
)

AWK = outlined(
    "awk",
    "awk gawk",
    shebangs=("awk", "gawk", "mawk"),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("#",),
)

PROLOG = outlined(
    "prolog",
    "prolog plt lgt",
    shebangs=("swipl",),
    scanner="lines",
    member_operators=(),
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("%",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(("function", r"(?P<name>[a-z]\w*)(?:\([^\n]*)?[ \t]*(?::-|-->)"),),
)

SAS = outlined(
    "sas",
    "sas",
    scanner="lines",
    line_comments=("*", "%*"),
    block_comments=(("/*", "*/"),),
    ignores_case=True,
    definition_patterns=(
        ("macro", r"[ \t]*%macro[ \t]+(?P<name>\w+)", r"[^\n]*%mend\b"),
        ("function", r"[ \t]*(?:function|subroutine)[ \t]+(?P<name>\w+)[ \t]*\(", r"[^\n]*\bend(?:sub|func)\b"),
        ("", r"[ \t]*(?P<name>proc)[ \t]"),
        ("constant", r"%(?:let|global)[ \t]+(?P<name>\w+)"),
    ),
    call_patterns=(r"%(?P<name>[^\W\d]\w*)", CALL_WITH_PARENTHESES),
)

STATA = outlined(
    "stata",
    "do ado mata",
    scanner="lines",
    line_comments=("*", "//"),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]*(?:cap(?:ture)?[ \t]+)?pr(?:ogram|ogra|ogr|og|o)?[ \t]+(?:de(?:f|fi|fin|fine)?[ \t]+)?(?!drop\b|dir\b|list\b|define\b)(?P<name>[^\W\d]\w*)",
            r"[ \t]*end[ \t]*(?:$|//)",
        ),
        ("constant", r"[ \t]*gl(?:obal|oba|ob|o)?[ \t]+(?P<name>[^\W\d]\w*)"),
    ),
    call_patterns=(
        CALL_WITH_PARENTHESES,
        r"(?:^|[{:]|\b(?:qui(?:etly)?|cap(?:ture)?|noi(?:sily)?|else)\b)[ \t]*(?P<name>(?!(?:qui|cap|noi|else\b))[^\W\d]\w*)(?=[ \t]+[^\s=]|[ \t]*(?:$|,))",
    ),
)

ABAP = outlined(
    "abap",
    "abap",
    scanner="lines",
    member_operators=(),
    line_comments=("*", '"'),
    name_separators=("~",),
    ignores_case=True,
    declares_before=True,
    implicit_self=True,
    definition_patterns=(
        (
            "class",
            r"[ \t]*CLASS[ \t]+(?P<name>[\w/]+)[ \t]+DEFINITION\b(?![ \t]+(?:DEFERRED|LOAD|LOCAL)\b)",
            r"[ \t]*ENDCLASS\b",
        ),
        ("impl", r"[ \t]*CLASS[ \t]+(?P<name>[\w/]+)[ \t]+IMPLEMENTATION\b", r"[ \t]*ENDCLASS\b"),
        (
            "interface",
            r"[ \t]*INTERFACE[ \t]+(?P<name>[\w/]+)[ \t]*(?:PUBLIC[ \t]*)?\.?[ \t]*$",
            r"[ \t]*ENDINTERFACE\b",
        ),
        ("method", r"[ \t]*METHOD[ \t]+(?P<name>[\w/~]+)", r"[ \t]*ENDMETHOD\b"),
        ("method", r"[ \t]*(?:CLASS-)?METHODS:?[ \t]+(?P<name>[\w/~]+)", ""),
        ("function", r"[ \t]*FORM[ \t]+(?P<name>[\w/-]+)", r"[ \t]*ENDFORM\b"),
        ("function", r"[ \t]*FUNCTION[ \t]+(?P<name>[\w/]+)", r"[ \t]*ENDFUNCTION\b"),
        ("function", r"[ \t]*MODULE[ \t]+(?P<name>\w+)[ \t]+(?:INPUT|OUTPUT)\b", r"[ \t]*ENDMODULE\b"),
        ("macro", r"[ \t]*DEFINE[ \t]+(?P<name>\w+)[ \t]*\.", r"[ \t]*END-OF-DEFINITION\b"),
        (
            "struct",
            r"[ \t]*(?:TYPES:?[ \t]+)?BEGIN[ \t]+OF[ \t]+(?P<name>\w+)",
            r"[ \t]*(?:TYPES:?[ \t]+)?END[ \t]+OF\b",
        ),
        ("constant", r"[ \t]*CONSTANTS:?[ \t]+(?P<name>\w+)"),
    ),
    call_patterns=(
        r"(?<![\w/@])(?P<name>[^\W\d][\w/]*)\((?![ \t]*\d+[ \t]*\))",
        r"\bPERFORM[ \t]+(?P<name>[\w/-]+)",
        r"\bCALL[ \t]+FUNCTION[ \t]+'(?P<name>[\w/]+)'",
        r"\bCALL[ \t]+METHOD[ \t]+(?:[\w/]+[-=]>){0,4}(?P<name>[\w/]+)",
    ),
)
