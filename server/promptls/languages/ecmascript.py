"""The JavaScript family: JavaScript, TypeScript, their JSX dialects, Vue and Svelte components."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.languages.language import Language

JAVASCRIPT = Language(
    name="javascript",
    aliases=("js", "node"),
    extensions=("js", "mjs", "cjs"),
    file_names=("jakefile",),
    shebangs=("node", "nodejs"),
    pack_grammar="javascript",
    legacy_grammar="javascript",
    query_files=("javascript", "ecmascript"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    doc_tags="jsdoc",
    name_separators=(".",),
    definition_calls={"exports": "variable"},
    member_calls={"exports": "variable"},
    test_calls=frozenset("bench context describe it specify suite t test".split()),
    constructor="constructor",
    assignment_defines_method=True,
    visibility="export",
    has_decorators=True,
    strips_annotations=True,
    declaration_syntax="ecmascript",
    return_syntax="colon",
    import_syntax="ecmascript",
    import_resolution="ecmascript",
    imports_in_functions=True,
    family="ecmascript",
    functions_as_members=True,
    capitalized_types=True,
)

JSX = replace(
    JAVASCRIPT,
    name="jsx",
    aliases=("javascriptreact",),
    dialect_of="javascript",
    extensions=("jsx",),
    file_names=(),
    shebangs=(),
    return_syntax="",
)

TYPESCRIPT = replace(
    JAVASCRIPT,
    name="typescript",
    aliases=("ts",),
    extensions=("ts", "mts", "cts"),
    file_names=(),
    shebangs=("deno", "ts-node", "bun"),
    pack_grammar="typescript",
    legacy_grammar="typescript",
    query_files=("typescript", "ecmascript"),
    mask="signatures",
    doc_tags="",
)

TSX = replace(
    TYPESCRIPT,
    name="tsx",
    aliases=("typescriptreact",),
    dialect_of="typescript",
    extensions=("tsx",),
    shebangs=(),
    pack_grammar="tsx",
    legacy_grammar="tsx",
)

VUE = replace(
    TYPESCRIPT,
    name="vue",
    aliases=(),
    extensions=("vue",),
    shebangs=(),
    mask="markup",
    doc_tags="jsdoc",
    test_calls=frozenset(),
    strips_annotations=False,
    imports_in_functions=False,
)

SVELTE = replace(VUE, name="svelte", extensions=("svelte",), has_decorators=False)
