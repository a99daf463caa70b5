"""GraphQL."""

from __future__ import annotations

from promptls.languages.language import Language

GRAPHQL = Language(
    name="graphql",
    extensions=("graphql", "gql", "graphqls"),
    pack_grammar="graphql",
    query_files=("graphql",),
    line_comments=("#",),
    imports_are_paths=True,
    names_without_import=True,
)
