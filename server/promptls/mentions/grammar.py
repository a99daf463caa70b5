r"""Grammar of mentions: parses message text into mentions.

`parse` is pure and total: it accepts any text, never raises and takes time linear in the length of the text.
It does not access the workspace, so an unknown "@word" is parsed as a file mention.  `resolve` decides whether it
is a mention at all, with the help of `is_explicit_reference`.
Increment `GRAMMAR_VERSION` when the meaning of a text changes; old forms remain as aliases.

    @src/a.py   @name.py   @/src/a.py   @"a b.py"   @a\ b.py   @@name       a file ("@@": a name that begins with "@")
    @a.py:10  @a.py:10-20  @a.py:10-  @a.py#L10  @a.py#L10-20  @a.py#L10-L20  @a.py#L10:20     lines of a file
    @dir/                                                                   a folder
    @src/*.py   @src/*.{ts,tsx}   @src/{a,b}.py                             all files that match a glob
    @#Name   @#Class.method   @#mod::name   @src/a.py#Name   @src/a.py::Name   a symbol, anywhere or in a file
    @root:path   @root:                                                     a path in a root, or the whole root
    @word   @word:argument   @word:"an argument"   @word:path:"an argument"  a mention kind with a keyword
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from promptls.mentions.lexer import QUOTED_CHAR, MentionToken, scan_mentions
from promptls.model import Mention, Span
from promptls.util.cancellation import check_each

GRAMMAR_VERSION = 3

Keywords = Mapping[str, str]
"""Keyword → whether it takes an argument ("@keyword:argument"): "nothing", "optional" or "required"."""

CORE_KEYWORDS: Keywords = dict.fromkeys(("active", "selection", "open", "visible", "workspace"), "nothing")
"""Keywords that exist without any registered kind."""

LAST_LINE = 2**31 - 1
"""End of an open range ("@a.py:10-"): resolvers clamp it to the length of the file."""

_COLON_LINES = re.compile(r":L?(?P<a>[0-9]+)(?:(?P<dash>[-–])L?(?P<b>[0-9]*)|(?::[0-9]+){0,2})$")
_HASH_LINES = re.compile(r"#L(?P<a>[0-9]+)(?:C[0-9]+)?(?:(?P<dash>[-–:])(?:L?(?P<b>[0-9]+)(?:C[0-9]+)?)?)?$")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_EXTENSION = re.compile(r"[^\s.][^/\\]*\.([A-Za-z][A-Za-z0-9_+-]*)$")
_CHOICES = re.compile(r"\{[^{}]*,[^{}]*\}")
_PACKAGE = re.compile(r"[a-z0-9][\w.-]*(?:/[\w.~-]+)+(?:@[\w.^~-]+)?$")

_EXTENSION_LIST = """
    adoc asm astro awk bash bat bazel bib bzl c c++ cc cfg cjs clj cljs cmake cmd conf cpp cs csproj css csv cts cu
    cuh cxx d dart diff dockerfile ejs el elm env erb erl ex exs f90 feature fish fs fsx gemspec go gql gradle
    graphql groovy h haml hbs hcl hh hpp hrl hs htm html hxx ini ino ipynb java jinja jinja2 jl js json json5 jsonc
    jsonl jsx kt kts less lhs lisp lock log lua m make markdown md mdc mdx mjs mk ml mli mm mod mts ndjson nim nix
    nu org pas php pl plist pm po prisma properties proto ps1 psd1 psm1 pug py pyi pyx r rake rb re rkt rmd rs rst
    s sass sbt scala scm scss sh sln slim sol sql styl sum sv svelte svg swift t tcl tex tf tfvars thrift tmpl toml
    tpl ts tsv tsx txt v vb vhd vhdl vim vue wasm wat wgsl xml xsd xsl xslt yaml yml zig zsh
"""
EXTENSIONS = frozenset(_EXTENSION_LIST.split())
"""Extensions that make a dotted word a file ("@app.py") instead of an attribute ("@app.route")."""


def parse(message: str, keywords: Keywords = CORE_KEYWORDS) -> list[Mention]:
    """Return the mentions of a message in text order, without overlaps.

    `keywords` usually come from `KindRegistry.keywords`.
    """
    return [m for token in scan_mentions(message) if (m := parse_token(token, message, keywords)) is not None]


def parse_token(token: MentionToken, message: str, keywords: Keywords = CORE_KEYWORDS) -> Mention | None:
    """Return the mention that a token represents, or None for an empty one ("@@")."""
    value, masked = token.value, token.masked
    if not value.strip("@"):
        return None
    text, start, end = message[token.start : token.end], token.start, token.end
    head, colon, _ = masked.partition(":")
    if value[: len(head)] in keywords and QUOTED_CHAR not in head and text[1] not in "\"'":
        keyword, argument = value[: len(head)], value[len(head) + 1 :]
        if not argument and keywords[keyword] != "required":
            return Mention(text.rstrip(":"), start, end - len(colon), keyword, "")
        if argument and keywords[keyword] != "nothing":
            scope, target = _split_argument(argument, masked[len(head) + 1 :])
            return Mention(text, start, end, keyword, target, None, "", scope)

    if masked[0] == "#":
        return Mention(text, start, end, "symbol", value[1:]) if len(value) > 1 else None
    lines = None
    if (match := _HASH_LINES.search(masked) or _COLON_LINES.search(masked)) and match.start() > 0:
        lines = _parse_lines(match)
        value, masked = value[: match.start()], masked[: match.start()]
    else:
        at = masked.find("#")
        if at > 0:
            root, path = _split_root(value[:at], masked[:at])
            return Mention(text, start, end, "symbol", value[at + 1 :], None, root, path)
        at = _symbol_colon(value, masked)
        if at > 0:
            root, path = _split_root(value[:at], masked[:at])
            return Mention(text, start, end, "symbol", value[at:].lstrip(":"), None, root, path)
        if "::" in masked and not masked.startswith(":"):
            return Mention(text, start, end, "symbol", value)

    root, path = _split_root(value, masked)
    if lines is not None and path:
        return Mention(text, start, end, "file", path, lines, root)
    if path.endswith("/") or (path and masked.endswith("\\")):
        path = path.rstrip("/") if path[-1] == "/" else path[: len(masked.rstrip("\\")) - len(masked)]
        kind = "folder" if path not in ("", ".") else "workspace"
        return Mention(text, start, end, kind, "" if kind == "workspace" else path, None, root)
    if root and not path:
        return Mention(text, start, end, "workspace", "", None, root)
    return Mention(text, start, end, "file", path, None, root)


def full_argument(mention: Mention) -> str:
    """Return everything after "@kind:", for kinds whose argument is a single name, path or pattern."""
    return f"{mention.scope}:{mention.target}" if mention.scope else mention.target


def is_explicit_reference(mention: Mention) -> bool:
    """Return whether an unresolved mention is an error, as opposed to prose, a decorator or a handle.

    It is an error if it has the form of a path or symbol: "#", "::", lines, a slash, a known file extension, a
    leading dot, or choices in braces.  A plain word ("@alice", "@Override"), a dotted word ("@app.route") and an npm
    package ("@types/node") are text.
    """
    if mention.kind != "file" and not (mention.kind == "workspace" and mention.root):
        return True
    if mention.kind == "workspace":
        return False
    return mention.lines is not None or is_path_like(mention.target)


def is_path_like(target: str) -> bool:
    """Return whether a text has the form of a path: a slash, a known extension, a leading dot, choices in braces."""
    if is_package_like(target):
        return False
    if "/" in target or "\\" in target or _CHOICES.search(target):
        return True
    if len(target) > 1 and target[0] == "." and target[1] not in ". ":
        return True
    match = _EXTENSION.match(target)
    return match is not None and match.group(1).lower() in EXTENSIONS


def is_package_like(target: str) -> bool:
    """Return whether a text has the form of an npm package name: "types/node", "scope/pkg@1.2"."""
    if not _PACKAGE.match(target):
        return False
    match = _EXTENSION.match(target.rsplit("/", 1)[-1])
    return match is None or match.group(1).lower() not in EXTENSIONS


def strip_mentions(message: str, mentions: Sequence[Mention]) -> str:
    """Return the message as a query: without mentions, but with the names of mentioned symbols."""
    parts: list[str] = []
    end = 0
    for mention in check_each(sorted(mentions, key=lambda m: m.start)):
        if mention.start < end:
            continue
        parts.append(message[end : mention.start])
        end = mention.end
        if mention.kind == "symbol":
            parts.append(mention.target)
        elif parts[-1].endswith(" ") and (end == len(message) or message[end] in " .,;:!?)"):
            parts[-1] = parts[-1][:-1]  # avoids a double space
    parts.append(message[end:])
    return "".join(parts).strip()


def utf16_offset(message: str, offset: int) -> int:
    """Convert a code point offset to an LSP offset in UTF-16 code units."""
    head = message[:offset]
    return len(head) if head.isascii() else len(head) + sum(char > "\uffff" for char in head)


def _split_argument(value: str, masked: str) -> tuple[str, str]:
    """Split "src/:'an argument'" into scope and argument; only a quoted argument can have a scope."""
    unquoted = masked.rstrip(QUOTED_CHAR)
    if unquoted.endswith(":") and len(unquoted) < len(masked) and len(unquoted) > 1:
        return value[: len(unquoted) - 1], value[len(unquoted) :]
    return "", value


def _parse_lines(match: re.Match[str]) -> Span:
    first = _line_number(match["a"])
    if not match["dash"]:
        return Span(first - 1, first)
    if not match["b"]:
        return Span(first - 1, LAST_LINE)
    last = _line_number(match["b"])
    return Span(min(first, last) - 1, max(first, last))


def _line_number(digits: str) -> int:
    return min(max(int(digits), 1), LAST_LINE)


def _split_root(value: str, masked: str) -> tuple[str, str]:
    """Split "root:path" into root and path; a drive letter is not a root."""
    if _DRIVE.match(masked):
        return "", value
    at = masked.find(":")
    return (value[:at], value[at + 1 :]) if at > 0 else ("", value)


def _symbol_colon(value: str, masked: str) -> int:
    """Return the offset of the colon in "src/a.py:name" and "src/a.py::Class::name", or 0.

    The text before it must have the form of a file and the text after it must not be a path.  Otherwise the text is
    "root:path".
    """
    start = 2 if _DRIVE.match(masked) else 0
    for match in re.finditer(":+", masked[start:]):
        at = start + match.start()
        left, right = value[:at], value[start + match.end() :]
        if right and is_path_like(left.rsplit(":", 1)[-1]) and not set(right) & set("/\\"):
            return at
    return 0
