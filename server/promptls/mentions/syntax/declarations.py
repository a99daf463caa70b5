"""Lines that declare something or open a block, in any common language: what an annotation stands above.

A line of prose may start with the same keywords ("let me know", "type the name"), so a keyword must be followed by a
name and the punctuation of a declaration.
"""

from __future__ import annotations

import re

MAX_LINE = 300
"""Maximum number of characters of a line that are read; a longer line is data."""

_MODIFIER = (
    r"(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|sealed|open|inner|"
    r"inline|suspend|readonly|extern|unsafe|partial|lateinit|declare|pub(?:\([^()]*\))?|fileprivate|mutating|"
    r"convenience|required|lazy|weak|synchronized|native|transient|volatile|tailrec|operator|infix|const|data|case|"
    r"implicit|actual|expect|local|external|late|covariant|nonisolated|mut)"
)
_KEYWORD = (
    r"(?:class|struct|enum|interface|trait|protocol|actor|extension|object|record|module|namespace|def|defp|defmodule|"
    r"defmacro|func|fun|fn|function|sub|proc|val|var|let|type|typealias|macro|method|mixin|template|union|impl|subroutine|"
    r"contract|annotation|library|service|message|procedure|component|fixture)"
)
_PATTERNS = (
    rf"(?:{_MODIFIER}\s+)*{_KEYWORD}\s+(?:\([^()]*\)\s*)?[\w.$?!:~]*\w[?!]?\s*(?:[<(\[{{=;,]|:(?:\s|\Z)|\Z|->|"
    r"(?:extends|implements|where|with|by|do|is)\b)",
    rf"(?:{_MODIFIER}\s+)+[\w.$<>\[\],?&* ]+[({{=;]",
    r"(?:constructor|init\??|subscript|deinit)\s*[({]",
    r"[\w.<>\[\],?*&]+\s+[\w$]+\s*\([^()]*\)\s*(?:throws\s[\w., ]+)?(?:async\s*)?(?:\{|;|=>)",  # void run() {
    r"[\w.<>\[\],?*&]+\s+[\w$]+\s*(?:=[^=].*)?;\s*\Z",  # String name;
    r"[\w$#]+\s*\([^()]*\)\s*(?::\s*[\w<>\[\]|. ]+)?\s*\{\s*\Z",  # run(): void {
    r"[\w$]+[!?]?\s*:\s*[\w<>\[\]|. {}()=>,\"']+;\s*\Z",  # name: string;
    r"[\w$]+\s*=(?![=>~])\s*\S",  # name = value
    r"(?:Feature|Scenario(?: Outline| Template)?|Background|Rule|Examples?)\s*:",  # Gherkin
)
_DECLARATION = re.compile(rf"\s*(?:{'|'.join(_PATTERNS)})")
_OPENS_BLOCK = re.compile(
    r".*(?:[{(\[]|=>|->|\bdo(?:\s*\|[^|]*\|)?)\s*\Z"
    r"|\s*(?:if|elif|elsif|unless|while|for|foreach|switch|match|case|when|with|except|rescue|catch|until)\b[^?]*[)\]:]\s*\Z"
    r"|\s*(?:try|else|ensure|finally|begin|loop)\s*:?\s*\Z",
    re.IGNORECASE,
)


def is_declaration(line: str) -> bool:
    """Return whether a line declares a class, a function, a variable or a test."""
    return _DECLARATION.match(line, 0, MAX_LINE) is not None


def opens_block(line: str) -> bool:
    """Return whether a line opens a block of code."""
    return is_declaration(line) or _OPENS_BLOCK.match(line, 0, MAX_LINE) is not None
