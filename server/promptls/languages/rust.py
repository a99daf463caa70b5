"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import Declarations, chain_type, pair
from promptls.languages.import_statements import ParsedImport, split_arrows
from promptls.languages.language import Imports, Language, NameMarks, TypeSyntax
from promptls.languages.signature_types import return_after_arrow
from promptls.languages.visibility import Definition, Visibility
from promptls.util.text.regex import lazy_pattern

_LET = lazy_pattern(
    r"(?:let\s+)?(?:mut\s+)?([A-Za-z_]\w*)\s*(?::\s*([^=;,)\n]+))?\s*(?:=\s*(?:&(?:mut\s+)?)?([A-Za-z_][\w:.]*)\s*(?:::<[^>]*>)?\s*([({]))?"
)
_TYPE_NAME = lazy_pattern(
    r"(?:&\s*)?(?:'\w+\s*)?(?:mut\s+|dyn\s+|impl\s+)*(?:(?:Box|Rc|Arc|Option)<(?:dyn\s+)?)?([A-Za-z_][\w:]*)"
)


def _parse_import(text: str) -> Iterator[ParsedImport]:
    if match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)", text):
        yield ParsedImport(f"self::{match.group(1)}")
    elif match := re.match(r"(?:pub\s+)?extern\s+crate\s+(\w+)", text):
        alias = re.search(r"\bas\s+(\w+)", text)
        yield ParsedImport(match.group(1), (), (alias.group(1),) if alias else ())
    elif match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?use\s+(.*?);?\s*$", re.sub(r"//[^\n]*", "", text), re.DOTALL):
        yield from _parse_use_tree("", "".join(re.sub(r"\s+as\s+(\w+)", r"=>\1", match.group(1)).split()))


def _parse_use_tree(prefix: str, tree: str) -> Iterator[ParsedImport]:
    """Parse a use tree without whitespace: "a::{b,c::d}" imports b from "a" and d from "a::c"."""
    names: list[str] = []
    for branch in _use_tree_branches(tree):
        path, brace, group = branch.partition("{")
        if brace:
            yield from _parse_use_tree(prefix + path, group.removesuffix("}"))
            continue
        module, colons, name = branch.rpartition("::")
        if colons:
            yield ParsedImport((prefix + module).removeprefix("::"), *split_arrows([name]))
        else:
            names.append(name)
    if names:
        yield ParsedImport(prefix.removesuffix("::"), *split_arrows(names))


def _use_tree_branches(tree: str) -> Iterator[str]:
    """Yield the items between the commas outside of braces."""
    depth = start = 0
    for i, character in enumerate(tree):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == "," and depth == 0:
            if tree[start:i]:
                yield tree[start:i]
            start = i + 1
    if tree[start:]:
        yield tree[start:]


def _parse_declaration(text: str) -> Declarations:
    match = _LET.match(text)
    if match is None:
        return []
    variable, annotation, value, bracket = match.groups()
    if annotation:
        type_name = _TYPE_NAME.match(annotation.strip())
        return [(variable, type_name.group(1).replace("::", "."))] if type_name else []
    if not value:
        return []
    path = value.replace("::", ".")
    return pair(variable, chain_type(text, path, match.start(4)) if bracket == "(" else path)


def _is_public(definition: Definition) -> bool:
    return definition.signature.startswith("pub") or definition.parent_kind == "trait"


RUST = Language(
    name="rust",
    aliases=("rs",),
    extensions=("rs",),
    pack_grammar="rust",
    query_files=("rust",),
    mask="macros",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_marks=NameMarks(roots=frozenset({"crate"}), prefixes=("r#",), suffix="!"),
    visibility=Visibility(_is_public),
    annotations="in_head",
    ignored_references=frozenset("Err None Ok Self Some".split()),
    types=TypeSyntax(
        _parse_declaration,
        return_after_arrow,
        transparent_members=frozenset(
            "as_mut() as_ref() await borrow() borrow_mut() clone() expect() lock() to_owned() unwrap()".split()
        ),
    ),
    methods_in_other_files="anywhere",
    part_block="impl",
    imports=Imports(_parse_import, "rust", local_name=lambda module: module.rpartition("::")[2]),
    capitalized_types=True,
)
