"""Parser input of a C file under construction: blanks macros, and writes heads in place of macro calls that define.

A replacement has the length of the macro call, so that offsets and lines stay. The name that the parser cannot see is
recorded by the position of a placeholder.
"""

from __future__ import annotations

import re

from promptls.index.syntax.masks.c_conditionals import BLANK
from promptls.index.syntax.masks.c_macro_names import MacroName, definition_name, pasting_macros, variable_name

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
        self.pasting = pasting_macros(code) if b"##" in code else {}
        self.suites: list[str] = []
        """Test suites that are open; a pair of macros begins and ends one."""

    def blank(self, start: int, end: int) -> None:
        """Blank the text between two positions."""
        self.code[start:end] = self.code[start:end].translate(BLANK)
        self.changed = True

    def attribute(self, name: re.Match[bytes], opened: int, close: int, after: int) -> None:
        """Blank a macro call before a declaration; remember the test suite or variable that it begins."""
        token = name[0]
        if token.endswith(b"TEST_SUITE"):
            self.suites.append(self.source[opened + 1 : close - 1].decode("utf-8", "replace").strip())
        elif token.endswith(b"TEST_SUITE_END"):
            del self.suites[-1:]
        elif b"\n" in self.source[close:after] and self.variable(name, opened, close, b"int f=0;"):
            return
        self.blank(name.start(), close)

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
        defined = definition_name(name[0], self.source[opened + 1 : close - 1], self.pasting)
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
        if stop == b";":
            if not self.variable(name, opened, close, b"int f=0") and token.endswith(b"TEST_SUITE_END"):
                del self.suites[-1:]
            return FINISHED
        if stop != b"{":
            self.attribute(name, opened, close, close)
            return FINISHED
        defined = definition_name(token, self.source[opened + 1 : close - 1], self.pasting)
        if defined is None:
            return FINISHED
        if defined.kind == "test" and self.suites:
            defined = defined._replace(owner=".".join([*self.suites, *([defined.owner] if defined.owner else [])]))
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

    def variable(self, name: re.Match[bytes], opened: int, close: int, declaration: bytes) -> bool:
        """Replace a macro call such as DEFINE_MUTEX(name) by a declaration; False if it defines no variable."""
        defined = variable_name(name[0], self.source[opened + 1 : close - 1])
        start = name.start()
        if defined is None or close - start < len(declaration):
            return False
        self.blank(start, close)
        self.code[start : start + len(declaration)] = declaration
        self.names[start + 4] = defined
        return True
