"""Imports a library without the parts of it that are not used here.

LanceDB loads the client of a remote catalogue, a thousand generated classes, when it is imported: 0.7 s of 1.2 s of a
core at every start of the keeper.  fastembed loads what downloads models, and models of images, for one of texts that
lies on the disk.  Names are taken from those when classes are made, and not used afterwards (a logger's lines go
nowhere); so whatever is asked of them is an empty class.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

log = logging.getLogger(__name__)


def import_without(name: str, unneeded: Sequence[str]) -> ModuleType:
    """The module `name`, imported with empty packages in the place of `unneeded`; as it is where that fails."""
    if name in sys.modules:
        return sys.modules[name]
    empty = _Empty(unneeded)
    sys.meta_path.insert(0, empty)
    try:
        return importlib.import_module(name)
    except Exception as error:
        log.info("%s is loaded with all that belongs to it: %s", name, error)
    finally:
        sys.meta_path.remove(empty)
    return import_whole(name)


def import_whole(name: str) -> ModuleType:
    """The module `name` with all that belongs to it, even if it was imported without before."""
    empty = {m for m, module in sys.modules.items() if isinstance(getattr(module, "__loader__", None), _Empty)}
    if empty:
        for module in [m for m in sys.modules if m in empty or m.partition(".")[0] == name]:
            del sys.modules[module]
    return importlib.import_module(name)


class _Named(type):
    """The type of an empty class, which holds empty classes by any name."""

    def __getattr__(cls, name: str) -> type:
        return _empty(name)


def _empty(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    known = _CLASSES.get(name)
    if known is None:  # what is raised must be an exception
        known = _CLASSES[name] = _Named(name, (Exception,), {})
    return known


_CLASSES: dict[str, type] = {}
"""One of each name: libraries compare them."""


class _Empty(MetaPathFinder, Loader):
    """Finds the packages it was told of, and what is in them, empty: every name in them is a class of that name."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = tuple(f"{name}." for name in packages)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if f"{name}.".startswith(self._packages) else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _empty  # type: ignore[method-assign]
