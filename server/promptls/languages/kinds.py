"""The kinds of symbols, and the sets of kinds that rules refer to."""

from __future__ import annotations

TYPE_KINDS = frozenset({"class", "interface", "trait", "struct", "enum", "union", "object", "impl"})
"""Kinds that can have methods. An "impl" has no name and extends the type that it names."""

CALLABLE_KINDS = frozenset({"function", "method", "constructor", "macro", "test"})
"""Kinds that can be called, tests included."""

SPACE_KINDS = frozenset({"namespace", "module", "impl"})
"""Kinds that only contain other definitions: no content of their own beyond a name."""

TITLED_KINDS = frozenset({"test", "section", "key", "rule", "block", "target", "stage"})
"""Kinds that are named by arbitrary text, which is not split into parts, except for keys of a language with separators."""

REPEATED_KINDS = frozenset({"variable", "constant", "field"})
"""Kinds where a second one of the same name and parent is an assignment, not another definition."""

SYMBOL_KINDS = frozenset(
    {*TYPE_KINDS, *CALLABLE_KINDS, *SPACE_KINDS, *TITLED_KINDS, *REPEATED_KINDS, "type", "property", "table", "view"}
)
"""Every value of `Symbol.kind`."""

FILE = "file"
"""A file in `Language.method_owner_kinds`; no kind of a symbol."""
