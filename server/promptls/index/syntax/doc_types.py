"""Types in documentation comments, for variables without a declared type: JSDoc, PHPDoc, YARD and LuaLS annotations.

"@param {Cart} cart" above a function gives ("cart", "Cart"), and "@returns {Cart}" gives ("()", "Cart"). "@type {Cart}"
is the type of the declaration below it, and "@import { Cart } from './cart'" is an import. Comments are read from the
text. The line of a type is the line of the code below the comment. The time is proportional to the number of tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.languages.import_statements import Names

RETURN_VALUE = "()"
"""Name of the variable whose type is the return type of a function."""

UNCERTAIN = "?"
"""Prefix of a type that may be defined in a comment itself ("@typedef", "@class"), where no symbol exists."""

_MAX_TAGS = 20_000
"""Tags per file; more are ignored."""

_MAX_NESTED_WRAPPERS = 4
"""Levels of wrapper types, such as promises of promises, that are unwrapped."""

_MAX_COMMENT_BYTES = 20_000
"""Bytes between a tag and the end of its comment."""

_DECLARATION_BYTES = 160
"""Bytes of the code below a comment that are searched for a declaration."""

_COMMENT_PREFIX_BYTES = 200
"""Bytes before a tag on its line that may belong to the comment marker."""

_TAG = re.compile(rb"@(param|arg|returns?|type|var)\b[ \t]*([^\n]*)")
_COMMENT_PREFIX = re.compile(rb"(?:/\*\*|^[ \t]*\*|^[ \t]*(?://+|--+|#+))[ \t]*\Z")
_LINE_COMMENT = re.compile(rb"[ \t]*(?://|--|#)[^\n]*\n")
_ATTRIBUTES = re.compile(rb"(?:\s+|#\[[^\]\n]*\]|@[A-Za-z_][\w.]*(?:\([^()\n]*\))?\s)*")
_CAST_TARGET = re.compile(rb"(?:(?:const|let|var)\s+([A-Za-z_$][\w$]*)|(this\.[A-Za-z_$][\w$]*))\s*=\s*\Z")

_BRACED = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}\s*(.*)")
_JS_PARAMETER = re.compile(r"\[?([A-Za-z_$][\w$]*)(?![\w$.])")
_JS_DECLARATION = re.compile(
    rb"(?:(?:export|const|let|var|static|async|get|set)\s+)*(#?[A-Za-z_$][\w$]*(?:\.#?[A-Za-z_$][\w$]*)?)\s*(?:[=;,:)\n]|$)"
)
_PHP_TYPE = re.compile(r"([\\\w|?]+(?:\[\]|<[^<>]*>)?)(?:\s+&?(?:\.\.\.)?(\$\w+))?")
_PHP_DECLARATION = re.compile(rb"(?:[?\\\w|]+\s+)*(\$\w+)")
_YARD_TYPE = re.compile(r"(?:([a-z_]\w*)\s+)?\[([^\[\]]*)\](?:\s+([a-z_]\w*))?")
_LUA_PARAMETER = re.compile(r"([A-Za-z_]\w*)\??\s+([\w.]+(?:\[\])?)")
_LUA_DECLARATION = re.compile(rb"(?:local\s+)?([A-Za-z_]\w*(?:\.\w+)?)\s*(?:=|$)")

_IMPORT_TYPE = re.compile(r"import\(\s*[\"']([^\"']+)[\"']\s*\)(?:\.([A-Za-z_$][\w$]*))?")
_TYPEDEF = re.compile(rb"@typedef\s*\{\s*(import\([^{}\n]*)\}\s*([A-Za-z_$][\w$]*)")
_IMPORT_TAG = re.compile(
    rb"@import\s+([^\n{]{0,80}?(?:\{[^{}]{0,4000}\}[^\n{]{0,80}?)?from\s*[\"'][^\"'\n]{1,300}[\"'])"
)
_COMMENT_MARGIN = re.compile(r"\n[ \t]*\*?")
_BUILT_IN_TYPES = frozenset(
    "Array ArrayBuffer Buffer Date Function Map Object Promise RegExp Set Uint8Array WeakMap WeakSet any array bigint boolean "
    "function integer number object string symbol table unknown".split()
)
_NULL_TYPES = frozenset({"", "null", "undefined", "nil", "false", "void", "nil?"})
_TYPE_NAME = re.compile(r"\\?([A-Za-z_$][\w$]*(?:(?:\.|\\|::)[A-Za-z_$][\w$]*)*)(?:<(.*)>)?")
_TAG_SYNTAXES = ("jsdoc", "phpdoc", "yard", "luals")
_PROMISES = frozenset({"Promise", "PromiseLike", "Awaited"})


def documented_types(source: SourceText, language: Language) -> Iterator[tuple[str, str, int]]:
    """Yield (variable, type, line) of the tags in comments; types without a name are skipped."""
    data = source.data
    if language.documentation not in _TAG_SYNTAXES or b"@" not in data:
        return
    comment_end = 0
    for count, tag in enumerate(_TAG.finditer(data)):
        if count >= _MAX_TAGS:
            return
        line_start = data.rfind(b"\n", 0, tag.start()) + 1
        prefix = _COMMENT_PREFIX.search(data[max(line_start, tag.start() - _COMMENT_PREFIX_BYTES) : tag.start()])
        if prefix is None or (language.documentation == "luals" and not prefix.group().endswith(b"---")):
            continue  # LDoc's "-- @param name description" has no type
        if tag.start() >= comment_end:
            comment_end = _comment_end(data, tag.start(), b"*" in prefix.group())
        if not comment_end:
            continue
        attributes = _ATTRIBUTES.match(data, comment_end)
        code = attributes.end() if attributes is not None else comment_end
        text = tag.group(2).decode("utf-8", "replace").split("*/")[0].strip()
        parsed = _parse_tag(tag.group(1).decode(), text, language)
        if parsed is None:
            continue
        variable, type_ = parsed
        if not variable:
            before = data[line_start : max(line_start, data.rfind(b"/**", line_start, tag.start()))]
            variable = _declared_variable(data[code : code + _DECLARATION_BYTES], before, language)
        if variable and type_:
            is_certain = language.documentation in ("phpdoc", "yard") or type_ in _BUILT_IN_TYPES
            yield variable, type_ if is_certain else UNCERTAIN + type_, source.line_at(code)


def documented_imports(source: SourceText, language: Language) -> Iterator[tuple[str, Names, Names, int]]:
    """Yield (module, names, local names, line) of the types that comments import."""
    if language.documentation != "jsdoc" or language.imports is None or b"import" not in source.data:
        return
    for match in _TYPEDEF.finditer(source.data):
        imported = _IMPORT_TYPE.match(match.group(1).decode("utf-8", "replace"))
        if imported is not None:
            name, local = imported.group(2) or "*", match.group(2).decode()
            yield imported.group(1), (name,), (local,) if local != name else (), source.line_at(match.start())
    for match in _IMPORT_TAG.finditer(source.data):
        clause = _COMMENT_MARGIN.sub(" ", match.group(1).decode("utf-8", "replace"))
        for module, names, local_names in language.imports.parse(f"import {clause}"):
            yield module, names, local_names, source.line_at(match.start())


def _comment_end(data: bytes, start: int, is_block: bool) -> int:
    """Return the end of the comment around a byte, 0 if it is too far away."""
    if is_block:
        closer = data.find(b"*/", start, start + _MAX_COMMENT_BYTES)
        return closer + 2 if closer >= 0 else 0
    end = data.find(b"\n", start) + 1
    while end and (comment := _LINE_COMMENT.match(data, end)) is not None:
        end = comment.end()
    return end


def _parse_tag(tag: str, text: str, language: Language) -> tuple[str, str] | None:
    """Return (variable, type) of a tag; "" for the variable declared below, None for a tag without a type."""
    variable = RETURN_VALUE if tag.startswith("return") else ""
    is_parameter = tag in ("param", "arg")
    if language.documentation == "jsdoc":
        braced = _BRACED.match(text)
        name = _JS_PARAMETER.match(braced.group(2)) if braced is not None and is_parameter else None
        if braced is None or (is_parameter and name is None):
            return None
        return name.group(1) if name is not None else variable, _documented_class(braced.group(1))
    if language.documentation == "phpdoc":
        typed = _PHP_TYPE.match(text)
        if typed is None or (is_parameter and not typed.group(2)):
            return None
        return variable or typed.group(2) or "", _documented_class(typed.group(1))
    if language.documentation == "yard":
        yard = _YARD_TYPE.match(text)
        if yard is None or (is_parameter and not (yard.group(1) or yard.group(3))):
            return None
        type_ = _documented_class(yard.group(2).replace(",", "|"))
        return variable or yard.group(1) or yard.group(3) or "", type_
    if not is_parameter:
        return variable, _documented_class(text.partition(" ")[0])
    parameter = _LUA_PARAMETER.match(text)
    return (parameter.group(1), _documented_class(parameter.group(2))) if parameter is not None else None


@lru_cache(maxsize=1 << 12)
def _documented_class(text: str) -> str:
    """Return the class name of a type: "Cart" for "?Cart", "Cart|null" and "Promise<Cart>".

    "" for a choice of several types, and for types without a name.
    """
    for _ in range(_MAX_NESTED_WRAPPERS):
        text = text.strip().lstrip("?!").removesuffix("=")
        imported = _IMPORT_TYPE.match(text)
        if imported is not None:
            return imported.group(2) or ""
        options = [option for option in _union_members(text) if option.lower() not in _NULL_TYPES]
        if len(options) != 1:
            return ""
        if options[0].endswith("[]"):
            return "Array"
        match = _TYPE_NAME.fullmatch(options[0])
        if match is None:
            return ""
        name, text = match.group(1), match.group(2) or ""
        if name not in _PROMISES or not text:
            return name.replace("\\", ".").replace("::", ".")
    return ""


def _union_members(text: str) -> Iterator[str]:
    """Yield the members of a union type."""
    depth = start = 0
    for position, char in enumerate(text):
        depth += (char in "<({[") - (char in ">)}]")
        if char == "|" and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    yield text[start:].strip()


def _declared_variable(code: bytes, before: bytes, language: Language) -> str:
    """Return the variable that the code below a comment declares.

    Args:
        code: The code below the comment.
        before: Text before the comment on its line, for a cast such as "const x = /** @type {A} */ (y)".
        language: The language of the file.
    """
    match: re.Match[bytes] | None = None
    if language.documentation == "jsdoc":
        if code.startswith(b"("):
            cast = _CAST_TARGET.search(before)
            return (cast.group(1) or cast.group(2)).decode() if cast is not None else ""
        match = _JS_DECLARATION.match(code)
    elif language.documentation == "phpdoc":
        match = _PHP_DECLARATION.match(code)
    elif language.documentation == "luals":
        match = _LUA_DECLARATION.match(code)
    return match.group(1).decode() if match is not None else ""
