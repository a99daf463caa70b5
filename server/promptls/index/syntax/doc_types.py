"""What comments say of types, where code does not: JSDoc, PHPDoc, YARD and the annotations of LuaLS.

"@param {Cart} cart" above a function gives ("cart", "Cart"), "@returns {Cart}" gives ("()", "Cart"), "@type {Cart}"
names what is declared below it, and "@import { Cart } from './cart'" is an import.  Read from the text; the line of
each is that of the code below the comment.  Pure; proportional to the tags there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from promptls.index.syntax.imports import Names, imports_of
from promptls.index.syntax.source_text import Source

RESULT = "()"
"""The variable whose type is what a function returns."""

MAYBE = "?"
"""Before a type that may be one of the comments' own ("@typedef", "@class"), of which nothing else is known."""

_SCRIPTS = frozenset({"javascript", "jsx", "vue", "svelte"})
LANGUAGES = _SCRIPTS | {"php", "ruby", "lua"}

_MAX_TAGS = 20_000  # a file
_MAX_WRAPPERS = 4  # promises of promises
_MAX_COMMENT = 20_000  # bytes between a tag and the end of its comment
_TAG = re.compile(rb"@(param|arg|returns?|type|var)\b[ \t]*([^\n]*)")
_BEGUN = re.compile(rb"(?:/\*\*|^[ \t]*\*|^[ \t]*(?://+|--+|#+))[ \t]*\Z")  # what is before a tag on its line
_REMARK = re.compile(rb"[ \t]*(?://|--|#)[^\n]*\n")
_ASIDE = re.compile(rb"(?:\s+|#\[[^\]\n]*\]|@[A-Za-z_][\w.]*(?:\([^()\n]*\))?\s)*")  # attributes, decorators
_CAST = re.compile(rb"(?:(?:const|let|var)\s+([A-Za-z_$][\w$]*)|(this\.[A-Za-z_$][\w$]*))\s*=\s*\Z")

_BRACED = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}\s*(.*)")
_SCRIPT_NAME = re.compile(r"\[?([A-Za-z_$][\w$]*)(?![\w$.])")
_SCRIPT_DECLARED = re.compile(
    rb"(?:(?:export|const|let|var|static|async|get|set)\s+)*(#?[A-Za-z_$][\w$]*(?:\.#?[A-Za-z_$][\w$]*)?)\s*(?:[=;,:)\n]|$)"
)
_PHP_TYPED = re.compile(r"([\\\w|?]+(?:\[\]|<[^<>]*>)?)(?:\s+&?(?:\.\.\.)?(\$\w+))?")
_PHP_DECLARED = re.compile(rb"(?:[?\\\w|]+\s+)*(\$\w+)")
_YARD = re.compile(r"(?:([a-z_]\w*)\s+)?\[([^\[\]]*)\](?:\s+([a-z_]\w*))?")
_LUA_NAMED = re.compile(r"([A-Za-z_]\w*)\??\s+([\w.]+(?:\[\])?)")
_LUA_DECLARED = re.compile(rb"(?:local\s+)?([A-Za-z_]\w*(?:\.\w+)?)\s*(?:=|$)")

_IMPORTED = re.compile(r"import\(\s*[\"']([^\"']+)[\"']\s*\)(?:\.([A-Za-z_$][\w$]*))?")
_TYPEDEF = re.compile(rb"@typedef\s*\{\s*(import\([^{}\n]*)\}\s*([A-Za-z_$][\w$]*)")
_TAKEN = re.compile(rb"@import\s+([^\n{]{0,80}?(?:\{[^{}]{0,4000}\}[^\n{]{0,80}?)?from\s*[\"'][^\"'\n]{1,300}[\"'])")
_MARGIN = re.compile(r"\n[ \t]*\*?")
_BUILT_IN = frozenset(
    "Array ArrayBuffer Buffer Date Function Map Object Promise RegExp Set Uint8Array WeakMap WeakSet any array bigint boolean "
    "function integer number object string symbol table unknown".split()
)
_NOTHING = frozenset({"", "null", "undefined", "nil", "false", "void", "nil?"})
_NAME = re.compile(r"\\?([A-Za-z_$][\w$]*(?:(?:\.|\\|::)[A-Za-z_$][\w$]*)*)(?:<(.*)>)?")
_WAITED = frozenset({"Promise", "PromiseLike", "Awaited"})


def types(source: Source, language: str) -> Iterator[tuple[str, str, int]]:
    """(variable, type, line) of what comments say; nothing for types that have no name."""
    data = source.data
    if language not in LANGUAGES or b"@" not in data:
        return
    end = 0
    for count, tag in enumerate(_TAG.finditer(data)):
        if count >= _MAX_TAGS:
            return
        line = data.rfind(b"\n", 0, tag.start()) + 1
        begun = _BEGUN.search(data[max(line, tag.start() - 200) : tag.start()])
        if begun is None or (language == "lua" and not begun.group().endswith(b"---")):
            continue  # LDoc's "-- @param name what it is" says no type
        if tag.start() >= end:
            end = _closed(data, tag.start(), b"*" in begun.group())
        if not end:
            continue
        aside = _ASIDE.match(data, end)
        code = aside.end() if aside is not None else end
        word = tag.group(1).decode()
        told = _told(word, tag.group(2).decode("utf-8", "replace").split("*/")[0].strip(), language)
        if told is None:
            continue
        variable, of = told
        if not variable:
            before = data[line : max(line, data.rfind(b"/**", line, tag.start()))]
            variable = _declared(data[code : code + 160], before, language)
        if variable and of:
            yield variable, of if language in ("php", "ruby") or of in _BUILT_IN else MAYBE + of, source.row(code)


def imports(source: Source, language: str) -> Iterator[tuple[str, Names, Names, int]]:
    """(module, names, locals, line) of the types that comments import."""
    if language not in _SCRIPTS or b"import" not in source.data:
        return
    for match in _TYPEDEF.finditer(source.data):
        found = _IMPORTED.match(match.group(1).decode("utf-8", "replace"))
        if found is not None:
            name, local = found.group(2) or "*", match.group(2).decode()
            yield found.group(1), (name,), (local,) if local != name else (), source.row(match.start())
    for match in _TAKEN.finditer(source.data):
        written = _MARGIN.sub(" ", match.group(1).decode("utf-8", "replace"))
        for module, names, called in imports_of(f"import {written}", language):
            yield module, names, called, source.row(match.start())


def _closed(data: bytes, start: int, block: bool) -> int:
    """Where the comment that holds a byte ends, 0 if that is too far away."""
    if block:
        closed = data.find(b"*/", start, start + _MAX_COMMENT)
        return closed + 2 if closed >= 0 else 0
    at = data.find(b"\n", start) + 1
    while at and (remark := _REMARK.match(data, at)) is not None:
        at = remark.end()
    return at


def _told(word: str, text: str, language: str) -> tuple[str, str] | None:
    """(variable, type) of a tag; "" for the variable that is declared below, None for no type."""
    variable = RESULT if word.startswith("return") else ""
    named = word in ("param", "arg")
    if language in _SCRIPTS:
        braced = _BRACED.match(text)
        name = _SCRIPT_NAME.match(braced.group(2)) if braced is not None and named else None
        if braced is None or (named and name is None):
            return None
        return name.group(1) if name is not None else variable, _type(braced.group(1))
    if language == "php":
        typed = _PHP_TYPED.match(text)
        if typed is None or (named and not typed.group(2)):
            return None
        return variable or typed.group(2) or "", _type(typed.group(1))
    if language == "ruby":
        yard = _YARD.match(text)
        if yard is None or (named and not (yard.group(1) or yard.group(3))):
            return None
        return variable or yard.group(1) or yard.group(3) or "", _type(yard.group(2).replace(",", "|"))
    if not named:
        return variable, _type(text.partition(" ")[0])
    listed = _LUA_NAMED.match(text)
    return (listed.group(1), _type(listed.group(2))) if listed is not None else None


@lru_cache(maxsize=1 << 12)
def _type(text: str) -> str:
    """The name of a type: of "?Cart" and "Cart|null" that of a cart, of "Promise<Cart>" too; "" for a choice of several,
    and for what has no name."""
    for _ in range(_MAX_WRAPPERS):
        text = text.strip().lstrip("?!").removesuffix("=")
        imported = _IMPORTED.match(text)
        if imported is not None:
            return imported.group(2) or ""
        kept = [option for option in _options(text) if option.lower() not in _NOTHING]
        if len(kept) != 1:
            return ""
        if kept[0].endswith("[]"):
            return "Array"
        match = _NAME.fullmatch(kept[0])
        if match is None:
            return ""
        name, text = match.group(1), match.group(2) or ""
        if name not in _WAITED or not text:
            return name.replace("\\", ".").replace("::", ".")
    return ""


def _options(text: str) -> Iterator[str]:
    """The types that a type is a choice of."""
    depth = begin = 0
    for at, char in enumerate(text):
        depth += (char in "<({[") - (char in ">)}]")
        if char == "|" and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def _declared(code: bytes, before: bytes, language: str) -> str:
    """What the code below a comment declares; `before`: what stands before the comment on its line."""
    if language in _SCRIPTS:
        if code.startswith(b"("):
            cast = _CAST.search(before)
            return (cast.group(1) or cast.group(2)).decode() if cast is not None else ""
        match = _SCRIPT_DECLARED.match(code)
    else:
        match = (_PHP_DECLARED if language == "php" else _LUA_DECLARED).match(code) if language != "ruby" else None
    return match.group(1).decode() if match is not None else ""
