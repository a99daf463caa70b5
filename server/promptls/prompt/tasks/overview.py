"""Context of questions about the project as a whole: its entry points and its central types and functions.

Other items are of no use for such a question: its words ("architecture", "project") occur in any file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promptls.graph.centrality import central_definitions, is_project_code, is_support_code
from promptls.graph.graph import GraphView
from promptls.index import OutlineRef
from promptls.knowledge.project.facts import ProjectFacts
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.model import Item, MentionOutcome, Origin
from promptls.prompt.intent.project_question import is_project_question

MIN_ITEMS, MAX_ITEMS = 8, 12
"""Number of definitions: `MAX_ITEMS` only if all of them are important enough."""
MIN_SHARE, MIN_EXTRA_SHARE = 0.015, 0.06
"""Minimum score as a share of the best score, of the first `MIN_ITEMS` definitions and of the others."""
MAX_ENTRY_ITEMS = 3
"""Maximum number of definitions at entry points."""
BEST_SCORE, SCORE_STEP = 0.9, 0.02
"""Score of the first item, and the difference between one item and the next."""


def is_about_project(
    question: str, outcomes: Iterable[MentionOutcome], mentioned: Sequence[Item], context: ResolveContext
) -> bool:
    """Return whether a question is about the project as a whole, and nothing but the workspace is mentioned."""
    if any(outcome.mention.kind == "workspace" for outcome in outcomes):
        question = f"project: {question}"
    return not mentioned and is_project_question(question, _project_names(context))


def _project_names(context: ResolveContext) -> Iterator[str]:
    yield from (root.name for root in context.snapshot.roots)
    yield from (facts.name for facts in _facts(context))


def overview_items(context: ResolveContext) -> list[Item]:
    """Return the definitions at entry points and the central definitions of the workspace, most important first."""
    view = context.graph
    central = central_definitions(view, context.token)
    best = central[0].score if central else 0.0
    refs = list(_entry_definitions(view, _facts(context)))[:MAX_ENTRY_ITEMS]
    for rank, one in enumerate(central[:MAX_ITEMS]):
        if one.score >= best * (MIN_SHARE if rank < MIN_ITEMS else MIN_EXTRA_SHARE):
            refs.append(one.ref)
    items: list[Item] = []
    for ref in dict.fromkeys(refs):
        symbol = view.symbol(ref)
        if symbol is not None:
            score = round(BEST_SCORE - SCORE_STEP * len(items), 4)
            reasons = {"centrality": score}
            items.append(Item(ref[0], symbol.span, symbol.kind, Origin.TASK, score, symbol.qualified, reasons))
    return items


def _facts(context: ResolveContext) -> tuple[ProjectFacts, ...]:
    return context.services.projects.get(context.sources, context.index_complete)


def _entry_definitions(view: GraphView, facts: tuple[ProjectFacts, ...]) -> Iterator[OutlineRef]:
    """Yield the functions at which programs of the workspace start."""
    for project in facts:
        base = project.root.rstrip("/")
        for entry in project.entry_points:
            if entry.exports:
                continue
            target, _, name = entry.target.partition(":")
            path = f"{base}/{target}"
            if name:
                path = _module_path(view, base, target)
            label = view.snapshot.label(path)
            if path in view.snapshot.files and is_project_code(label) and not is_support_code(label):
                yield from _entry_functions(view, path, name.partition(".")[0], project.name)


def _module_path(view: GraphView, base: str, module: str) -> str:
    """Return the file of a Python module in a project, or ""."""
    ends = (f"/{module.replace('.', '/')}.py", f"/{module.replace('.', '/')}/__init__.py")
    names = {end.rpartition("/")[2].lower() for end in ends}
    paths = (path for name in names for path in view.snapshot.basenames.get(name, ()))
    found = [path for path in paths if path.startswith(base + "/") and path.endswith(ends)]
    return min(found, key=lambda path: (path.count("/"), path), default="")


def _entry_functions(view: GraphView, path: str, name: str, project: str) -> Iterator[OutlineRef]:
    """Yield the function of an entry file: the named one, "main", or one named like the file or the project."""
    symbols = view.file_symbols(path)
    stem = path.rpartition("/")[2].partition(".")[0]
    for wanted in filter(None, (name, "main", stem, project)):
        for index in symbols.top_level(wanted) if symbols is not None else ():
            if symbols is not None and symbols.symbols[index].kind in CALLABLE_KINDS:
                yield path, index
                return
