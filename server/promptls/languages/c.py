"""C."""

from __future__ import annotations

from promptls.languages.language import Language

_STANDARD_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "aio assert complex ctype dirent dlfcn errno fcntl fenv float fnmatch grp iconv inttypes iso646"
        " langinfo libgen limits locale math netdb poll pthread pwd regex sched semaphore setjmp signal"
        " spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings"
        " syslog termios tgmath threads time uchar ucontext ulimit unistd wchar wctype"
    ).split()
)
"""Headers of the C standard library and of POSIX."""

C = Language(
    name="c",
    extensions=("c", "h"),
    pack_grammar="c",
    legacy_grammar="c",
    query_files=("c",),
    mask="c",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=("::",),
    reserved_names=frozenset("case defined do else for if return sizeof switch while".split()),
    visibility="not_static",
    ignored_references=frozenset({"size_t"}),
    arrow_members=True,
    declaration_syntax="type_first",
    return_syntax="type_first",
    import_syntax="include",
    import_resolution="c",
    imports_are_paths=True,
    standard_headers=_STANDARD_HEADERS,
    family="c",
    names_without_import=True,
)
