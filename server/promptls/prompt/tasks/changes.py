"""Context of a change: the changed definitions, their tests, their callers, and uses of what was removed.

The changes are read from the unified diffs that the mentions of git made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from promptls.graph.definition_items import call_sites, definition_item, find_tests_named_after, used_names
from promptls.graph.graph import GraphView
from promptls.graph.traversal import callers
from promptls.index import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.model import FileText, Item, Origin, Span, Symbol
from promptls.prompt.tasks import SCORE
from promptls.prompt.tasks.existing_tests import calling_tests, tests_by_name

MAX_DEFINITIONS, MAX_TESTS, MAX_CALLERS, MAX_REMOVED_USES = 16, 8, 10, 8
"""Maximum numbers of items of each kind."""

MAX_DEFINITION_LINES = 120
"""Maximum lines of a changed definition that is shown as a whole; of a longer one, the changed lines are shown."""

CONTEXT_LINES = 6
"""Lines around a change outside of such a definition."""

_HUNK = re.compile(r"@@ -\d+,\d+ \+(\d+),(\d+) @@")
_DEFINITION = re.compile(
    r"-\s*(?:[\w@]+\s+){0,4}?(?:def|class|func|function|fn|interface|type|struct|enum|trait|const|let|var|val|fun|sub)"
    r"\s+(?:\([^()]{0,80}\)\s*)?([A-Za-z_$][\w$]{2,80})"
)
"""The name that a removed line defines."""


_REVIEW_WORD = re.compile(
    r"\b(?:review|check|bugs?|wrong|correct|mistakes?|problems?|issues?|risks?|break\w*|prüf\w*|revisa\w*|vérifi\w*)\b"
    r"|审查|检查|レビュー|리뷰",
    re.I,
)


def asks_for_review(question: str) -> bool:
    """Return whether a question about a change asks whether it is right."""
    return bool(_REVIEW_WORD.search(question[:2000]))


class FileChange(Struct, frozen=True):
    """The changed lines of a file."""

    path: str
    lines: tuple[int, ...]  # of the new text, 0-based: added lines, and places of removed lines; without blank lines
    removed_names: tuple[str, ...]  # that a removed line defines
    hunks: tuple[Span, ...] = ()  # lines of the new text that the diff shows


def items_of_changes(diffs: Sequence[Item], context: ResolveContext) -> list[Item]:
    """Return the items of the changes that diffs describe, most important first.

    They are the same in any order of the diffs, although their number is limited.
    """
    view = context.graph
    changes = sorted((parse_change(item.subject, _text_of(item, context)) for item in diffs), key=_sort_key)
    definitions: dict[OutlineRef, None] = {}
    items: list[Item] = []
    for change in changes:
        context.token.check()
        changed, refs_of_file = _changed_items(change, view, context)
        items += changed
        definitions |= dict.fromkeys(refs_of_file)
    items = items[:MAX_DEFINITIONS]
    refs = list(definitions)[:MAX_DEFINITIONS]
    changed_files = {change.path for change in changes}
    uses = list(_uses_of_removed(changes, view))[:MAX_REMOVED_USES]
    return [*items, *uses, *_tests(refs, changed_files, view, context), *_callers(refs, view)]


def _sort_key(change: FileChange) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    return change.path, change.lines, change.removed_names


def parse_change(path: str, diff: str) -> FileChange:
    """Return the changed lines of a unified diff."""
    lines: dict[int, None] = {}
    removed: dict[str, None] = {}
    added: set[str] = set()
    hunks: list[Span] = []
    at, in_hunk = 0, False
    for text in diff.split("\n"):
        if hunk := _HUNK.match(text):
            at, in_hunk = int(hunk[1]) - (hunk[2] != "0"), True
            hunks.append(Span(at, at + int(hunk[2])))
        elif not in_hunk:
            continue
        elif text.startswith("+"):
            if text[1:].strip():
                lines[at] = None
            added.update(m[1] for m in [_DEFINITION.match(f"-{text[1:]}")] if m)
            at += 1
        elif text.startswith("-"):
            if text[1:].strip():
                lines[at] = None
            removed.update((m[1], None) for m in [_DEFINITION.match(text)] if m)
        else:
            at += 1
    removed_names = tuple(name for name in removed if name not in added)
    return FileChange(path, tuple(sorted(lines)), removed_names, tuple(hunks))


def _text_of(item: Item, context: ResolveContext) -> str:
    view = context.sources.read(item.path, explicit=True)
    return view.text if isinstance(view, FileText) else ""


def _changed_items(change: FileChange, view: GraphView, context: ResolveContext) -> tuple[list[Item], list[OutlineRef]]:
    """Return the changed definitions and the lines around other changes, and the definitions whose uses matter.

    A definition without an enclosing one of which the diff shows all lines is left out.
    """
    file = context.sources.read(change.path)
    facts = view.file_symbols(change.path)
    entry = context.snapshot.files.get(change.path)
    if not isinstance(file, FileText) or facts is None or entry is None:
        return [], []  # deleted, or not indexed
    if entry.content_hash != file.entry.content_hash:
        return [], []  # the outline belongs to another text
    refs: dict[OutlineRef, None] = {}
    short: dict[OutlineRef, None] = {}
    windows: list[Span] = []
    for line in change.lines:
        index = _innermost(facts.symbols, line)
        symbol = facts.symbols[index] if index >= 0 else None
        is_short = symbol is not None and len(symbol.span) <= MAX_DEFINITION_LINES
        if symbol is not None and (is_short or symbol.kind in CALLABLE_KINDS):
            refs[change.path, index] = None
        if symbol is not None and is_short:
            if not (symbol.parent < 0 and any(hunk.contains(symbol.span) for hunk in change.hunks)):
                short[change.path, index] = None
            continue
        window = Span(max(0, line - CONTEXT_LINES), min(len(file.lines), line + CONTEXT_LINES + 1))
        if windows and windows[-1].end >= window.start:
            windows[-1] = Span(windows[-1].start, window.end)
        elif window:
            windows.append(window)
    definitions = (definition_item(view, ref, Origin.TASK, SCORE) for ref in short)
    around = [Item(change.path, window, "text", Origin.TASK, SCORE) for window in windows]
    return [*(item for item in definitions if item is not None), *around], list(refs)


def _innermost(symbols: Sequence[Symbol], line: int) -> int:
    """Return the index of the smallest definition around a line, comment above it included; -1 if there is none."""
    around = [i for i, s in enumerate(symbols) if min(s.span.start, s.doc_start) <= line < s.span.end]
    return min(around, key=lambda i: len(symbols[i].span), default=-1)


def _tests(
    refs: Sequence[OutlineRef], changed_files: Iterable[str], view: GraphView, context: ResolveContext
) -> list[Item]:
    """Return the tests of the definitions, else the tests that are named after the changed files."""
    found = calling_tests(refs, view) or tests_by_name([*refs, *((path, -1) for path in changed_files)], view)
    if found:
        return found[:MAX_TESTS]
    files = dict.fromkeys(test for path in changed_files for test in find_tests_named_after(context.snapshot, path))
    return [Item(path, Span(0, 1 << 30), "file", Origin.TASK, SCORE) for path in files][:2]


def _callers(refs: Sequence[OutlineRef], view: GraphView) -> list[Item]:
    """Return the callers of the definitions outside of tests, those with a certain edge first."""
    found: dict[OutlineRef, frozenset[str]] = {}
    for ref in refs:
        for caller in callers(view, ref):
            if caller not in refs and not view.is_test(caller):
                found[caller] = found.get(caller, frozenset()) | used_names(view, [ref])
    items = (definition_item(view, caller, Origin.TASK, SCORE, names) for caller, names in found.items())
    return [item for item in items if item is not None][:MAX_CALLERS]


def _uses_of_removed(changes: Iterable[FileChange], view: GraphView) -> Iterator[Item]:
    """Yield the definitions that still use a name which no file defines any more."""
    for name in dict.fromkeys(name for change in changes for name in change.removed_names):
        if name.lower() in view.snapshot.names:
            continue
        for path in view.files_using(name):
            facts = view.file_symbols(path)
            owners = dict.fromkeys(owner for owner, _ in facts.references_named(name)) if facts is not None else ()
            for owner in owners:
                ref = (path, owner)
                item = definition_item(view, ref, Origin.TASK, SCORE, frozenset([name]))
                if item is not None and call_sites(view, ref, frozenset([name])):
                    yield item
