"""What clients can ask for: each request with its params and what serves it.

What serves a request is imported when it is first asked for, so that a start does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from lsprotocol import types as lsp

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.documents import TOKEN_MODIFIERS, TOKEN_TYPES
from promptls.model import CancelToken


def _run(place: str) -> Callable[..., Any]:
    """The function "module:name" of this package, imported when it is first asked for."""

    def run(subject: Any, params: protocol.Params, token: CancelToken) -> Any:
        module, _, name = place.partition(":")
        return getattr(import_module(f"promptls.{module}"), name)(subject, params, token)

    return run


ENDPOINTS: dict[str, tuple[type[protocol.Params], Callable[..., Json]]] = {
    "promptls/buildPrompt": (protocol.BuildPromptParams, _run("api.prompt:build_prompt")),
    "promptls/resolveMentions": (protocol.ResolveMentionsParams, _run("api.prompt:resolve_mentions")),
    "promptls/completeMention": (protocol.CompleteMentionParams, _run("api.prompt:complete_mention")),
    "promptls/verifyCitations": (protocol.VerifyCitationsParams, _run("api.prompt:verify_citations")),
    "promptls/search": (protocol.SearchParams, _run("api.index:search")),
    "promptls/graph": (protocol.GraphParams, _run("api.graph:graph")),
    "promptls/explain": (protocol.ExplainParams, _run("api.graph:explain")),
    "promptls/memory": (protocol.MemoryParams, _run("api.memory:memory")),
    "promptls/status": (protocol.NoParams, _run("api.index:status")),
    "promptls/reindex": (protocol.ReindexParams, _run("api.index:reindex")),
    "promptls/explainIgnore": (protocol.UriParams, _run("api.index:explain_ignore")),
    "promptls/mentionKinds": (protocol.NoParams, _run("api.introspection:mention_kinds")),
    "promptls/models": (protocol.NoParams, _run("api.introspection:models")),
    "promptls/recipes": (protocol.NoParams, _run("api.introspection:recipes")),
    "promptls/profiles": (protocol.NoParams, _run("api.introspection:profiles")),
}

LANGUAGE: dict[str, tuple[type[protocol.Params], Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: (
        protocol.DocumentPosition,
        _run("lsp.features.completion:completion"),
        lsp.CompletionOptions(trigger_characters=["@", "#", "/", ":", "."]),
    ),
    lsp.TEXT_DOCUMENT_HOVER: (protocol.DocumentPosition, _run("lsp.features.hover:hover"), None),
    lsp.TEXT_DOCUMENT_DEFINITION: (protocol.DocumentPosition, _run("lsp.features.hover:definition"), None),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: (protocol.Document, _run("lsp.features.hover:links"), None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (
        protocol.CodeActionParams,
        _run("lsp.features.diagnostics:actions"),
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Source]),
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: (protocol.DocumentRange, _run("lsp.features.inlay_hint:hints"), None),
    lsp.TEXT_DOCUMENT_CODE_LENS: (protocol.Document, _run("lsp.features.inlay_hint:lenses"), None),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (
        protocol.Document,
        _run("lsp.features.inlay_hint:semantic_tokens"),
        lsp.SemanticTokensLegend(list(TOKEN_TYPES), list(TOKEN_MODIFIERS)),
    ),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (protocol.Document, _run("lsp.features.inlay_hint:symbols"), None),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: (protocol.Document, _run("lsp.features.inlay_hint:folds"), None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (protocol.DocumentPosition, _run("lsp.features.rename:prepare_rename"), None),
    lsp.TEXT_DOCUMENT_RENAME: (
        protocol.RenameParams,
        _run("lsp.features.rename:rename"),
        lsp.RenameOptions(prepare_provider=True),
    ),
    lsp.WORKSPACE_WILL_RENAME_FILES: (
        protocol.RenameFilesParams,
        _run("lsp.features.rename:will_rename_files"),
        lsp.FileOperationRegistrationOptions(
            filters=[lsp.FileOperationFilter(pattern=lsp.FileOperationPattern(glob="**"), scheme="file")]
        ),
    ),
}
"""Features of prompt documents: what comes in, what runs, what the client is told of it."""
