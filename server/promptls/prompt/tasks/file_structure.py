"""Context for questions about the structure of a file: its outline with sizes and the references between its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from promptls.graph.graph import GraphView
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import virtual_item
from promptls.model import Item, Origin, Symbol
from promptls.prompt.tasks import SCORE
from promptls.util.text.display import plural

MAX_PARTS = 150
"""Maximum number of definitions in an outline."""

MIN_LINES_WITH_MEMBERS = 60
"""Lines from which the members of a definition are listed."""

MIN_DATA_LINES = 3
"""Lines from which a variable or field is listed."""

_STRUCTURE = re.compile(
    r"\b(?:split|structured?|organi[sz]ed?|outline|divide|break(?:ing)? (?:it |this )?(?:up|apart)|too (?:long|big|large)"
    r"|responsibilit\w+|smaller (?:files?|modules?|parts?)|extract\w* modules?|aufteilen|aufbau|dividir|estructura\w*"
    r"|découper|structuré\w*)\b|拆分|结构|分割|構造",
    re.I,
)
_REFERENCES = frozenset({"calls", "uses", "inherits", "implements"})


def asks_for_structure(question: str) -> bool:
    """Return whether a question is about the parts of a file."""
    return bool(_STRUCTURE.search(question[:2000]))


def outlines_of_files(items: Sequence[Item], context: ResolveContext) -> list[Item]:
    """Return an outline, as a virtual document, of each file that is mentioned as a whole."""
    outlines: list[Item] = []
    for path in dict.fromkeys(item.path for item in items if item.kind == "file"):
        lines = list(_outline_lines(path, context.graph))
        if lines:
            item = virtual_item(context, f"{context.snapshot.label(path)} (outline)", "\n".join(lines), "outline")
            outlines.append(replace(item, origin=Origin.TASK, score=SCORE))
    return outlines


def _outline_lines(path: str, view: GraphView) -> Iterator[str]:
    """Yield a line for each part of a file: its lines, name, size, and the other parts that it uses."""
    facts = view.file_symbols(path)
    symbols = facts.symbols if facts is not None else ()
    listed = [i for i, symbol in enumerate(symbols) if _is_listed(symbol, symbols)][:MAX_PARTS]
    for i in listed:
        symbol = symbols[i]
        indent = "  " if symbol.parent >= 0 else ""
        size = plural(len(symbol.span), "line")
        used = _used_parts(path, i, symbols, view) if symbol.parent < 0 else ()
        uses = f"; uses {', '.join(used)}" if used else ""
        yield f"{indent}{symbol.span.label}  {symbol.kind} {symbol.name or '(anonymous)'}: {size}{uses}"


def _is_listed(symbol: Symbol, symbols: Sequence[Symbol]) -> bool:
    """Return whether a definition is a part: outermost or a member of a long one, but not a single line of data."""
    if symbol.kind not in CALLABLE_KINDS | TYPE_KINDS and len(symbol.span) < MIN_DATA_LINES:
        return False
    if symbol.parent < 0:
        return True
    parent = symbols[symbol.parent]
    return parent.parent < 0 and len(parent.span) >= MIN_LINES_WITH_MEMBERS


def _used_parts(path: str, index: int, symbols: Sequence[Symbol], view: GraphView) -> list[str]:
    """Return the names of the other outermost definitions of the file that a definition refers to."""
    span = symbols[index].span
    inner = [i for i, symbol in enumerate(symbols) if span.contains(symbol.span)]
    targets: dict[int, None] = {}
    for i in inner:
        for edge in view.outgoing((path, i)):
            if edge.type in _REFERENCES and edge.target[0] == path and edge.target[1] >= 0:
                targets[_outermost(edge.target[1], symbols)] = None
    return [symbols[i].name for i in sorted(targets) if i != index]


def _outermost(index: int, symbols: Sequence[Symbol]) -> int:
    while symbols[index].parent >= 0:
        index = symbols[index].parent
    return index
