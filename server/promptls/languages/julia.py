"""Julia."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.import_statements import IDENTIFIER, ParsedImport, call_parser
from promptls.languages.language import Imports, Language, Manifest
from promptls.languages.visibility import NO_UNDERSCORE
from promptls.util.text.regex import lazy_pattern

_OPERATOR = lazy_pattern(r"(?:((?:\w+\.)*\w+)\.)?:?\(?([^\w\s.:()][^\s()]*|:|\.+)\)?")
_parse_include = call_parser("include")


def _parse_import(text: str) -> Iterator[ParsedImport]:
    if match := re.match(r"(?:using|import)\s+(.*)", text, re.DOTALL):
        module, colon, names = match.group(1).partition(":")
        if colon:
            yield ParsedImport(module.strip(), tuple(IDENTIFIER.findall(names)))
        else:
            for name in module.split(","):
                yield ParsedImport(name.strip())
    else:
        yield from _parse_include(text)


def _split_name(text: str) -> list[str]:
    """Split the name of a Julia function: also operators such as "Base.:(==)", and the type of "(f::Rod{T})"."""
    if "::" in text:
        text = text.partition("::")[2]
    text = text.partition("{")[0].strip(" ()")
    operator = _OPERATOR.fullmatch(text)
    owner, name = operator.groups() if operator else ("", text)
    return [*filter(None, (owner or "").split(".")), *(name.split(".") if not operator else [name])]


JULIA = Language(
    name="julia",
    extensions=("jl",),
    shebangs=("julia",),
    pack_grammar="julia",
    query_files=("julia",),
    line_comments=("#",),
    name_separators=(".",),
    split_name=_split_name,
    definition_calls={**dict.fromkeys("@safetestset @testcase @testitem @testset".split(), "test"), "@enum": "enum"},
    visibility=NO_UNDERSCORE,
    imports=Imports(_parse_import, "julia"),
    implicit_scope=Manifest("Project.toml"),
    names_without_import=True,
)
