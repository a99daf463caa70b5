"""Optional parts of promptls, found through entry points, so that the core imports none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from logging import getLogger
from typing import Any

SERVICES, COMMANDS = "promptls.services", "promptls.commands"
"""Entry-point groups: functions that the core calls by name, and functions that declare a command."""

log = getLogger(__name__)


def service(name: str) -> Any | None:
    """Return the function of a service; None if it is not installed."""
    point = _entry_points(SERVICES).get(name)
    return _load(point) if point is not None else None


def commands() -> Iterator[Any]:
    """Yield the functions that declare commands, ordered by name."""
    points = sorted(_entry_points(COMMANDS).items())
    yield from (declare for _, point in points if (declare := _load(point)) is not None)


@cache
def _entry_points(group: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


@cache
def _load(point: EntryPoint) -> Any | None:
    try:
        return point.load()
    except ModuleNotFoundError as error:
        if not f"{point.module}.".startswith(f"{error.name}."):
            log.warning("cannot load %s (%s)", point.name, point.value, exc_info=True)
        return None  # without a warning if the part itself was removed
    except Exception:  # code of another package
        log.warning("cannot load %s (%s)", point.name, point.value, exc_info=True)
        return None
