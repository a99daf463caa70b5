"""Python."""

from __future__ import annotations

from promptls.languages.language import Language

PYTHON = Language(
    name="python",
    aliases=("py", "python3"),
    extensions=("py", "pyi", "pyw"),
    file_names=("sconstruct", "sconscript", "wscript"),
    shebangs=("python", "python2", "python3", "pypy"),
    pack_grammar="python",
    legacy_grammar="python",
    query_files=("python",),
    line_comments=("#",),
    docstrings="string",
    constructor="__init__",
    visibility="python",
    has_decorators=True,
    ignored_references=frozenset(
        "bool bytes classmethod dict float frozenset getattr hasattr int isinstance len list object print "
        "property range set setattr staticmethod str super tuple type".split()
    ),
    declaration_syntax="python",
    return_syntax="arrow",
    import_syntax="python",
    import_resolution="python",
    imports_in_functions=True,
    capitalized_types=True,
)
