"""promptls/mentionKinds, promptls/models, promptls/recipes, promptls/profiles: lists of valid names with their help."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.engine import Engine
from promptls.mentions import registry
from promptls.mentions.context import ClientContext
from promptls.mentions.syntax.grammar import GRAMMAR_VERSION
from promptls.model import CancelToken
from promptls.prompt import tokens
from promptls.prompt.profile import loadable_profiles
from promptls.prompt.recipes import RecipeCollection, recipe_help


def mention_kinds(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/mentionKinds`."""
    return {
        "grammar": GRAMMAR_VERSION,
        "kinds": [
            {
                "name": kind.name,
                "syntax": list(kind.syntax),
                "help": kind.help,
                "aliases": list(kind.aliases),
                "argument": kind.argument,
                "needs": list(kind.required_fields),
            }
            for kind in registry.registry().kinds.values()
        ],
    }


def models(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/models`."""
    default, budgets = tokens.models(tokens.user_models())
    return {"default": default, "models": [{"name": name, "budget": budget} for name, budget in budgets.items()]}


def recipes(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/recipes`."""
    collection = engine.recipes(engine.resolve_context(ClientContext(), engine.snapshot(token), token))
    return {
        "recipes": encode_recipes(collection),
        "warnings": [problem.message for problem in collection.problems],
    }


def encode_recipes(collection: RecipeCollection) -> list[Json]:
    """Encode recipes with their arguments, sorted by name."""
    return [
        {
            "name": name,
            "title": recipe.title,
            "description": recipe.description,
            "version": recipe.version,
            "origin": recipe.origin,
            "help": recipe_help(recipe),
            "arguments": [
                {
                    "name": argument.name,
                    "description": argument.description,
                    "required": argument.required,
                    "default": argument.default,
                    "choices": list(argument.choices),
                }
                for argument in recipe.arguments
            ],
        }
        for name, recipe in collection.recipes.items()
    ]


def profiles(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/profiles`."""
    return {"profiles": [{"name": profile.name, "about": profile.about} for profile in loadable_profiles()]}
