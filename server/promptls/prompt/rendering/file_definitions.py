"""The form of a file in which its relevant definitions are shown and the rest is elided."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.model import RenderedItem
from promptls.prompt.rendering.forms import ItemForms
from promptls.prompt.rendering.truncation import elision_lines


def render_definitions(file: ItemForms, definitions: Sequence[ItemForms], max_tokens: int) -> RenderedItem | None:
    """Render the definitions of a file that fit, best first, in the order of the file.

    A definition that does not fit in full is shown by its signature.  None if not even one signature fits.
    """
    if file.file is None:
        return None
    count, lines = file.renderer.counter.count, file.sanitized_lines
    left = max_tokens - file.render_lines((), file.region).tokens
    chosen: list[tuple[ItemForms, bool]] = []  # (definition, whether in full)
    for definition in definitions:
        for in_full, spans in ((True, definition.full_spans()), (False, definition.signature_spans())):
            cost = sum(count("\n".join([*lines[s.start : s.end], *elision_lines(s), ""])) for s in spans)
            if spans and cost <= left:
                chosen.append((definition, in_full))
                left -= cost
                break
    while chosen:
        shown = [s for d, in_full in chosen for s in (d.full_spans() if in_full else d.signature_spans())]
        rendered = file.render_lines(shown, file.region, "partial")
        if rendered.tokens <= max_tokens:
            return rendered
        last, in_full = chosen.pop()  # costs were added up one by one; their sum can be slightly too small
        if in_full and last.signature_spans() and last.signature_spans() != last.full_spans():
            chosen.append((last, False))
    return None
