"""Vim script."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

VIM = Language(
    name="vim",
    aliases=("viml", "vimscript"),
    extensions=("vim",),
    file_names=(".vimrc", "vimrc"),
    pack_grammar="vim",
    query_files=("vim",),
    line_comments=('"',),
    dot_members=False,
    import_calls=("source", "runtime", "import"),
    import_resolution=PathImports(("", ".vim"), anywhere=True),
    imports_are_paths=True,
    names_without_import=True,
)
