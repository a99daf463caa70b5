"""The languages that are parsed: how a file is recognised, which grammar and queries read it.

A plain table, no grammar is loaded here and nothing outside the standard library and msgspec is
imported, so the server process may ask for a name at any time.  The table is an allow-list: a
grammar that is not named here is never run (one of the pack loops for ever on plain text).
Must not know how a grammar is found (`grammars`) or what a query means (`outline`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from promptls.index.syntax.source_text import Mask


class Language(Struct, frozen=True):
    """One row of the table."""

    name: str
    extensions: tuple[str, ...] = ()  # lower case, without the dot
    files: tuple[str, ...] = ()  # whole file names, lower case
    shebangs: tuple[str, ...] = ()  # interpreter names of a first line "#!…"
    pack: str = ""  # grammar in tree-sitter-language-pack 0.13, "" for none
    legacy: str = ""  # grammar in tree-sitter-languages 1.10.2, "" for none
    queries: tuple[str, ...] = ()  # files of queries/, in order of precedence
    line: tuple[str, ...] = ()  # what starts a comment that ends with its line, longest first
    block: tuple[tuple[str, str], ...] = ()  # openers and closers of other comments
    tests: frozenset[str] = frozenset()  # calls that define a test: describe("title", …)
    mask: Mask = ""  # what the parser shall not see


_COMMENTS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "c": (("//",), (("/*", "*/"),)),
    "css": ((), (("/*", "*/"),)),
    "hash": (("#",), ()),
    "haskell": (("--",), (("{-", "-}"),)),
    "html": ((), (("<!--", "-->"),)),
    "lisp": ((";",), ()),
    "lua": (("--",), (("--[[", "]]"),)),
    "ml": ((), (("(*", "*)"),)),
    "sql": (("--",), (("/*", "*/"),)),
    "vim": (('"',), ()),
}


def _row(
    name: str,
    extensions: str,
    comments: str = "c",
    *,
    files: str = "",
    shebangs: str = "",
    pack: str | None = None,
    legacy: str | None = None,
    queries: str | None = None,
    tests: str = "",
    mask: Mask = "",
) -> Language:
    """A row from words; grammars and queries are called like the language unless said otherwise."""
    line, block = _COMMENTS[comments]
    return Language(
        name=name,
        extensions=tuple(extensions.split()),
        files=tuple(files.split()),
        shebangs=tuple(shebangs.split()),
        pack=name if pack is None else pack,
        legacy=name if legacy is None else legacy,
        queries=tuple((queries or name).split()),
        line=line,
        block=block,
        tests=frozenset(tests.split()),
        mask=mask,
    )


_JS_TESTS = "describe it test suite context specify bench t"

LANGUAGES: tuple[Language, ...] = (
    _row("python", "py pyi pyw", files="sconstruct sconscript wscript", shebangs="python python2 python3 pypy", comments="hash"),
    _row("javascript", "js mjs cjs", files="jakefile", shebangs="node nodejs", queries="javascript ecmascript", tests=_JS_TESTS),
    _row("jsx", "jsx", pack="javascript", legacy="javascript", queries="javascript ecmascript", tests=_JS_TESTS),
    _row("typescript", "ts mts cts", shebangs="deno ts-node bun", queries="typescript ecmascript", mask="signatures",
         tests=_JS_TESTS),
    _row("tsx", "tsx", queries="typescript ecmascript", mask="signatures", tests=_JS_TESTS),
    _row("go", "go", tests="Run"),
    _row("rust", "rs", mask="macros"),
    _row("java", "java"),
    _row("c", "c h"),
    _row("cpp", "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh", queries="cpp c"),
    _row("csharp", "cs csx", legacy="c_sharp"),
    _row("ruby", "rb rake gemspec ru", files="rakefile gemfile guardfile vagrantfile podfile fastfile", shebangs="ruby",
         comments="hash", tests="describe context it specify feature scenario shared_examples test"),
    _row("php", "php phtml php5", shebangs="php"),
    _row("kotlin", "kt kts"),
    _row("swift", "swift", legacy=""),
    _row("scala", "scala sc sbt"),
    _row("lua", "lua", shebangs="lua luajit", legacy="", comments="lua"),  # that one keeps state from file to file
    _row("bash", "sh bash zsh ksh ebuild bats", files=".bashrc .bash_profile .profile .zshrc pkgbuild",
         shebangs="sh bash zsh ksh dash", comments="hash"),
    _row("elixir", "ex exs", shebangs="elixir", comments="hash"),
    _row("haskell", "hs", shebangs="runhaskell", comments="haskell"),
    _row("ocaml", "ml", shebangs="ocaml", comments="ml"),
    _row("ocaml_interface", "mli", legacy="", queries="ocaml", comments="ml"),
    _row("r", "r", files=".rprofile", shebangs="rscript", comments="hash"),
    _row("sql", "sql ddl pgsql", comments="sql"),
    _row("html", "html htm xhtml", comments="html"),
    _row("css", "css", comments="css"),
    _row("scss", "scss", legacy="", queries="css"),
    _row("markdown", "md markdown mdx mkd", comments="html"),
    _row("json", "json jsonc json5 webmanifest geojson"),
    _row("yaml", "yaml yml", files=".clang-format .clang-tidy", comments="hash"),
    _row("toml", "toml", files="cargo.lock poetry.lock uv.lock pipfile", comments="hash"),
    _row("dart", "dart", legacy=""),
    _row("zig", "zig zon", legacy=""),
    _row("julia", "jl", shebangs="julia", comments="hash"),
    _row("vue", "vue", pack="typescript", legacy="typescript", queries="typescript ecmascript", mask="markup"),
    _row("svelte", "svelte", pack="typescript", legacy="typescript", queries="typescript ecmascript", mask="markup"),
    _row("dockerfile", "dockerfile", files="dockerfile containerfile", comments="hash"),
    _row("make", "mk mak", files="makefile gnumakefile", shebangs="make", comments="hash"),
    _row("hcl", "hcl tf tfvars", comments="hash"),
    _row("proto", "proto", legacy=""),
    _row("graphql", "graphql gql graphqls", legacy="", comments="hash"),
    _row("elisp", "el", files=".emacs", shebangs="emacs", comments="lisp"),
    _row("vim", "vim", files=".vimrc vimrc", legacy="", comments="vim"),
    _row("perl", "pl pm t", shebangs="perl", comments="hash"),
    _row("nix", "nix", legacy="", comments="hash"),
)  # fmt: skip

BY_NAME = {language.name: language for language in LANGUAGES}


def _index(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return dict(pairs)


_EXTENSION = _index((extension, language.name) for language in LANGUAGES for extension in language.extensions)
_FILE = _index((file, language.name) for language in LANGUAGES for file in language.files)
_SHEBANG = _index((shebang, language.name) for language in LANGUAGES for shebang in language.shebangs)

_C_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_CPLUSPLUS = re.compile(
    r"^[ \t]*(?:template[ \t]*<|namespace\b[ \t]*[\w:]*[ \t]*(?:\{|$)|using[ \t]+(?:namespace\b|\w+[ \t]*=)"
    r"|(?:public|private|protected)[ \t]*:|class[ \t]+\w[^;()*]*(?:[{:]|$))|\w::~?\w",
    re.MULTILINE,
)
_HEAD = 64 * 1024  # characters of a header that are looked at


def language_of(path: str, head: str = "") -> str:
    """Name of the language of a file, "text" when unknown; `head` is its text or the first lines of it.

    Looks at the file name, then the extension, then a first line "#!…".  A ".h" file is C unless
    its text looks like C++.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if name in _FILE:
        return _FILE[name]
    stem, dot, extension = name.rpartition(".")
    if dot and extension in _EXTENSION:
        if extension == "h" and _CPLUSPLUS.search(_C_COMMENT.sub(" ", head[:_HEAD])):
            return "cpp"
        return _EXTENSION[extension]
    if stem in ("dockerfile", "containerfile", "makefile") or name.startswith(("dockerfile.", "makefile.")):
        return "make" if "makefile" in name else "dockerfile"
    if head.startswith("#!"):
        return _shebang(head.split("\n", 1)[0])
    return "text"


def _shebang(line: str) -> str:
    """Language of a first line such as "#!/usr/bin/env -S python3.11 -u"."""
    for word in line[2:].split():
        program = word.rsplit("/", 1)[-1].lower()
        if program == "env" or word.startswith("-") or "=" in word:
            continue
        return _SHEBANG.get(program) or _SHEBANG.get(program.rstrip("0123456789."), "text")
    return "text"
