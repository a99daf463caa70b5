"""Warnings about a finished prompt: parts that did not fit, findings and doubtful characters in the code that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptls.prompt.packing.pack import PackedItem
from promptls.prompt.rendering.renderer import Renderer


def dropped_warnings(dropped: Sequence[str], budget: int) -> Iterator[str]:
    """Yield a warning about the sections and turns that did not fit."""
    labels = {"task": "the task of the recipe", "history": "earlier turns"}
    names = ", ".join(labels.get(name, f"the section {name}") for name in dict.fromkeys(dropped))
    if names:
        yield f"The budget of {budget:,} tokens leaves no room for {names}; increase it to include them."


def encoding_warnings(blocks: Sequence[PackedItem], renderer: Renderer) -> Iterator[str]:
    """Yield a warning for each file of which some characters may be wrong."""
    notes = {b.rendered.item.path: b.forms.file.encoding_note for b in blocks if b.rendered.spans and b.forms.file}
    for path, note in notes.items():
        if note:
            yield f"{renderer.label(path)} {note}; save it as UTF-8."


def sanitizer_warnings(blocks: Sequence[PackedItem], renderer: Renderer) -> Iterator[str]:
    """Yield one warning per file and class of finding: secrets, invisible characters, injections."""
    secrets: dict[str, dict[str, int]] = {}
    invisible: dict[str, dict[str, int]] = {}
    injections: dict[str, dict[str, int]] = {}
    for packed in blocks:
        block, forms = packed.rendered, packed.forms
        findings = [(secrets if f.secret else invisible, f) for f in forms.findings(block)]
        findings += [(injections, f) for f in forms.injections(block)]
        for by_path, finding in findings:
            counts = by_path.setdefault(block.item.path, {})
            counts[finding.name] = counts.get(finding.name, 0) + 1
    for prefix, by_path in (
        ("redacted", secrets),
        ("made visible", invisible),
        ("reads like instructions", injections),
    ):
        for path in sorted(by_path):
            names = ", ".join(f"{n} x {name}" for name, n in sorted(by_path[path].items()))
            yield f"{prefix} in {renderer.label(path)}: {names}"
