"""OCaml: implementation and interface files."""

from __future__ import annotations

from promptls.languages.language import Language

OCAML = Language(
    name="ocaml",
    aliases=("objective-caml",),
    extensions=("ml",),
    shebangs=("ocaml",),
    pack_grammar="ocaml",
    legacy_grammar="ocaml",
    query_files=("ocaml",),
    block_comments=(("(*", "*)"),),
    import_syntax="ocaml",
    import_resolution="ocaml",
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
    import_syntax="ocaml",
    import_resolution="ocaml",
    family="ocaml",
)
