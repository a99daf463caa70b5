"""Masks: rewriting of the source before it is parsed, for syntax that a grammar does not know.

A mask never changes the length of the text nor its lines, so that offsets stay. Everything is linear in the size of
the text. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from promptls.index.syntax.masks.c_conditionals import BLANK
from promptls.index.syntax.masks.c_macro_names import MacroName
from promptls.index.syntax.masks.c_macros import mask_preprocessor
from promptls.index.syntax.masks.markup import razor_blocks_only, scripts_only
from promptls.index.syntax.masks.rust_macros import without_item_macros
from promptls.index.syntax.masks.typescript import with_separated_signatures
from promptls.languages import Mask

_NO_NAMES: Mapping[int, MacroName] = MappingProxyType({})

_EXTENSION_TYPE = re.compile(
    rb"\bextension(\s+type\s+(?:const\s+)?)(\w+(?:\s*<[^<>{}]{0,200}>)?)((?:\.\w+)?\s*\([^()]{0,500}\))"
)
"""Head of a Dart extension type, without what it implements."""
_CONTEXT = re.compile(
    rb"(?<![\w.])context[ \t]*\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,10}\)(?=\s*(?:@\w+\s+)*"
    rb"(?:(?:public|private|protected|internal|inline|suspend|override|abstract|open|final|operator|infix|tailrec|data|"
    rb"sealed|value|external|actual|expect|lateinit|const)\s+)*(?:fun|val|var|class|interface|object|typealias)\b)"
)
"""Context parameters before a declaration of Kotlin, which its grammars do not know."""
_ANNOTATION = rb"@[\w.:]+(?:\([^()]{0,500}(?:\([^()]{0,200}\)[^()]{0,200}){0,10}\))?\s{1,200}"
_ANNOTATED = re.compile(
    rb"^"
    + _ANNOTATION
    + rb"((?:"
    + _ANNOTATION
    + rb"){0,20}(?:(?:public|private|protected|internal|abstract|open|final|"
    rb"sealed|data|value|annotation|inline|suspend|operator|infix|tailrec|external|expect|actual|const|lateinit)\s{1,200})"
    rb"{0,20})(?=(?:enum|fun|val|var|class|interface|object|typealias)\b)",
    re.MULTILINE,
)
"""Annotations and modifiers before a declaration of Kotlin at the top level. The grammars may read two annotations and
what follows as an expression if the next declaration is annotated, too. All but the first one are therefore hidden."""
_LAST_MEMBER = re.compile(rb"\b(?:fun|val|var) [^{}\n]{1,300}[\w)\]>?\"] (?=\})")
"""Last member of a Kotlin block, in one line with the closing brace. The grammars need a semicolon there."""
_LONE_MACRO = re.compile(rb"^[ \t]*[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\([^()\n]{0,100}\))?[ \t]*$", re.MULTILINE)
_ENUM_MACRO = re.compile(rb"\btypedef\s+(?:NS|CF)_(?:CLOSED_)?(?:ENUM|OPTIONS|ERROR_ENUM)\(\s*\w+\s*,\s*(\w+)\s*\)")
_BLOCK_WITH_COMMAS = re.compile(
    rb'^([ \t]*\w+(?:[ \t]+"[^"\n]{0,200}"){0,3}[ \t]*\{[^{},=\n]+=[^{},\n]+)(,[^{}\n]*)(?=\})', re.MULTILINE
)
"""HCL block in one line whose attributes are separated by commas, a common mistake that hides the definitions below."""


def apply_mask(code: bytes, mask: Mask) -> tuple[bytes, Mapping[int, MacroName]]:
    """Return the parser input for a text, and the names of definitions that it does not show."""
    if mask in ("c", "cpp"):
        return mask_preprocessor(code, mask == "c")
    if mask == "macros":
        return without_item_macros(code) if b"! {\n" in code or b"!{\n" in code else (code, _NO_NAMES)
    if mask in ("markup", "front_matter"):
        code = scripts_only(code, mask == "front_matter")
    elif mask == "razor":
        code = razor_blocks_only(code)
    elif mask == "objc_macros":
        code = _LONE_MACRO.sub(lambda match: match[0].translate(BLANK), _ENUM_MACRO.sub(_plain_enum, code))
    elif mask == "signatures":
        code = with_separated_signatures(code)
    elif mask == "kotlin":
        code = _LAST_MEMBER.sub(lambda match: match[0][:-1] + b";", code)
        code = _ANNOTATED.sub(_without_group, code)
        if b"context" in code:
            code = _CONTEXT.sub(lambda match: match[0].translate(BLANK), code)
    elif mask == "hcl":
        code = _BLOCK_WITH_COMMAS.sub(lambda match: match[1] + b" " * len(match[2]), code)
    elif mask == "dart" and b"extension" in code:
        code = _EXTENSION_TYPE.sub(_as_class, code)
    return code, _NO_NAMES


def _without_group(match: re.Match[bytes]) -> bytes:
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + match[1].translate(BLANK) + match[0][end:]


def _as_class(match: re.Match[bytes]) -> bytes:
    return b"class    " + match[1].translate(BLANK) + match[2] + match[3].translate(BLANK)


def _plain_enum(match: re.Match[bytes]) -> bytes:
    """Return "enum Name" of the same length as a macro that declares an enumeration, with the name in its place."""
    before, after = match.start(1) - match.start(), match.end() - match.end(1)
    blanks = match.group()[4:before].translate(BLANK)
    return b"enum" + blanks + match.group(1) + b" " * after
