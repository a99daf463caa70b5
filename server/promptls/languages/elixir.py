"""Elixir."""

from __future__ import annotations

from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Language

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

ELIXIR = Language(
    name="elixir",
    extensions=("ex", "exs"),
    shebangs=("elixir",),
    pack_grammar="elixir",
    legacy_grammar="elixir",
    query_files=("elixir",),
    line_comments=("#",),
    docstrings="attribute",
    name_separators=(".",),
    name_suffix=r"/\d+",
    definition_calls=_DEFINITION_CALLS,
    method_owner_kinds=TYPE_KINDS | {"module"},
    visibility="not_defp",
    ignored_references=frozenset(_DEFINITION_CALLS) | _BUILT_IN,
    mixin_prefix=rb"(?:@behaviour|\buse)[ (]+$",
    self_names=frozenset({"__MODULE__"}),
    bases_from_imports=True,
    import_syntax="elixir",
    import_resolution="elixir",
    import_binds_last_part=True,
    names_without_import=True,
    implicit_self=True,
    module_members_need_owner=True,
    functions_as_members=True,
    capitalized_types=True,
)
