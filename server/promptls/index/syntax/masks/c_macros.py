"""Macros in the declarations of C and C++: the parser input hides them, and definitions made by macros get names.

The grammars know no preprocessor. A macro before a class name turns the class into a function, and `TEST(A, B) {` is a
function called TEST. This module walks the declarations of a file, function bodies excluded, and blanks what can
only be a macro: words in excess of one type and one name, calls before a declaration or after its parameters. Macro
calls that make definitions are rewritten by `c_masked_code`. Linear in the size of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from promptls.index.syntax.masks.c_brackets import block_end, close_angle, close_parenthesis, parenthesis_after
from promptls.index.syntax.masks.c_conditionals import without_conditionals
from promptls.index.syntax.masks.c_macro_names import MacroName
from promptls.index.syntax.masks.c_masked_code import BEGINS_SCOPE, FINISHED, MaskedCode
from promptls.index.syntax.masks.c_words import (
    AFTER_CLASS_NAME,
    AFTER_PARAMETERS,
    AGGREGATES,
    ATTRIBUTES,
    LABELS,
    SPECIFIERS,
    TYPE_OPERATORS,
    TYPES,
)

CODE, SCOPE, ENUM = "code", "scope", "enum"
"""Content of a block: statements, declarations, or enumerators."""

_STOP = re.compile(rb"[{};]")
_TOKEN = re.compile(rb'[A-Za-z_~][\w]*(?:\s*::\s*~?[A-Za-z_]\w*)*|\[\[|[<()\[=:,*&;"]')
_SPACE = re.compile(rb"\s*")
_MACRO = re.compile(rb"(?:_*[A-Z][A-Z0-9_]*[A-Z0-9_]|__\w+)\Z")
_CALLED_MACRO = re.compile(rb"(?:_*[A-Z][A-Z0-9_]+\w*|__\w+|_[A-Z]\w+|Test|ParameterizedTest|Theory)\Z")
_NOTABLE = re.compile(
    rb"\b(?:[A-Z_][A-Z0-9_]+\b|__\w|_[A-Z]|(?:[A-Z][A-Z0-9_]+\w*|Test|ParameterizedTest|Theory)\s*\()"
)
_STRUCTURE = re.compile(rb"\b(?:namespace|class|struct|union|enum|extern)\b")
_OPERATOR = re.compile(rb"\s*(?:\(\s*\)|[^(]*)\s*\(")
_POINTER = re.compile(rb"\(\s*(?:\w+\s*)?[*&^]")
_PARAMETERS = re.compile(rb"\(\s*(?:void\s*\)|[\w:]+(?:<[^<>()]*>)?[\s*&]+\w)")
"""Beginning of a parameter list: the first item is a type and more."""
_TEST_MACROS = (b"Test", b"ParameterizedTest", b"Theory")
_BLOCK_MACRO = re.compile(
    rb"[;{}](?=(\s*))\1(_*[A-Z][A-Z0-9_]+(?:\s*\((?:\.\.\.|[^()]{0,200}?[\w>][\s&*]+\w+|[^()]{0,200}[&*]\s*)\))?)(?=\s*\{)"
)
"""Macro before a block in a function, such as TRY { or CATCH(...) {. The lookahead prevents backtracking in blanks, which
takes half of the time: every statement is tried."""
_PLAIN_HEAD = re.compile(
    rb"\s*(?:(?:static|inline|extern|const|unsigned)\s+)*(?:struct\s+)?\w+[\s*]+\w+\s*\([^()]*\)\s*|[^(]*=\s*|\s*"
)
"""Head of a C function without macros, or beginning of an initializer."""
_ENUMERATOR_MACRO = re.compile(
    rb"(?<=\w)\s+([A-Z][A-Z0-9_]+\s*(?:\([^()]{0,500}(?:\([^()]{0,500}\)[^()]{0,500}){0,20}\))?)(?=\s*[=,}])"
)


class _Word(NamedTuple):
    """A word of a declaration that is a type, a macro or the name."""

    start: int
    end: int
    text: bytes

    @property
    def is_macro(self) -> bool:
        return _MACRO.match(self.text) is not None


def mask_preprocessor(code: bytes, is_c: bool) -> Masked:
    """Return the parser input for a C or C++ file, of the same length.

    Args:
        code: The text of the file.
        is_c: Whether the file is C, where a declaration has no other words than specifiers, one type and a name.
    """
    clean = without_conditionals(code)
    output = MaskedCode(clean.code)
    _Scanner(output, clean.declarations, is_c).scan()
    return Masked(bytes(output.code) if output.changed else clean.code, output.names)


class Masked(NamedTuple):
    """Parser input of a C file, and the names that it does not show."""

    code: bytes
    names: Mapping[int, MacroName]
    """Names of definitions by macros, by the position of the placeholder in `code`."""


class _Scanner:
    """Walks the declarations of one file."""

    def __init__(self, output: MaskedCode, text: bytes, is_c: bool) -> None:
        self.output = output
        self.text = text
        self.is_c = is_c
        self.scopes: list[bytes] = []
        """Names of the enclosing classes, empty for a namespace."""

    def scan(self) -> None:
        """Mask the macros in all declarations of the file."""
        text, position, size = self.text, 0, len(self.text)
        while True:
            stop = _STOP.search(text, position)
            if stop is None:
                self._declaration(position, size, b"")
                return
            start, position = position, stop.end()
            if stop[0] != b"{":
                self._declaration(start, stop.start(), stop[0])
                if stop[0] == b"}" and self.scopes:
                    self.scopes.pop()
                continue
            content, name = self._declaration(start, stop.start(), b"{")
            if content == SCOPE:
                self.scopes.append(name)
                continue
            position = block_end(self.text, stop.end())
            for match in _BLOCK_MACRO.finditer(text, stop.end() - 1, position):
                self.output.blank(*match.span(2))
            if content == ENUM:
                for match in _ENUMERATOR_MACRO.finditer(text, stop.end(), position):
                    self.output.blank(*match.span(1))

    def _blank_macros(self, words: list[_Word], any_word: bool = False) -> None:
        for word in words:
            if any_word or word.is_macro:
                self.output.blank(word.start, word.end)

    def _declaration(self, start: int, end: int, stop: bytes) -> tuple[str, bytes]:
        """Mask the macros of one declaration.

        Args:
            start: Position after the declaration before.
            end: Position of the character that ends the declaration.
            stop: This character; a brace for the head of a block.

        Returns:
            The content of the block, and the name of its class.
        """
        text = self.text
        if not _NOTABLE.search(text, start, end) and (
            stop != b"{"
            or (_PLAIN_HEAD.fullmatch(text, start, end) if self.is_c else not _STRUCTURE.search(text, start, end))
        ):
            return CODE, b""
        words: list[_Word] = []
        has_type = is_linkage = False
        position = start
        while (match := _TOKEN.search(text, position, end)) is not None:
            token, position = match[0], match.end()
            if token in b"([<=,;:*&":
                if token in b"*&":
                    if words and not has_type:
                        self._keep_type(words)
                    elif words:
                        self._blank_macros(words, self.is_c)
                    words, has_type = [], True
                    continue
                if token == b":" and words and words[-1].text in LABELS:
                    self._blank_macros(words[:-1])
                    words.clear()
                    continue
                if token == b":" and words and not has_type and self._is_label(words, position):
                    self.output.blank(words[0].start, position)
                    words.clear()
                    continue
                if token == b"<":
                    position = close_angle(self.text, match.start(), end)
                    if position < 0:
                        return CODE, b""
                    has_type = True
                    continue
                self._finish(words[:-1] if token != b"(" else words, has_type, words[-1].text if words else b"")
                return CODE, b""
            if token == b"[[":
                position = text.find(b"]]", position, end) + 2
                if position == 1:
                    return CODE, b""
            elif token == b'"':
                is_linkage = text[match.start() - 8 : match.start()].rstrip().endswith(b"extern")
                position = text.find(b'"', position, end) + 1
                if position == 0:
                    return CODE, b""
            elif token in LABELS:
                words.append(_Word(match.start(), position, token))
            elif token == b"template":
                self._blank_macros(words)
                words.clear()
                angle = text.find(b"<", position, end)
                position = close_angle(self.text, angle, end) if angle >= 0 else -1
                if position < 0:
                    return CODE, b""
            elif token == b"namespace":
                self._blank_macros(words)
                return (SCOPE if stop == b"{" else CODE), b""
            elif token in (b"using", b"requires", b"return", b"concept", b"static_assert"):
                self._blank_macros(words)
                return CODE, b""
            elif token.endswith(b"operator"):
                converts = (
                    not has_type
                    and text[position : position + 1].isspace()
                    and text[position:end].lstrip()[:1].isalpha()
                )
                self._finish(words, has_type or converts, token)
                operator = _OPERATOR.match(text, position, end)
                if operator is not None and (close := close_parenthesis(self.text, operator.end() - 1, end)) >= 0:
                    self._after_parameters(close, end)
                return CODE, b""
            elif token in AGGREGATES:
                content = self._aggregate(words, token, position, end, stop)
                if isinstance(content, tuple):
                    return content
                position, has_type = content, True
                words = [word for word in words if word.is_macro]
            elif token in TYPES:
                has_type = True
            elif token in SPECIFIERS:
                if token == b"explicit" and (opened := parenthesis_after(self.text, position, end)) >= 0:
                    position = max(close_parenthesis(self.text, opened, end), position)
            elif (opened := parenthesis_after(self.text, position, end)) < 0:
                words.append(_Word(match.start(), position, token))
            else:
                position = self._call(words, has_type, match, opened, end, stop)
                if position < 0:
                    return (SCOPE if position == BEGINS_SCOPE else CODE), b""
                has_type = has_type or token in TYPE_OPERATORS
        if stop == b"{" and is_linkage and not words:
            return SCOPE, b""
        if stop in (b"{", b";"):
            self._finish(words[:-1], has_type, words[-1].text if words else b"")
        else:
            self._blank_macros(words)
        return CODE, b""

    def _is_label(self, words: list[_Word], position: int) -> bool:
        """Return whether macros before a colon are an access specifier such as Q_SIGNALS, not a bit field."""
        width = _SPACE.match(self.text, position).end()  # type: ignore[union-attr]
        return all(word.is_macro for word in words) and not self.text[width : width + 1].isdigit()

    def _keep_type(self, words: list[_Word]) -> None:
        """Blank the words before a type or name, except the one that is the type."""
        plain = [word for word in words if not word.is_macro]
        kept = plain[-1] if plain else words[0]
        self._blank_macros([word for word in words if word is not kept], any_word=True)

    def _finish(self, words: list[_Word], has_type: bool, name: bytes) -> None:
        """Blank the macros among the words before a name."""
        if not words:
            return
        path = [part.strip() for part in name.split(b"::")]
        is_constructor = path[-1].startswith(b"~") or path[-1] == (
            path[-2] if len(path) > 1 else self.scopes[-1] if self.scopes else b""
        )
        if has_type or is_constructor:
            self._blank_macros(words, self.is_c and has_type)
        else:
            self._keep_type(words)

    def _aggregate(
        self, before: list[_Word], keyword: bytes, position: int, end: int, stop: bytes
    ) -> tuple[str, bytes] | int:
        """Mask the macros after "class", "struct", "union" or "enum".

        Returns:
            The content of the block if this is the head of a definition, else the position after the type.
        """
        text = self.text
        words: list[_Word] = []
        while (match := _TOKEN.search(text, position, end)) is not None:
            token = match[0]
            if token == b"[[":
                position = text.find(b"]]", match.end(), end) + 2
                if position == 1:
                    return CODE, b""
                continue
            if not (token[:1].isalpha() or token[:1] == b"_"):
                break
            position = match.end()
            if token in AGGREGATES or token in AFTER_CLASS_NAME:
                continue
            opened = parenthesis_after(self.text, position, end)
            if opened >= 0:
                close = close_parenthesis(self.text, opened, end)
                follower = _TOKEN.search(text, max(close, 0), end)
                is_attribute = token in ATTRIBUTES or (follower is not None and follower[0][:1].isalpha())
                if close < 0 or not is_attribute or token[:1].islower():
                    break
                self.output.blank(match.start(), close)
                position = close
                continue
            words.append(_Word(match.start(), position, token))
        token = match[0] if match is not None else b""
        if stop == b"{" and token in (b"", b":", b"<"):
            self._blank_macros(before)
            self._blank_macros(words[:-1], any_word=True)
            name = words[-1].text.rpartition(b"::")[2].strip() if words else b""
            return (ENUM if keyword == b"enum" else SCOPE), name
        if not words:
            return position
        tag = next((word for word in words if not word.is_macro), words[0])
        position = tag.end
        self._blank_macros([word for word in words if word.start < tag.start])
        return position

    def _call(
        self, words: list[_Word], has_type: bool, name: re.Match[bytes], opened: int, end: int, stop: bytes
    ) -> int:
        """Mask a word with arguments in a declaration: a macro, or the name of the function.

        Returns:
            The position at which the declaration goes on, -1 if it is finished.
        """
        text, token = self.text, name[0]
        close = close_parenthesis(self.text, opened, end)
        if close < 0:
            return -1
        if token in ATTRIBUTES:
            self.output.blank(name.start(), close)
            return close
        if token in TYPE_OPERATORS:
            return close
        is_typed = has_type or any(not word.is_macro for word in words)
        after = _SPACE.match(text, close, end).end()  # type: ignore[union-attr]
        follower = _TOKEN.match(text, after, end)
        is_macro = (
            _CALLED_MACRO.match(token) is not None
            and token != (self.scopes[-1] if self.scopes else b"")
            and not (words and not is_typed and self._follows_type_in_capitals(token, opened, follower))
        )
        if is_macro and follower is not None and (follower[0][:1].isalpha() or follower[0][:1] in b"_~"):
            word = follower[0]
            if word not in AFTER_PARAMETERS and (not is_typed or _CALLED_MACRO.match(word) is None):
                self.output.attribute(name, opened, close, after)
                return close
        elif is_macro and follower is not None and follower[0] == b"(" and not _POINTER.match(text, opened):
            return self._pasted_name(words, has_type, name, opened, close, end)
        elif is_macro and not is_typed and after == end:
            self._blank_macros(words)
            return self.output.definition(name, opened, close, stop)
        elif is_macro and not is_typed and follower is not None and follower[0] == b"=":
            self.output.variable(name, opened, close, b"int f")
            return FINISHED
        elif is_macro and words and is_typed and stop == b";" and after == end and not words[-1].is_macro:
            self.output.blank(name.start(), close)  # an attribute after the name of a variable
            self._finish(words[:-1], has_type, words[-1].text)
            return -1
        self._finish(words, has_type, token)
        self._after_parameters(close, end)
        return -1

    def _follows_type_in_capitals(self, name: bytes, opened: int, follower: re.Match[bytes] | None) -> bool:
        """Return whether a name after words in capitals is a function: `static U32 LZ4_hash(U32 x)`."""
        if _PARAMETERS.match(self.text, opened):
            return follower is None or _MACRO.match(follower[0]) is not None or follower[0] in AFTER_PARAMETERS
        is_word = follower is not None and (follower[0][:1].isalpha() or follower[0][:1] in b"_~")
        return not is_word and _MACRO.match(name) is None and name not in _TEST_MACROS

    def _after_parameters(self, position: int, end: int) -> None:
        """Blank macros between the parameters of a function and its body or end."""
        while (match := _TOKEN.match(self.text, _SPACE.match(self.text, position, end).end(), end)) is not None:  # type: ignore[union-attr]
            token, position = match[0], match.end()
            if token in (b":", b"=", b"requires") or not (token[:1].isalpha() or token[:1] == b"_"):
                return
            opened = parenthesis_after(self.text, position, end)
            if opened >= 0:
                close = close_parenthesis(self.text, opened, end)
                if close < 0:
                    return
                if token not in AFTER_PARAMETERS:
                    self.output.blank(match.start(), close)
                position = close
            elif _MACRO.match(token):
                self.output.blank(match.start(), position)
            elif token not in AFTER_PARAMETERS:
                return

    def _pasted_name(
        self, words: list[_Word], has_type: bool, name: re.Match[bytes], opened: int, close: int, end: int
    ) -> int:
        """Handle a macro call in the place of a function's name: `static void NAME(open)(int mode)`."""
        is_typed = has_type or any(word.is_macro for word in words)
        if self.output.pasted_name(name, opened, close, is_typed):
            self._finish(words, has_type, b"")
            parameters = parenthesis_after(self.text, close, end)
            after = close_parenthesis(self.text, parameters, end) if parameters >= 0 else -1
            if after >= 0:
                self._after_parameters(after, end)
        return FINISHED
