"""Perl."""

from __future__ import annotations

from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Language

PERL = Language(
    name="perl",
    extensions=("pl", "pm", "t"),
    shebangs=("perl",),
    pack_grammar="perl",
    legacy_grammar="perl",
    query_files=("perl",),
    line_comments=("#",),
    name_separators=("::",),
    method_owner_kinds=TYPE_KINDS | {"module"},
    visibility="no_underscore",
    ignored_references=frozenset(
        "abs bless chomp chop chr close closedir defined delete die each eof eval exists exit grep hex index "
        "int join keys lc lcfirst length local log map mkdir open opendir ord pop print printf push quotemeta "
        "rand read readdir ref rename reverse rindex say scalar select shift sleep sort splice split sprintf "
        "sqrt stat substr time uc ucfirst undef unlink unpack unshift values wantarray warn write".split()
    ),
    arrow_members=True,
    declaration_syntax="perl",
    self_names=frozenset({"$class", "$self", "__PACKAGE__", "shift"}),
    instantiates_with_new=True,
    bases_from_imports=True,
    import_syntax="perl",
    import_resolution="perl",
    import_binds_last_part=True,
    names_without_import=True,
    functions_as_members=True,
)
