"""Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.declarations import CALL, Declarations, chain_type, pair
from promptls.languages.import_statements import ParsedImport, split_aliases
from promptls.languages.language import Imports, Language, TypeSyntax
from promptls.languages.signature_types import return_after_arrow
from promptls.languages.visibility import Definition, Visibility
from promptls.util.text.regex import lazy_pattern

_PARENTHESES = lazy_pattern(r"[()\\]")
_HASH_COMMENT = lazy_pattern(r"#[^\n]*")
_ANNOTATED = lazy_pattern(r"\*{0,2}([A-Za-z_][\w.]*)\s*:\s*([^=\n]+)")
_ASSIGNED = lazy_pattern(rf"([A-Za-z_][\w.]*)\s*=\s*{CALL}")
_WITH = lazy_pattern(r"(?:await\s+)?([A-Za-z_][\w.]*)\(.*?\)\s+as\s+([A-Za-z_]\w*)")
_WRAPPED = lazy_pattern(r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Required|NotRequired)\[(.*)\]?$")
_DUNDER_ALL = lazy_pattern(rb"^__all__\s*(?::[^=\n]*)?\+?=\s*[\[(]([^\])]{0,20000})[\])]", re.MULTILINE)
_STRING = lazy_pattern(rb"[\"'](\w+)[\"']")


def _parse_import(text: str) -> Iterator[ParsedImport]:
    text = _PARENTHESES.sub(" ", _HASH_COMMENT.sub("", text))
    if text.startswith("from"):
        module, _, names = text[4:].partition(" import ")
        yield ParsedImport(
            "".join(module.split()), *split_aliases([name.split() for name in names.split(",") if name.strip()])
        )
        return
    for module in text.removeprefix("import").split(","):
        if words := module.split():
            yield ParsedImport(words[0], (), tuple(words[2:3]) if words[1:2] == ["as"] else ())


def _parse_declaration(text: str) -> Declarations:
    if match := _ANNOTATED.match(text):
        return pair(match.group(1), annotation_class(match.group(2)))
    if match := _ASSIGNED.match(text):
        return pair(match.group(1), chain_type(text, match.group(2), match.end() - 1))
    if match := _WITH.match(text):
        return [(match.group(2), match.group(1) + "()")]
    return []


def annotation_class(text: str) -> str:
    """Return the class of a Python annotation, "" for none or several: "a.B" for "Optional['a.B']"."""
    text = text.strip().strip("\"'")
    while match := _WRAPPED.match(text):
        text = match.group(1).split(",")[0].rstrip("] ").strip("\"'")
    options = [part.strip().strip("\"'") for part in text.split("|")]
    classes = [part for part in options if part and not part.startswith("None")]
    match = re.match(r"[A-Za-z_][\w.]*", classes[0]) if len(classes) == 1 else None
    return match.group() if match else ""


def _listed_exports(data: bytes) -> frozenset[str] | None:
    """Return the names in `__all__`."""
    lists = _DUNDER_ALL.findall(data) if b"__all__" in data else []
    return frozenset(name.decode() for text in lists for name in _STRING.findall(text)) if lists else None


def _is_exported(definition: Definition) -> bool:
    name, exports = definition.name, definition.exports
    if not definition.parent_kind and exports is not None:
        return name in exports
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


PYTHON = Language(
    name="python",
    aliases=("py", "python3"),
    extensions=("py", "pyi", "pyw"),
    file_names=("sconstruct", "sconscript", "wscript"),
    shebangs=("python", "python2", "python3", "pypy"),
    pack_grammar="python",
    query_files=("python",),
    line_comments=("#",),
    documentation="docstring",
    constructor="__init__",
    visibility=Visibility(_is_exported, _listed_exports),
    annotations="before_head",
    ignored_references=frozenset(
        "bool bytes classmethod dict float frozenset getattr hasattr int isinstance len list object print "
        "property range set setattr staticmethod str super tuple type".split()
    ),
    types=TypeSyntax(_parse_declaration, return_after_arrow),
    imports=Imports(_parse_import, "python"),
    capitalized_types=True,
)
