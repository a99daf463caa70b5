"""The JavaScript family: JavaScript, TypeScript, their JSX dialects, Vue and Svelte components."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from promptls.languages.declarations import CALL, Declarations, chain_type, new_instance_type, pair
from promptls.languages.import_statements import IDENTIFIER, QUOTED, Names, ParsedImport, split_aliases
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.names import split_at_separators
from promptls.languages.signature_types import return_after_colon
from promptls.languages.visibility import Definition, Visibility, has_no_private_keyword
from promptls.util.text.regex import lazy_pattern

_COMMONJS_REQUIRE = lazy_pattern(
    r"(\{[^{}]*\}|[^\W\d][\w$]*|\$[\w$]*)\s*(?::[^=]*)?=\s*(?:await\s+)?(?:require|import)\s*\([^()]*\)\s*(?:\.\s*([\w$]+))?\s*\Z"
)
_TYPED = lazy_pattern(
    r"(?:(?:public|private|protected|readonly|static|override|declare)\s+)*([A-Za-z_$#][\w$.#]*)\s*[?!]?\s*"
    rf"(?::\s*([^=;{{\n]+?)\s*(?:=[^=>]|[;,)\n{{]|$)|=\s*(?:new\s+([A-Za-z_$][\w$.]*)|{CALL}))"
)
_CALLBACK = lazy_pattern(
    r"(?:new\s+)?([A-Za-z_$][\w$.]*)(?:<[^()]{0,80}>)?\(((?:[^(){}\[\]]*,)?)\s*(?:async\s+)?"
    r"(?:\(([\w$,\s]*)\)\s*=>|([A-Za-z_$][\w$]*)\s*=>|function\s*[\w$]*\(([\w$,\s]*)\))"
)
_DESTRUCTURED = lazy_pattern(r"\{([\w$#\s,:=]*)\}\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)*)\s*(?:[;,\n]|$)")
_MEMBER_VALUE = lazy_pattern(r"([A-Za-z_$][\w$.#]*)\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)+)\s*(?:[;,\n]|$)")
_EXPORT_LIST = lazy_pattern(rb"^[ \t]*export\s*(?:type\s*)?\{([^}]{0,20000})\}(?!\s*from)", re.MULTILINE)
_EXPORT_DEFAULT = lazy_pattern(rb"^[ \t]*export[ \t]+default[ \t]+([A-Za-z_$][\w$]*)[ \t]*;?[ \t]*$", re.MULTILINE)
_COMMONJS_OBJECT = lazy_pattern(rb"module\.exports\s*=\s*\{([^}]{0,20000})\}")
_COMMONJS_NAME = lazy_pattern(
    rb"(?:module\.)?exports(?:\.(\w+))?\s*=\s*(?:(?:async\s+)?function\s*\*?\s*|class\s+)?([A-Za-z_$][\w$]*)?"
)
_EXPORTED_NAME = lazy_pattern(rb"([A-Za-z_$][\w$]*)(?:\s*(?:as|:)\s*[A-Za-z_$][\w$]*)?")
_NON_OWNERS = frozenset({"module", "exports", "prototype", "this", "window", "globalThis", "root"})
"""Parts of a JavaScript name that are not the owner of a definition."""


def _parse_import(text: str) -> Iterator[ParsedImport]:
    module = QUOTED.search(text)
    if module is None:
        return
    if text.startswith(("import", "export")) and not re.match(r"import\s*\(", text):
        yield ParsedImport(module.group(1), *_import_clause(text[: module.start()], text.startswith("export")))
    elif re.match(r"(?:require|import)\s*\(", text):
        yield ParsedImport(module.group(1))
    elif match := _COMMONJS_REQUIRE.match(text):
        target, member = match.groups()
        if not target.startswith("{"):
            yield ParsedImport(module.group(1), (member or "*",), (target,) if target != member else ())
        elif not member:
            pieces = [IDENTIFIER.findall(piece.partition("=")[0]) for piece in target[1:-1].split(",")]
            bindings = [[words[0], "as", words[-1]] for words in pieces if words]
            yield ParsedImport(module.group(1), *split_aliases(bindings))


def _import_clause(clause: str, is_export: bool) -> tuple[Names, Names]:
    """Return (names, local names) of "import a, { b as c, type d } from": a is "default", "* as e" is "*"."""
    is_assignment = "=" in clause
    clause = re.sub(
        r"^(?:import|export)\b(?:\s+type(?:of)?\b(?!\s*(?:,|from)))?|\bfrom\s*$|\brequire\s*\($|=", " ", clause
    )
    before, _, braced = clause.partition("{")
    pieces: list[list[str]] = []
    for in_braces, part in ((False, before), (True, braced)):
        for piece in re.split(r"[{},]", part):
            words = [word for word in piece.split() if word != "type"]
            if not words:
                continue
            if not in_braces and words[0] != "*" and not is_export:
                words = ["*" if is_assignment else "default", "as", words[0]]
            pieces.append(words)
    return split_aliases(pieces)


def _parse_declaration(text: str) -> Declarations:
    if callback := _CALLBACK.match(text):
        function, arguments_before, *parameter_lists = callback.groups()
        parameters = next(filter(None, parameter_lists), "").split(",")
        argument = arguments_before.count(",")
        return [(name.strip(), f"{function}({argument},{i})") for i, name in enumerate(parameters) if name.strip()]
    if destructured := _DESTRUCTURED.match(text):
        pieces = (re.findall(r"[\w$#]+", piece.partition("=")[0]) for piece in destructured.group(1).split(","))
        return [(words[-1], f"={destructured.group(2)}.{words[0]}") for words in pieces if 0 < len(words) < 3]
    match = _TYPED.match(text)
    if match is None:
        member = _MEMBER_VALUE.match(text)
        return [(member.group(1), "=" + member.group(2))] if member is not None else []
    variable, annotation, new_class, callee = match.groups()
    if annotation:
        type_name = _typescript_class(annotation)
        return pair(variable, type_name if "=>" not in annotation else "")
    if new_class:
        return pair(variable, new_instance_type(text, new_class, match.end()))
    if not callee or callee == "require":  # "require" is an import
        return []
    return pair(variable, chain_type(text, callee, match.end() - 1))


def _typescript_class(annotation: str) -> str:
    """Return the class of a TypeScript annotation, "" for an array, a choice of several types, or none."""
    options = [part.strip() for part in annotation.split("|") if part.strip() not in ("null", "undefined")]
    if len(options) != 1:
        return ""
    intersected = [part.strip() for part in options[0].split("&") if len(part.strip()) > 1]
    match = re.match(r"[A-Za-z_$][\w$.]*(?![\w$.]*\[)", intersected[0] if intersected else options[0])
    return match.group() if match else ""


def _exported_names(data: bytes) -> frozenset[str] | None:
    """Return the names in export lists, default exports and the exports of CommonJS."""
    if b"export" not in data:
        return None
    names = [name for text in _EXPORT_LIST.findall(data) for name in _EXPORTED_NAME.findall(text)]
    names += _EXPORT_DEFAULT.findall(data)
    if b"exports" in data:
        names += [name for text in _COMMONJS_OBJECT.findall(data) for name in _EXPORTED_NAME.findall(text)]
        names += [name for pair in _COMMONJS_NAME.findall(data) for name in pair if name]
    return frozenset(name.decode("utf-8", "replace") for name in names)


def _is_exported(definition: Definition) -> bool:
    name, exports = definition.name, definition.exports
    if not definition.parent_kind:
        return definition.signature.startswith("export") or (exports is not None and name in exports)
    return has_no_private_keyword(definition)


def _split_name(text: str) -> list[str]:
    """Split a dotted name, without the parts that are not the owner of a definition."""
    *owners, name = split_at_separators(text, (".",)) or [text]
    return [*(part for part in owners if part not in _NON_OWNERS), name]


JAVASCRIPT = Language(
    name="javascript",
    aliases=("js", "node"),
    extensions=("js", "mjs", "cjs"),
    file_names=("jakefile",),
    shebangs=("node", "nodejs"),
    pack_grammar="javascript",
    query_files=("javascript", "ecmascript"),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    documentation="jsdoc",
    name_separators=(".",),
    split_name=_split_name,
    definition_calls={
        **dict.fromkeys("bench context describe it specify suite t test".split(), "test"),
        "exports": "variable",
    },
    member_calls={"exports": "variable"},
    constructor="constructor",
    assignment_defines_method=True,
    visibility=Visibility(_is_exported, _exported_names),
    annotations="in_head",
    types=TypeSyntax(_parse_declaration, return_after_colon),
    imports=Imports(_parse_import, "ecmascript"),
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
    types=TypeSyntax(_parse_declaration),
)

TYPESCRIPT = replace(
    JAVASCRIPT,
    name="typescript",
    aliases=("ts",),
    extensions=("ts", "mts", "cts"),
    file_names=(),
    shebangs=("deno", "ts-node", "bun"),
    pack_grammar="typescript",
    query_files=("typescript", "ecmascript"),
    mask="signatures",
    documentation="",
)

TSX = replace(
    TYPESCRIPT,
    name="tsx",
    aliases=("typescriptreact",),
    dialect_of="typescript",
    extensions=("tsx",),
    shebangs=(),
    pack_grammar="tsx",
)

VUE = replace(
    TYPESCRIPT,
    name="vue",
    aliases=(),
    extensions=("vue",),
    shebangs=(),
    mask="markup",
    documentation="jsdoc",
    definition_calls={"exports": "variable"},
)

SVELTE = replace(
    VUE,
    name="svelte",
    extensions=("svelte",),
    annotations="",
)
