"""Memory entries and their validation.

An entry is knowledge (a fact), a rule (an instruction) or experience (a lesson learned).  `storage`
reads and writes files of entries, `relevance` selects the entries for a question.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

MAX_TITLE_CHARACTERS = 120
"""Maximum length of a title in characters; a title is one line."""
MAX_CONTENT_CHARACTERS = 4_000
"""Maximum length of the content in characters; relevant entries must fit into a section of the prompt."""
MAX_LABEL_CHARACTERS = 200
"""Maximum length of a tag or glob in characters."""
MAX_LABELS = 20
"""Maximum number of tags, and of globs, of an entry."""
MAX_ENTRIES = 1_000
"""Maximum number of entries in a memory file."""
MAX_EXPIRY_DAYS = 36_500
"""Maximum time to expiry in days; keeps dates within the range of `datetime`."""

Category = Literal["knowledge", "rule", "experience"]
Scope = Literal["user", "workspace"]
CATEGORIES: tuple[Category, ...] = ("experience", "knowledge", "rule")
SCOPES: tuple[Scope, ...] = ("user", "workspace")

Expiry = str | int | None
"""Days from now, "2030-01-31" (end of that day in UTC), or an ISO date with time and zone; None or "" for never."""


class InvalidEntry(ValueError):
    """An invalid memory request; the message contains the field, the error and the valid values."""

    def __init__(self, field: str, message: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.valid = valid


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """An entry of the memory."""

    id: str
    category: Category
    title: str
    content: str
    created: datetime  # timezone-aware, like all dates here
    updated: datetime
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # globs of the files it applies to, in .gitignore syntax; () for all
    expires: datetime | None = None
    scope: Scope = "user"
    root: str = ""  # path of the workspace folder, "" for user memory

    def is_expired(self, now: datetime) -> bool:
        """Return true if the entry has expired at this time."""
        return self.expires is not None and self.expires <= now


class EntryDraft(Struct, frozen=True, kw_only=True):
    """Fields to set in a new or existing entry; unset fields keep their value or default."""

    category: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: Sequence[str] | UnsetType = UNSET
    paths: Sequence[str] | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET


def parse_category(value: str) -> Category:
    """Parse a category, ignoring case.

    Raises:
        InvalidEntry: The category is unknown.
    """
    for category in CATEGORIES:
        if value.strip().lower() == category:
            return category
    raise InvalidEntry("category", f"unknown category {value!r}; must be one of {', '.join(CATEGORIES)}.", CATEGORIES)


def parse_scope(value: str) -> Scope:
    """Parse a scope.

    Raises:
        InvalidEntry: The scope is unknown.
    """
    for scope in SCOPES:
        if value == scope:
            return scope
    raise InvalidEntry("scope", f"unknown scope {value!r}; must be one of {', '.join(SCOPES)}.", SCOPES)


def parse_title(value: str) -> str:
    """Validate a title: one line of visible text.

    Raises:
        InvalidEntry: The title is invalid.
    """
    return _parse_line("title", value, MAX_TITLE_CHARACTERS)


def parse_content(value: str) -> str:
    """Validate the content: any text that is not blank.

    Raises:
        InvalidEntry: The content is invalid.
    """
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise InvalidEntry("content", "blank; must contain the text to remember.")
    if len(text) > MAX_CONTENT_CHARACTERS:
        raise InvalidEntry("content", f"{len(text):,} characters; must be at most {MAX_CONTENT_CHARACTERS:,}.")
    _check_encodable("content", text)
    return text


def parse_labels(field: str, values: Sequence[str]) -> tuple[str, ...]:
    """Validate tags or globs and remove duplicates.

    Raises:
        InvalidEntry: A label is invalid, or there are too many.
    """
    found = tuple(dict.fromkeys(_parse_line(field, value, MAX_LABEL_CHARACTERS) for value in values))
    if len(found) > MAX_LABELS:
        raise InvalidEntry(field, f"{len(found)} values; must be at most {MAX_LABELS}.")
    return found


def parse_expiry(value: Expiry, now: datetime) -> datetime | None:
    """Return the time at which an entry expires.

    Raises:
        InvalidEntry: The value is not a valid time in the future.
    """
    valid = 'a number of days from 1 to 36500, a date such as "2030-01-31", or "" for never'
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise InvalidEntry("expires", f"must be {valid}.")
    if isinstance(value, int):
        if not 1 <= value <= MAX_EXPIRY_DAYS:
            raise InvalidEntry("expires", f"invalid value {value}; must be {valid}.")
        return now + timedelta(days=value)
    try:
        moment = _parse_date(value.strip())
    except (ValueError, OverflowError):
        raise InvalidEntry("expires", f"invalid value {value!r}; must be {valid}.") from None
    if moment <= now:
        raise InvalidEntry("expires", f"{value!r} is in the past; must be {valid}.")
    return moment


def _parse_date(text: str) -> datetime:
    if len(text) == len("2030-01-31"):
        end = datetime.combine(date.fromisoformat(text), time.max, timezone.utc)
        return end.replace(microsecond=0)
    moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def _parse_line(field: str, value: str, max_characters: int) -> str:
    text = " ".join(value.split())
    if not text:
        raise InvalidEntry(field, "blank; must be a line of text.")
    if len(text) > max_characters:
        raise InvalidEntry(field, f"{len(text)} characters; must be at most {max_characters}.")
    if any(unicodedata.category(character) in ("Cc", "Cf") for character in text):
        raise InvalidEntry(field, "contains invisible characters; must be a line of visible text.")
    _check_encodable(field, text)
    return text


def _check_encodable(field: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidEntry(field, "contains a lone surrogate.") from None
