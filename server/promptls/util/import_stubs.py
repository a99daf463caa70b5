"""Imports a package with selected submodules replaced by empty stubs (a `sys.meta_path` hook).

LanceDB imports the client of a remote catalogue with a thousand generated classes: 0.7 s of 1.2 s of processor time at
every start of the store process. fastembed imports what downloads models, and image models. Such submodules only
contribute names to class definitions, so every attribute of a stub is an empty class.
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


def import_with_stubs(name: str, stubbed: Sequence[str]) -> ModuleType:
    """Import a module with the packages in `stubbed` replaced by stubs; import it without stubs if that fails."""
    if name in sys.modules:
        return sys.modules[name]
    finder = _StubFinder(stubbed)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        log.info("Importing %s without stubs: %s", name, error)
    finally:
        sys.meta_path.remove(finder)
    return import_without_stubs(name)


def import_without_stubs(name: str) -> ModuleType:
    """Import a module in full, even if it was imported with stubs before."""
    stubs = {m for m, module in sys.modules.items() if isinstance(getattr(module, "__loader__", None), _StubFinder)}
    if stubs:
        for module in [m for m in sys.modules if m in stubs or m.partition(".")[0] == name]:
            del sys.modules[module]
    return importlib.import_module(name)


class _StubType(type):
    """Metaclass of stub classes: every attribute is a stub class."""

    def __getattr__(cls, name: str) -> type:
        return _stub_class(name)


def _stub_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    stub = _STUB_CLASSES.get(name)
    if stub is None:  # derived from Exception, since a package may raise it
        stub = _STUB_CLASSES[name] = _StubType(name, (Exception,), {})
    return stub


_STUB_CLASSES: dict[str, type] = {}
"""One stub class per name: packages compare classes."""


class _StubFinder(MetaPathFinder, Loader):
    """Finder and loader that returns a stub for the given packages and their submodules."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = tuple(f"{name}." for name in packages)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if f"{name}.".startswith(self._packages) else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _stub_class  # type: ignore[method-assign]
