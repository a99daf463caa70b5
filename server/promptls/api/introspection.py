"""promptls/mentionKinds, promptls/models, promptls/recipes, promptls/profiles: what can be asked for."""

from __future__ import annotations

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.engine import Engine
from promptls.mentions import registry
from promptls.mentions.grammar import GRAMMAR_VERSION
from promptls.model import CancelToken
from promptls.prompt import tokens
from promptls.prompt.profile import PROFILES, profile
from promptls.prompt.recipes import help_text


def mention_kinds(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/mentionKinds"""
    return {
        "grammar": GRAMMAR_VERSION,
        "kinds": [
            {
                "name": k.name,
                "syntax": list(k.syntax),
                "help": k.help,
                "aliases": list(k.aliases),
                "argument": k.argument,
                "needs": list(k.needs),
            }
            for k in registry.registry().kinds.values()
        ],
    }


def models(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/models"""
    default, table = tokens.models(tokens.user_models())
    return {"default": default, "models": [{"name": name, "budget": budget} for name, budget in table.items()]}


def recipes(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/recipes"""
    found = engine.recipes(engine.request(protocol.Context(), engine.view(token), token))
    return {
        "recipes": [
            {
                "name": name,
                "title": recipe.title,
                "description": recipe.description,
                "version": recipe.version,
                "origin": recipe.origin,
                "help": help_text(recipe),
                "arguments": [
                    {
                        "name": a.name,
                        "description": a.description,
                        "required": a.required,
                        "default": a.default,
                        "choices": list(a.choices),
                    }
                    for a in recipe.arguments
                ],
            }
            for name, recipe in found.recipes.items()
        ],
        "warnings": [problem.message for problem in found.problems],
    }


def profiles(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/profiles"""
    return {"profiles": [{"name": name, "about": profile(name).about} for name in PROFILES]}
