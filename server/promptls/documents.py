"""Prompt documents that are open: questions being written, as the editor holds them.

They are no part of the index: a question is not material for its own answer.  A document is one by its language
(`promptls`, and those that the settings add) or by its name, `*.prompt.md`.  Any thread; values go out.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate, count
from operator import add

from msgspec import Struct

LANGUAGE = "promptls"
ENDING = ".prompt.md"
BUILT = "promptls-built"
BUILT_ENDING = ".built.md"
"""Language and name of a finished prompt that is shown as a document."""

OPEN, COPY = "promptls.openPrompt", "promptls.copyPrompt"
"""Commands of lenses and code actions; clients with a preview run them themselves."""

TOKEN_TYPES = ("string", "function", "keyword", "namespace")
TOKEN_MODIFIERS = ("deprecated", "readonly")
"""Semantic tokens.  What is not sent is "deprecated", which themes strike out; what is sent in part is "readonly"."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class PromptDocument(Struct, frozen=True):
    """A document of the editor that may hold mentions."""

    uri: str
    language: str
    version: int
    text: str


def is_prompt(uri: str, language: str = "", opted: Collection[str] = ()) -> bool:
    """Whether a document is a prompt: by its language, or by the name of its file."""
    return language == LANGUAGE or language in opted or uri.endswith(ENDING)


class Documents:
    """The open documents of one editor: the prompts with their texts, of the others only which were used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prompts: dict[str, PromptDocument] = {}
        self._built: dict[str, PromptDocument] = {}
        self._recent: dict[str, None] = {}

    def put(self, document: PromptDocument, opted: Collection[str] = ()) -> None:
        """A document was opened or edited, or is of another sort now."""
        uri = document.uri
        with self._lock:
            self._recent.pop(uri, None)
            if is_prompt(uri, document.language, opted):
                self._built.pop(uri, None)
                self._prompts[uri] = document
                return
            self._prompts.pop(uri, None)
            if document.language == BUILT or uri.endswith(BUILT_ENDING):
                self._built[uri] = document
            else:
                self._built.pop(uri, None)
                self._recent[uri] = None

    def drop(self, uri: str) -> None:
        """A document was closed."""
        with self._lock:
            for held in (self._prompts, self._built, self._recent):
                held.pop(uri, None)

    def get(self, uri: str) -> PromptDocument | None:
        """The prompt of a URI, None if it is not open or no prompt."""
        with self._lock:
            return self._prompts.get(uri)

    def built(self, uri: str) -> PromptDocument | None:
        """A finished prompt that is open as a document."""
        with self._lock:
            return self._built.get(uri)

    def all(self) -> tuple[PromptDocument, ...]:
        """All prompts, in the order in which they were opened."""
        with self._lock:
            return tuple(self._prompts.values())

    @property
    def recent(self) -> tuple[str, ...]:
        """URIs of the documents that are no prompts, the one that was opened or edited last first."""
        with self._lock:
            return tuple(reversed(self._recent))


class Text:
    """A text with its lines, to go between offsets in code points and positions of LSP.

    `encoding` is the one that client and server have agreed on: characters of a line are counted in its units.
    """

    __slots__ = ("_starts", "encoding", "text")

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self.encoding = encoding
        if "\r" in text:
            self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        else:  # as nearly always, and for every keystroke: ten times as fast
            lengths = accumulate(map(len, text.split("\n")[:-1]))
            self._starts = [0, *map(add, lengths, count(1))]

    def position(self, offset: int) -> tuple[int, int]:
        """(line, character) of an offset; one outside of the text is moved to its nearer end."""
        offset = min(max(0, offset), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, character: int) -> int:
        """The offset of a position; one behind the end of its line, or of the text, is moved to that end."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        if content.isascii() or self.encoding == "utf-32":
            return start + min(max(0, character), len(content))
        units = 0
        for i, char in enumerate(content):
            units += self._units(char)
            if units > character:
                return start + i
        return start + len(content)

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding == "utf-32":
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(char > "\uffff" for char in text)
