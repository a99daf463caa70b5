"""What a prompt is made from beside the message and the snapshot: the owners that live longer than a request."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from promptls.context.companions import Companions
from promptls.context.git import History
from promptls.context.graph.view import GraphView
from promptls.context.memory import Memory
from promptls.context.mentions.request import Request
from promptls.context.project import Projects
from promptls.context.retrieval import Index, Strategy
from promptls.model import Problem
from promptls.prompt.instructions import Templates
from promptls.prompt.language_model import LanguageModel


class Surroundings(Struct, frozen=True):
    """What a prompt is made from beside the message and the snapshot."""

    index: Index
    graph: Callable[[Request], GraphView]
    companions: Companions
    memory: Memory
    projects: Projects
    history: History
    templates: Templates
    model: LanguageModel | Problem | None = None
    rules_tokens: int = 2000
    strategy: Strategy = Strategy()
    complete: bool = True  # whether all files of the index are there
