"""Profiles: TOML files, entry points, hooks, and the documented example of a whole pipeline."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promptkit import item, renderer, text_file
from promptls.extensions.compat.codebuddy import model_budget
from promptls.model import Item, Origin, Span
from promptls.prompt import profile as profiles
from promptls.prompt.build import TraceStage, trace_line
from promptls.prompt.errors import UnknownName
from promptls.prompt.layouts import VARIANTS
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.profile import (
    GROUP,
    Profile,
    ProfileError,
    ProfileHooks,
    loadable_profiles,
    parse_profile,
    profile,
    profile_names,
)
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.scoring import (
    DEDUPLICATORS,
    SIMILARITY_FEATURES,
    RetrievedItem,
    ScoringQuery,
    apply_boosts,
    drop_overlaps,
    split_by_threshold,
)


@pytest.mark.parametrize("name", profile_names())
def test_profile_is_consistent(name: str) -> None:
    made = profile(name)
    assert made.name == name
    assert callable(made.layout)
    assert made.variant in ("", *VARIANTS)
    assert callable(made.formula)
    assert len(made.boosts) == len(made.scoring.boosts)
    assert made.packing.deduplication in DEDUPLICATORS
    assert made.scoring.similarity in SIMILARITY_FEATURES
    assert sum(part.share for part in made.sections) < 1
    assert len({part.name for part in made.sections}) == len(made.sections)
    assert made.about.endswith(".")


def test_constants_of_the_compat_profiles() -> None:
    codebuddy, prompto, cody, attune, understand = map(
        profile, ("codebuddy", "prompto", "cody", "attune", "understand")
    )
    assert codebuddy.hooks.budget is model_budget
    assert (codebuddy.counter, codebuddy.scoring.max_score, codebuddy.scoring.threshold) == ("chars4", 0.9, 0.2)
    assert (codebuddy.packing.mode, codebuddy.packing.deduplication) == ("signature", "lines")
    assert not codebuddy.gathering.with_mentions
    assert (codebuddy.scoring.mmr_lambda, codebuddy.scoring.half_life_days) == (1.0, 0.0)  # off in the original
    assert (prompto.budget, prompto.gathering.max_items, prompto.scoring.threshold, prompto.scoring.max_score) == (
        8000,
        20,
        0.3,
        1.0,
    )
    assert (prompto.packing.mode, prompto.packing.trim_first, prompto.packing.deduplication) == (
        "stop",
        True,
        "overlap",
    )
    assert (cody.budget, cody.packing.explicit_reserve, cody.packing.implicit_share) == (45_000, 30_000, 0.6)
    assert (cody.packing.mode, cody.packing.order, cody.packing.deduplication) == ("skip", "reverse", "containment")
    assert (attune.budget, attune.scoring.max_items, attune.variant, attune.packing.mode) == (
        5000,
        3,
        "citation",
        "cut",
    )
    assert (understand.gathering.source, understand.gathering.max_items) == ("graph", 15)


def test_unknown_profile_error_lists_the_valid_names() -> None:
    with pytest.raises(UnknownName, match=r"^unknown profile 'x'; valid: attune, codebuddy, cody, default, prompto"):
        profile("x")


@pytest.mark.parametrize(
    ("text", "message"),
    {
        'about = "x"\nvariante = "y"': "profiles/mine.toml: Object contains unknown field `variante`",
        'about = "x"\n[scoring]\nboosts = ["luck"]': "profiles/mine.toml: unknown boost 'luck'; valid: features, rare terms",
        "variant = 'y'": "profiles/mine.toml: Object missing required field `about`",
        'about = "x"\n[packing]\nmode = "all"': "profiles/mine.toml: Invalid enum value 'all' - at `$.packing.mode`",
        "about =": "profiles/mine.toml: Invalid value",
    }.items(),
)
def test_invalid_profile_error_has_the_place(text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=r"^profiles/mine.toml: ") as caught:
        parse_profile("mine", text)
    assert str(caught.value).startswith(message)


def test_missing_keys_have_the_defaults() -> None:
    assert parse_profile("mine", 'about = "Mine."') == Profile("mine", "Mine.")


class _EntryPoint:
    """An entry point of a plugin."""

    def __init__(self, name: str, loaded: object) -> None:
        self.name, self.value, self.loaded = name, f"plugin:{name}", loaded

    def load(self) -> object:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def test_plugins_add_profiles_and_broken_ones_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mine = parse_profile("mine", 'about = "Mine."', ProfileHooks(budget=len))
    found = [_EntryPoint("mine", mine), _EntryPoint("broken", ImportError("no module")), _EntryPoint("wrong", 3)]
    monkeypatch.setattr(profiles, "entry_points", lambda group: found if group == GROUP else [])
    for cached in (profiles._entry_points, profiles.profile):
        cached.cache_clear()
    try:
        assert profile_names() == ("broken", "default", "mine", "wrong")
        assert profile("mine") is mine
        with pytest.raises(ProfileError, match=r"^Cannot load the profile 'broken' \(plugin:broken\): no module\.$"):
            profile("broken")
        with pytest.raises(ProfileError, match=r"^Cannot load the profile 'wrong': plugin:wrong is not a Profile\.$"):
            profile("wrong")
        assert [one.name for one in loadable_profiles()] == ["default", "mine"]
        assert len(caplog.records) == 2
    finally:
        for cached in (profiles._entry_points, profiles.profile):
            cached.cache_clear()


@pytest.mark.process
def test_default_profile_does_not_load_the_compat_profiles() -> None:
    code = "import sys, promptls.api.build_prompt; print([m for m in sys.modules if m.startswith('promptls.extensions.compat')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ---------------------------------------------------------------- prompto's documented example

USING = renderer("chars4")
LOGIN = "login handler: authentication error"  # all four keywords, and error handling by the word

WORKSPACE = [
    # file, first and last line, score as found, text; the first five are the document's
    ("auth/login.ts", 45, 80, 0.5, LOGIN),
    ("auth/middleware.ts", 10, 30, 0.4, "authentication handler throw"),
    ("utils/logger.ts", 50, 60, 0.3, "error"),
    ("config/database.ts", 100, 120, 0.2, "port"),
    ("auth/login.ts", 45, 85, 0.48, LOGIN.replace("error", "failure")),
    # the fifteen that it does not name: one below the threshold, two overlaps, twelve others
    ("config/paths.ts", 1, 20, 0.1, "home"),
    ("auth/middleware.ts", 25, 50, 0.4, "next"),
    ("utils/logger.ts", 55, 70, 0.31, "format"),
    *((f"pages/page{n}.ts", 1, 60, 0.55 - n / 100, "render the page") for n in range(12)),
]


def test_promptos_example_gives_the_line_of_its_document() -> None:
    """20 → 18 → 15 → 8, 7,234 tokens: all stages on the twenty regions, sized as the document's three are."""
    sizes = {"auth/login.ts": 2500, "auth/middleware.ts": 2000, "utils/logger.ts": 1500}
    asked = ScoringQuery("", ("authentication", "error", "login", "handler"), "fix")
    found = [
        RetrievedItem(Item(f"/w/{path}", Span(first - 1, last), "text", Origin.SEMANTIC, total), text)
        for path, first, last, total, text in WORKSPACE
    ]
    rules = profile("prompto")
    ranked = apply_boosts(found, rules.boosts, asked, rules.scoring.max_score)
    good, dropped = split_by_threshold([region.item for region in ranked], rules.scoring.threshold)
    assert [d.item.path[3:] for d in dropped] == ["config/database.ts", "config/paths.ts"]
    distinct, twice = drop_overlaps([region for region in ranked if region.item in good])
    assert [(d.item.path[3:], d.item.span.label, d.reason) for d in twice] == [
        ("auth/login.ts", "45-85", "overlaps login.ts:45-80"),
        ("auth/middleware.ts", "25-50", "overlaps middleware.ts:10-30"),
        ("utils/logger.ts", "55-70", "overlaps logger.ts:50-60"),
    ]

    # The three of the document come first; five pages of 246 or 247 tokens follow, the sixth is too large.
    names = [region.item.path[3:] for region in distinct]
    assert names[:3] == ["auth/login.ts", "auth/middleware.ts", "utils/logger.ts"]
    pages = [name for name in names if name.startswith("pages/")]
    wanted = {**sizes, **dict.fromkeys(pages[:5], 247), pages[0]: 246, pages[5]: 900}
    choices = [_choice(region, wanted.get(region.item.path[3:], 100)) for region in distinct]
    packed = pack([], choices, rules.budget, mode=rules.packing.mode, trim_first=True, order="score")  # type: ignore[arg-type]
    assert packed.tokens == 7234
    counts = (len(found), len(good), len(distinct), len(packed.items))
    stages = [
        TraceStage(name, taken, given, 0.0)
        for name, taken, given in zip(("retrieval", "threshold", "dedup", "budget"), (0, *counts), counts, strict=False)
    ]
    assert trace_line(stages, packed.tokens) == "8 items, 7,234 tokens; likely enough: 15 of 20 regions"


def _choice(region: RetrievedItem, tokens: int) -> PackingCandidate:
    """A file of so many characters that its block costs `tokens`."""
    name, length = region.item.path[3:], 4 * tokens - 200
    while True:
        lines = ["x" * min(70, length - start) for start in range(0, length, 70)]
        file = text_file("\n".join(lines) + "\n", name.replace("/", "-"))
        made = item_forms(item(file, score=region.item.score), file, USING)
        full = made.full()
        assert full is not None
        if full.tokens == tokens:
            return PackingCandidate(made)
        length += 4 * (tokens - full.tokens)
