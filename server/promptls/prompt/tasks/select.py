"""Select the task of a request, and return its context."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.index import is_virtual
from promptls.model import Item, Span
from promptls.prompt.tasks.changes import asks_for_review, items_of_changes
from promptls.prompt.tasks.conversation import items_of_earlier_turns
from promptls.prompt.tasks.existing_tests import asks_for_tests, items_of_tests
from promptls.prompt.tasks.file_structure import asks_for_structure, outlines_of_files
from promptls.prompt.tasks.instruction import is_instruction_only
from promptls.prompt.tasks.overview import is_overview_request, overview_items
from promptls.prompt.tasks.trace_items import mask_mentions, stack_trace_items
from promptls.prompt.tasks.types import Retrieval, TaskContext, TaskRequest


def task_context(request: TaskRequest) -> TaskContext:
    """Return the items of the tasks of a request, and which retrieved code to add.

    - a question about the project as a whole: outlines of its central definitions
    - a stack trace or error message: the code of its frames, and the place that raises the error
    - changes (`@diff`, `@staged`, `@commit`, `@branch`): the changed definitions, their tests and callers
    - tests to be written: the existing tests of the code
    - the structure of a mentioned file: its outline with sizes and references
    - a conversation: what earlier turns mention
    """
    if not request.explicit_items and is_overview_request(request.question, request.context):
        return TaskContext(tuple(overview_items(request.context)), "none", as_outlines=True)
    mentioned = [outcome.mention for outcome in request.outcomes if outcome.targets]
    trace = stack_trace_items(mask_mentions(request.message, mentioned), request.context)
    items = [*trace.items]
    changes = [item for item in request.explicit_items if item.subject]
    if changes:
        items += items_of_changes(changes, request.context)
    instructions: list[str] = []
    if changes and not request.recipe and asks_for_review(request.question):
        instructions.append("review")
    if asks_for_tests(request):
        items += items_of_tests(request)
        instructions += ["tests"] if items and not request.recipe else []
    if asks_for_structure(request.question):
        items += outlines_of_files(request.explicit_items, request.context)
    items += items_of_earlier_turns(request)
    return TaskContext(
        _distinct(items, request.explicit_items),
        _retrieval(request, bool(items) and (bool(trace.frames) or not trace.items)),
        tuple(instructions),
    )


def _retrieval(request: TaskRequest, has_items: bool) -> Retrieval:
    if not request.explicit_items:
        return "related" if has_items else "all"
    has_folder = any(item.kind == "folder" and not is_virtual(item.path) for item in request.explicit_items)
    return "none" if is_instruction_only(_without_mentions(request)) and not has_folder else "related"


def _without_mentions(request: TaskRequest) -> str:
    """Return the message without its mentions; the question keeps the names of mentioned symbols."""
    parts, at = list[str](), 0
    for outcome in request.outcomes:
        parts += [request.message[at : outcome.mention.start], " "]
        at = max(at, outcome.mention.end)
    return "".join(parts) + request.message[at:]


def _distinct(items: Sequence[Item], explicit: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items without those that are mentioned; of equal regions, the first."""
    mentioned = {(item.path, item.span) for item in explicit}
    distinct: dict[tuple[str, Span], Item] = {}
    for item in items:
        if (item.path, item.span) not in mentioned:
            distinct.setdefault((item.path, item.span), item)
    return tuple(distinct.values())
