"""A mention kind: `@todo` adds the lines with TODO comments."""

from promptls.mentions.context import ResolveContext
from promptls.mentions.kinds import MentionKind
from promptls.mentions.outcomes import included, unresolved
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Span


def resolve(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Return one item per line that contains "TODO"."""
    items = []
    for path in context.snapshot.files:
        context.token.check()
        view = context.sources.read(path)
        lines = view.text.split("\n") if isinstance(view, FileText) else []
        items += [Item(path, Span(n, n + 1), "match", Origin.MENTION, 1.0) for n, x in enumerate(lines) if "TODO" in x]
    return included(mention, items) if items else unresolved(mention, "The workspace contains no TODO comments.")


TODO = MentionKind("todo", syntax=("@todo",), help="All lines with TODO comments.", resolve=resolve, expensive=True)
