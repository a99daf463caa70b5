"""Ruby."""

from __future__ import annotations

from promptls.languages.language import Language

_DEFINITION_CALLS = {
    **dict.fromkeys("alias_method define_method define_singleton_method scope".split(), "method"),
    **dict.fromkeys(
        "attribute belongs_to embedded_in embeds_many embeds_one enum has_and_belongs_to_many has_many "
        "has_many_attached has_one has_one_attached has_rich_text".split(),
        "property",
    ),
    **dict.fromkeys("let let! let_it_be subject subject!".split(), "variable"),
    **dict.fromkeys("class_eval class_exec module_eval module_exec refine".split(), "impl"),
    "Class": "class",
    "Data": "struct",
    "Module": "module",
    "Struct": "struct",
    "multitask": "target",
    "namespace": "namespace",
    "task": "target",
}
"""Calls that define what their first argument, or the constant on the left, names. From the documentation of Ruby,
Rails, Mongoid, RSpec and Rake."""

_MEMBER_CALLS = {
    **dict.fromkeys(
        "Data Struct attr attr_accessor attr_reader attr_writer attribute_method cattr_accessor cattr_reader "
        "cattr_writer class_attribute mattr_accessor mattr_reader mattr_writer store_accessor "
        "thread_mattr_accessor".split(),
        "property",
    ),
    **dict.fromkeys("def_delegator def_delegators def_instance_delegators delegate".split(), "method"),
}
"""Calls that define what each of their symbols names."""

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
    test_calls=frozenset(
        "context describe example fcontext fdescribe feature fit it scenario shared_context shared_examples "
        "shared_examples_for should specify test xcontext xdescribe xit".split()
    ),
    definition_calls=_DEFINITION_CALLS,
    member_calls=_MEMBER_CALLS,
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
