"""PHP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import Declarations
from promptls.languages.import_statements import IDENTIFIER, QUOTED, ParsedImport, last_part
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.signature_types import return_after_colon
from promptls.languages.visibility import NOT_PRIVATE
from promptls.util.text.regex import lazy_pattern

_DECLARATION = lazy_pattern(
    r"(?:(?:public|private|protected|readonly|static)\s+)*(?:\??\\?([A-Za-z_][\w\\]*)\s+)?\$([A-Za-z_]\w*(?:->\w+)?)\s*(?:=\s*new\s+\\?([A-Za-z_][\w\\]*))?"
)


def _parse_import(text: str) -> Iterator[ParsedImport]:
    if not text.startswith("use"):
        if quoted := QUOTED.search(text):
            yield ParsedImport(quoted.group(1))
        return
    text = re.sub(r"^use\s+(?:function\s+|const\s+)?|;", "", text)
    prefix, brace, group = text.partition("{")
    if brace:
        names = tuple(IDENTIFIER.findall(re.sub(r"\s+as\s+\w+", "", group)))
        yield ParsedImport(prefix.strip().strip("\\"), names)
        return
    for path in text.split(","):
        words = path.split()
        module, _, name = (words or [""])[0].rpartition("\\")
        alias = words[2:3] if words[1:2] == ["as"] else []
        if module:
            yield ParsedImport(module.lstrip("\\"), (name,), tuple(alias))
        else:
            yield ParsedImport(name, (), tuple(alias))


def _parse_declaration(text: str) -> Declarations:
    match = _DECLARATION.match(text)
    if match is None:
        return []
    type_name, variable, new_class = match.groups()
    type_name = new_class or type_name
    return [("$" + variable.replace("->", "."), type_name.replace("\\", "."))] if type_name else []


PHP = Language(
    name="php",
    extensions=("php", "phtml", "php5"),
    shebangs=("php",),
    pack_grammar="php",
    query_files=("php",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    documentation="phpdoc",
    name_separators=("\\",),
    constructor="__construct",
    visibility=NOT_PRIVATE,
    annotations="in_head",
    member_operators=(".", "::", "->", "\\"),
    types=TypeSyntax(_parse_declaration, return_after_colon),
    imports=Imports(_parse_import, "php", local_name=last_part),
    implicit_scope="namespace",
    names_without_import=True,
    capitalized_types=True,
)
