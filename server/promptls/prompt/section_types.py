"""Input and output of section producers: the functions that write the notes of one section."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from promptls.mentions.context import ResolveContext
from promptls.model import Problem, SectionEntry
from promptls.prompt.instructions import InstructionTemplates
from promptls.prompt.intent import Intent


class SectionContext(Struct, frozen=True):
    """Input of a section producer."""

    intent: Intent
    files: tuple[str, ...]  # absolute paths of the files in the prompt, most important first
    context: ResolveContext
    templates: InstructionTemplates  # of the instructions
    full_files: frozenset[str]  # paths of files that the message mentions as a whole
    tasks: tuple[str, ...]  # names of templates of the instructions that come before those of the question types
    retrieval_empty: bool  # whether nothing is mentioned and retrieval found nothing


class SectionNotes(Struct, frozen=True):
    """Output of a section producer."""

    notes: tuple[SectionEntry, ...] = ()  # most important first
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()  # path of the file that each note comes from; () if they come from no file


SectionProducer = Callable[[SectionContext], SectionNotes]
