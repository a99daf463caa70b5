"""Groovy and Apex."""

from __future__ import annotations

from promptls.extensions.languages import CALL_WITH_PARENTHESES, COMMAND, outlined
from promptls.languages.language import Language

_MODIFIERS = r"(?:(?:public|private|protected|static|final|abstract|synchronized)[ \t]+){0,5}"

GROOVY = Language(
    name="groovy",
    aliases=("gradle", "jenkinsfile"),
    extensions=("groovy", "gradle", "gvy", "gy", "gsh", "nf", "jenkinsfile"),
    file_names=("jenkinsfile",),
    shebangs=("groovy", "nextflow"),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", rf"[ \t]*(?:@\w+[ \t]+)?{_MODIFIERS}def[ \t]+(?:[\w<>\[\].]+[ \t]+)?(?P<name>\w+|'[^'\n]{{1,120}}'|\"[^\"\n]{{1,120}}\")[ \t]*\("),
        ("function", r"[ \t]*(?:@\w+[ \t]+)?(?:public|private|protected|static|final|abstract)[ \t]+(?:(?:static|final|abstract|synchronized)[ \t]+){0,3}(?:[\w.]+(?:<[^\n(){}=]{0,80}>)?(?:\[\])*[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*\("),
        ("function", r"[ \t]*(?!new\b|return\b|throw\b|else\b|assert\b)[A-Za-z][\w.]*(?:<[^\n(){}=]{0,80}>)?(?:\[\])*[ \t]+(?P<name>[A-Za-z_]\w*)[ \t]*\([^\n()]*\)[ \t]*(?:throws[ \t]+[\w., \t]+)?(?:\{[^\n]*)?$"),
        ("constructor", r"[ \t]+(?:(?:public|private|protected)[ \t]+)?(?P<name>(?-i:[A-Z])\w*)[ \t]*\([^\n()]*\)[ \t]*\{[ \t]*$"),
        ("target", r"[ \t]*task[ \t]+(?P<name>\w+)\b"),
        ("target", r"[ \t]*(?:tasks\.)?(?:register|create)\(?[ \t]*['\"](?P<name>[\w.-]+)['\"]"),
        ("target", r"[ \t]*tasks\.(?:register|create|named)\(?[ \t]*['\"](?P<name>[\w.-]+)['\"]"),
        ("stage", r"[ \t]*stage[ \t]*\([ \t]*['\"](?P<name>[^'\"\n]{1,100})['\"][ \t]*\)[ \t]*\{"),
        ("function", r"[ \t]*(?:process|workflow)[ \t]+(?P<name>\w+)[ \t]*\{"),
        ("constant", r"[ \t]*(?:(?:public|private|protected)[ \t]+)?static[ \t]+final[ \t]+(?:[\w<>\[\].]+[ \t]+)?(?P<name>[A-Z]\w*)[ \t]*="),
    ),
    call_patterns=(CALL_WITH_PARENTHESES, COMMAND),
    names_without_import=True,
    implicit_self=True,
)  # fmt: skip

APEX = outlined(
    "apex",
    "apex trigger",
    aliases=("salesforce",),
    shared_extensions=(
        (
            "cls",
            r"(?i)^[ \t]*(?:(?:public|private|global|virtual|abstract|with(?:out)?|inherited|sharing)[ \t]+){1,5}(?:class|interface|enum)[ \t]+\w",
        ),
    ),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    ignores_case=True,
    implicit_self=True,
)

HAXE = outlined(
    "haxe",
    "hx hxsl",
    aliases=("hx",),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", rf"[ \t]*(?:@:?\w+(?:\([^)\n]{{0,60}}\))?[ \t]+){{0,3}}{_MODIFIERS}function[ \t]+(?P<name>\w+)"),
        ("constant", rf"[ \t]*{_MODIFIERS}(?:final|inline[ \t]+var)[ \t]+(?P<name>\w+)[ \t]*[:=]"),
        ("type", r"[ \t]*(?:private[ \t]+)?(?:typedef|(?:enum[ \t]+)?abstract)[ \t]+(?P<name>[A-Z]\w*)"),
    ),
)

ACTIONSCRIPT = outlined(
    "actionscript",
    "as",
    aliases=("as3",),
    scanner="lines",
    call_patterns=(CALL_WITH_PARENTHESES,),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", rf"[ \t]*{_MODIFIERS}function[ \t]+(?:get[ \t]+|set[ \t]+)?(?P<name>\w+)"),
        ("constant", rf"[ \t]*{_MODIFIERS}const[ \t]+(?P<name>\w+)"),
    ),
)
