"""Types of variables, read from the text of their declarations; parsers that several languages share.

A parser takes a text that begins with a declaration and returns (variable, type expression) pairs, none for text that
it does not understand. Parsers of one language are in its module.

- "x: Foo" gives ("x", "Foo").
- "x = Foo(1)" gives ("x", "Foo()"): the result of calling Foo, an instance if Foo is a class.
- "each(items, (x) => …" gives ("x", "each(1,0)"): parameter 0 of the callback that is argument 1 of "each".
- "x = a.b" gives ("x", "=a.b"): a value, not a type.
"""

from __future__ import annotations

import re

from promptls.util.text.regex import lazy_pattern

Declarations = list[tuple[str, str]]
"""(variable, type expression) pairs."""

CALL = r"(?:await\s+)?([A-Za-z_$][\w$.]*)\s*\("
_TYPE_FIRST = lazy_pattern(
    r"(?:(?:public|private|protected|static|final|readonly|abstract|internal|volatile|const|late|covariant|required|val|this|in|out|ref|@\w+)\s+)*"
    r"([A-Za-z_][\w.:]*)\s*(?:<[^;={}()]*>)?(?:\s*[*&?]+|\s)\s*([A-Za-z_]\w*)\s*(?:=\s*(?:await\s+)?(new\s+)?([A-Za-z_][\w.]*)?"
    r"(?:<[^;={}()]*>)?\s*(\()?|[;,)\]{}]|$)"
)
_NAME_FIRST = lazy_pattern(
    r"(?:@[\w:.]+(?:\([^()]*\))?\s+(?://[^\n]*\n\s*)?)*(?:(?:val|var|let|def|private|fileprivate|protected|public|internal|open|final|abstract|override|static|class|const|inline|noinline|crossinline"
    r"|lateinit|lazy|implicit|expect|actual|vararg|weak|unowned|inout|_)(?:\[\w+\]|\([a-z]+\))?\s+)*([A-Za-z_]\w*)\s*"
    r"(?::\s*(?:any\s+|some\s+|inout\s+)?([A-Za-z_][\w.]*)"
    r"|=\s*(?:try[?!]?\s+|await\s+)*(?:new\s+([A-Z][\w.]*)|([A-Za-z_$][\w$.]*)\s*(?:<[^()={}]{0,80}>|\[[^()={}]{0,80}\])?\s*\())"
)

_ARGUMENTS_START = lazy_pattern(r"\s*(?:::)?(?:<[^(){};=]{0,80}>)?\s*\(")
_SIMPLE_CALL_END = lazy_pattern(r"""\([^()\[\]{}"'`]*\)[ \t]*(?:[;,)]|\n\s*[^\s.?!/-]|\s*$)""")
_NEXT_LINK = lazy_pattern(
    r"(?:[!?]|\s|//[^\n]*\n)*(?:\.|->|::)\s*([A-Za-z_$][\w$]*)\s*(?:(?:::)?<[^(){};=]{0,80}>\s*)?([({]?)|\s*(\[)"
)
_IDENTITY_MEMBERS = frozenset({"apply", "also", "await"})
"""Members whose value is their receiver."""

_MAX_CHAIN_LINKS = 6
"""Links of a call chain that are followed."""

_STRING_OR_BRACKET = lazy_pattern(r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]""")


def chain_type(text: str, callee: str, arguments: int, instantiates: bool = False) -> str:
    """Return the type expression of a value that begins with a call.

    "A()" stands for a call, "A().b()" for a chain of calls, and "A" for an instance created with `new`. The result is ""
    if the chain ends with something other than a call. A text that ends within the arguments counts as a call without a chain, because
    most calls have none.

    Args:
        text: The declaration.
        callee: The called function.
        arguments: Position of the opening parenthesis.
        instantiates: Whether the call creates an instance of `callee`.
    """
    without_chain = callee if instantiates else callee + "()"
    if _SIMPLE_CALL_END.match(text, arguments):  # most calls
        return without_chain
    end = _closing_bracket_end(text, arguments)
    chain = callee + "()"
    for link in range(_MAX_CHAIN_LINKS):
        match = _NEXT_LINK.match(text, end) if end > 0 else None
        if match is None:
            return chain if link else without_chain
        name, bracket, subscript = match.groups()
        if subscript:
            return ""
        end = _closing_bracket_end(text, match.start(2)) if bracket else match.end()
        if name in _IDENTITY_MEMBERS and bracket != "(":
            continue
        if not bracket:
            return ""
        chain += f".{name}()"
    return ""


def _closing_bracket_end(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`, 0 if there is none."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        depth += (token.group() in "([{") - (token.group() in ")]}")
        if depth == 0:
            return token.end()
    return 0


def pair(variable: str, type_: str) -> Declarations:
    """Return the declaration of a variable, none without a type."""
    return [(variable, type_)] if type_ else []


def new_instance_type(text: str, class_name: str, end: int) -> str:
    """Return the type expression of "new A", which may have type arguments and arguments after it."""
    arguments = _ARGUMENTS_START.match(text, end)
    return chain_type(text, class_name, arguments.end() - 1, instantiates=True) if arguments else class_name


def parse_type_first(text: str) -> Declarations:
    """Parse declarations of Java, C#, C and Dart: "Foo x = …"."""
    match = _TYPE_FIRST.match(text)
    if match is None:
        return []
    type_name, variable, new, value, called = match.groups()
    if type_name in ("var", "auto", "let", "final", "const", "late"):
        if called and value:
            callee = value.replace("::", ".")
            return pair(variable, chain_type(text, callee, match.end() - 1, instantiates=bool(new)))
        return pair(variable, value if new and value else "")
    if type_name in ("return", "throw", "new", "else", "await", "yield", "goto", "case"):
        return []
    return [(variable, type_name.replace("::", "."))]


def parse_name_first(text: str) -> Declarations:
    """Parse declarations of Kotlin, Swift and Scala: "val x: Foo"."""
    match = _NAME_FIRST.match(text)
    if match is None:
        return []
    variable, type_name, new_class, callee = match.groups()
    if type_name:
        return [(variable, type_name)]
    if new_class:
        return pair(variable, new_instance_type(text, new_class, match.end()))
    return pair(variable, chain_type(text, callee, match.end() - 1))


def parse_new_call(text: str, match: re.Match[str] | None) -> Declarations:
    """Parse "x = A.new(1)"; without arguments, a chain after "new" has no known type in these languages."""
    if match is None:
        return []
    class_name = match.group(2).replace("::", ".")
    arguments = _ARGUMENTS_START.match(text, match.end())
    if arguments is not None:
        return pair(match.group(1), chain_type(text, class_name, arguments.end() - 1, instantiates=True))
    return pair(match.group(1), "" if _NEXT_LINK.match(text, match.end()) else class_name)
