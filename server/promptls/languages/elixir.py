"""Elixir."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.import_statements import ParsedImport, last_part
from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Imports, Language, Mixins, NameMarks
from promptls.languages.visibility import Definition, Visibility

_DEFINITION_CALLS = {
    "def": "function",
    "defp": "function",
    "defguard": "macro",
    "defmacro": "macro",
    "defmacrop": "macro",
    "defdelegate": "function",
    "defmodule": "module",
    "defprotocol": "interface",
    "defimpl": "impl",
    "test": "test",
    "describe": "test",
    "@callback": "function",
    "@macrocallback": "macro",
    "@type": "type",
    "@typep": "type",
    "@opaque": "type",
}

_BUILT_IN = frozenset(
    "defstruct defexception import alias require use doc moduledoc typedoc spec type impl callback quote "
    "unquote abs and apply binding byte_size dbg div elem exit hd if in inspect is_atom is_binary "
    "is_boolean is_function is_integer is_list is_map is_nil is_number is_pid is_struct is_tuple length "
    "map_size max min node not or raise reraise rem round self send spawn struct struct! super tap then "
    "throw tl to_charlist to_string trunc unless".split()
)


def _parse_import(text: str) -> Iterator[ParsedImport]:
    """Parse Elixir imports: `import` brings all names of a module, and a module that is used is called SUPER."""
    match = re.match(r"(alias|import|use|require)[\s(]+([\w.]+?)\.?(?:\{([^}]*)\}|(?![\w.]))", text)
    if match is None:
        return
    keyword, module, group = match.groups()
    if group is not None:
        yield ParsedImport(module, tuple(name for name in re.split(r"[\s,]+", group) if name))
    elif keyword == "import":
        yield ParsedImport(module, ("*",))
    elif keyword == "use":
        yield ParsedImport(module, (), ("SUPER",))
    else:
        alias = re.search(r"\bas:\s*([A-Z]\w*)", text)
        yield ParsedImport(module, (), (alias.group(1),) if alias else ())


def _is_exported(definition: Definition) -> bool:
    return not definition.signature.startswith(("defp ", "defmacrop "))


ELIXIR = Language(
    name="elixir",
    extensions=("ex", "exs"),
    shebangs=("elixir",),
    pack_grammar="elixir",
    query_files=("elixir",),
    line_comments=("#",),
    documentation="attribute",
    name_separators=(".",),
    name_marks=NameMarks(suffix=r"/\d+"),
    definition_calls=_DEFINITION_CALLS,
    method_owner_kinds=TYPE_KINDS | {"module"},
    visibility=Visibility(_is_exported),
    ignored_references=frozenset(_DEFINITION_CALLS) | _BUILT_IN,
    mixins=Mixins(prefix=rb"(?:@behaviour|\buse)[ (]+$", are_imports=True),
    self_names=frozenset({"__MODULE__"}),
    imports=Imports(_parse_import, "elixir", local_name=last_part),
    names_without_import=True,
    implicit_self=True,
    owner_required="modules",
    functions_as_members=True,
    capitalized_types=True,
)
