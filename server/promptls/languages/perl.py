"""Perl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import Declarations, parse_new_call
from promptls.languages.import_statements import ParsedImport, last_part
from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Imports, Language, Mixins, TypeSyntax
from promptls.languages.names import split_at_separators
from promptls.languages.visibility import NO_UNDERSCORE
from promptls.util.text.regex import lazy_pattern

_NEW_CALL = lazy_pattern(r"(?:my\s+|our\s+|local\s+|state\s+)?(\$[A-Za-z_]\w*)\s*=\s*([A-Z]\w*(?:::\w+)*)->new\b")


def _parse_import(text: str) -> Iterator[ParsedImport]:
    """Parse Perl imports; the parent packages of a package are called SUPER in it."""
    match = re.match(r"(?:use|no|require)\s+([A-Za-z]\w*(?:::\w+)*)\s*(.*)", text, re.DOTALL)
    if match and match.group(1) not in ("strict", "warnings", "utf8", "lib", "constant", "feature", "vars"):
        module, arguments = match.groups()
        if module in ("parent", "base"):
            for name in re.findall(r"[\w:]+", re.sub(r"\bqw\b|-norequire", "", arguments)):
                yield ParsedImport(name, (), ("SUPER",))
        elif module == "Mojo::Base":
            parent = re.match(r"['\"]([A-Z][\w:]*)", arguments)
            yield ParsedImport(
                parent.group(1) if parent else "Mojo::Base", (), ("SUPER",) if parent or "-base" in arguments else ()
            )
        else:
            words = re.match(r"qw\s*\W([^)\]}/]*)", arguments)
            yield ParsedImport(module, tuple(words.group(1).split()) if words else ())


def _parse_declaration(text: str) -> Declarations:
    return parse_new_call(text, _NEW_CALL.match(text))


def _split_name(text: str) -> list[str]:
    """Split a name without its sigil."""
    return split_at_separators(text.lstrip("$@%"), ("::",)) or [text]


PERL = Language(
    name="perl",
    extensions=("pl", "pm", "t"),
    shebangs=("perl",),
    pack_grammar="perl",
    query_files=("perl",),
    line_comments=("#",),
    name_separators=("::",),
    split_name=_split_name,
    method_owner_kinds=TYPE_KINDS | {"module"},
    visibility=NO_UNDERSCORE,
    ignored_references=frozenset(
        "abs bless chomp chop chr close closedir defined delete die each eof eval exists exit grep hex index "
        "int join keys lc lcfirst length local log map mkdir open opendir ord pop print printf push quotemeta "
        "rand read readdir ref rename reverse rindex say scalar select shift sleep sort splice split sprintf "
        "sqrt stat substr time uc ucfirst undef unlink unpack unshift values wantarray warn write".split()
    ),
    member_operators=(".", "::", "->", "\\"),
    mixins=Mixins(are_imports=True),
    types=TypeSyntax(_parse_declaration, new_creates_instance=True),
    self_names=frozenset({"$class", "$self", "__PACKAGE__", "shift"}),
    imports=Imports(_parse_import, "perl", local_name=last_part),
    names_without_import=True,
    functions_as_members=True,
)
