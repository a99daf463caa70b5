"""A profile: the constants and the choice of stages of one pipeline.

`default` is ours; the others reproduce the five systems that this project was modelled on, on our index, so
that they can be compared.  Each is a file profiles/NAME.toml; what it does not say is as in `Profile`.
Stages are named here and looked up where they run: scoring, rank, pack, layouts.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct, field

from promptls.prompt.tokens import UnknownName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROFILES = ("attune", "codebuddy", "cody", "default", "prompto", "understand")


class Understanding(Struct, frozen=True, forbid_unknown_fields=True):
    """How a question is taken."""

    classifier: Literal["default", "codebuddy", "prompto", "none"] = "default"
    keywords: int = 0  # keywords that count; 0: all


class Gathering(Struct, frozen=True, forbid_unknown_fields=True):
    """Where regions come from."""

    source: Literal["regions", "graph"] = "regions"
    considered: int = 0  # regions that are looked at; 0: as many as the budget could hold
    beside_mentions: bool = True  # whether anything is gathered when something is mentioned
    common_files: bool = False  # whether README and the like stand in when nothing is found


class Scoring(Struct, frozen=True, forbid_unknown_fields=True):
    """What a region's score is made of."""

    formula: Literal["legs", "density", "hybrid", "rrf", "tfidf", "overlap"] = "legs"
    boosts: tuple[Literal["terms", "action", "rare terms", "features"], ...] = ()
    cap: float = 0.9  # the most that a region has that nobody asked for
    threshold: float = 0.0  # below this a region is left out
    relative: float = 0.0  # … and below this share of the best one's score
    limit: int = 0  # regions that go on; 0: all
    diversity: float = 1.0  # λ of maximal marginal relevance; 1: off
    alike: Literal["words", "place"] = "words"  # what makes two regions alike
    half_life_days: float = 0.0  # of a score, by the age of the last change; 0: off


class Packing(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept, in which order."""

    distinct: Literal["text", "lines", "overlap", "containment"] = "text"
    thrift: float = 0.0  # how much the length of a region counts against it; see rank.by_worth
    mode: Literal["best", "skip", "signature", "stop", "cut"] = "best"
    keep_top: bool = False
    order: Literal["file", "score", "reverse"] = "file"
    found_share: float = 1.0  # of the room that explicit context leaves, for what was found
    reserved: int = 0  # tokens of a larger budget that are for explicit context alone; 0: shared


class Share(Struct, frozen=True, forbid_unknown_fields=True):
    """A section and how much of the budget it may take."""

    name: str
    share: float = 0.0
    cap: int = 1 << 30  # tokens


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One pipeline."""

    name: str
    about: str
    layout: str = "default"
    variant: str = ""  # when neither request nor settings say; "" for baseline
    budget: int | Literal["model", "codebuddy"] = "model"  # tokens, or whose table of models
    counter: str = ""  # when neither request nor settings say
    understanding: Understanding = Understanding()
    gathering: Gathering = Gathering()
    scoring: Scoring = Scoring()
    packing: Packing = Packing()
    sections: tuple[Share, ...] = field(default_factory=tuple)  # in order


class ProfileError(ValueError):
    """A file of a profile that cannot be used; one sentence says where and why."""


def parse(name: str, text: str) -> Profile:
    """The profile that a TOML text describes.  Raises ProfileError."""
    try:
        return msgspec.convert({"name": name, **tomllib.loads(text)}, Profile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ProfileError(f"profiles/{name}.toml: {error}") from None


@cache
def profile(name: str) -> Profile:
    """The profile of that name.  Raises UnknownName for one that is not in PROFILES."""
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return parse(name, files(__package__).joinpath("profiles").joinpath(f"{name}.toml").read_text("utf-8"))
