"""Go."""

from __future__ import annotations

from promptls.languages.declarations import Declarations, chain_type, pair
from promptls.languages.import_statements import parse_aliased
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.visibility import Visibility
from promptls.util.text.regex import lazy_pattern

_ASSIGNED = lazy_pattern(
    r"(?:var\s+)?([A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::=|=)\s*(?:&?([A-Za-z_][\w.]*)\s*(\{|\()|new\(([A-Za-z_][\w.]*)\))"
)
_PARAMETER = lazy_pattern(r"(?:var\s+)?((?:[A-Za-z_]\w*\s*,\s*)*[A-Za-z_]\w*)\s+\**([A-Za-z_][\w.]*)")
_RESULT = lazy_pattern(r"\)\s*\(?\s*(?:\w+\s+)?\**(?:\[\])?([A-Za-z_][\w.]*)(?![\w.]*\()")


def _parse_declaration(text: str) -> Declarations:
    if match := _ASSIGNED.match(text):
        variable, value, bracket, new_type = match.groups()
        return pair(variable, new_type or (value if bracket == "{" else chain_type(text, value, match.start(3))))
    if match := _PARAMETER.match(text):
        return [(name.strip(), match.group(2)) for name in match.group(1).split(",")]
    return []


def _return_type(signature: str) -> str:
    end = signature.rfind(")", 0, len(signature) - 1)
    match = _RESULT.match(signature, end) if end >= 0 else None
    return match.group(1) if match else ""


def _local_name(module: str) -> str:
    """Return the name of a package by its path, without its major version: "redis" for "github.com/go-redis/redis/v9"."""
    last = module.rstrip("/").rpartition("/")[2]
    if last[:1] == "v" and last[1:].isdigit():
        last = module.rstrip("/").rpartition("/")[0].rpartition("/")[2]
    return last.rpartition(".")[2].replace("-", "_")


GO = Language(
    name="go",
    aliases=("golang", "golang.go"),
    extensions=("go",),
    pack_grammar="go",
    query_files=("go",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_calls=dict.fromkeys({"Run"}, "test"),
    visibility=Visibility(lambda definition: definition.name[:1].isupper()),
    ignored_references=frozenset(
        "any append bool byte cap close copy delete error float64 int int32 int64 len make new panic string "
        "uint uint32 uint64".split()
    ),
    types=TypeSyntax(_parse_declaration, _return_type),
    methods_in_other_files="folder",
    imports=Imports(parse_aliased, "go", local_name=_local_name),
    implicit_scope="folder",
)
