"""Haskell."""

from __future__ import annotations

from promptls.languages.language import Language

HASKELL = Language(
    name="haskell",
    extensions=("hs",),
    shebangs=("runhaskell",),
    pack_grammar="haskell",
    legacy_grammar="haskell",
    query_files=("haskell",),
    line_comments=("--",),
    block_comments=(("{-", "-}"),),
    ignored_references=frozenset({"otherwise"}),
    dot_members=False,
    import_syntax="haskell",
    import_resolution="haskell",
    import_binds_last_part=True,
    functions_as_members=True,
    capitalized_types=True,
)
