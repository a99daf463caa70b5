"""What a prompt is made from beside the message and the snapshot: the owners that live longer than a request."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from promptls.git import History
from promptls.graph.graph import GraphView
from promptls.knowledge.memory import Memory
from promptls.knowledge.project import Projects
from promptls.mentions.context import Request
from promptls.model import Problem
from promptls.prompt.instructions import Templates
from promptls.prompt.language_model import LanguageModel
from promptls.retrieval import Index, Strategy
from promptls.retrieval.query_expansion import Companions


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
