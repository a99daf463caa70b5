"""Profiles: their files, and the pipelines that they make of the stages."""

from __future__ import annotations

import pytest
from promptkit import item, renderer, view

from promptls.model import Item, Origin, Span
from promptls.prompt.build import Stage, trace_line
from promptls.prompt.layouts import LAYOUTS
from promptls.prompt.pack import Choice, pack
from promptls.prompt.profile import PROFILES, Profile, ProfileError, parse, profile
from promptls.prompt.rank import ALIKE, DISTINCT, above_threshold, without_overlaps
from promptls.prompt.render import forms
from promptls.prompt.scoring import BOOSTS, FORMULAS, Asked, Region, boosted
from promptls.prompt.tokens import UnknownName
from promptls.prompt.variants import VARIANTS


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_stages_that_there_are(name: str) -> None:
    made = profile(name)
    assert (made.name, made.layout) == (name, name)
    assert made.layout in LAYOUTS
    assert made.variant in ("", *VARIANTS)
    assert made.scoring.formula in FORMULAS
    assert set(made.scoring.boosts) <= set(BOOSTS)
    assert made.packing.distinct in DISTINCT
    assert made.scoring.alike in ALIKE
    assert sum(part.share for part in made.sections) < 1
    assert len({part.name for part in made.sections}) == len(made.sections)
    assert made.about.endswith(".")


def test_the_constants_of_the_five_systems() -> None:
    codebuddy, prompto, cody, attune, understand = map(
        profile, ("codebuddy", "prompto", "cody", "attune", "understand")
    )
    assert (codebuddy.budget, codebuddy.counter, codebuddy.scoring.cap, codebuddy.scoring.threshold) == (
        "codebuddy",
        "chars4",
        0.9,
        0.2,
    )
    assert (codebuddy.packing.mode, codebuddy.packing.distinct) == ("signature", "lines")
    assert not codebuddy.gathering.beside_mentions
    assert codebuddy.gathering.common_files
    assert (codebuddy.scoring.diversity, codebuddy.scoring.half_life_days) == (1.0, 0.0)  # off, as there
    assert (prompto.budget, prompto.gathering.considered, prompto.scoring.threshold, prompto.scoring.cap) == (
        8000,
        20,
        0.3,
        1.0,
    )
    assert (prompto.packing.mode, prompto.packing.keep_top, prompto.packing.distinct) == ("stop", True, "overlap")
    assert (cody.budget, cody.packing.reserved, cody.packing.found_share) == (45_000, 30_000, 0.6)
    assert (cody.packing.mode, cody.packing.order, cody.packing.distinct) == ("skip", "reverse", "containment")
    assert (attune.budget, attune.scoring.limit, attune.variant, attune.packing.mode) == (5000, 3, "citation", "cut")
    assert (understand.gathering.source, understand.gathering.considered) == ("graph", 15)


def test_an_unknown_profile_names_the_valid_ones() -> None:
    with pytest.raises(UnknownName, match=r'^unknown profile "x"; valid: attune, codebuddy, cody, default, prompto'):
        profile("x")


@pytest.mark.parametrize(
    ("text", "message"),
    {
        'about = "x"\nlayot = "y"': "profiles/mine.toml: Object contains unknown field `layot`",
        "layout = 'y'": "profiles/mine.toml: Object missing required field `about`",
        'about = "x"\n[packing]\nmode = "all"': "profiles/mine.toml: Invalid enum value 'all' - at `$.packing.mode`",
        "about =": "profiles/mine.toml: Invalid value",
    }.items(),
)
def test_a_profile_that_is_wrong_says_where(text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=r"^profiles/mine.toml: ") as caught:
        parse("mine", text)
    assert str(caught.value).startswith(message)


def test_what_a_profile_does_not_say_is_as_in_ours() -> None:
    assert parse("mine", 'about = "Mine."') == Profile("mine", "Mine.")


# ---------------------------------------------------------------- prompto's example

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
    asked = Asked("", ("authentication", "error", "login", "handler"), "fix")
    found = [
        Region(Item(f"/w/{path}", Span(first - 1, last), "text", Origin.SEMANTIC, total), text)
        for path, first, last, total, text in WORKSPACE
    ]
    rules = profile("prompto")
    ranked = boosted(found, rules.scoring.boosts, asked, rules.scoring.cap)
    good, dropped = above_threshold([region.item for region in ranked], rules.scoring.threshold)
    assert [d.item.path[3:] for d in dropped] == ["config/database.ts", "config/paths.ts"]
    distinct, twice = without_overlaps([region for region in ranked if region.item in good])
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
    packed = pack([], choices, rules.budget, mode=rules.packing.mode, keep_top=True, order="score")  # type: ignore[arg-type]
    assert packed.tokens == 7234
    counts = (len(found), len(good), len(distinct), len(packed.kept))
    stages = [
        Stage(name, taken, given, 0.0)
        for name, taken, given in zip(("retrieval", "threshold", "dedup", "budget"), (0, *counts), counts, strict=False)
    ]
    assert trace_line(stages, packed.tokens) == "20 → 18 (threshold) → 15 (dedup) → 8 (budget), 7,234 tokens"


def _choice(region: Region, tokens: int) -> Choice:
    """A file of so many characters that its block costs `tokens`."""
    name, length = region.item.path[3:], 4 * tokens - 200
    while True:
        file = view("x" * length + "\n", name.replace("/", "-"))
        made = forms(item(file, score=region.item.score), file, USING)
        full = made.full()
        assert full is not None
        if full.tokens == tokens:
            return Choice(made)
        length += 4 * (tokens - full.tokens)
