"""Tree-sitter grammars by language: the only module that knows their packages.

Two sources are tried in order: the grammar wheel of tree-sitter-language-pack, then the shared library of
tree-sitter-languages. That library is loaded with ctypes, because its own loader is incompatible with current
tree-sitter bindings. A grammar that is missing or that the bindings reject is None, and the caller does without it.
Safe in any process and thread; nothing is imported before the first grammar is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from promptls.languages import LANGUAGES
from promptls.util.text.display import is_minified

if TYPE_CHECKING:
    import ctypes

    import tree_sitter


GrammarSource = Literal["pack", "legacy"]
"""Package that provides grammars: tree-sitter-language-pack or tree-sitter-languages."""

GRAMMAR_SOURCES: tuple[GrammarSource, ...] = ("pack", "legacy")
"""Default order of the sources."""


_LEGACY_NAMES = {"csharp": "c_sharp", **dict.fromkeys("commonlisp elm erlang fortran lua objc".split(), "")}
"""Grammars of tree-sitter-languages with another name, or whose trees do not fit the queries ("")."""


class GrammarLoader:
    """Loads grammars from an ordered list of sources, each grammar once."""

    def __init__(self, sources: Sequence[GrammarSource] = GRAMMAR_SOURCES) -> None:
        self.sources = tuple(sources)
        self._loaded: dict[str, tree_sitter.Language | None] = {}

    def grammar(self, language: str) -> tree_sitter.Language | None:
        """Return the grammar of a language; None if no source has one that works."""
        if language not in self._loaded:
            self._loaded[language] = self._load(language)
        return self._loaded[language]

    def _load(self, name: str) -> tree_sitter.Language | None:
        language = LANGUAGES.get(name)
        if language is None:
            return None
        for source in self.sources:
            load = _load_from_pack if source == "pack" else _load_from_legacy_library
            grammar = load(language.pack_grammar) if language.pack_grammar else None
            if grammar is not None:
                return grammar
        return None


@cache
def grammar_loader(sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES) -> GrammarLoader:
    """Return the shared loader for an order of sources."""
    return GrammarLoader(sources)


@cache
def _load_from_pack(name: str) -> tree_sitter.Language | None:
    try:
        from tree_sitter_language_pack import get_language

        grammar: tree_sitter.Language = get_language(name)
        return grammar
    except (ImportError, LookupError, OSError, ValueError, AttributeError):
        return None


@cache
def _load_from_legacy_library(name: str) -> tree_sitter.Language | None:
    library, name = _legacy_library(), _LEGACY_NAMES.get(name, name)
    if library is None or not name:
        return None
    try:
        import ctypes

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
def _legacy_library() -> ctypes.CDLL | None:
    """Load the shared library of tree-sitter-languages without importing its Python module."""
    import ctypes
    import importlib.util

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


_GENERATED_LINE_CHARS = 1000
"""Mean length of a line above which a large text counts as generated."""

_GENERATED_BYTES = 50_000
"""Size below which a text never counts as generated."""


def unparsable_reason(data: bytes) -> str:
    r"""Return the reason why a text with "\n" line ends is not parsed; "" if it can be parsed."""
    if b"\0" in data:
        return "it holds NUL characters"
    if (
        len(data) > _GENERATED_BYTES
        and len(data) > _GENERATED_LINE_CHARS * (data.count(b"\n") + 1)
        and is_minified(data.decode("utf-8", "replace"))
    ):
        return "its lines are too long to be written by hand"
    return ""
