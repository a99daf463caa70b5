"""C and C++."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import Declarations, parse_type_first
from promptls.languages.import_statements import QUOTED, ParsedImport
from promptls.languages.language import NAMED_AFTER_TYPE, Imports, Language, TypeSyntax
from promptls.languages.names import split_at_separators
from promptls.languages.signature_types import return_before_name
from promptls.languages.visibility import NOT_STATIC
from promptls.util.text.regex import lazy_pattern

_KEYWORDS = frozenset("case defined do else for if return sizeof switch while".split())
"""Keywords that the grammars mistake for function names when macros confuse them."""

STANDARD_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "aio assert complex ctype dirent dlfcn errno fcntl fenv float fnmatch grp iconv inttypes iso646"
        " langinfo libgen limits locale math netdb poll pthread pwd regex sched semaphore setjmp signal"
        " spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings"
        " syslog termios tgmath threads time uchar ucontext ulimit unistd wchar wctype"
    ).split()
)
"""Headers of the C standard library and of POSIX. Such an import never means a file of this name elsewhere in the workspace."""

_SMART_POINTER = lazy_pattern(
    r"(?:(?:static|const|mutable|inline)\s+)*(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|optional)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
    r"[\s&]+([A-Za-z_]\w*)"
)
_MAKE_POINTER = lazy_pattern(
    r"(?:const\s+)?auto[\s&]+([A-Za-z_]\w*)\s*=\s*(?:std::)?make_(?:unique|shared)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
)
_OPERATOR = lazy_pattern(r"(?:(.*)::)?\s*operator\b(\s*[\"]{2}\s*\w+|\s*\(\)|\s*\[\]|\s*[^\s\w(]+|[^(]*)", re.DOTALL)


def _parse_import(text: str) -> Iterator[ParsedImport]:
    """Parse "#include" and "using" of C and C++."""
    if match := re.match(r"using\s+(?:namespace\s+)?([\w:]+)", text):
        yield ParsedImport(match.group(1))
    elif module := QUOTED.search(text):
        yield ParsedImport(module.group(1))


def _parse_declaration(text: str) -> Declarations:
    if match := _SMART_POINTER.match(text):
        return [(match.group(2), match.group(1).replace("::", "."))]
    if match := _MAKE_POINTER.match(text):
        return [(match.group(1), match.group(2).replace("::", "."))]
    return parse_type_first(text)


def _split_name(text: str) -> list[str]:
    """Split a name, which may be that of an operator: ["A", "operator=="] for "A::operator =="."""
    operator = _OPERATOR.match(text)
    if operator:
        owners = split_at_separators(operator.group(1) or "", ("::",))
        return [*owners, "operator" + operator.group(2).rstrip()]
    return split_at_separators(text, ("::",)) or [text]


C = Language(
    name="c",
    extensions=("c", "h"),
    pack_grammar="c",
    query_files=("c",),
    mask="c",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=("::",),
    split_name=_split_name,
    reserved_names=_KEYWORDS,
    visibility=NOT_STATIC,
    ignored_references=frozenset({"size_t"}),
    member_operators=(".", "::", "->", "\\"),
    types=TypeSyntax(parse_type_first, return_before_name),
    imports=Imports(_parse_import, "c"),
    family="c",
    names_without_import=True,
)

CPP = Language(
    name="cpp",
    aliases=("c++", "cplusplus", "cuda", "cuda-cpp"),
    extensions=("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp", "cu", "cuh"),
    pack_grammar="cpp",
    query_files=("cpp", "c"),
    mask="cpp",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=("::",),
    split_name=_split_name,
    reserved_names=_KEYWORDS,
    constructor=NAMED_AFTER_TYPE,
    assignment_defines_method=True,
    visibility=NOT_STATIC,
    member_operators=(".", "::", "->", "\\"),
    types=TypeSyntax(_parse_declaration, return_before_name),
    methods_in_other_files="anywhere",
    imports=Imports(_parse_import, "c"),
    family="c",
    names_without_import=True,
    implicit_self=True,
)
