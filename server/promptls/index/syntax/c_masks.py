"""Masks of C and C++: the parser input hides preprocessor syntax, and definitions made by macros get names.

The grammars know no preprocessor. A macro before a class name turns the class into a function, and `TEST(A, B) {` is a
function called TEST. `mask_preprocessor` walks the declarations of a file, function bodies excluded, and blanks what can
only be a macro: words in excess of one type and one name, calls before a declaration or after its parameters. Macro
calls that make definitions are rewritten (`MaskedCode`), and of the branches of a conditional only those remain that
parse together. Linear in the size of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

TYPES = frozenset(
    b"void int char short long float double bool unsigned signed auto wchar_t char8_t char16_t char32_t _Bool _Complex".split()
)
SPECIFIERS = frozenset(
    b"static inline extern virtual explicit friend constexpr consteval constinit const volatile mutable typedef register"
    b" thread_local _Noreturn _Thread_local __inline __inline__ __forceinline restrict typename export __extension__".split()
)
ATTRIBUTES = frozenset(b"__attribute__ __attribute __declspec alignas _Alignas __asm__ __asm asm".split())
TYPE_OPERATORS = frozenset(b"decltype typeof __typeof__".split())
AGGREGATES = frozenset((b"class", b"struct", b"union", b"enum"))
LABELS = frozenset(b"public private protected signals slots Q_SIGNALS Q_SLOTS".split())
AFTER_PARAMETERS = frozenset(b"const volatile noexcept override final try requires throw mutable".split())
AFTER_CLASS_NAME = frozenset(b"final sealed abstract".split())


_BRACE = re.compile(rb"[{}]")
_PARENTHESIS = re.compile(rb"[()]")
_ANGLE = re.compile(rb"[<>()]")
_SPACE = re.compile(rb"\s*")


def block_end(text: bytes, position: int) -> int:
    """Return the position after the brace that closes the block which begins before a position."""
    depth = 1
    for match in _BRACE.finditer(text, position):
        depth += 1 if match[0] == b"{" else -1
        if depth == 0:
            return match.end()
    return len(text)


def close_parenthesis(text: bytes, start: int, end: int) -> int:
    """Return the position after the parenthesis that closes the one at a position, -1 if there is none."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start, end):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return match.end()
    return -1


def close_angle(text: bytes, start: int, end: int) -> int:
    """Return the position after the template arguments that begin at a position, -1 if they do not end."""
    depth = parentheses = 0
    for match in _ANGLE.finditer(text, start, end):
        if match[0] in b"()":
            parentheses += 1 if match[0] == b"(" else -1
        elif parentheses == 0:
            depth += 1 if match[0] == b"<" else -1
            if depth == 0:
                return match.end()
    return -1


def parenthesis_after(text: bytes, position: int, end: int) -> int:
    """Return the position of a parenthesis that follows directly, -1 without one."""
    opened = _SPACE.match(text, position, end).end()  # type: ignore[union-attr]
    return opened if opened < end and text[opened] == ord("(") else -1


class MacroName(NamedTuple):
    """The definition that a macro call makes."""

    name: str
    """Name as written; a string literal with its quotes."""
    kind: str = ""
    """Kind of the definition, "" for the kind of the declaration that the call is a part of."""
    owner: str = ""
    """Test suite, fixture or class, "" without one."""


_MAX_ARGUMENT_BYTES = 2_000
"""Longest arguments of a macro call, a template or a condition that are examined."""

_ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"|[(){}\[\]]|,|[^"(){}\[\],]+', re.DOTALL)
_TITLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_IDENTIFIER = re.compile(r"(?:[^\W\d]\w*(?:\s*::\s*)?)+\Z")
_TEST = re.compile(r"(?:^|_)(?:U?TESTS?|SCENARIO|BENCHMARK)(?:_|\Z)|^(?:Test|ParameterizedTest|Theory)\Z")
_NAME_FIRST = re.compile(r"BOOST|TEST_METHOD|TEMPLATE|BENCHMARK_TEMPLATE|START_TEST")
_SCOPE_MACROS = {
    "TEST_SUITE": "namespace", "TEST_CLASS": "class", "TEST_GROUP": "struct", "TEST_GROUP_BASE": "struct",
    "FIXTURE": "struct",
}  # fmt: skip
"""Macros whose block holds declarations → kind of the definition."""


def split_arguments(text: bytes | bytearray) -> list[str]:
    """Return the arguments of a macro call, without the blanks around them."""
    arguments, depth = [""], 0
    for match in _ARGUMENT.finditer(text[:_MAX_ARGUMENT_BYTES].decode("utf-8", "replace")):
        piece = match[0]
        if piece == "," and depth == 0:
            arguments.append("")
            continue
        depth += (piece in "([{") - (piece in ")]}") if len(piece) == 1 else 0
        arguments[-1] += piece
    return [argument.strip() for argument in arguments]


def definition_name(macro: bytes, arguments: bytes | bytearray) -> MacroName | None:
    """Return what a macro call with these arguments and a body defines, None if it names nothing."""
    name = macro.decode("utf-8", "replace")
    parts = split_arguments(arguments)
    if name in _SCOPE_MACROS:
        return MacroName(parts[0], _SCOPE_MACROS[name]) if parts[0] else None
    title = next((match[0] for part in parts if (match := _TITLE.match(part))), "")
    identifiers = [part for part in parts if _IDENTIFIER.match(part)]
    if _TEST.search(name):
        first = identifiers[0] if identifiers and parts[0] == identifiers[0] else ""
        if title:
            return MacroName(title, "test", first)
        if first and len(identifiers) > 1 and not _NAME_FIRST.search(name):
            return MacroName(identifiers[1], "test", first)
        return MacroName(first, "test") if first else None
    if not identifiers:
        return None
    if "METHOD" in name and len(identifiers) > 1:
        return MacroName(identifiers[1], "method", identifiers[0])
    return MacroName(identifiers[0])


MAX_NESTED_CONDITIONALS = 100
"""Depth below which branches are not compared: generated or hostile text."""

BLANK = bytes(char if char in b"\n" else ord(" ") for char in range(256))
"""Table for `bytes.translate` that blanks everything but line ends."""

_LITERAL = re.compile(
    rb"//[^\\\n]*(?:\\.[^\\\n]*)*|/\*.*?(?:\*/|\Z)"
    rb'|R"([^ ()\\\t\v\f\n"]{0,16})\(.*?(?:\)\1"|\Z)'
    rb"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'(?<![0-9A-Fa-f]')[^'\\\n]*(?:\\.[^'\\\n]*)*'""",
    re.DOTALL,
)
"""Comments, strings and characters. Each alternative begins with a literal character, which makes the search fast."""
_HASH = re.compile(rb"#[ \t]*(\w*)[^\\\n]*(?:\\.[^\\\n]*)*", re.DOTALL)
_CONDITIONALS = frozenset((b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"))
_BRACKET = re.compile(rb"[(){}]")
_GUARD = re.compile(
    rb"\s*#[ \t]*(?:ifndef[ \t]+(\w+)|if[ \t]+!\s*defined[ \t(]+(\w+)[ \t)]*)\s*#[ \t]*define[ \t]+(?:\1|\2)\b"
)
_NEVER = re.compile(rb"#[ \t]*if[ \t]+(?:0|false)[ \t]*\Z")
_OPENS_LINKAGE = re.compile(rb'\s*extern\s*"\s*"\s*\{\s*\Z')
_CLOSES_LINKAGE = re.compile(rb"\s*\}\s*\Z")
_STARTS_WITH_ELSE = re.compile(rb"\s*else\b")
_COMPLETE_ENDS = b";},:{>"
"""Last characters of a branch that can be followed by another branch."""


class Cleaned(NamedTuple):
    """A C file without the parts that hide its structure."""

    code: bytes
    """Parser input: the file without conditional directives."""
    declarations: bytes
    """The same without comments, the content of strings, and all directives."""


class _Branch:
    """The text between two directives of a conditional, as brackets that it leaves open or closes."""

    __slots__ = ("closed_to", "end", "opened", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.opened: list[int] = []
        """Positions of the brackets that the branch leaves open."""
        self.closed_to: list[int] = []
        """Positions after the brackets that the branch closes without having opened them."""

    def add(self, opened: list[int], closed_to: list[int]) -> None:
        """Append the brackets of the text that follows."""
        matched = min(len(self.opened), len(closed_to))
        if matched:
            del self.opened[len(self.opened) - matched :]
        self.closed_to += closed_to[matched:]
        self.opened += opened


def without_conditionals(code: bytes) -> Cleaned:
    """Blank the conditional directives of a C file, and the branches that do not fit to the first one."""
    clean = _LITERAL.sub(_blank_literal, code)
    if b"#" not in clean:
        return Cleaned(code, clean)
    declarations = bytearray(clean)
    masked = bytearray(code)
    directives: list[re.Match[bytes]] = []
    for match in _HASH.finditer(clean):
        start, end = match.span()
        if clean[clean.rfind(b"\n", 0, start) + 1 : start].strip():
            continue
        declarations[start:end] = match[0].translate(BLANK)
        if match[1] in _CONDITIONALS:
            directives.append(match)
        elif b"\\\n" in match[0] and b"/*" in code[start:end]:
            masked[start:end] = match[0]  # a comment ends a macro too early in these grammars
    for start, end in _ranges_to_blank(clean, declarations, directives) if directives else ():
        masked[start:end] = masked[start:end].translate(BLANK)
        declarations[start:end] = declarations[start:end].translate(BLANK)
    for match in directives:
        masked[match.start() : match.end()] = masked[match.start() : match.end()].translate(BLANK)
    return Cleaned(bytes(masked), bytes(declarations))


def _blank_literal(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] == b"/":
        return text.translate(BLANK)
    start = text.index(text[-1:]) + 1
    return text[:start] + text[start:-1].translate(BLANK) + text[-1:] if start < len(text) else text


def _ranges_to_blank(clean: bytes, declarations: bytearray, directives: list[re.Match[bytes]]) -> list[tuple[int, int]]:
    """Return the parts of branches that the parser must not see."""
    blanks: list[tuple[int, int]] = []
    guard = _GUARD.match(clean)
    open_groups: list[list[_Branch]] = []
    conditions: list[bytes] = []
    position = directives[0].start()
    for match in directives:
        word = match[1]
        if open_groups and len(open_groups) <= MAX_NESTED_CONDITIONALS and not (guard and len(open_groups) == 1):
            open_groups[-1][-1].add(*_unmatched_brackets(declarations, position, match.start()))
        position = match.end()
        if word.startswith(b"if"):
            open_groups.append([_Branch(match.end())])
            conditions.append(match[0].strip())
        elif open_groups:
            open_groups[-1][-1].end = match.start()
            if word == b"endif":
                group = open_groups.pop()
                condition = conditions.pop()
                if not (guard and not open_groups) and len(open_groups) < MAX_NESTED_CONDITIONALS:
                    kept = _blank_branches(clean, declarations, group, condition, blanks)
                    if open_groups and kept is not None:
                        open_groups[-1][-1].add(kept.opened, kept.closed_to)
            else:
                open_groups[-1].append(_Branch(match.end()))
    return blanks


def _unmatched_brackets(text: bytearray, start: int, end: int) -> tuple[list[int], list[int]]:
    """Return the brackets that a text leaves open, and those that it closes without opening them."""
    opened: list[int] = []
    closed_to: list[int] = []
    for match in _BRACKET.finditer(text, start, end):
        if match[0] in b"({":
            opened.append(match.start())
        elif opened:
            opened.pop()
        else:
            closed_to.append(match.end())
    return opened, closed_to


def _blank_branches(
    clean: bytes, declarations: bytearray, group: list[_Branch], condition: bytes, blanks: list[tuple[int, int]]
) -> _Branch | None:
    """Add the ranges of a group that are blanked, and return the branch that the code around it continues."""
    if _NEVER.match(condition):
        blanks.append((group[0].start, group[0].end))
        del group[0]
        if not group:
            return None
    if len(group) == 1:
        branch = group[0]
        if len(branch.opened) + len(branch.closed_to) == 1:
            text = clean[branch.start : branch.end]
            closes = b"__cplusplus" in condition and _CLOSES_LINKAGE.match(text)
            if closes or _OPENS_LINKAGE.match(text):
                blanks.append((branch.start, branch.end))
                return None
        return branch
    kept = next((branch for branch in group if declarations[branch.start : branch.end].strip()), group[0])
    uneven = any((len(branch.opened), len(branch.closed_to)) != (0, 0) for branch in group)
    for branch in group:
        if branch is kept:
            continue
        content = declarations[branch.start : branch.end].rstrip()
        if not uneven and (content[-1:] not in _COMPLETE_ENDS or _STARTS_WITH_ELSE.match(content)):
            blanks.append((branch.start, branch.end))
            continue
        if branch.closed_to:
            blanks.append((branch.start, branch.closed_to[-1]))
        if branch.opened:
            first = max(
                declarations.rfind(b";", branch.start, branch.opened[0]),
                declarations.rfind(b"}", branch.start, branch.opened[0]),
            )
            blanks.append((max(first + 1, branch.start), branch.end))
    return kept


FINISHED, BEGINS_SCOPE = -1, -2
"""States after a definition: it has ended, or a block that holds declarations follows."""

_PLAIN_ARGUMENTS = re.compile(rb"\([\w\s,]*\)")


class MaskedCode:
    """The text of one file, in which macros are masked."""

    def __init__(self, code: bytes) -> None:
        """Begin with the text of a file without conditionals."""
        self.source = code
        self.code = bytearray(code)
        self.changed = False
        self.names: dict[int, MacroName] = {}
        """Names of definitions by macros, by the position of the placeholder."""

    def blank(self, start: int, end: int) -> None:
        """Blank the text between two positions."""
        self.code[start:end] = self.code[start:end].translate(BLANK)
        self.changed = True

    def pasted_name(self, name: re.Match[bytes], opened: int, close: int, is_typed: bool) -> bool:
        """Replace a macro call in the place of a function's name; False if the name is unknown.

        Args:
            name: The match of the macro's name.
            opened: Position of its parenthesis.
            close: Position after its arguments.
            is_typed: Whether a type precedes.
        """
        start = name.start()
        source = self.source[start:close]
        defined = definition_name(name[0], self.source[opened + 1 : close - 1])
        if defined is None or b"\n" in source:
            return False
        self.changed = True
        if is_typed:
            self.code[start:close] = re.sub(rb"\W", b"_", source)
            self.names[start] = defined
        else:
            self.code[start:close] = b"int f".ljust(close - start)
            self.names[start + 4] = defined
        return True

    def definition(self, name: re.Match[bytes], opened: int, close: int, stop: bytes) -> int:
        """Replace a macro call that is a whole head by a head of its own, and set the name of the definition.

        Returns:
            `BEGINS_SCOPE` if declarations follow in the block, else `FINISHED`.
        """
        token, start = name[0], name.start()
        if stop != b"{":
            if stop != b";":
                self.blank(start, close)
            return FINISHED
        defined = definition_name(token, self.source[opened + 1 : close - 1])
        if defined is None:
            return FINISHED
        keyword = defined.kind.encode() if defined.kind in ("namespace", "class", "struct") else b"int"
        is_scope = keyword != b"int"
        head = keyword + (b" f" if is_scope else b" f(")
        if close - start <= len(head) or b"\n" in self.source[start : start + len(head)]:
            return BEGINS_SCOPE if is_scope else FINISHED
        if is_scope or len(token) < len(head) - 1 or not _PLAIN_ARGUMENTS.fullmatch(self.source, opened, close):
            self.blank(start, close)
            self.code[start : start + len(head)] = head
            if not is_scope:
                self.code[close - 1] = ord(")")
        else:  # the arguments stay: one may be the fixture of a test
            self.code[start:opened] = b"int f".ljust(opened - start)
            self.changed = True
        self.names[start + len(keyword) + 1] = defined
        return BEGINS_SCOPE if is_scope else FINISHED


CODE, SCOPE, ENUM = "code", "scope", "enum"
"""Content of a block: statements, declarations, or enumerators."""

_STOP = re.compile(rb"[{};]")
_TOKEN = re.compile(rb'[A-Za-z_~][\w]*(?:\s*::\s*~?[A-Za-z_]\w*)*|\[\[|[<()\[=:,*&;"]')
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


_CONSTRAINT = re.compile(rb"\b(noexcept)\s*\(|\b(template)\s*<")
_ANY_TYPE = b"class T"


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
    if not is_c:
        _blank_constraints(output, clean.declarations)
    _Scanner(output, clean.declarations, is_c).scan()
    return Masked(bytes(output.code) if output.changed else clean.code, output.names)


def _blank_constraints(output: MaskedCode, text: bytes) -> None:
    """Blank what restricts templates and exceptions: conditions in which the grammar loses the class around them."""
    for match in _CONSTRAINT.finditer(text):
        start, end = match.end(), min(len(text), match.end() + _MAX_ARGUMENT_BYTES)
        if match[1] == b"noexcept":
            close = close_parenthesis(text, start - 1, end)
            if close > 0:
                output.blank(start - 1, close)
            continue
        close = close_angle(text, start - 1, end)
        nested = text.find(b"<", start, close)
        if close > 0 and nested > 0 and b"enable_if" in text[start:close]:
            comma = text.rfind(b",", start, nested)
            output.blank(comma if comma > 0 else start, close - 1)
            if comma < 0 and close - 1 - start > len(_ANY_TYPE):
                output.code[start : start + len(_ANY_TYPE)] = _ANY_TYPE


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
                self.output.blank(name.start(), close)
                return close
        elif is_macro and follower is not None and follower[0] == b"(" and not _POINTER.match(text, opened):
            return self._pasted_name(words, has_type, name, opened, close, end)
        elif is_macro and not is_typed and after == end:
            self._blank_macros(words)
            return self.output.definition(name, opened, close, stop)
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
