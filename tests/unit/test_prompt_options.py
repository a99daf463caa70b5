"""Options of a prompt: precedence of request, recipe, settings and profile, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.prompt import options as options_module
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.prompt.errors import InvalidOption
from promptls.prompt.options import PromptOptions, RecipeOptions, RequestOptions, resolve_options
from promptls.prompt.profile import profile
from promptls.settings import BudgetSettings, RetrievalSettings, SectionSettings, Settings


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options_module, "config_file", lambda: tmp_path / "config.toml")


DEFAULTS = Settings()
NO_OPTIONS = RequestOptions()
NO_RECIPE = RecipeOptions()


def resolve(
    settings: Settings = DEFAULTS, request: RequestOptions = NO_OPTIONS, recipe: RecipeOptions = NO_RECIPE
) -> PromptOptions:
    return resolve_options(settings, request, recipe)


def test_defaults_come_from_the_default_profile() -> None:
    options = resolve()
    assert (options.profile.name, options.variant, options.output) == ("default", "baseline", "text")
    assert options.threshold == profile("default").scoring.threshold
    assert options.includes("rules")
    assert options.includes("retrieval")
    assert not options.includes("team")


def test_variant_precedence() -> None:
    settings = Settings(retrieval=RetrievalSettings(variant="strict", profile="attune"))
    assert resolve(Settings(retrieval=RetrievalSettings(profile="attune"))).variant == "citation"
    assert resolve(settings).variant == "strict"
    assert resolve(settings, recipe=RecipeOptions(variant="anti_prior")).variant == "anti_prior"
    request = RequestOptions(variant="baseline")
    assert resolve(settings, request, RecipeOptions(variant="anti_prior")).variant == "baseline"


def test_section_switch_precedence() -> None:
    settings = Settings(sections=SectionSettings(memory=False, rules_tokens=7))
    assert not resolve(settings).includes("memory")
    assert resolve(settings).rules_tokens == 7
    assert "line_numbers" not in resolve(settings).section_switches
    recipe = RecipeOptions(sections={"memory": True, "team": True})
    assert resolve(settings, recipe=recipe).includes("memory")
    options = resolve(settings, RequestOptions(sections={"team": False, "retrieval": False}), recipe)
    assert not options.includes("team")
    assert not options.includes("retrieval")


def test_switches_of_instructions_and_architecture_include_their_second_section() -> None:
    options = resolve(Settings(sections=SectionSettings(instructions=False, architecture=False)))
    assert not options.includes("format")
    assert not options.includes("overview")


def test_threshold_of_the_settings_overrides_the_profile() -> None:
    assert resolve(Settings(retrieval=RetrievalSettings(threshold=0.4))).threshold == 0.4


def test_budget_precedence() -> None:
    settings = BudgetSettings(tokens=3000)
    assert budget_of(settings, BudgetRequest(tokens=1000)).tokens == 1000
    assert budget_of(settings, BudgetRequest()).tokens == 3000
    fixed = replace(profile("default"), budget=4000)
    assert budget_of(BudgetSettings(), BudgetRequest(), fixed).tokens == 4000
    by_model = budget_of(settings, BudgetRequest(model="gpt-4"))
    assert by_model == budget_of(BudgetSettings(model="gpt-4"), BudgetRequest())


@pytest.mark.parametrize(
    ("request_options", "field"),
    [
        (RequestOptions(profile="x"), "profile"),
        (RequestOptions(variant="x"), "variant"),
        (RequestOptions(output="x"), "output"),
        (RequestOptions(budget=BudgetRequest(counter="x")), "budget.counter"),
        (RequestOptions(budget=BudgetRequest(tokens=0)), "budget.tokens"),
    ],
)
def test_invalid_option_names_its_field(request_options: RequestOptions, field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        resolve(request=request_options)
    assert caught.value.field == field
    assert bool(caught.value.valid) == (field != "budget.tokens")
