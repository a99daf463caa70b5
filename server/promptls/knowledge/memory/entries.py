"""What is remembered: entries, what makes a valid one, and their dates.

An entry is knowledge (what is so), a rule (what shall be) or experience (what was learnt), as in CodeBuddy.
Values and checks only; files are in `files`, what belongs to a question in `relevance`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

MOST_TITLE = 120
"""Characters of a title …"""
MOST_CONTENT = 4_000
"""… of a content …"""
MOST_LABEL = 200
"""… of a tag or a glob …"""
MOST_LABELS = 20
"""… and how many of each an entry may have."""
MOST_ENTRIES = 1_000
"""Of one file."""
MOST_DAYS = 36_500

Category = Literal["knowledge", "rule", "experience"]
Scope = Literal["user", "workspace"]
CATEGORIES: tuple[Category, ...] = ("experience", "knowledge", "rule")
SCOPES: tuple[Scope, ...] = ("user", "workspace")

Expiry = str | int | None
"""Days from now, "2030-01-31" (to the end of that day), a date with time and zone; None or "" for never."""


class InvalidEntry(ValueError):
    """A request to the memory that cannot be served; the text names what is wrong and what is valid."""

    def __init__(self, field: str, message: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.valid = valid


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that is remembered."""

    id: str
    category: Category
    title: str
    content: str
    created: datetime  # with a zone
    updated: datetime
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # globs of the files that it is about, as in an ignore file; () for all
    expires: datetime | None = None  # not remembered from then on
    scope: Scope = "user"
    root: str = ""  # path of the workspace folder, "" for the user's own

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= now


class Draft(Struct, frozen=True, kw_only=True):
    """Fields of an entry that somebody wants to set; what is unset stays, or has its default."""

    category: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: Sequence[str] | UnsetType = UNSET
    paths: Sequence[str] | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET


def category_of(value: str) -> Category:
    """A category in either case.  Raises `InvalidEntry`."""
    for category in CATEGORIES:
        if value.strip().lower() == category:
            return category
    raise InvalidEntry("category", f"{value!r} is none; it must be one of {', '.join(CATEGORIES)}.", CATEGORIES)


def scope_of(value: str) -> Scope:
    """A scope.  Raises `InvalidEntry`."""
    for scope in SCOPES:
        if value == scope:
            return scope
    raise InvalidEntry("scope", f"{value!r} is none; it must be one of {', '.join(SCOPES)}.", SCOPES)


def title_of(value: str) -> str:
    """A title: one line of visible text.  Raises `InvalidEntry`."""
    return _line("title", value, MOST_TITLE)


def content_of(value: str) -> str:
    """A content: any text that is not blank.  Raises `InvalidEntry`."""
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise InvalidEntry("content", "it is blank; it must say what to remember.")
    if len(text) > MOST_CONTENT:
        raise InvalidEntry("content", f"it has {len(text):,} characters; at most {MOST_CONTENT:,} are valid.")
    _encodable("content", text)
    return text


def labels_of(field: str, values: Sequence[str]) -> tuple[str, ...]:
    """Tags or globs, each once, in order.  Raises `InvalidEntry`."""
    found = tuple(dict.fromkeys(_line(field, value, MOST_LABEL) for value in values))
    if len(found) > MOST_LABELS:
        raise InvalidEntry(field, f"there are {len(found)}; at most {MOST_LABELS} are valid.")
    return found


def expiry_of(value: Expiry, now: datetime) -> datetime | None:
    """The moment at which an entry ends.  Raises `InvalidEntry`."""
    valid = 'a number of days from 1 to 36500, a date such as "2030-01-31", or "" for never'
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise InvalidEntry("expires", f"it must be {valid}.")
    if isinstance(value, int):
        if not 1 <= value <= MOST_DAYS:
            raise InvalidEntry("expires", f"{value} is not valid; it must be {valid}.")
        return now + timedelta(days=value)
    try:
        moment = _moment(value.strip())
    except (ValueError, OverflowError):
        raise InvalidEntry("expires", f"{value!r} is not valid; it must be {valid}.") from None
    if moment <= now:
        raise InvalidEntry("expires", f"{value!r} is over already; it must be {valid}.")
    return moment


def _moment(text: str) -> datetime:
    if len(text) == len("2030-01-31"):
        end = datetime.combine(date.fromisoformat(text), time.max, timezone.utc)
        return end.replace(microsecond=0)
    moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def _line(field: str, value: str, most: int) -> str:
    text = " ".join(value.split())
    if not text:
        raise InvalidEntry(field, "it is blank; it must be a line of text.")
    if len(text) > most:
        raise InvalidEntry(field, f"it has {len(text)} characters; at most {most} are valid.")
    if any(unicodedata.category(character) in ("Cc", "Cf") for character in text):
        raise InvalidEntry(field, "it holds characters that cannot be seen; it must be a line of text.")
    _encodable(field, text)
    return text


def _encodable(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidEntry(field, "it holds half of a character (a lone surrogate).") from None
