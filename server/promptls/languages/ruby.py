"""Ruby."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.languages.declarations import Declarations, parse_new_call
from promptls.languages.import_statements import QUOTED, ParsedImport, call_parser
from promptls.languages.language import Imports, Language, Mixins, TypeSyntax
from promptls.languages.visibility import NO_UNDERSCORE
from promptls.util.text.regex import lazy_pattern

_NEW_CALL = lazy_pattern(r"(@{0,2}[A-Za-z_]\w*)\s*=\s*([A-Z][\w:]*)\.new\b")

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
_parse_relative, _parse_load = call_parser("require_relative"), call_parser("require", "load")


def _parse_import(text: str) -> Iterator[ParsedImport]:
    """Parse Ruby imports; those relative to the file begin with "./" or "../", others use the load path."""
    if text.startswith("autoload"):
        if quoted := QUOTED.search(text):
            yield ParsedImport(quoted.group(1))
        return
    for relative in _parse_relative(text):
        module = relative.module
        yield ParsedImport(module if module.startswith((".", "/")) else f"./{module}")
    yield from _parse_load(text)


def _parse_declaration(text: str) -> Declarations:
    return parse_new_call(text, _NEW_CALL.match(text))


RUBY = Language(
    name="ruby",
    aliases=("rb",),
    extensions=("rb", "rake", "gemspec", "ru"),
    file_names=("rakefile", "gemfile", "guardfile", "vagrantfile", "podfile", "fastfile"),
    shebangs=("ruby",),
    pack_grammar="ruby",
    query_files=("ruby",),
    line_comments=("#",),
    documentation="yard",
    name_separators=("::",),
    definition_calls={
        **dict.fromkeys(
            "context describe example fcontext fdescribe feature fit it scenario shared_context shared_examples "
            "shared_examples_for should specify test xcontext xdescribe xit".split(),
            "test",
        ),
        **_DEFINITION_CALLS,
    },
    member_calls=_MEMBER_CALLS,
    constructor="initialize",
    visibility=NO_UNDERSCORE,
    ignored_references=frozenset(
        "attr_accessor attr_reader attr_writer extend include lambda module_function prepend private proc "
        "protected public puts raise require require_relative".split()
    ),
    mixins=Mixins(prefix=rb"\b(?:include|extend|prepend)\b[ (][\w:, ]*$", are_modules=True),
    types=TypeSyntax(_parse_declaration, new_creates_instance=True),
    methods_in_other_files="anywhere",
    imports=Imports(_parse_import, "ruby"),
    names_without_import=True,
    implicit_self=True,
    capitalized_types=True,
)
