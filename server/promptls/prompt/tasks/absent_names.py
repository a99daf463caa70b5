"""Names that a question asks for although no code contains them: "does this support MongoDB?"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from promptls.index import Snapshot, split_identifier, stem
from promptls.knowledge.project.file_kind import is_prose_path
from promptls.mentions.context import ResolveContext
from promptls.model import Item, Origin
from promptls.prompt.tasks import SCORE, TaskRequest
from promptls.retrieval.places import find_places
from promptls.retrieval.question_names import Name

MAX_PLACES = 2
"""Maximum number of places of documents that are shown."""
MAX_PROSE_SHARE, MAX_COUNTED_FILES = 0.5, 2_000
"""Maximum share of documents in a workspace of code, and number of files for which it is determined."""
MAX_CHARACTERS = 500
"""Maximum length of a question that is examined; a longer one describes a situation."""

_ASKS_WHETHER = re.compile(
    r"\W*(?:(?:so|and|but|or|hi|hey|hello|ok|okay|please|also)\W+)*(?:where|which|what (?:file|class|setting|option)|is there|are there|does|do we"
    r"|(?P<how>can i|can we|how (?:do|can) (?:i|we) (?:use|set|configure|enable|point|turn on))|dónde|hay|gibt es|wo)\b",
    re.I,
)
"""The start of a clause that asks for something existing; documents answer how it is used."""
_NEW = re.compile(
    r"\b(?:add(?:ing)?|new|implementing|introduc\w+|creat\w+|writ(?:e|ing)|contribut\w+|(?:can|could) (?:we|you|i) (?:get|have))\b",
    re.I,
)
_COMPARED = re.compile(r"\b(?:like|such as|similar to|e\.g\.).*", re.I)
_CLAUSE_END = re.compile(r"(?<=[.?!;:])\s+|\s+and (?=how\b|where\b|what\b|which\b|when\b|why\b)|\n")
_WORD = re.compile(r"(?<![\w@#/.])[A-Za-z][A-Za-z0-9]{2,}\b")


def absent_names(request: TaskRequest) -> tuple[str, ...]:
    """Return the names that a short question asks for or mentions as symbols, and that no indexed code contains."""
    context, question = request.context, request.question
    if len(question) > MAX_CHARACTERS or not context.index_complete:
        return ()
    query = request.intent.query
    unresolved = (o.mention for o in request.outcomes if o.status == "unresolved" and not o.suggestion)
    mentioned = [(mention.target, False) for mention in unresolved if mention.kind == "symbol"]
    names = dict([*_names(question, is_english=query.translation is None), *mentioned])

    def is_absent(name: str, asks_how: bool) -> bool:
        paths = _paths(name, context)
        if not paths or asks_how or query.about_docs:
            return not paths
        return all(is_prose_path(context.snapshot.label(path)) for path in paths) and _is_mostly_code(context.snapshot)

    return tuple(name for name, asks_how in names.items() if is_absent(name, asks_how))


def _is_mostly_code(snapshot: Snapshot) -> bool:
    documents = [is_prose_path(snapshot.label(path)) for path in islice(snapshot.files, MAX_COUNTED_FILES)]
    return sum(documents) < MAX_PROSE_SHARE * len(documents)


def _paths(name: str, context: ResolveContext) -> set[str]:
    """Return the files with a name, in words or as one identifier."""
    reader, parts = context.index.reader(), split_identifier(name)
    joined = "".join(parts)
    spellings = ([*map(stem, parts)], [joined], [stem(joined)], ["_".join(parts)])
    return set[str]().union(*map(reader.paths_with, spellings))


def documents_with(names: Sequence[str], request: TaskRequest) -> tuple[Item, ...]:
    """Return the places of documents that contain names that no code contains."""
    context = request.context
    sought = [Name((name,), "mention") for name in names]
    places = find_places(sought, (False,), context.snapshot, context.index.reader(), context.sources, context.token)
    return tuple(Item(p.path, p.span, p.symbol_kind, Origin.TASK, SCORE, p.symbol) for p in places[:MAX_PLACES])


def _names(question: str, is_english: bool) -> Iterator[tuple[str, bool]]:
    """Yield names of the clauses that ask for something existing, and whether a clause asks how it is used.

    Names are abbreviations, CamelCase and, in English, capitalized words.
    """
    for clause in (_COMPARED.sub("", clause) for clause in _CLAUSE_END.split(question)):
        asks = _ASKS_WHETHER.match(clause)
        if asks is None or _NEW.search(clause):
            continue
        for match in _WORD.finditer(clause):
            name = match[0]
            is_first = not clause[: match.start()].strip(" ¿\"'(")
            is_abbreviation = re.search(r"[a-z][A-Z]|[A-Z]{2}", name) is not None
            if is_abbreviation or (is_english and name[0].isupper() and not is_first):
                yield name, asks["how"] is not None
