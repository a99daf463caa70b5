"""Outline of the central definitions of a file: signature, first sentence of the documentation, and main members.

The only form of an item whose code is not wanted, for example in an overview of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import log2

from msgspec.structs import replace

from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import FileText, Item, RenderedItem, Span, Symbol
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.renderer import Renderer
from promptls.prompt.sanitize import origin_of, redact
from promptls.util.text.plural import plural

MAX_MEMBERS = 5
"""Maximum number of members shown of a type: those that the most files mention, in the order of the file."""
MAX_SIGNATURE_CHARACTERS = 90
"""Maximum number of characters of a signature."""
MAX_TYPE_PARAMETERS = 24
"""Maximum number of characters of a list of type parameters."""
MAX_DOC_CHARACTERS = 160
"""Maximum number of characters of documentation."""


_NOT_PUBLIC = re.compile(r"pub\(|private\b|protected\b|internal\b|fileprivate\b|#")
"""Start of the signature of a member that is not public."""


class DefinitionOutline(ItemForms):
    """Forms of some definitions of one file; the outline is the only one."""

    __slots__ = ("definitions", "mention_count")

    def __init__(
        self,
        item: Item,
        file: FileText,
        definitions: Sequence[Item],
        renderer: Renderer,
        mention_count: Callable[[str], int],
    ) -> None:
        self.definitions = tuple(definitions)
        self.mention_count = mention_count
        super().__init__(item, file, (), renderer)

    def _has_full(self) -> bool:
        return False

    def full_spans(self) -> tuple[Span, ...]:
        """Return no spans: the code is not shown."""
        return ()

    def partial(
        self, max_tokens: int, spans: Sequence[Span] | None = None, whole_definitions: bool = False
    ) -> RenderedItem | None:
        """Return None: the code is not shown."""
        return None

    def signature(self) -> RenderedItem | None:
        """Return None: the outline has the signature."""
        return None

    def trim(self, rendered: RenderedItem, max_tokens: int) -> RenderedItem | None:
        """Return the outline cut to `max_tokens`, or None if nothing of it fits."""
        return self.outline(max_tokens)

    def _outline_entries(self) -> list[tuple[int, str]]:
        outline = self.file.entry.outline if self.file is not None else None
        if outline is None or self.file is None:
            return []
        wanted = {(item.symbol, item.span.start) for item in self.definitions}
        symbols, lines = outline.symbols, self.renderer.symbol_lines(self.file)
        entries: list[tuple[int, str]] = []
        for index, symbol in enumerate(symbols):
            if (symbol.qualified, symbol.span.start) not in wanted:
                continue
            doc = redact(symbol.doc, origin_of(self.file.entry))[0]
            entries.append((0, f"{_line(symbol, lines[index])}{_documentation(doc)}"))
            members = _members(symbols, index) if symbol.kind in TYPE_KINDS or symbol.kind == "module" else []
            main = sorted(members, key=lambda i: (-self._importance(symbols[i]), i))[:MAX_MEMBERS]
            entries += [(1, _line(symbols[i], lines[i])) for i in sorted(main)]
            if len(members) > MAX_MEMBERS:
                entries.append((1, f"… {plural(len(members) - MAX_MEMBERS, 'more member')}"))
        return entries

    def _importance(self, member: Symbol) -> float:
        return self.mention_count(member.name) * log2(1 + len(member.span))


def outline_definitions(
    items: Iterable[Item], file: FileText, renderer: Renderer, mention_count: Callable[[str], int]
) -> DefinitionOutline:
    """Return the outline of some definitions of a file, as one item with the highest score of them.

    Args:
        items: The definitions.
        file: Their file.
        renderer: Renderer of the request.
        mention_count: Number of files that mention a name.
    """
    definitions = sorted(items, key=lambda item: -item.score)
    item = definitions[0]
    if len(definitions) > 1:
        item = replace(item, span=Span(0, len(file.lines)), kind="file", symbol="")
    return DefinitionOutline(item, file, definitions, renderer, mention_count)


def _line(symbol: Symbol, signature: str) -> str:
    signature = without_type_parameters(signature)
    cut = signature if len(signature) <= MAX_SIGNATURE_CHARACTERS else f"{signature[: MAX_SIGNATURE_CHARACTERS - 1]}…"
    return f"{symbol.span.label}  {cut}"


def without_type_parameters(signature: str) -> str:
    """Remove a long list of type parameters that follows the name of a definition."""
    start = signature.find("<")
    if start <= 0 or not (signature[start - 1].isalnum() or signature[start - 1] == "_") or "(" in signature[:start]:
        return signature
    depth = 0
    for at in range(start, len(signature)):
        depth += (signature[at] == "<") - (signature[at] == ">" and signature[at - 1] not in "=-")
        if depth == 0:
            end = at + 1
            return signature if end - start <= MAX_TYPE_PARAMETERS else signature[:start] + signature[end:]
    return f"{signature[:start]}<…"


def _documentation(doc: str) -> str:
    text = " ".join(doc.split())
    if len(text) > MAX_DOC_CHARACTERS:
        end = text.rfind(". ", 0, MAX_DOC_CHARACTERS)
        text = text[: end + 1] if end > 0 else f"{text[: MAX_DOC_CHARACTERS - 1].rstrip()}…"
    return f" - {text}" if text else ""


def _members(symbols: Sequence[Symbol], index: int) -> list[int]:
    """Return the public members of a type, also those defined outside of its body: methods, else fields."""
    prefix = f"{symbols[index].qualified}."
    members = [
        i
        for i, symbol in enumerate(symbols)
        if symbol.name
        and not symbol.name.startswith("_")
        and (symbol.parent == index or symbol.qualified == prefix + symbol.name)
        and symbol.kind not in TYPE_KINDS
        and symbol.kind != "type"
        and _NOT_PUBLIC.match(symbol.signature) is None
    ]
    members = list({symbols[i].name: i for i in reversed(members)}.values())[::-1]  # overloads and accessors once
    callables = [i for i in members if symbols[i].kind in CALLABLE_KINDS]
    exported = [i for i in callables if symbols[i].exported]
    return exported or callables or members
