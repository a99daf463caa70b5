"""Haskell and OCaml."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.import_statements import ParsedImport, last_part
from promptls.languages.language import Imports, Language


def _parse_haskell(text: str) -> Iterator[ParsedImport]:
    """Parse `import A`, with some or all of its names, or none if it is qualified; `as B` renames the module."""
    match = re.match(
        r"import\s+(?:safe\s+)?(qualified\s+)?([\w.]+)(\s+qualified)?(?:\s+as\s+([\w.]+))?\s*(hiding)?\s*(\(.*\))?",
        text,
        re.DOTALL,
    )
    if match is None:
        return
    qualified_before, module, qualified_after, alias, hiding, name_list = match.groups()
    if alias:
        yield ParsedImport(module, (), (alias,))
    if not qualified_before and not qualified_after:
        text_of_names = re.sub(r"\([^()]*\)", "", name_list[1:-1]) if name_list and not hiding else "*"
        names = tuple(name.strip(" ()\n") for name in text_of_names.split(",") if name.strip(" ()\n"))
        if names or not alias:
            yield ParsedImport(module, names)
    elif not alias:
        yield ParsedImport(module, (), (module,))


def _parse_ocaml(text: str) -> Iterator[ParsedImport]:
    if match := re.match(r"(?:(?:open!?|include)\s+)?([A-Z][\w.]*)", text):
        yield ParsedImport(match.group(1), ("*",))


HASKELL = Language(
    name="haskell",
    extensions=("hs",),
    shebangs=("runhaskell",),
    pack_grammar="haskell",
    query_files=("haskell",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
    ignored_references=frozenset({"otherwise"}),
    member_operators=(),
    imports=Imports(_parse_haskell, "haskell", local_name=last_part),
    functions_as_members=True,
    capitalized_types=True,
)

OCAML = Language(
    name="ocaml",
    aliases=("objective-caml",),
    extensions=("ml",),
    shebangs=("ocaml",),
    pack_grammar="ocaml",
    query_files=("ocaml",),
    block_comments=(("(*", "*)"),),
    imports=Imports(_parse_ocaml, "ocaml"),
    family="ocaml",
    functions_as_members=True,
    capitalized_types=True,
)

OCAML_INTERFACE = Language(
    name="ocaml_interface",
    dialect_of="ocaml",
    extensions=("mli",),
    pack_grammar="ocaml_interface",
    query_files=("ocaml",),
    block_comments=(("(*", "*)"),),
    imports=Imports(_parse_ocaml, "ocaml"),
    family="ocaml",
)
