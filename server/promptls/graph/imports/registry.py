"""Registry of import resolution: the resolver of each language."""

from __future__ import annotations

from promptls.graph.imports.by_name import (
    class_resolver,
    resolve_elixir,
    resolve_go,
    resolve_haskell,
    resolve_lua,
    resolve_ocaml,
    resolve_perl,
    resolve_php,
)
from promptls.graph.imports.by_path import (
    path_resolver,
    resolve_c,
    resolve_dart,
    resolve_julia,
    resolve_ruby,
    resolve_zig,
)
from promptls.graph.imports.python import resolve_python
from promptls.graph.imports.rust import resolve_rust
from promptls.graph.imports.script import resolve_script
from promptls.graph.imports.types import WILDCARD, LanguageResolver
from promptls.languages import LANGUAGES, ClassImports, ImportResolution, PathImports

_RESOLVERS: dict[str, LanguageResolver] = {
    "python": resolve_python,
    "ecmascript": resolve_script,
    "go": resolve_go,
    "rust": resolve_rust,
    "c": resolve_c,
    "ruby": resolve_ruby,
    "php": resolve_php,
    "lua": resolve_lua,
    "elixir": resolve_elixir,
    "haskell": resolve_haskell,
    "ocaml": resolve_ocaml,
    "dart": resolve_dart,
    "zig": resolve_zig,
    "julia": resolve_julia,
    "perl": resolve_perl,
}


def _resolver_for(resolution: ImportResolution) -> LanguageResolver:
    if isinstance(resolution, ClassImports):
        return class_resolver(resolution.suffixes, members=resolution.members)
    if isinstance(resolution, PathImports):
        name = "" if resolution.as_module else WILDCARD
        return path_resolver(resolution.suffixes, name, anywhere=resolution.anywhere, partial=resolution.partials)
    return _RESOLVERS[resolution]


RESOLVERS: dict[str, LanguageResolver] = {
    name: _resolver_for(language.import_resolution)
    for name, language in LANGUAGES.items()
    if language.import_resolution
}
"""Import resolver by language."""
