"""Functional languages."""

from __future__ import annotations

from promptls.languages.language import Language

ERLANG = Language(
    name="erlang",
    aliases=("erl",),
    extensions=("erl", "hrl", "escript", "yrl", "xrl"),
    file_names=("rebar.config", "rebar.config.script"),
    shebangs=("escript",),
    pack_grammar="erlang",
    query_files=("erlang",),
    line_comments=("%",),
    names_without_import=True,
)

FSHARP = Language(
    name="fsharp",
    aliases=("f#",),
    extensions=("fs", "fsx", "fsscript"),
    pack_grammar="fsharp",
    query_files=("fsharp",),
    line_comments=("//",),
    block_comments=(("(*", "*)"),),
    name_separators=(".",),
    names_without_import=True,
)

ELM = Language(
    name="elm",
    extensions=("elm",),
    pack_grammar="elm",
    query_files=("elm",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
)

GLEAM = Language(
    name="gleam",
    extensions=("gleam",),
    pack_grammar="gleam",
    query_files=("gleam",),
    line_comments=("//",),
)
