"""Java, Kotlin and Scala."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import parse_name_first, parse_type_first
from promptls.languages.import_statements import ParsedImport, last_part, split_arrows
from promptls.languages.language import ClassImports, Imports, Language, TypeSyntax
from promptls.languages.signature_types import return_after_colon, return_before_name
from promptls.languages.visibility import NOT_PRIVATE, PUBLIC

_CLASSES = ClassImports((".java", ".kt", ".kts", ".scala", ".groovy"), members=True)
_BUILT_IN = frozenset("Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split())


def _parse_import(text: str) -> Iterator[ParsedImport]:
    """Parse imports of Java, Kotlin and Scala: "import a.b.C", "a.b.*", "a.b.{C, D => E}"."""
    text = re.sub(r"^import\s+(?:static\s+)?|;", "", text)
    text = re.sub(r"\s+as\s+(\w+)", r"=>\1", text)
    path = "".join(text.split())
    module, brace, group = path.partition("{")
    if brace:
        yield ParsedImport(module.rstrip("."), *split_arrows([name for name in group.rstrip("}").split(",") if name]))
        return
    module, _, name = path.rpartition(".")
    if module:
        yield ParsedImport(module, *split_arrows(["*" if name == "_" else name]))
    else:
        yield ParsedImport(name)


JAVA = Language(
    name="java",
    extensions=("java",),
    pack_grammar="java",
    query_files=("java",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility=PUBLIC,
    annotations="in_head",
    ignored_references=_BUILT_IN,
    types=TypeSyntax(parse_type_first, return_before_name),
    imports=Imports(_parse_import, _CLASSES, local_name=last_part),
    family="jvm",
    implicit_scope="package",
    implicit_self=True,
    owner_required="types",
    capitalized_types=True,
)

KOTLIN = Language(
    name="kotlin",
    aliases=("kt",),
    extensions=("kt", "kts"),
    pack_grammar="kotlin",
    query_files=("kotlin",),
    mask="kotlin",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility=NOT_PRIVATE,
    annotations="in_head",
    ignored_references=_BUILT_IN,
    types=TypeSyntax(parse_name_first, return_after_colon),
    methods_in_other_files="anywhere",
    part_modifiers=frozenset({"expect", "actual"}),
    extension_methods="receiver",
    imports=Imports(_parse_import, _CLASSES, local_name=last_part),
    family="jvm",
    implicit_scope="package",
    names_without_import=True,
    implicit_self=True,
    owner_required="types",
    capitalized_types=True,
)

SCALA = Language(
    name="scala",
    extensions=("scala", "sc", "sbt"),
    pack_grammar="scala",
    query_files=("scala",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    constructor="this",
    visibility=NOT_PRIVATE,
    annotations="in_head",
    ignored_references=_BUILT_IN,
    types=TypeSyntax(parse_name_first, return_after_colon),
    imports=Imports(_parse_import, _CLASSES, local_name=last_part),
    family="jvm",
    implicit_scope="package",
    names_without_import=True,
    implicit_self=True,
    owner_required="types",
    capitalized_types=True,
)
