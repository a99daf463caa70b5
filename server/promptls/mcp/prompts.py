"""Recipes as prompts of the protocol, with completion of their arguments.

A prompt has the arguments of its recipe and `question`, in which @-mentions are completed.  Its result is the prompt
that promptls builds for the recipe, with its context.
"""

from __future__ import annotations

import mcp_types as types

from promptls.api.build_prompt import build_prompt
from promptls.api.introspection import encode_recipes, recipes
from promptls.api.mention_requests import complete_mention
from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import code_point_offset, utf16_offset
from promptls.engine import Engine
from promptls.model import CancelToken
from promptls.prompt.recipes import built_in_recipes, collect_recipes

QUESTION = "question"
"""Name of the argument that contains the message of the user."""
MAX_COMPLETIONS = 100
"""Maximum number of completions in a result, a limit of the protocol."""


def list_prompts(engine: Engine, token: CancelToken) -> list[types.Prompt]:
    """Return all recipes as prompts, sorted by name."""
    return [*map(_prompt, recipes(engine, protocol.NoParams(), token)["recipes"])]


def built_in_prompts() -> list[types.Prompt]:
    """Return the built-in recipes as prompts, sorted by name."""
    return [*map(_prompt, encode_recipes(collect_recipes(built_in_recipes())))]


def _prompt(recipe: Json) -> types.Prompt:
    arguments = []
    for one in recipe["arguments"]:
        choices = f" One of: {', '.join(one['choices'])}." if one["choices"] else ""
        description = one["description"] + choices
        arguments.append(types.PromptArgument(name=one["name"], description=description, required=one["required"]))
    if all(one.name != QUESTION for one in arguments):
        description = "What the task is about; @src/a.py, @#name or @diff add what they name."
        arguments.append(types.PromptArgument(name=QUESTION, description=description, required=False))
    return types.Prompt(
        name=recipe["name"], title=recipe["title"], description=recipe["description"], arguments=arguments
    )


def get_prompt(engine: Engine, name: str, arguments: dict[str, str], token: CancelToken) -> types.GetPromptResult:
    """Build the prompt of a recipe.

    Raises:
        InvalidParams: The recipe is unknown, or an argument is missing or invalid.
    """
    engine.index.refresh(token)
    recipe = _find_recipe(engine, name, token)
    own = {argument["name"] for argument in recipe["arguments"]}
    message = "" if QUESTION in own else arguments.get(QUESTION, "")
    values = {key: value for key, value in arguments.items() if key != QUESTION or key in own}
    params = protocol.BuildPromptParams(message, recipe=name, arguments=values)
    text = build_prompt(engine, params, token)["prompt"]
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(
        description=recipe["description"], messages=[types.PromptMessage(role="user", content=content)]
    )


def complete_argument(engine: Engine, name: str, argument: str, value: str, token: CancelToken) -> types.Completion:
    """Complete an argument of a prompt: the choices of a recipe, or the mention at the end of the question.

    A completion of a question repeats the text before the mention, because clients replace the whole value.

    Raises:
        InvalidParams: The recipe is unknown.
    """
    recipe = _find_recipe(engine, name, token)
    declared = next((one for one in recipe["arguments"] if one["name"] == argument), None)
    if declared is not None:
        values = [choice for choice in declared["choices"] if choice.casefold().startswith(value.casefold())]
        return types.Completion(values=values[:MAX_COMPLETIONS], total=len(values), has_more=False)
    if argument != QUESTION:
        return types.Completion(values=[], total=0, has_more=False)
    end = utf16_offset(value, len(value))
    found = complete_mention(engine, protocol.CompleteMentionParams(value, end, limit=MAX_COMPLETIONS), token)
    start, end = (code_point_offset(value, found["replace"][name]) for name in ("start", "end"))
    values = [value[:start] + item["insertText"] + value[end:] for item in found["items"]]
    return types.Completion(values=values, has_more=found["isIncomplete"])


def _find_recipe(engine: Engine, name: str, token: CancelToken) -> Json:
    available: dict[str, Json] = {
        recipe["name"]: recipe for recipe in recipes(engine, protocol.NoParams(), token)["recipes"]
    }
    if name not in available:
        raise InvalidParams(f"unknown prompt {name[:80]!r}; valid: {', '.join(available)}.", "name", tuple(available))
    return available[name]
