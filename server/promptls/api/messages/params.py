"""Params of requests, decoded by msgspec.

Invalid params raise `InvalidParams` with the path of the field and the valid values. Field names are part of the
protocol: fields may be added but not renamed. Results are encoded in `promptls.api.messages.results`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from promptls.model import FormName, Span
from promptls.util.decode import convert

Json = dict[str, Any]
"""A JSON object."""


MAX_TEXT_CHARACTERS = 4_000_000
"""Maximum length of a message, query or answer in characters: about a million tokens, the context of large models."""
_LONG_TEXTS = ("message", "query", "text", "answer")


class InvalidParams(ValueError):
    """Raised for invalid params; the message names the field, the problem and the valid values."""

    def __init__(self, message: str, field: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.valid = valid


class Params(Struct, frozen=True, rename="camel"):
    """Base class of all params: camelCase in JSON, unknown fields are ignored."""


class Position(Params, frozen=True):
    """An LSP position."""

    line: int
    character: int


class Range(Params, frozen=True):
    """An LSP range."""

    start: Position
    end: Position

    @property
    def span(self) -> Span:
        """The lines that the range touches."""
        end = self.end.line + (1 if self.end.character > 0 or self.end.line == self.start.line else 0)
        return Span(max(0, self.start.line), max(self.start.line + 1, end))


class Location(Params, frozen=True):
    """An LSP location."""

    uri: str
    range: Range


class Turn(Params, frozen=True):
    """An earlier message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str


class Diagnostic(Params, frozen=True):
    """A diagnostic that the editor shows."""

    range: Range
    message: str
    severity: int | None = None
    code: Any = None
    source: str | None = None


class FileDiagnostics(Params, frozen=True):
    """The diagnostics of one document."""

    uri: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Context(Params, frozen=True):
    """The client context: editor state that mentions can refer to."""

    active_document: str | None = None
    selection: Location | None = None
    open_documents: tuple[str, ...] | None = None  # None: those that the client has opened
    visible_documents: tuple[str, ...] = ()
    diagnostics: tuple[FileDiagnostics, ...] = ()
    terminal: str | None = None
    clipboard: str | None = None
    quickfix: tuple[Location, ...] = ()
    history: tuple[Turn, ...] = ()


class Budget(Params, frozen=True):
    """The token budget of a prompt; a missing field is taken from the settings."""

    tokens: int | None = None
    model: str | None = None
    counter: str | None = None
    fill: str | None = None


class Sections(Params, frozen=True):
    """Sections to switch on or off for one request; None uses the settings."""

    instructions: bool | None = None
    architecture: bool | None = None
    memory: bool | None = None
    team: bool | None = None
    rules: bool | None = None
    retrieval: bool | None = None


class BuildPromptParams(Params, frozen=True):
    """Params of promptls/buildPrompt."""

    message: str
    document: str | None = None
    context: Context = Context()
    budget: Budget = Budget()
    profile: str | None = None
    variant: str | None = None
    recipe: str | None = None
    arguments: dict[str, Any] = {}
    output: str = "text"
    selection: Literal["auto", "model", "ranker"] | None = None
    sections: Sections = Sections()
    pinned: tuple[Location, ...] = ()
    dropped: tuple[Location, ...] = ()
    work_done_token: int | str | None = None


class LintInstructionsParams(Params, frozen=True):
    """Params of promptls/lintInstructions."""

    paths: tuple[str, ...] = ()


class SetBudgetParams(Params, frozen=True):
    """Argument of the command promptls.setBudget."""

    uri: str
    tokens: int


class OpenPageParams(Params, frozen=True):
    """Params of promptls/openPage."""

    kind: Literal["prompt", "explain", "graph", "status", "mentionKinds"]
    params: dict[str, Any] = {}
    uri: str | None = None
    follows_document: bool = False


class PageActionParams(Params, frozen=True):
    """Params of promptls/pageAction."""

    uri: str
    action: Literal["pin", "unpin", "drop", "restore", "add", "more", "budget", "rebuild"]
    line: int = 0
    tokens: int | None = None


class ResolveMentionsParams(Params, frozen=True):
    """Params of promptls/resolveMentions."""

    message: str
    document: str | None = None
    context: Context = Context()
    budget: Budget = Budget()


class CompleteMentionParams(Params, frozen=True):
    """Params of promptls/completeMention."""

    text: str
    offset: int
    context: Context = Context()
    limit: int = 50


class SearchParams(Params, frozen=True):
    """Params of promptls/search."""

    query: str
    limit: int = 20
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    group_by: Literal["none", "file"] = "none"


class ListParams(Params, frozen=True):
    """Params of promptls/list."""

    query: str
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    budget: Budget = Budget()
    snippets: int = 0
    first: int = 1
    all_marked: bool = False


class ReadParams(Params, frozen=True):
    """Params of promptls/read."""

    places: tuple[str, ...]
    budget: Budget = Budget()
    session: str = ""
    again: bool = False


class CallToolParams(Params, frozen=True):
    """Params of promptls/callTool."""

    name: str
    arguments: dict[str, Any] = {}
    session: str = ""


class ReindexParams(Params, frozen=True):
    """Params of promptls/reindex."""

    roots: tuple[str, ...] = ()
    full: bool = False


class UriParams(Params, frozen=True):
    """Params of promptls/explainIgnore."""

    uri: str


class GraphParams(Params, frozen=True):
    """Params of promptls/graph."""

    query: str | None = None
    symbol: str | None = None
    uri: str | None = None
    from_: str | None = field(default=None, name="from")
    to: str | None = None
    limit: int = 15


class ExplainParams(Params, frozen=True):
    """Params of promptls/explain."""

    uri: str | None = None
    position: Position | None = None
    symbol: str | None = None


class MemoryParams(Params, frozen=True):
    """Params of promptls/memory."""

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
    """An item of a prompt, as returned by `promptls/buildPrompt`."""

    citation: str
    uri: str
    range: Range
    spans: tuple[Range, ...] = ()
    form: FormName = "full"


class VerifyCitationsParams(Params, frozen=True):
    """Params of promptls/verifyCitations."""

    answer: str
    items: tuple[Cited, ...]


class NoParams(Params, frozen=True):
    """Params of requests that take none."""


# ---- params of LSP requests, reduced to the fields that are used


class DocumentId(Params, frozen=True):
    """TextDocumentIdentifier of LSP."""

    uri: str


class Document(Params, frozen=True):
    """Params of requests about a whole document."""

    text_document: DocumentId


class DocumentPosition(Params, frozen=True):
    """TextDocumentPositionParams of LSP."""

    text_document: DocumentId
    position: Position


class DocumentRange(Params, frozen=True):
    """Params of requests about a range of a document."""

    text_document: DocumentId
    range: Range


class CodeActionContext(Params, frozen=True):
    """CodeActionContext of LSP."""

    only: tuple[str, ...] | None = None


class CodeActionParams(Params, frozen=True):
    """Params of textDocument/codeAction."""

    text_document: DocumentId
    range: Range
    context: CodeActionContext = CodeActionContext()


class RenameParams(Params, frozen=True):
    """Params of textDocument/rename."""

    text_document: DocumentId
    position: Position
    new_name: str


class FileRename(Params, frozen=True):
    """FileRename of LSP."""

    old_uri: str
    new_uri: str


class RenameFilesParams(Params, frozen=True):
    """Params of workspace/willRenameFiles."""

    files: tuple[FileRename, ...]


P = TypeVar("P", bound=Params)


def decode(kind: type[P], data: Any) -> P:
    """Decode the params of a request.

    In invalid params, null and `[]` (how Lua encodes an empty object) stand for a missing field, and "5" and 5.0 for 5.

    Raises:
        InvalidParams: The params do not match the type; the error names the field.
    """
    data = {} if data is None else data
    try:
        params = convert(data, kind)
    except msgspec.ValidationError:
        try:
            params = convert(data, kind, strict=False)
        except msgspec.ValidationError:
            try:
                params = convert(_without_empty_values(data), kind, strict=False)
            except msgspec.ValidationError as error:
                raise _invalid_params(error, kind) from None
    for name in _LONG_TEXTS:
        size = len(getattr(params, name, None) or "")
        if size > MAX_TEXT_CHARACTERS:
            raise InvalidParams(
                f"{name}: {size:,} characters are over the limit of {MAX_TEXT_CHARACTERS:,}, more than models read; shorten it.",
                name,
            )
    return params


def _without_empty_values(data: Any) -> Any:
    """Return JSON without null and without fields that are `[]`."""
    if isinstance(data, dict):
        return {key: _without_empty_values(value) for key, value in data.items() if value is not None and value != []}
    if isinstance(data, list) and data:
        return [_without_empty_values(one) for one in data if one is not None]
    return {} if data == [] else data


def _invalid_params(error: msgspec.ValidationError, kind: type[Params]) -> InvalidParams:
    text, _, path = str(error).partition(" - at `")
    missing = text.split("`")[1] if "missing required field" in text else ""
    field = path.rstrip("`").removeprefix("$").removeprefix(".") or missing
    message = f"{field or 'params'}: {text[:1].lower()}{text[1:]}"
    valid = _valid_values(kind, field) if text.startswith("Invalid enum value") else ()
    return InvalidParams(f"{message}; valid: {', '.join(valid)}." if valid else f"{message}.", field, valid)


def _valid_values(kind: type[Params], field: str) -> tuple[str, ...]:
    """Return the values of a field at the top level that is an enumeration."""
    hints = get_type_hints(kind)
    declared = (hints[one.name] for one in msgspec.structs.fields(kind) if one.encode_name == field)
    return tuple(map(str, get_args(next(declared, None))))


def encode(params: Params) -> Json:
    """Encode params as JSON."""
    encoded: Json = msgspec.to_builtins(params)
    return encoded


def attribute(name: str) -> str:
    """Convert a JSON field name to its attribute name: "openDocuments" → "open_documents"."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def one_of(field: str, value: str, valid: tuple[str, ...]) -> str:
    """Return `value` if it is one of the valid values.

    Raises:
        InvalidParams: It is not; the error lists the valid values.
    """
    if value not in valid:
        names = tuple(sorted(valid))
        raise InvalidParams(f"unknown {field} {value!r}; valid: {', '.join(names)}.", field, names)
    return value
