"""Grammars by language: the only place that knows where they come from.

Two sources, tried in order: the grammar wheel of tree-sitter-language-pack, then the one shared
library of tree-sitter-languages, which is loaded by hand because its own loader is older than the
tree-sitter bindings.  A grammar that is missing, or that the bindings refuse, is None: the caller
then does without.  Any process, any thread; nothing is imported before the first grammar is asked for.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from promptls.languages.table import BY_NAME

if TYPE_CHECKING:
    import tree_sitter

Source = Literal["pack", "legacy"]
SOURCES: tuple[Source, ...] = ("pack", "legacy")


class Grammars:
    """Grammars from an ordered choice of sources, each loaded once."""

    def __init__(self, order: Sequence[Source] = SOURCES) -> None:
        self.order = tuple(order)
        self._loaded: dict[str, tree_sitter.Language | None] = {}

    def grammar(self, language: str) -> tree_sitter.Language | None:
        """The grammar of a language of `languages`, None if no source has one that works."""
        if language not in self._loaded:
            self._loaded[language] = self._load(language)
        return self._loaded[language]

    def _load(self, language: str) -> tree_sitter.Language | None:
        row = BY_NAME.get(language)
        if row is None:
            return None
        for source in self.order:
            name = row.pack if source == "pack" else row.legacy
            grammar = (_from_pack if source == "pack" else _from_library)(name) if name else None
            if grammar is not None:
                return grammar
        return None


@cache
def grammars(order: tuple[Source, ...] = SOURCES) -> Grammars:
    """The shared provider for an order of sources."""
    return Grammars(order)


@cache
def _from_pack(name: str) -> tree_sitter.Language | None:
    try:
        from tree_sitter_language_pack import get_language

        grammar: tree_sitter.Language = get_language(name)
        return grammar
    except (ImportError, LookupError, OSError, ValueError, AttributeError):
        return None


@cache
def _from_library(name: str) -> tree_sitter.Language | None:
    library = _library()
    if library is None:
        return None
    try:
        import tree_sitter

        entry = getattr(library, f"tree_sitter_{name}")
        entry.restype = ctypes.c_void_p
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return tree_sitter.Language(capsule(entry(), b"tree_sitter.Language", None))
    except (ImportError, AttributeError, ValueError):
        return None


@cache
def _library() -> ctypes.CDLL | None:
    """The shared library of tree-sitter-languages; its Python module is not imported."""
    spec = importlib.util.find_spec("tree_sitter_languages")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("languages.so", "languages.dylib", "languages.dll"):
            path = Path(folder) / name
            if path.is_file():
                try:
                    return ctypes.CDLL(str(path))
                except OSError:
                    return None
    return None
