"""Parsers of import statements, one per import syntax.

Each parser takes the text of a statement and yields its imports; none for a statement that imports nothing. Parsing
text instead of nodes makes the result independent of the version of a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from promptls.languages import Language

Names = tuple[str, ...]


class ParsedImport(NamedTuple):
    """One import as written."""

    module: str
    names: Names = ()
    """Imported names; "*" stands for all names, "default" for the default export."""
    local_names: Names = ()
    """Names in this file: one per imported name, or one for the module; () if they are the same."""


Imports = Iterator[ParsedImport]

_QUOTED = re.compile(r"""["'<`]([^"'>`\n]+)["'>`]""")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_COMMONJS_REQUIRE = re.compile(
    r"(\{[^{}]*\}|[^\W\d][\w$]*|\$[\w$]*)\s*(?::[^=]*)?=\s*(?:await\s+)?(?:require|import)\s*\([^()]*\)\s*(?:\.\s*([\w$]+))?\s*\Z"
)
_PARENTHESES = re.compile(r"[()\\]")
_HASH_COMMENT = re.compile(r"#[^\n]*")


def parse_imports(text: str, language: Language) -> list[ParsedImport]:
    """Return the imports of a statement."""
    parse = _call_parser(language.import_calls) if language.import_calls else _PARSERS.get(language.import_syntax)
    return list(parse(text.strip())) if parse is not None else []


def _parse_python(text: str) -> Imports:
    text = _PARENTHESES.sub(" ", _HASH_COMMENT.sub("", text))
    if text.startswith("from"):
        module, _, names = text[4:].partition(" import ")
        yield ParsedImport(
            "".join(module.split()), *_split_aliases([name.split() for name in names.split(",") if name.strip()])
        )
        return
    for module in text.removeprefix("import").split(","):
        if words := module.split():
            yield ParsedImport(words[0], (), tuple(words[2:3]) if words[1:2] == ["as"] else ())


def _split_aliases(pieces: list[list[str]]) -> tuple[Names, Names]:
    """Return (names, local names) of pieces such as [["a"], ["b", "as", "c"]]."""
    names = tuple(words[0] for words in pieces)
    local_names = tuple(words[2] if len(words) > 2 and words[1] in ("as", "=>") else words[0] for words in pieces)
    return names, local_names if local_names != names else ()


def _parse_ecmascript(text: str) -> Imports:
    module = _QUOTED.search(text)
    if module is None:
        return
    if text.startswith(("import", "export")) and not re.match(r"import\s*\(", text):
        yield ParsedImport(module.group(1), *_import_clause(text[: module.start()], text.startswith("export")))
    elif re.match(r"(?:require|import)\s*\(", text):
        yield ParsedImport(module.group(1))
    elif match := _COMMONJS_REQUIRE.match(text):
        target, member = match.groups()
        if not target.startswith("{"):
            yield ParsedImport(module.group(1), (member or "*",), (target,) if target != member else ())
        elif not member:
            pieces = [_IDENTIFIER.findall(piece.partition("=")[0]) for piece in target[1:-1].split(",")]
            bindings = [[words[0], "as", words[-1]] for words in pieces if words]
            yield ParsedImport(module.group(1), *_split_aliases(bindings))


def _import_clause(clause: str, is_export: bool) -> tuple[Names, Names]:
    """Return (names, local names) of "import a, { b as c, type d } from": a is "default", "* as e" is "*"."""
    is_assignment = "=" in clause
    clause = re.sub(
        r"^(?:import|export)\b(?:\s+type(?:of)?\b(?!\s*(?:,|from)))?|\bfrom\s*$|\brequire\s*\($|=", " ", clause
    )
    before, _, braced = clause.partition("{")
    pieces: list[list[str]] = []
    for in_braces, part in ((False, before), (True, braced)):
        for piece in re.split(r"[{},]", part):
            words = [word for word in piece.split() if word != "type"]
            if not words:
                continue
            if not in_braces and words[0] != "*" and not is_export:
                words = ["*" if is_assignment else "default", "as", words[0]]
            pieces.append(words)
    return _split_aliases(pieces)


def _parse_go(text: str) -> Imports:
    """Parse imports of Go and Protocol Buffers."""
    for module in _QUOTED.finditer(text):
        alias = _IDENTIFIER.search(text[: module.start()])
        yield ParsedImport(module.group(1), (), (alias.group(),) if alias and alias.group() != "import" else ())


def _parse_rust(text: str) -> Imports:
    if match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)", text):
        yield ParsedImport(f"self::{match.group(1)}")
    elif match := re.match(r"(?:pub\s+)?extern\s+crate\s+(\w+)", text):
        alias = re.search(r"\bas\s+(\w+)", text)
        yield ParsedImport(match.group(1), (), (alias.group(1),) if alias else ())
    elif match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?use\s+(.*?);?\s*$", re.sub(r"//[^\n]*", "", text), re.DOTALL):
        yield from _parse_use_tree("", "".join(re.sub(r"\s+as\s+(\w+)", r"=>\1", match.group(1)).split()))


def _parse_use_tree(prefix: str, tree: str) -> Imports:
    """Parse a use tree without whitespace: "a::{b,c::d}" imports b from "a" and d from "a::c"."""
    names: list[str] = []
    for branch in _use_tree_branches(tree):
        path, brace, group = branch.partition("{")
        if brace:
            yield from _parse_use_tree(prefix + path, group.removesuffix("}"))
            continue
        module, colons, name = branch.rpartition("::")
        if colons:
            yield ParsedImport((prefix + module).removeprefix("::"), *_split_arrows([name]))
        else:
            names.append(name)
    if names:
        yield ParsedImport(prefix.removesuffix("::"), *_split_arrows(names))


def _split_arrows(names: list[str]) -> tuple[Names, Names]:
    """Return (names, local names) of items such as "a" and "b=>c"."""
    return _split_aliases([list(name.partition("=>")) if "=>" in name else [name] for name in names])


def _use_tree_branches(tree: str) -> Iterator[str]:
    """Yield the items between the commas outside of braces."""
    depth = start = 0
    for i, character in enumerate(tree):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == "," and depth == 0:
            if tree[start:i]:
                yield tree[start:i]
            start = i + 1
    if tree[start:]:
        yield tree[start:]


def _parse_dotted(text: str) -> Imports:
    """Parse imports of Java, Kotlin and Scala: "import a.b.C", "a.b.*", "a.b.{C, D => E}"."""
    text = re.sub(r"^import\s+(?:static\s+)?|;", "", text)
    text = re.sub(r"\s+as\s+(\w+)", r"=>\1", text)
    path = "".join(text.split())
    module, brace, group = path.partition("{")
    if brace:
        yield ParsedImport(module.rstrip("."), *_split_arrows([name for name in group.rstrip("}").split(",") if name]))
        return
    module, _, name = path.rpartition(".")
    if module:
        yield ParsedImport(module, *_split_arrows(["*" if name == "_" else name]))
    else:
        yield ParsedImport(name)


def _parse_include(text: str) -> Imports:
    """Parse "#include" and "using" of C and C++."""
    if match := re.match(r"using\s+(?:namespace\s+)?([\w:]+)", text):
        yield ParsedImport(match.group(1))
    elif module := _QUOTED.search(text):
        yield ParsedImport(module.group(1))


def _parse_csharp(text: str) -> Imports:
    match = re.match(r"(?:global\s+)?using\s+(?:static\s+|unsafe\s+)*(?:\w+\s*=\s*)?([\w.:]+)", text)
    if match:
        yield ParsedImport(match.group(1))


@cache
def _call_parser(functions: tuple[str, ...]) -> Callable[[str], Imports]:
    """Return a parser of calls or commands such as require("x"), source x, library(x)."""
    function = re.compile(rf"(?:{'|'.join(map(re.escape, functions))})(?=[\s(\"'])")

    def parse_call(text: str) -> Imports:
        match = function.match(text)
        if match is None:
            return
        argument = text[match.end() :].strip(" \t\n(),;")
        if quoted := _QUOTED.match(argument):
            yield ParsedImport(quoted.group(1))
        elif word := re.match(r"[^\s,;()'\"]+", argument):
            yield ParsedImport(word.group())

    return parse_call


def _parse_ruby(text: str) -> Imports:
    """Parse Ruby imports; those relative to the file begin with "./" or "../", others use the load path."""
    if text.startswith("autoload"):
        if quoted := _QUOTED.search(text):
            yield ParsedImport(quoted.group(1))
        return
    for relative in _call_parser(("require_relative",))(text):
        module = relative.module
        yield ParsedImport(module if module.startswith((".", "/")) else f"./{module}")
    yield from _call_parser(("require", "load"))(text)


def _parse_php(text: str) -> Imports:
    if not text.startswith("use"):
        if quoted := _QUOTED.search(text):
            yield ParsedImport(quoted.group(1))
        return
    text = re.sub(r"^use\s+(?:function\s+|const\s+)?|;", "", text)
    prefix, brace, group = text.partition("{")
    if brace:
        names = tuple(_IDENTIFIER.findall(re.sub(r"\s+as\s+\w+", "", group)))
        yield ParsedImport(prefix.strip().strip("\\"), names)
        return
    for path in text.split(","):
        words = path.split()
        module, _, name = (words or [""])[0].rpartition("\\")
        alias = words[2:3] if words[1:2] == ["as"] else []
        if module:
            yield ParsedImport(module.lstrip("\\"), (name,), tuple(alias))
        else:
            yield ParsedImport(name, (), tuple(alias))


def _parse_swift(text: str) -> Imports:
    if match := re.search(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?([\w.]+)", text):
        yield ParsedImport(match.group(1))


def _parse_elixir(text: str) -> Imports:
    """Parse Elixir imports: `import` brings all names of a module, and a module that is used is called SUPER."""
    match = re.match(r"(alias|import|use|require)[\s(]+([\w.]+?)\.?(?:\{([^}]*)\}|(?![\w.]))", text)
    if match is None:
        return
    keyword, module, group = match.groups()
    if group is not None:
        yield ParsedImport(module, tuple(name for name in re.split(r"[\s,]+", group) if name))
    elif keyword == "import":
        yield ParsedImport(module, ("*",))
    elif keyword == "use":
        yield ParsedImport(module, (), ("SUPER",))
    else:
        alias = re.search(r"\bas:\s*([A-Z]\w*)", text)
        yield ParsedImport(module, (), (alias.group(1),) if alias else ())


def _parse_haskell(text: str) -> Imports:
    """Parse `import A`, with some or all of its names, or none if it is qualified; `as B` renames the module."""
    match = re.match(
        r"import\s+(?:safe\s+)?(qualified\s+)?([\w.]+)(\s+qualified)?(?:\s+as\s+([\w.]+))?\s*(hiding)?\s*(\(.*\))?",
        text,
        re.DOTALL,
    )
    if match is None:
        return
    qualified_before, module, qualified_after, alias, hiding, name_list = match.groups()
    if alias:
        yield ParsedImport(module, (), (alias,))
    if not qualified_before and not qualified_after:
        text_of_names = re.sub(r"\([^()]*\)", "", name_list[1:-1]) if name_list and not hiding else "*"
        names = tuple(name.strip(" ()\n") for name in text_of_names.split(",") if name.strip(" ()\n"))
        if names or not alias:
            yield ParsedImport(module, names)
    elif not alias:
        yield ParsedImport(module, (), (module,))


def _parse_ocaml(text: str) -> Imports:
    if match := re.match(r"(?:(?:open!?|include)\s+)?([A-Z][\w.]*)", text):
        yield ParsedImport(match.group(1), ("*",))


def _parse_quoted(text: str) -> Imports:
    """Parse a statement that imports each quoted string, as in CSS."""
    for module in _QUOTED.finditer(text):
        yield ParsedImport(module.group(1))


def _parse_html(text: str) -> Imports:
    match = re.search(r"\b(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", text)
    if match and text.startswith(("src", "<link")):
        yield ParsedImport(match.group(1))


def _parse_dart(text: str) -> Imports:
    """Parse Dart imports and exports.

    An export has the exported names, or "*" for all. An import without names is visible in this file only.
    """
    module = _QUOTED.search(text)
    if module is None:
        return
    shown = re.search(r"\bshow\s+([\w\s,]+)", text)
    alias = re.search(r"\bas\s+(\w+)", text)
    if alias:
        yield ParsedImport(module.group(1), ("*",), (alias.group(1),))
    else:
        all_names = ("*",) if text.startswith("export") else ()
        yield ParsedImport(module.group(1), tuple(_IDENTIFIER.findall(shown.group(1))) if shown else all_names)


def _parse_zig(text: str) -> Imports:
    match = re.match(r'(?:(?:const|var)\s+(\w+)\s*=\s*)?@import\(\s*"([^"]+)"\s*\)(?:\.([\w.]+))?', text)
    if match is not None:
        local_name, module, member = match.groups()
        yield ParsedImport(module, (member or "*",), (local_name,)) if local_name else ParsedImport(module)


def _parse_julia(text: str) -> Imports:
    if match := re.match(r"(?:using|import)\s+(.*)", text, re.DOTALL):
        module, colon, names = match.group(1).partition(":")
        if colon:
            yield ParsedImport(module.strip(), tuple(_IDENTIFIER.findall(names)))
        else:
            for name in module.split(","):
                yield ParsedImport(name.strip())
    else:
        yield from _call_parser(("include",))(text)


def _parse_elisp(text: str) -> Imports:
    if match := re.match(r"\((?:require|load)\s+['\"]([^\s'\")]+)", text):
        yield ParsedImport(match.group(1))


def _parse_perl(text: str) -> Imports:
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


def _parse_nix(text: str) -> Imports:
    if match := re.match(r"import\s+<?([^\s>]+)", text):
        yield ParsedImport(match.group(1))


_PARSERS: dict[str, Callable[[str], Imports]] = {
    "python": _parse_python,
    "ecmascript": _parse_ecmascript,
    "go": _parse_go,
    "rust": _parse_rust,
    "dotted": _parse_dotted,
    "include": _parse_include,
    "csharp": _parse_csharp,
    "ruby": _parse_ruby,
    "php": _parse_php,
    "swift": _parse_swift,
    "elixir": _parse_elixir,
    "haskell": _parse_haskell,
    "ocaml": _parse_ocaml,
    "quoted": _parse_quoted,
    "html": _parse_html,
    "dart": _parse_dart,
    "zig": _parse_zig,
    "julia": _parse_julia,
    "elisp": _parse_elisp,
    "perl": _parse_perl,
    "nix": _parse_nix,
}
"""Parser by `Language.import_syntax`."""
