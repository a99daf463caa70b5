"""The wire, inwards: what clients send.

Params are decoded by msgspec; what does not fit raises `InvalidParams` with the path of the field and what
is valid.  Field names are a contract: adding is fine, renaming is not.  What clients get back is made in
`requests.results`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from promptls.model import FormName, Span

Json = dict[str, Any]


class InvalidParams(ValueError):
    """A request that cannot be served as it stands; the text names what is wrong and what is valid."""

    def __init__(self, message: str, field: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.valid = valid


class Params(Struct, frozen=True, rename="camel"):
    """Base of all params: camelCase on the wire, unknown fields are passed over."""


class Position(Params, frozen=True):
    line: int
    character: int


class Range(Params, frozen=True):
    start: Position
    end: Position

    @property
    def span(self) -> Span:
        """The lines it touches."""
        end = self.end.line + (1 if self.end.character > 0 or self.end.line == self.start.line else 0)
        return Span(max(0, self.start.line), max(self.start.line + 1, end))


class Location(Params, frozen=True):
    uri: str
    range: Range


class Turn(Params, frozen=True):
    """An earlier message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str


class Diagnostic(Params, frozen=True):
    """One problem that the editor shows."""

    range: Range
    message: str
    severity: int | None = None
    code: Any = None
    source: str | None = None


class FileDiagnostics(Params, frozen=True):
    """The problems of one document."""

    uri: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Context(Params, frozen=True):
    """What the editor knows."""

    active_document: str | None = None
    selection: Location | None = None
    open_documents: tuple[str, ...] = ()
    visible_documents: tuple[str, ...] = ()
    diagnostics: tuple[FileDiagnostics, ...] = ()
    terminal: str | None = None
    clipboard: str | None = None
    quickfix: tuple[Location, ...] = ()
    history: tuple[Turn, ...] = ()


class Budget(Params, frozen=True):
    tokens: int | None = None
    model: str | None = None
    counter: str | None = None


class Sections(Params, frozen=True):
    """Parts of a prompt to switch on or off for one request; None: as the settings say."""

    instructions: bool | None = None
    architecture: bool | None = None
    memory: bool | None = None
    team: bool | None = None
    rules: bool | None = None
    retrieval: bool | None = None


class BuildPromptParams(Params, frozen=True):
    message: str
    document: str | None = None
    context: Context = Context()
    budget: Budget = Budget()
    profile: str | None = None
    variant: str | None = None
    recipe: str | None = None
    arguments: dict[str, Any] = {}
    output: str = "text"
    sections: Sections = Sections()
    work_done_token: int | str | None = None


class ResolveMentionsParams(Params, frozen=True):
    message: str
    document: str | None = None
    context: Context = Context()
    budget: Budget = Budget()


class CompleteMentionParams(Params, frozen=True):
    text: str
    offset: int
    context: Context = Context()
    limit: int = 50


class SearchParams(Params, frozen=True):
    query: str
    limit: int = 20
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class ReindexParams(Params, frozen=True):
    roots: tuple[str, ...] = ()
    full: bool = False


class UriParams(Params, frozen=True):
    uri: str


class GraphParams(Params, frozen=True):
    query: str | None = None
    symbol: str | None = None
    uri: str | None = None
    from_: str | None = field(default=None, name="from")
    to: str | None = None
    limit: int = 15


class ExplainParams(Params, frozen=True):
    uri: str | None = None
    position: Position | None = None
    symbol: str | None = None


class MemoryParams(Params, frozen=True):
    action: str
    id: str = ""
    category: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    paths: tuple[str, ...] | UnsetType = UNSET
    expires: str | int | UnsetType | None = UNSET
    scope: str = ""
    root: str = ""
    query: str = ""
    limit: int = 100
    offset: int = 0
    include_expired: bool = False


class Cited(Params, frozen=True):
    """An item of a prompt, as the result of `promptls/buildPrompt` tells it."""

    citation: str
    uri: str
    range: Range
    spans: tuple[Range, ...] = ()
    form: FormName = "full"


class VerifyCitationsParams(Params, frozen=True):
    answer: str
    items: tuple[Cited, ...]


class NoParams(Params, frozen=True):
    pass


# ---- what LSP defines, as far as prompt documents need it


class DocumentId(Params, frozen=True):
    uri: str


class Document(Params, frozen=True):
    text_document: DocumentId


class DocumentPosition(Params, frozen=True):
    text_document: DocumentId
    position: Position


class DocumentRange(Params, frozen=True):
    text_document: DocumentId
    range: Range


class CodeActionContext(Params, frozen=True):
    only: tuple[str, ...] | None = None


class CodeActionParams(Params, frozen=True):
    text_document: DocumentId
    range: Range
    context: CodeActionContext = CodeActionContext()


class RenameParams(Params, frozen=True):
    text_document: DocumentId
    position: Position
    new_name: str


class FileRename(Params, frozen=True):
    old_uri: str
    new_uri: str


class RenameFilesParams(Params, frozen=True):
    files: tuple[FileRename, ...]


P = TypeVar("P", bound=Params)


def decode(kind: type[P], data: Any) -> P:
    """Params of a request.  Raises InvalidParams with the path of the field that does not fit."""
    try:
        return msgspec.convert({} if data is None else data, kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        field = path.rstrip("`").removeprefix("$.") or _missing(text)
        raise InvalidParams(f"{field or 'params'}: {text[:1].lower()}{text[1:]}.", field) from None


def encode(params: Params) -> Json:
    """Params as they stand on the wire."""
    out: Json = msgspec.to_builtins(params)
    return out


def attribute(name: str) -> str:
    """The attribute of a field as it is called on the wire: "openDocuments" → "open_documents"."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def _missing(text: str) -> str:
    return text.split("`")[1] if "missing required field" in text else ""


def one_of(field: str, value: str, valid: tuple[str, ...]) -> str:
    """`value` if it is valid.  Raises InvalidParams listing what is."""
    if value not in valid:
        names = tuple(sorted(valid))
        raise InvalidParams(f"unknown {field} {value!r}; valid: {', '.join(names)}.", field, names)
    return value
