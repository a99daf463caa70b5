"""Context of a new feature: where the most similar existing one is registered, tested and documented."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from promptls.graph.definition_items import definition_item, node_of_item, used_names
from promptls.graph.graph import GraphView
from promptls.index import OutlineRef
from promptls.languages.kinds import TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.model import Item, Origin
from promptls.prompt.intent import Intent
from promptls.prompt.tasks.existing_tests import calling_tests, tests_by_name

MIN_SCORE = 0.1
"""Minimum score of a retrieved definition that counts as a similar feature."""

MAX_USES, MAX_TESTS, MAX_DOCUMENTS = 3, 2, 1
"""Maximum numbers of items of each kind."""

MAX_LINES = 80
"""Maximum lines of an item; a longer one says more about other things."""

_SCORE_SHARE = 0.5  # of the similar feature's score


def asks_for_feature(intent: Intent) -> bool:
    """Return whether a question asks for something new."""
    return intent.about_codebase and (intent.action == "create" or "feature" in intent.types)


def items_around_feature(retrieved: Sequence[Item], context: ResolveContext) -> list[Item]:
    """Return uses, tests and documentation of the best retrieved definition, without what is retrieved itself.

    A method counts as its type: types are registered, and tests are named after them.
    """
    view = context.graph
    best = next(
        (item for item in retrieved if item.symbol and item.score >= MIN_SCORE and not _is_test(item, view)), None
    )
    ref = node_of_item(view, best) if best is not None else None
    if best is None or ref is None or ref[1] < 0:
        return []
    refs = _with_type(ref, view)
    edges = [edge for one in refs for edge in view.incoming(one)]
    uses = [edge.source for edge in edges if edge.type in ("calls", "uses") and not view.is_test(edge.source)]
    documents = [edge.source for edge in edges if edge.type == "documents"]
    names, score = used_names(view, refs), best.score * _SCORE_SHARE
    found: list[Item] = []
    for sources, limit in ((uses, MAX_USES), (documents, MAX_DOCUMENTS)):
        items = (definition_item(view, source, Origin.TASK, score, names) for source in dict.fromkeys(sources))
        found += [item for item in items if item is not None and len(item.span) <= MAX_LINES][:limit]
    tests = calling_tests(refs, view) or tests_by_name(refs, view)
    found += [replace(item, score=score) for item in tests if len(item.span) <= MAX_LINES][:MAX_TESTS]
    known = [(item.path, item.span) for item in retrieved]
    return [item for item in found if not any(path == item.path and span.overlaps(item.span) for path, span in known)]


def _is_test(item: Item, view: GraphView) -> bool:
    ref = node_of_item(view, item)
    return ref is not None and view.is_test(ref)


def _with_type(ref: OutlineRef, view: GraphView) -> list[OutlineRef]:
    """Return a definition and the innermost type around it."""
    facts = view.file_symbols(ref[0])
    index = facts.symbols[ref[1]].parent if facts is not None else -1
    while facts is not None and index >= 0 and facts.symbols[index].kind not in TYPE_KINDS:
        index = facts.symbols[index].parent
    return [ref, (ref[0], index)] if index >= 0 else [ref]
