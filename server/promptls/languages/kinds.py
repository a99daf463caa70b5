"""The kinds of symbols, and the families of them that rules speak of."""

from __future__ import annotations

TYPE_KINDS = frozenset({"class", "interface", "trait", "struct", "enum", "union", "object", "impl"})
"""What can have methods; an "impl" is nameless and stands for the type that it adds to."""

CALLABLE_KINDS = frozenset({"function", "method", "constructor", "macro", "test"})

SPACE_KINDS = frozenset({"namespace", "module", "impl"})
"""What only holds other definitions: no content of its own beyond a name."""

TITLED_KINDS = frozenset({"test", "section", "key", "rule", "block", "target", "stage"})
"""Named by any text, which is not taken apart."""

REPEATED_KINDS = frozenset({"variable", "constant", "field"})
"""A second one of the same name in the same place is an assignment, no second definition."""

SYMBOL_KINDS = frozenset(
    {*TYPE_KINDS, *CALLABLE_KINDS, *SPACE_KINDS, *TITLED_KINDS, *REPEATED_KINDS, "type", "property", "table", "view"}
)
"""Every `Symbol.kind` there is."""
