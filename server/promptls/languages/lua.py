"""Lua."""

from __future__ import annotations

from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Language

LUA = Language(
    name="lua",
    extensions=("lua",),
    shebangs=("lua", "luajit"),
    pack_grammar="lua",  # the scanner of the legacy grammar keeps state from file to file
    query_files=("lua",),
    line_comments=("--",),
    block_comments=(("--[[", "]]"),),
    doc_tags="luals",
    name_separators=(".", ":"),
    method_owner_kinds=TYPE_KINDS | {"variable"},
    visibility="no_underscore",
    colon_members=True,
    import_calls=("require", "dofile"),
    import_resolution="lua",
    standard_libraries=frozenset("coroutine debug io math os package string table utf8".split()),
    names_without_import=True,
    members_need_owner=True,
    functions_as_members=True,
)
