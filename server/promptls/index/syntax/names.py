"""Names of definitions: what a name's text says of its owner, which calls define something.

Pure functions and tables of the languages' ways to write "this belongs to that".
"""

from __future__ import annotations

import re

_MAX_REFERENCE = 100  # characters; longer ones are data
_TEMPLATE = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d]\w*(?:(?:::|\.|\\)[^\W\d]\w*)*")
_NOISE = re.compile(r"'\w+\b|\b(?:mut|dyn|const)\b")
_OPERATOR = re.compile(r"(?:(.*)::)?\s*operator\b(\s*\(\)|\s*\[\]|\s*[^\s\w(]+|[^(]*)", re.DOTALL)
_DOTS = re.compile(r"\.")
_COLONS = re.compile(r"::")

_SEPARATORS: dict[str, re.Pattern[str]] = {
    "c": _COLONS,
    "cpp": _COLONS,
    "csharp": _DOTS,
    "elixir": _DOTS,
    "javascript": _DOTS,
    "jsx": _DOTS,
    "julia": _DOTS,
    "lua": re.compile(r"[.:]"),
    "perl": _COLONS,
    "php": re.compile(r"\\"),
    "ruby": _COLONS,
    "sql": _DOTS,
    "svelte": _DOTS,
    "tsx": _DOTS,
    "typescript": _DOTS,
    "vue": _DOTS,
}
"""How a language joins the parts of a name; in others a name is one part whatever it holds."""

_UNOWNED = frozenset({"module", "exports", "prototype", "this", "window", "globalThis", "root"})
"""Parts of a JavaScript name that say nothing of an owner."""

_SCRIPTS = frozenset({"javascript", "jsx", "typescript", "tsx", "vue", "svelte"})

VERBS: dict[str, dict[str, str]] = {
    "elixir": {
        "def": "function",
        "defp": "function",
        "defguard": "macro",
        "defmacro": "macro",
        "defmacrop": "macro",
        "defdelegate": "function",
        "defmodule": "module",
        "defprotocol": "interface",
        "defimpl": "impl",
        "test": "test",
        "describe": "test",
        "@callback": "function",
        "@macrocallback": "macro",
        "@type": "type",
        "@typep": "type",
        "@opaque": "type",
    },
    "elisp": {
        "defcustom": "variable",
        "defgroup": "variable",
        "defface": "variable",
        "defalias": "function",
        "define-minor-mode": "function",
        "define-derived-mode": "function",
        "cl-defun": "function",
        "cl-defmethod": "function",
        "cl-defgeneric": "function",
        "cl-defmacro": "macro",
        "cl-defstruct": "struct",
        "defclass": "class",
    },
    "html": {"id": "section"},
    "r": {
        "setClass": "class",
        "setRefClass": "class",
        "R6Class": "class",
        "setGeneric": "function",
        "setMethod": "method",
    },
}
"""Calls that define what their first argument names, and the kind of it."""


NO_REFERENCES: dict[str, frozenset[str]] = {
    "c": frozenset({"size_t"}),
    "css": frozenset({"url", "var", "calc"}),
    "elixir": frozenset(VERBS["elixir"])
    | frozenset(
        "defstruct defexception import alias require use doc moduledoc typedoc spec type impl callback quote unquote "
        "abs and apply binding byte_size dbg div elem exit hd if in inspect is_atom is_binary is_boolean is_function "
        "is_integer is_list is_map is_nil is_number is_pid is_struct is_tuple length map_size max min node not or raise "
        "reraise rem round self send spawn struct struct! super tap then throw tl to_charlist to_string trunc unless".split()
    ),
    "go": frozenset(
        "any append bool byte cap close copy delete error float64 int int32 int64 len make new panic string "
        "uint uint32 uint64".split()
    ),
    "haskell": frozenset({"otherwise"}),
    "python": frozenset(
        "bool bytes classmethod dict float frozenset getattr hasattr int isinstance len list object "
        "print property range set setattr staticmethod str super tuple type".split()
    ),
    **dict.fromkeys(
        ("java", "kotlin", "scala", "swift"),
        frozenset("Any Boolean Bool Double Float Int Integer Long Object Override String Unit Void".split()),
    ),
    "perl": frozenset(
        "abs bless chomp chop chr close closedir defined delete die each eof eval exists exit grep hex index int join keys "
        "lc lcfirst length local log map mkdir open opendir ord pop print printf push quotemeta rand read readdir ref "
        "rename reverse rindex say scalar select shift sleep sort splice split sprintf sqrt stat substr time uc ucfirst "
        "undef unlink unpack unshift values wantarray warn write".split()
    ),
    "rust": frozenset({"Self", "Ok", "Err", "Some", "None"}),
    "ruby": frozenset(
        "attr_accessor attr_reader attr_writer extend include lambda module_function prepend private proc protected "
        "public puts raise require require_relative".split()
    ),
}
"""Words that queries find as references and that refer to nothing."""


def parts(text: str, language: str) -> list[str]:
    """The parts of a definition's name, owner first: "A<T>::b" in C++ is A, b.  Never empty."""
    if text.isidentifier():
        return [text]
    separator = _SEPARATORS.get(language)
    if text[:1] in "\"'":
        return [unquoted(text)]
    if separator is None:
        return [text.strip("()`" if language == "haskell" else "`$")]
    if language == "perl":
        text = text.lstrip("$@%")
    operator = _OPERATOR.match(text) if separator is _COLONS else None
    if operator:
        return [*_split(operator.group(1) or "", separator), "operator" + operator.group(2).rstrip()]
    found = _split(text, separator)
    if language in _SCRIPTS and len(found) > 1:
        found = [part for part in found[:-1] if part not in _UNOWNED] + found[-1:]
    return found or [text]


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    while "<" in text:
        stripped = _TEMPLATE.sub("", text)
        if stripped == text:
            break
        text = stripped
    return [part.strip() for part in separator.split(text) if part.strip()]


def type_name(text: str) -> str:
    """The bare name of a type as written: "*Server", "&'a mut Vec<T>", "fmt::Result" → its last part."""
    match = _WORD.search(_NOISE.sub(" ", text))
    return re.split(r"::|\.|\\", match.group())[-1] if match else ""


def owner(text: str, language: str) -> list[str]:
    """The owner of a definition as name parts: a receiver or, in JavaScript, what is assigned to."""
    if language in _SCRIPTS:
        return parts(text, language)[:-1]
    name = type_name(text)
    return [name] if name else []


def reference(text: str, language: str) -> str:
    """The name that a reference captures: its last part, "" for what is no name."""
    if len(text) > _MAX_REFERENCE:
        return ""
    if not text.isidentifier():
        text = re.split(r"::|\.|\\|=", text)[-1].strip("`\"' ")
    return text


def unquoted(text: str) -> str:
    """A title or key without its quotes, white space folded."""
    text = " ".join(text.split())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1]
    return text
