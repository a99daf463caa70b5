"""promptls/mentionKinds, promptls/models: what can be asked for."""

from __future__ import annotations

from promptls import protocol
from promptls.context.mentions import registry
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.prompt import tokens
from promptls.protocol import Json


def mention_kinds(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/mentionKinds"""
    return {
        "kinds": [
            {"name": k.name, "syntax": list(k.syntax), "help": k.help} for k in registry.registry().kinds.values()
        ]
    }


def models(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/models"""
    default, table = tokens.models()
    return {"default": default, "models": [{"name": name, "budget": budget} for name, budget in table.items()]}
