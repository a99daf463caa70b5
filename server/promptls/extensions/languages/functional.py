"""Functional languages."""

from __future__ import annotations

from promptls.extensions.languages import outlined

ERLANG = outlined(
    "erlang",
    "erl hrl escript yrl xrl",
    aliases=("erl",),
    file_names=("rebar.config", "rebar.config.script"),
    shebangs=("escript",),
    line_comments=("%",),
)

FSHARP = outlined(
    "fsharp",
    "fs fsx fsscript",
    aliases=("f#",),
    line_comments=("//",),
    block_comments=(("(*", "*)"),),
    name_separators=(".",),
)

ELM = outlined("elm", "elm", line_comments=("--",), block_comments=(("{-", "-}"),), names_without_import=False)

GLEAM = outlined("gleam", "gleam", line_comments=("//",), names_without_import=False)
