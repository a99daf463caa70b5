"""C#."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import parse_type_first
from promptls.languages.import_statements import ParsedImport
from promptls.languages.language import ClassImports, Imports, Language, NameMarks, TypeSyntax
from promptls.languages.signature_types import return_before_name
from promptls.languages.visibility import PUBLIC


def _parse_import(text: str) -> Iterator[ParsedImport]:
    match = re.match(r"(?:global\s+)?using\s+(?:static\s+|unsafe\s+)*(?:\w+\s*=\s*)?([\w.:]+)", text)
    if match:
        yield ParsedImport(match.group(1))


CSHARP = Language(
    name="csharp",
    aliases=("cs", "c#", "csh"),
    extensions=("cs", "csx"),
    pack_grammar="csharp",
    query_files=("csharp",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
    name_marks=NameMarks(roots=frozenset({"global"})),
    visibility=PUBLIC,
    annotations="in_head",
    types=TypeSyntax(parse_type_first, return_before_name),
    methods_in_other_files="anywhere",
    part_modifiers=frozenset({"partial"}),
    extension_methods="this_parameter",
    external_receivers=frozenset(
        "bool byte char decimal double float int long object sbyte short string uint ulong ushort".split()
    ),
    imports=Imports(_parse_import, ClassImports((".cs",))),
    implicit_scope="enclosing_namespaces",
    names_without_import=True,
    implicit_self=True,
    owner_required="types",
)
