"""Options of one prompt: settings, profile, recipe and request parameters, merged into `PromptOptions`.

This is the only place where they are merged; the token budget comes from `budget.budget_of`.  A value of the request wins over the recipe, the recipe over the
settings, and the settings over the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from promptls.mentions.context import ResolveContext
from promptls.model import Mention, Problem, Span
from promptls.prompt import recipes
from promptls.prompt.assemble import OUTPUTS
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.prompt.context.explicit import active_context
from promptls.prompt.errors import InvalidOption, UnknownName
from promptls.prompt.instructions import InstructionTemplates, load_instruction_templates
from promptls.prompt.language_model import LanguageModel
from promptls.prompt.layouts import VARIANTS, Message
from promptls.prompt.profile import Profile, ProfileError, profile
from promptls.prompt.tokens import Counter
from promptls.settings import SectionSettings, Settings, config_file

FILLS = ("relevant", "full")

SELECTIONS = ("auto", "model", "ranker")
"""Valid values of `budget.fill`."""


Region = tuple[str, Span]
"""Path and lines."""


class RequestOptions(Struct, frozen=True):
    """Options that a request names; None leaves the choice to the recipe, the settings or the profile."""

    profile: str | None = None
    variant: str | None = None
    output: str = "text"
    selection: str | None = None
    budget: BudgetRequest = BudgetRequest()
    sections: Mapping[str, bool] = {}  # switched on or off, "retrieval" included
    history: tuple[Message, ...] = ()
    pinned: tuple[Region, ...] = ()  # regions that are explicit
    dropped: tuple[Region, ...] = ()  # regions that are left out


class RecipeOptions(Struct, frozen=True):
    """Options of a recipe, with its arguments filled in; the default means no recipe."""

    name: str = ""
    text: str = ""  # the task section
    variant: str = ""
    mentions: tuple[str, ...] = ()
    sections: Mapping[str, bool] = {}
    warnings: tuple[str, ...] = ()


class PromptOptions(Struct, frozen=True, kw_only=True):
    """Everything that determines one prompt, apart from the message and the workspace."""

    budget: int  # tokens
    counter: Counter
    profile: Profile
    variant: str
    output: str
    recipe: str  # name of the recipe, "" without one
    task: str  # text of the recipe
    recipe_mentions: tuple[str, ...]  # resolved as if they were in the message
    history: tuple[Message, ...]
    pinned: tuple[Region, ...]
    dropped: tuple[Region, ...]
    section_switches: Mapping[str, bool]  # sections, and "retrieval"; a missing name is on
    rules_tokens: int  # maximum of the section "rules"
    line_numbers: bool  # whether the lines of code are numbered
    threshold: float  # score below which an implicit item is left out
    fill: str  # one of FILLS
    templates: InstructionTemplates  # of the section "instructions"
    language_model: LanguageModel | Problem | None
    selection: str  # one of SELECTIONS: who chooses the retrieved code
    index_completeness: float  # share of the workspace that is indexed, 0 to 1
    boundary_key: bytes | None  # of the fences; None: random for each process
    warnings: tuple[str, ...]

    @property
    def asks_model(self) -> bool:
        """Whether a language model is to choose the code, even if the configured one is not available."""
        return self.selection == "model" or (self.selection == "auto" and self.language_model is not None)

    def includes(self, section: str) -> bool:
        """Return whether a section may be in the prompt."""
        return self.section_switches.get(section, True)


def resolve_options(
    settings: Settings,
    request: RequestOptions,
    recipe: RecipeOptions,
    *,
    language_model: LanguageModel | Problem | None = None,
    index_completeness: float = 1.0,
    boundary_key: bytes | None = None,
) -> PromptOptions:
    """Merge settings, profile, recipe and request.

    Raises:
        InvalidOption: a name is unknown or a value is out of range.
    """
    selected = _load_profile(request.profile or settings.retrieval.profile)
    budget = budget_of(settings.budget, request.budget, selected)
    variant = request.variant or recipe.variant or settings.retrieval.variant or selected.variant or "baseline"
    fill = _one_of("budget.fill", request.budget.fill or settings.budget.fill, FILLS)
    return PromptOptions(
        budget=budget.tokens,
        counter=budget.counter,
        profile=selected,
        variant=_one_of("variant", variant, VARIANTS),
        output=_one_of("output", request.output, OUTPUTS),
        recipe=recipe.name,
        task=recipe.text,
        recipe_mentions=recipe.mentions,
        history=request.history,
        pinned=request.pinned,
        dropped=request.dropped,
        section_switches={**_section_settings(settings.sections), **recipe.sections, **request.sections},
        rules_tokens=settings.sections.rules_tokens,
        line_numbers=settings.sections.line_numbers,
        threshold=selected.scoring.threshold if settings.retrieval.threshold is None else settings.retrieval.threshold,
        fill=fill,
        templates=load_instruction_templates(config_file().parent / "instructions"),
        language_model=language_model,
        selection=_one_of("selection", request.selection or settings.retrieval.selection, SELECTIONS),
        index_completeness=index_completeness,
        boundary_key=boundary_key,
        warnings=(*budget.warnings, *recipe.warnings),
    )


def _load_profile(name: str) -> Profile:
    try:
        return profile(name)
    except ProfileError as error:
        raise InvalidOption(str(error), "profile") from None


def _section_settings(settings: SectionSettings) -> dict[str, bool]:
    """Return the switches of the settings; two sections follow the switch of another one."""
    not_sections = ("rules_tokens", "line_numbers")
    switches = {name: value for name, value in structs.asdict(settings).items() if name not in not_sections}
    return {"format": settings.instructions, "overview": settings.architecture, **switches}


def _one_of(field: str, value: str, valid: Sequence[str]) -> str:
    if value not in valid:
        raise UnknownName(field, value, valid)
    return value


# ---------------------------------------------------------------- recipes


def resolve_recipe(
    name: str | None,
    arguments: Mapping[str, Any],
    available: Callable[[], Mapping[str, recipes.Recipe]],
    mentions: Sequence[Mention],
    context: ResolveContext,
) -> RecipeOptions:
    """Fill in a recipe's template for one request.

    Args:
        name: the name of the recipe, None for no recipe.
        arguments: values of the recipe's arguments.
        available: reads all recipes by name; called only if there is a name.
        mentions: mentions of the message.
        context: the context of the request.

    Raises:
        InvalidOption: the recipe is unknown, or an argument is missing or invalid.
    """
    if name is None:
        if arguments:
            raise InvalidOption("arguments: not allowed without a recipe; set 'recipe' too.", "arguments")
        return RecipeOptions()
    recipe = recipes.find_recipe(available(), name)
    text = recipes.render_recipe(recipe, dict(arguments), _template_values(mentions, context))
    warning = f"The recipe {recipe.name!r} comes from this workspace ({recipe.source})."
    has_context = bool(mentions) or context.client.selection is not None
    return RecipeOptions(
        recipe.name,
        text,
        recipe.variant or "",
        recipe.mentions if has_context else (*recipe.mentions, *recipe.default_mentions),
        dict(recipe.sections),
        (warning,) if recipe.origin == "workspace" else (),
    )


def _template_values(mentions: Sequence[Mention], context: ResolveContext) -> dict[str, str]:
    """Return the values of the placeholders in a recipe's template."""
    client, snapshot = context.client, context.snapshot
    path, selection, symbol = client.active_document, "", ""
    if client.selection is not None:
        path, span = client.selection
        selection = f"{snapshot.label(path)}:{span.label}"
        selected, _ = active_context("", context)
        symbol = selected[0].symbol if selected else ""
    entry = snapshot.files.get(path)
    return recipes.context_values(
        mentioned=[mention.text.removeprefix("@") for mention in mentions],
        selection=selection,
        symbol=symbol,
        file=snapshot.label(path) if path else "",
        language=entry.outline.language if entry is not None and entry.outline is not None else "",
    )
