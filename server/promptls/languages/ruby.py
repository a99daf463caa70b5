"""Ruby."""

from __future__ import annotations

from promptls.languages.language import Language

RUBY = Language(
    name="ruby",
    aliases=("rb",),
    extensions=("rb", "rake", "gemspec", "ru"),
    file_names=("rakefile", "gemfile", "guardfile", "vagrantfile", "podfile", "fastfile"),
    shebangs=("ruby",),
    pack_grammar="ruby",
    legacy_grammar="ruby",
    query_files=("ruby",),
    line_comments=("#",),
    doc_tags="yard",
    name_separators=("::",),
    test_calls=frozenset("context describe feature it scenario shared_examples specify test".split()),
    constructor="initialize",
    visibility="no_underscore",
    ignored_references=frozenset(
        "attr_accessor attr_reader attr_writer extend include lambda module_function prepend private proc "
        "protected public puts raise require require_relative".split()
    ),
    mixin_prefix=rb"\b(?:include|extend|prepend)\b[ (][\w:, ]*$",
    declaration_syntax="ruby",
    instantiates_with_new=True,
    methods_in_other_files=True,
    modules_are_mixins=True,
    import_syntax="ruby",
    import_resolution="ruby",
    imports_are_paths=True,
    names_without_import=True,
    implicit_self=True,
    capitalized_types=True,
)
