"""Shells and scripting languages."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.extensions.languages import outlined
from promptls.languages.language import Language
from promptls.languages.scripting import LUA

POWERSHELL = outlined(
    "powershell",
    "ps1 psm1 psd1",
    aliases=("ps1", "pwsh", "posh"),
    shebangs=("pwsh", "powershell"),
    line_comments=("#",),
    block_comments=(("<#", "#>"),),
)

BATCH = outlined(
    "batch",
    "bat cmd",
    aliases=("bat", "batchfile", "dosbatch"),
    scanner="lines",
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
        ("function", r"[ \t]*(?:(?:Public|Private|Protected|Friend|Shared|Static|Overrides|Overridable|MustOverride|Overloads|NotOverridable|Async|Partial|Default|ReadOnly|WriteOnly|Declare|PtrSafe|Shadows|Iterator|Custom)[ \t]+){0,6}(?:Sub|Function|Property(?:[ \t]+(?:Get|Let|Set))?|Operator|Event)[ \t]+(?P<name>\w+)"),
        ("class", r"[ \t]*(?:(?:Public|Private|Protected|Friend|Shared|Partial|MustInherit|NotInheritable|Shadows)[ \t]+){0,4}(?:Class|Module|Structure|Interface|Enum|Type|Namespace)[ \t]+(?P<name>[\w.]+)[ \t]*$"),
        ("constant", r"[ \t]*(?:(?:Public|Private|Global|Friend)[ \t]+)?Const[ \t]+(?P<name>\w+)"),
    ),
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
    line_comments=("#",),
    block_comments=(("###", "###"),),
    definition_patterns=(
        (
            "function",
            r"[ \t]{0,8}(?:(?:module\.)?exports\.|@|\w+::|window\.)?(?P<name>[A-Za-z_$][\w$]*)[ \t]*[:=][ \t]*(?:\([^)\n]{0,120}\)[ \t]*)?[-=]>",
        ),
    ),
)

AWK = outlined("awk", "awk gawk", shebangs=("awk", "gawk", "mawk"), scanner="lines", line_comments=("#",))

PROLOG = outlined(
    "prolog",
    "prolog plt lgt",
    shebangs=("swipl",),
    scanner="lines",
    line_comments=("%",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(("function", r"(?P<name>[a-z]\w*)(?:\([^\n]*)?[ \t]*(?::-|-->)"),),
)
