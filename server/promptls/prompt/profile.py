"""Pipeline profiles: a set of constants (TOML) and optional hooks (functions) for one prompt pipeline.

The profile `default` is prompt/profiles/default.toml.  All others are found through the entry-point group
`promptls.profiles`: the name of an entry point is the name of the profile, its value is a `Profile`.  An entry
point is loaded when its profile is first requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from logging import getLogger
from typing import Literal

import msgspec
from msgspec import Struct, field, structs

from promptls.mentions.context import ResolveContext
from promptls.model import Problem, SectionEntry
from promptls.prompt.errors import UnknownName
from promptls.prompt.instructions import InstructionTemplates
from promptls.prompt.intent import Intent
from promptls.prompt.layouts import Layout, default_layout
from promptls.prompt.scoring import BOOSTS, FORMULAS, Boost, Formula
from promptls.util.decode import convert, tomllib


class SectionContext(Struct, frozen=True):
    """Input of a section producer."""

    intent: Intent
    files: tuple[str, ...]  # absolute paths of the files in the prompt, most important first
    context: ResolveContext
    templates: InstructionTemplates  # of the instructions
    full_files: frozenset[str]  # paths of files that the message mentions as a whole
    tasks: tuple[str, ...]  # names of templates of the instructions that come before those of the question types
    retrieval_empty: bool  # whether nothing is mentioned and retrieval found nothing
    about_project: bool  # whether the question is about the project as a whole


class SectionNotes(Struct, frozen=True):
    """Output of a section producer."""

    notes: tuple[SectionEntry, ...] = ()  # most important first
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()  # path of the file that each note comes from; () if they come from no file


SectionProducer = Callable[[SectionContext], SectionNotes]


GROUP = "promptls.profiles"
"""Entry-point group of profiles."""

DEFAULT = "default"
"""Name of the default profile."""

log = getLogger(__name__)


class Understanding(Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of query understanding."""

    classifier: Literal["default", "none"] = "default"  # ignored if the profile has the hook `classify`
    max_keywords: int = 0  # maximum number of keywords; 0: no limit


class Gathering(Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of retrieval."""

    source: Literal["retrieval", "graph"] = "retrieval"
    max_items: int = 0  # maximum number of retrieved items; 0: derived from the budget
    by_task: bool = False  # whether code is added that the kind of request needs; see context/gather.py
    with_mentions: bool = True  # whether retrieval runs for a message with mentions


class Scoring(Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of scoring."""

    formula: Literal["retrieval", "hybrid"] = "retrieval"  # ignored if the profile has the hook `formula`
    boosts: tuple[str, ...] = ()  # names in `scoring.BOOSTS` or in the hook `boosts`
    max_score: float = 0.9  # maximum score of implicit context
    threshold: float = 0.0  # minimum score
    max_items: int = 0  # maximum number of items after the threshold; 0: no limit
    mmr_lambda: float = 1.0  # λ of maximal marginal relevance; 1: off
    similarity: Literal["words", "scope"] = "words"  # similarity measure of maximal marginal relevance
    half_life_days: float = 0.0  # half-life of a score by file age; 0: off


class Packing(Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of deduplication and packing."""

    deduplication: Literal["text", "lines", "overlap", "containment"] = "text"
    token_cost_exponent: float = 0.0  # exponent of an item's length in its value per token; see scoring.py
    mode: Literal["best", "skip", "signature", "stop", "cut"] = "best"
    trim_first: bool = False
    order: Literal["file", "score", "reverse"] = "file"
    fill: float = 1.0  # share of the tokens of a large budget that implicit context uses; see `build.FILLED_TOKENS`
    implicit_share: float = 1.0  # share of implicit context in the budget that explicit context leaves
    explicit_reserve: int = 0  # tokens of a larger budget that only explicit context may use; 0: shared


class SectionShare(Struct, frozen=True, forbid_unknown_fields=True):
    """A section and its share of the budget."""

    name: str
    share: float = 0.0
    max_tokens: int = 1 << 30


class Classification(Struct, frozen=True):
    """Result of the hook `classify`."""

    intent: Intent
    keywords: tuple[str, ...]


class ProfileHooks(Struct, frozen=True):
    """Functions that replace stages of the default pipeline; `None` or no entry keeps the default stage."""

    classify: Callable[[Intent, str], Classification] | None = None  # (default intent, question)
    formula: Formula | None = None
    boosts: Mapping[str, Boost] = {}  # boosts that `Scoring.boosts` may name
    layout: Layout | None = None
    quotes_history: bool = False  # whether the layout renders earlier turns as Markdown quotations
    sections: Mapping[str, SectionProducer] = {}  # by name of the section
    budget: Callable[[str], int] | None = None  # tokens for a model name, where requests and settings name no number


class ProfileConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of a profile's TOML file."""

    name: str
    about: str
    variant: str = ""  # used if neither the request nor the settings name one; "" for baseline
    budget: int | Literal["model"] = "model"  # tokens, or by the table of models
    counter: str = ""  # used if neither the request nor the settings name one
    understanding: Understanding = Understanding()
    gathering: Gathering = Gathering()
    scoring: Scoring = Scoring()
    packing: Packing = Packing()
    sections: tuple[SectionShare, ...] = field(default_factory=tuple)  # in prompt order


class Profile(ProfileConfig, frozen=True):
    """Constants and hooks of one pipeline."""

    hooks: ProfileHooks = ProfileHooks()

    @property
    def layout(self) -> Layout:
        """The hook's layout, else the default layout."""
        return self.hooks.layout or default_layout

    @property
    def formula(self) -> Formula:
        """The hook's formula, else the formula named in the TOML file."""
        return self.hooks.formula or FORMULAS[self.scoring.formula]

    @property
    def keeps_retrieval_scores(self) -> bool:
        """True if items keep the scores of retrieval."""
        return self.hooks.formula is None and self.scoring.formula == "retrieval"

    @property
    def boosts(self) -> tuple[Boost, ...]:
        """The boosts named in the TOML file."""
        return tuple(self.hooks.boosts.get(name) or BOOSTS[name] for name in self.scoring.boosts)


class ProfileError(ValueError):
    """A profile that cannot be loaded; one sentence with place and reason."""


def parse_profile(name: str, text: str, hooks: ProfileHooks | None = None) -> Profile:
    """Parse a profile's TOML text.  Raises `ProfileError`."""
    try:
        config = convert({"name": name, **tomllib.loads(text)}, ProfileConfig)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ProfileError(f"profiles/{name}.toml: {error}") from None
    hooks = hooks or ProfileHooks()
    for boost in config.scoring.boosts:
        if boost not in BOOSTS and boost not in hooks.boosts:
            valid = ", ".join(sorted({*BOOSTS, *hooks.boosts}))
            raise ProfileError(f"profiles/{name}.toml: unknown boost {boost!r}; valid: {valid}")
    return Profile(**structs.asdict(config), hooks=hooks)


def read_profile(package: str, name: str, hooks: ProfileHooks | None = None) -> Profile:
    """Read the profile NAME.toml from a package.  Raises `ProfileError`."""
    return parse_profile(name, files(package).joinpath(f"{name}.toml").read_text("utf-8"), hooks)


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name != DEFAULT}


def profile_names() -> tuple[str, ...]:
    """Names of all installed profiles, sorted; loads none of them."""
    return tuple(sorted((DEFAULT, *_entry_points())))


@cache
def profile(name: str) -> Profile:
    """Return the profile of this name.  Raises `UnknownName`, and `ProfileError` if it cannot be loaded."""
    if name == DEFAULT:
        return parse_profile(
            DEFAULT, files(__package__).joinpath("profiles").joinpath(f"{DEFAULT}.toml").read_text("utf-8")
        )
    entry = _entry_points().get(name)
    if entry is None:
        raise UnknownName("profile", name, profile_names())
    try:
        loaded = entry.load()
    except Exception as error:  # code of a plugin
        raise ProfileError(f"Cannot load the profile {name!r} ({entry.value}): {error}.") from error
    if not isinstance(loaded, Profile):
        raise ProfileError(f"Cannot load the profile {name!r}: {entry.value} is not a Profile.")
    return loaded


def loadable_profiles() -> tuple[Profile, ...]:
    """Load all installed profiles; those that cannot be loaded are logged and left out."""
    loaded = []
    for name in profile_names():
        try:
            loaded.append(profile(name))
        except ProfileError as error:
            log.warning("%s", error)
    return tuple(loaded)
