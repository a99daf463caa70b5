"""Language detection by file name, extension, shebang line and, for C headers and notebooks, by content."""

from __future__ import annotations

import re
from functools import cache

from promptls.languages.language import Language
from promptls.languages.registry import LANGUAGES, PLAIN_TEXT, language_named

_BY_EXTENSION = {extension: language.name for language in LANGUAGES.values() for extension in language.extensions}
_BY_FILE_NAME = {file_name: language.name for language in LANGUAGES.values() for file_name in language.file_names}
_BY_SHEBANG = {interpreter: language.name for language in LANGUAGES.values() for interpreter in language.shebangs}
_BY_ALIAS = {alias: language.name for language in LANGUAGES.values() for alias in (*language.aliases, language.name)}

NOTEBOOK_HEADER = "Jupyter notebook"
"""First words of the text of a notebook, before the name of its language in parentheses."""

_NOTEBOOK_LANGUAGE = re.compile(rf"\S{{1,4}} {NOTEBOOK_HEADER} \((\w+)\)")

_MAX_HEADER_CHARS = 64 * 1024
"""Characters of a header that are searched for C++ syntax; bounds the time of the regular expressions."""


def language_of(path: str, head: str = "") -> str:
    """Return the name of the language of a file, "text" if it is unknown.

    The file name is checked first, then the extension, then a shebang line. A ".h" file is C unless its content has
    C++ syntax. A notebook has the language of its kernel, Python if its content is not given.

    Args:
        path: Path of the file, with forward slashes.
        head: Content of the file, or its first lines; of a notebook, the text of its cells.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if name in _BY_FILE_NAME:
        return _BY_FILE_NAME[name]
    stem, dot, extension = name.rpartition(".")
    if dot and extension == "ipynb":
        kernel = _NOTEBOOK_LANGUAGE.match(head)
        return language_named(kernel[1]).name if kernel else "json" if head else "python"
    if dot and extension in _BY_EXTENSION:
        if extension == "h" and _has_cpp_syntax(head[:_MAX_HEADER_CHARS]):
            return "cpp"
        return _BY_EXTENSION[extension]
    if stem in ("dockerfile", "containerfile", "makefile") or name.startswith(("dockerfile.", "makefile.")):
        return "make" if "makefile" in name else "dockerfile"
    if head.startswith("#!"):
        return _language_of_shebang(head.split("\n", 1)[0])
    return PLAIN_TEXT.name


def language_by_alias(name: str) -> Language | None:
    """Return the language of a name, alias or extension (".py"), with or without a version; None if it is unknown."""
    name = name.strip().lower()
    for candidate in (name, name.rstrip("0123456789.").rstrip("-_ ")):
        found = _BY_EXTENSION.get(candidate[1:]) if candidate.startswith(".") else _BY_ALIAS.get(candidate)
        if found is not None:
            return LANGUAGES[found]
    return None


def _has_cpp_syntax(header: str) -> bool:
    """Return whether a header has C++ syntax outside of comments."""
    comment, syntax = _header_patterns()
    return syntax.search(comment.sub(" ", header)) is not None


@cache
def _header_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns for C comments and for C++ syntax, compiled on first use to keep the import fast."""
    comment = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
    syntax = re.compile(
        r"^[ \t]*(?:template[ \t]*<|namespace\b[ \t]*[\w:]*[ \t]*(?:\{|$)|using[ \t]+(?:namespace\b|\w+[ \t]*=)"
        r"|(?:public|private|protected)[ \t]*:|class[ \t]+\w[^;()*]*(?:[{:]|$))|\w::~?\w",
        re.MULTILINE,
    )
    return comment, syntax


def _language_of_shebang(line: str) -> str:
    """Return the language of a line such as "#!/usr/bin/env -S python3.11 -u"."""
    for word in line[2:].split():
        program = word.rsplit("/", 1)[-1].lower()
        if program == "env" or word.startswith("-") or "=" in word:
            continue
        return _BY_SHEBANG.get(program) or _BY_SHEBANG.get(program.rstrip("0123456789."), PLAIN_TEXT.name)
    return PLAIN_TEXT.name
