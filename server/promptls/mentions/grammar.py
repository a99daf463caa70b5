"""The grammar of mentions: text in, mentions out, and back.

Pure and total: `parse` takes any text, never raises, and needs time linear in its length.  Nothing is
looked up here, so a bare "@word" comes out as a file mention; whether it names anything, or was only
prose or a decorator, is decided in `resolve` with the help of `is_reference`.
A change of what a text means raises `GRAMMAR_VERSION`; old spellings stay as aliases.

    @src/a.py   @name.py   @/src/a.py   @"a b.py"   @a\\ b.py   @@name       a file ("@@": one called "@name")
    @a.py:10  @a.py:10-20  @a.py:10-  @a.py#L10  @a.py#L10-20  @a.py#L10-L20  @a.py#L10:20     lines of it
    @dir/                                                                   a folder
    @src/*.py   @src/*.{ts,tsx}   @src/{a,b}.py                             all files that fit, where none is called so
    @#Name   @#Class.method   @#mod::name   @src/a.py#Name   @src/a.py::Name   a symbol, anywhere or in a file
    @root:path   @root:                                                     in, or all of, one workspace root
    @word   @word:argument   @word:"an argument"   @word:path:"an argument"  a kind that is called by its name
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from promptls.mentions.lexer import QUOTED, Token, tokens
from promptls.model import Mention, Span

GRAMMAR_VERSION = 3

Words = Mapping[str, str]
"""Kind called by its name → whether "@name:argument" is its as well: "nothing", "optional" or "required"."""

WORDS: Words = dict.fromkeys(("active", "selection", "open", "visible", "workspace"), "nothing")
"""Those that there are always."""

LAST_LINE = 2**31 - 1
"""End of an open range ("@a.py:10-"): the resolver cuts it to the file."""

_COLON_LINES = re.compile(r":L?(?P<a>[0-9]+)(?:(?P<dash>[-–])L?(?P<b>[0-9]*)|(?::[0-9]+){0,2})$")
_HASH_LINES = re.compile(r"#L(?P<a>[0-9]+)(?:C[0-9]+)?(?:(?P<dash>[-–:])(?:L?(?P<b>[0-9]+)(?:C[0-9]+)?)?)?$")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_EXTENSION = re.compile(r"[^\s.][^/\\]*\.([A-Za-z][A-Za-z0-9_+-]*)$")
_CHOICES = re.compile(r"\{[^{}]*,[^{}]*\}")
_PACKAGE = re.compile(r"[a-z0-9][\w.-]*(?:/[\w.~-]+)+(?:@[\w.^~-]+)?$")

_ENDINGS = """
    adoc asm astro awk bash bat bazel bib bzl c c++ cc cfg cjs clj cljs cmake cmd conf cpp cs csproj css csv cts cu
    cuh cxx d dart diff dockerfile ejs el elm env erb erl ex exs f90 feature fish fs fsx gemspec go gql gradle
    graphql groovy h haml hbs hcl hh hpp hrl hs htm html hxx ini ino ipynb java jinja jinja2 jl js json json5 jsonc
    jsonl jsx kt kts less lhs lisp lock log lua m make markdown md mdc mdx mjs mk ml mli mm mod mts ndjson nim nix
    nu org pas php pl plist pm po prisma properties proto ps1 psd1 psm1 pug py pyi pyx r rake rb re rkt rmd rs rst
    s sass sbt scala scm scss sh sln slim sol sql styl sum sv svelte svg swift t tcl tex tf tfvars thrift tmpl toml
    tpl ts tsv tsx txt v vb vhd vhdl vim vue wasm wat wgsl xml xsd xsl xslt yaml yml zig zsh
"""
EXTENSIONS = frozenset(_ENDINGS.split())
"""Endings that make a bare dotted word a file ("@app.py") and not an attribute ("@app.route")."""


def parse(message: str, words: Words = WORDS) -> list[Mention]:
    """The mentions of a message in text order; they never overlap.

    `words` are the kinds called by name, with whether they take an argument: `registry.words()`.
    """
    return [m for token in tokens(message) if (m := mention_of(token, message, words)) is not None]


def mention_of(token: Token, message: str, words: Words = WORDS) -> Mention | None:
    """What one token means, or None where it names nothing at all ("@@")."""
    plain, shape = token.plain, token.shape
    if not plain.strip("@"):
        return None
    text, start, end = message[token.start : token.end], token.start, token.end
    head, colon, _ = shape.partition(":")
    if plain[: len(head)] in words and QUOTED not in head and text[1] not in "\"'":
        word, argument = plain[: len(head)], plain[len(head) + 1 :]
        if not argument and words[word] != "required":
            return Mention(text.rstrip(":"), start, end - len(colon), word, "")
        if argument and words[word] != "nothing":
            scope, target = _argument(argument, shape[len(head) + 1 :])
            return Mention(text, start, end, word, target, None, "", scope)

    if shape[0] == "#":
        return Mention(text, start, end, "symbol", plain[1:]) if len(plain) > 1 else None
    lines = None
    if (found := _HASH_LINES.search(shape) or _COLON_LINES.search(shape)) and found.start() > 0:
        lines = _span(found)
        plain, shape = plain[: found.start()], shape[: found.start()]
    else:
        at = shape.find("#")
        if at > 0:
            root, path = _root(plain[:at], shape[:at])
            return Mention(text, start, end, "symbol", plain[at + 1 :], None, root, path)
        at = _symbol_colon(plain, shape)
        if at > 0:
            root, path = _root(plain[:at], shape[:at])
            return Mention(text, start, end, "symbol", plain[at:].lstrip(":"), None, root, path)
        if "::" in shape and not shape.startswith(":"):
            return Mention(text, start, end, "symbol", plain)

    root, path = _root(plain, shape)
    if lines is not None and path:
        return Mention(text, start, end, "file", path, lines, root)
    if path.endswith("/") or (path and shape.endswith("\\")):
        path = path.rstrip("/") if path[-1] == "/" else path[: len(shape.rstrip("\\")) - len(shape)]
        kind = "folder" if path not in ("", ".") else "workspace"
        return Mention(text, start, end, kind, "" if kind == "workspace" else path, None, root)
    if root and not path:
        return Mention(text, start, end, "workspace", "", None, root)
    return Mention(text, start, end, "file", path, None, root)


def argument(mention: Mention) -> str:
    """All that stands behind "@kind:", for the kinds whose argument is one name, path or pattern."""
    return f"{mention.scope}:{mention.target}" if mention.scope else mention.target


def is_reference(mention: Mention) -> bool:
    """Whether a mention that names nothing is a mistake to report, and not prose, a decorator or a handle.

    It is one if it has the look of a path or of a symbol reference: "#", "::", lines, a slash, a known file
    ending, a leading dot, choices in braces.  A bare word ("@alice", "@Override"), a dotted one ("@app.route") and an npm
    package ("@types/node") are text.
    """
    if mention.kind != "file" and not (mention.kind == "workspace" and mention.root):
        return True
    if mention.kind == "workspace":
        return False
    return mention.lines is not None or looks_like_path(mention.target)


def looks_like_path(target: str) -> bool:
    """Whether a text has the look of a path: a slash, a known ending, a leading dot, choices in braces."""
    if is_package(target):
        return False
    if "/" in target or "\\" in target or _CHOICES.search(target):
        return True
    if len(target) > 1 and target[0] == "." and target[1] not in ". ":
        return True
    found = _EXTENSION.match(target)
    return found is not None and found.group(1).lower() in EXTENSIONS


def is_package(target: str) -> bool:
    """Whether a target reads like an npm package ("types/node", "scope/pkg@1.2"): no file ending, plain segments."""
    if not _PACKAGE.match(target):
        return False
    found = _EXTENSION.match(target.rsplit("/", 1)[-1])
    return found is None or found.group(1).lower() not in EXTENSIONS


def strip(message: str, mentions: Sequence[Mention]) -> str:
    """The message as a query: mentions taken out, except that symbol names stay as words."""
    out: list[str] = []
    at = 0
    for mention in sorted(mentions, key=lambda m: m.start):
        if mention.start < at:
            continue
        out.append(message[at : mention.start])
        at = mention.end
        if mention.kind == "symbol":
            out.append(mention.target)
        elif out[-1].endswith(" ") and (at == len(message) or message[at] in " .,;:!?)"):
            out[-1] = out[-1][:-1]  # one blank less, so that no gap is left behind
    out.append(message[at:])
    return "".join(out).strip()


def utf16_offset(message: str, offset: int) -> int:
    """A code point offset as LSP counts it: in UTF-16 units."""
    head = message[:offset]
    return len(head) if head.isascii() else len(head) + sum(char > "\uffff" for char in head)


def code_point_offset(message: str, offset: int) -> int:
    """The reverse of `utf16_offset`; an offset inside a surrogate pair goes back to its start."""
    if message.isascii():
        return min(offset, len(message))
    units = 0
    for i, char in enumerate(message):
        units += 2 if char > "\uffff" else 1
        if units > offset:
            return i
    return len(message)


def _argument(plain: str, shape: str) -> tuple[str, str]:
    """(path, argument) of "src/:'what is looked for'": only a quoted argument can have a path before it."""
    bare = shape.rstrip(QUOTED)
    if bare.endswith(":") and len(bare) < len(shape) and len(bare) > 1:
        return plain[: len(bare) - 1], plain[len(bare) :]
    return "", plain


def _span(found: re.Match[str]) -> Span:
    first = _line(found["a"])
    if not found["dash"]:
        return Span(first - 1, first)
    if not found["b"]:
        return Span(first - 1, LAST_LINE)
    last = _line(found["b"])
    return Span(min(first, last) - 1, max(first, last))


def _line(digits: str) -> int:
    return min(max(int(digits), 1), LAST_LINE)


def _root(plain: str, shape: str) -> tuple[str, str]:
    """(root, path) of "root:path"; a drive letter is no root."""
    if _DRIVE.match(shape):
        return "", plain
    at = shape.find(":")
    return (plain[:at], plain[at + 1 :]) if at > 0 else ("", plain)


def _symbol_colon(plain: str, shape: str) -> int:
    """Offset of the colon in "src/a.py:name" and "src/a.py::Class::name", 0 if there is none.

    Only after something that is a file by its look, and before something that cannot be a path: else it
    is "root:path".
    """
    start = 2 if _DRIVE.match(shape) else 0
    for found in re.finditer(":+", shape[start:]):
        at = start + found.start()
        left, right = plain[:at], plain[start + found.end() :]
        if right and looks_like_path(left.rsplit(":", 1)[-1]) and not set(right) & set("/\\"):
            return at
    return 0
