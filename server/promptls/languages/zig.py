"""Zig."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import Declarations, chain_type, pair
from promptls.languages.import_statements import ParsedImport
from promptls.languages.kinds import FILE, TYPE_KINDS
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.signature_types import closing_bracket
from promptls.languages.visibility import NO_UNDERSCORE
from promptls.util.text.regex import lazy_pattern

_DECLARATION = lazy_pattern(
    r"(?:(?:comptime|noalias|const|var)\s+)*([A-Za-z_]\w*)\s*(?::\s*(?:[*?]|const\s)*([A-Za-z_][\w.]*)(?![\w.(]))?"
    r"\s*(?:=\s*(?:try\s+|&)?([A-Za-z_][\w.]*)\s*([({]))?"
)
_BUILT_IN_TYPE = lazy_pattern(
    r"[iuf]\d+|[iu]size|bool|void|type|any\w+|comptime_\w+|struct|enum|union|error|opaque|fn|packed|extern"
)
_RESULT = lazy_pattern(r"\)\s*(?:(?:error\{[^{}]*\}|[\w.]*)!)?\s*(?:[*?]|const\s)*([A-Za-z_][\w.]*)(?![\w.(])")


def _parse_import(text: str) -> Iterator[ParsedImport]:
    match = re.match(r'(?:(?:const|var)\s+(\w+)\s*=\s*)?@import\(\s*"([^"]+)"\s*\)(?:\.([\w.]+))?', text)
    if match is not None:
        local_name, module, member = match.groups()
        yield ParsedImport(module, (member or "*",), (local_name,)) if local_name else ParsedImport(module)


def _parse_declaration(text: str) -> Declarations:
    match = _DECLARATION.match(text)
    if match is None:
        return []
    variable, type_name, value, bracket = match.groups()
    if type_name:
        return [] if _BUILT_IN_TYPE.fullmatch(type_name) else [(variable, type_name)]
    if not value or _BUILT_IN_TYPE.fullmatch(value):
        return []
    return pair(variable, value if bracket == "{" else chain_type(text, value, match.start(4)))


def _return_type(signature: str) -> str:
    end = closing_bracket(signature, signature.find("("))
    match = _RESULT.match(signature, end) if end >= 0 else None
    return match.group(1) if match else ""


ZIG = Language(
    name="zig",
    extensions=("zig", "zon"),
    pack_grammar="zig",
    query_files=("zig",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    method_owner_kinds=TYPE_KINDS | {FILE},
    visibility=NO_UNDERSCORE,
    types=TypeSyntax(_parse_declaration, _return_type),
    imports=Imports(_parse_import, "zig"),
)
