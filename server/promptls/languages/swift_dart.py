"""Swift and Dart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import parse_name_first, parse_type_first
from promptls.languages.import_statements import IDENTIFIER, QUOTED, ParsedImport
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.signature_types import return_after_arrow, return_before_name
from promptls.languages.visibility import NO_UNDERSCORE, NOT_PRIVATE


def _parse_swift(text: str) -> Iterator[ParsedImport]:
    if match := re.search(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?([\w.]+)", text):
        yield ParsedImport(match.group(1))


def _parse_dart(text: str) -> Iterator[ParsedImport]:
    """Parse Dart imports and exports.

    An export has the exported names, or "*" for all. An import without names is visible in this file only.
    """
    module = QUOTED.search(text)
    if module is None:
        return
    shown = re.search(r"\bshow\s+([\w\s,]+)", text)
    alias = re.search(r"\bas\s+(\w+)", text)
    if alias:
        yield ParsedImport(module.group(1), ("*",), (alias.group(1),))
    else:
        all_names = ("*",) if text.startswith("export") else ()
        yield ParsedImport(module.group(1), tuple(IDENTIFIER.findall(shown.group(1))) if shown else all_names)


SWIFT = Language(
    name="swift",
    extensions=("swift",),
    pack_grammar="swift",
    query_files=("swift",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility=NOT_PRIVATE,
    annotations="in_head",
    ignored_references=frozenset(
        "Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split()
    ),
    types=TypeSyntax(parse_name_first, return_after_arrow),
    methods_in_other_files="anywhere",
    part_block="extension",
    extension_methods="extension",
    imports=Imports(_parse_swift),
    implicit_scope="module",
    names_without_import=True,
    implicit_self=True,
    owner_required="types",
    capitalized_types=True,
)

DART = Language(
    name="dart",
    extensions=("dart",),
    pack_grammar="dart",
    query_files=("dart",),
    mask="dart",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility=NO_UNDERSCORE,
    annotations="in_head",
    types=TypeSyntax(parse_type_first, return_before_name),
    extension_methods="extension_on",
    imports=Imports(_parse_dart, "dart"),
    implicit_self=True,
    owner_required="types",
    capitalized_types=True,
)
