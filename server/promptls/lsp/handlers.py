"""Tables of the requests that clients can send, with their params and the functions that serve them.

The module of a function is imported on its first call, which keeps the start of the server fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

from promptls.api.messages import params as protocol
from promptls.api.requests import CUSTOM_REQUESTS, lazy_function

__all__ = ["CUSTOM_REQUESTS", "LSP_FEATURES"]

OPEN_PROMPT_COMMAND = "promptls.openPrompt"
COPY_PROMPT_COMMAND = "promptls.copyPrompt"
"""Commands of code lenses and code actions; clients with a preview of their own run them themselves."""
ANSWER_COMMAND = "promptls.answer"
"""Command and request that write the answer of the language model into a prompt document."""
SET_BUDGET_COMMAND = "promptls.setBudget"
"""Command and request that set the budget of a prompt document."""

PAGE_SCHEME = "promptls-page"
"""URI scheme of pages."""
OPEN_PAGE_COMMAND = "promptls.openPage"
PAGE_ACTION_COMMAND = "promptls.pageAction"
PAGE_RESULT_COMMAND = "promptls.pageResult"
"""Commands and requests of pages."""

TOKEN_TYPES = ("string", "function", "keyword", "namespace")
TOKEN_MODIFIERS = ("deprecated", "readonly")
"""Legend of the semantic tokens: excluded mentions are "deprecated" (struck out by themes), partial ones "readonly"."""


def _feature(reference: str) -> Callable[..., Any]:
    return lazy_function(f"promptls.lsp.features.{reference}")


INSTRUCTION_FEATURES: dict[str, Callable[..., Any]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: _feature("instructions:completion"),
    lsp.TEXT_DOCUMENT_HOVER: _feature("instructions:hover"),
    lsp.TEXT_DOCUMENT_DEFINITION: _feature("instructions:definition"),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: _feature("instructions:document_links"),
    lsp.TEXT_DOCUMENT_CODE_ACTION: _feature("instructions:code_actions"),
    lsp.TEXT_DOCUMENT_CODE_LENS: _feature("instructions:code_lenses"),
}
"""Functions of the same features for instruction files, unless they are prompt documents."""

LSP_FEATURES: dict[str, tuple[type[protocol.Params], Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: (
        protocol.DocumentPosition,
        _feature("completion:completion"),
        lsp.CompletionOptions(trigger_characters=["@", "\uff20", "#", "/", ":", "."]),
    ),
    lsp.TEXT_DOCUMENT_HOVER: (protocol.DocumentPosition, _feature("hover:hover"), None),
    lsp.TEXT_DOCUMENT_DEFINITION: (protocol.DocumentPosition, _feature("links:definition"), None),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: (protocol.Document, _feature("links:document_links"), None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (
        protocol.CodeActionParams,
        _feature("code_action:code_actions"),
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Source]),
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: (protocol.DocumentRange, _feature("annotations:inlay_hints"), None),
    lsp.TEXT_DOCUMENT_CODE_LENS: (protocol.Document, _feature("annotations:code_lenses"), None),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (
        protocol.Document,
        _feature("annotations:semantic_tokens"),
        lsp.SemanticTokensLegend(list(TOKEN_TYPES), list(TOKEN_MODIFIERS)),
    ),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (protocol.Document, _feature("annotations:document_symbols"), None),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: (protocol.Document, _feature("annotations:folding_ranges"), None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (protocol.DocumentPosition, _feature("rename:prepare_rename"), None),
    lsp.TEXT_DOCUMENT_RENAME: (
        protocol.RenameParams,
        _feature("rename:rename"),
        lsp.RenameOptions(prepare_provider=True),
    ),
    lsp.WORKSPACE_WILL_RENAME_FILES: (
        protocol.RenameFilesParams,
        _feature("will_rename_files:will_rename_files"),
        lsp.FileOperationRegistrationOptions(
            filters=[lsp.FileOperationFilter(pattern=lsp.FileOperationPattern(glob="**"), scheme="file")]
        ),
    ),
}
"""Features of prompt documents: params type, function and the options in the server capabilities."""
