"""Imports a library without the parts of it that are not used here.

LanceDB loads the client of a remote catalogue, a thousand generated classes, when it is imported: 0.7 s of 1.2 s of a
core at every start of the keeper.  Names are taken from that client when classes are made, and never used on a table
that lies on the disk; so whatever is asked of it is an empty class.
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
    empty, before = _Empty(unneeded), set(sys.modules)
    sys.meta_path.insert(0, empty)
    try:
        return importlib.import_module(name)
    except Exception as error:
        log.info("%s is loaded with all that belongs to it: %s", name, error)
        for module in set(sys.modules) - before:
            if module.partition(".")[0] in (name, *unneeded):
                del sys.modules[module]
    finally:
        sys.meta_path.remove(empty)
    return importlib.import_module(name)


class _Empty(MetaPathFinder, Loader):
    """Finds the packages it was told of, and what is in them, empty: every name in them is a class of that name."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = frozenset(packages)
        self._classes: dict[str, type] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self._packages else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = self._class  # type: ignore[method-assign]

    def _class(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._classes.setdefault(name, type(name, (Exception,), {}))  # what is raised must be an exception
