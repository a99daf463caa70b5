"""Table of the custom requests, shared by the language server and the command line."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json, Params
from promptls.model import CancelToken


def lazy_function(reference: str) -> Callable[..., Any]:
    """Return a wrapper of the function "package.module:name" that imports the module on its first call."""
    module, _, name = reference.partition(":")

    def call(target: Any, params: Params, token: CancelToken) -> Any:
        return getattr(import_module(module), name)(target, params, token)

    return call


def _request(reference: str) -> Callable[..., Json]:
    return lazy_function(f"promptls.api.{reference}")


CUSTOM_REQUESTS: dict[str, tuple[type[Params], Callable[..., Json]]] = {
    "promptls/buildPrompt": (protocol.BuildPromptParams, _request("build_prompt:build_prompt")),
    "promptls/resolveMentions": (protocol.ResolveMentionsParams, _request("mention_requests:resolve_mentions")),
    "promptls/completeMention": (protocol.CompleteMentionParams, _request("mention_requests:complete_mention")),
    "promptls/verifyCitations": (protocol.VerifyCitationsParams, _request("build_prompt:verify_citations")),
    "promptls/list": (protocol.ListParams, _request("regions:list_regions")),
    "promptls/read": (protocol.ReadParams, _request("regions:read")),
    "promptls/search": (protocol.SearchParams, _request("search:search")),
    "promptls/graph": (protocol.GraphParams, _request("graph_requests:graph")),
    "promptls/explain": (protocol.ExplainParams, _request("explain:explain")),
    "promptls/callTool": (protocol.CallToolParams, _request("tools:handle_call_tool")),
    "promptls/memory": (protocol.MemoryParams, _request("memory_entries:memory")),
    "promptls/status": (protocol.NoParams, _request("index_requests:status")),
    "promptls/reindex": (protocol.ReindexParams, _request("index_requests:reindex")),
    "promptls/explainIgnore": (protocol.UriParams, _request("index_requests:explain_ignore")),
    "promptls/lintInstructions": (
        protocol.LintInstructionsParams,
        _request("lint_instructions:lint_instructions"),
    ),
    "promptls/mentionKinds": (protocol.NoParams, _request("introspection:mention_kinds")),
    "promptls/models": (protocol.NoParams, _request("introspection:models")),
    "promptls/recipes": (protocol.NoParams, _request("introspection:recipes")),
    "promptls/profiles": (protocol.NoParams, _request("introspection:profiles")),
}
"""Params type and function of each request; the function takes the engine, the params and a cancel token."""
