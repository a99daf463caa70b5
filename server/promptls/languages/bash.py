"""Shell scripts: bash, sh, zsh and ksh."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

BASH = Language(
    name="bash",
    aliases=("shell", "sh", "zsh", "shellscript"),
    extensions=("sh", "bash", "zsh", "ksh", "ebuild", "bats"),
    file_names=(".bashrc", ".bash_profile", ".profile", ".zshrc", "pkgbuild"),
    shebangs=("sh", "bash", "zsh", "ksh", "dash"),
    pack_grammar="bash",
    legacy_grammar="bash",
    query_files=("bash",),
    line_comments=("#",),
    visibility="no_underscore",
    dot_members=False,
    import_calls=("source", "."),
    import_resolution=PathImports(("", ".sh")),
    imports_are_paths=True,
    names_without_import=True,
)
