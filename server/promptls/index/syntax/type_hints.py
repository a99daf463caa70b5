"""Types of variables, read from the text of their declarations.

The parser of each declaration syntax yields (variable, type expression) pairs, none for text that it does not
understand:

- "x: Foo" gives ("x", "Foo").
- "x = Foo(1)" gives ("x", "Foo()"): the result of calling Foo, an instance if Foo is a class.
- "each(items, (x) => …" gives ("x", "each(1,0)"): parameter 0 of the callback that is argument 1 of "each".
- "x = a.b" gives ("x", "=a.b"): a value, not a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from promptls.languages import Language

Declarations = list[tuple[str, str]]
"""(variable, type expression) pairs."""

_CALL = r"(?:await\s+)?([A-Za-z_$][\w$.]*)\s*\("
_PY_ANNOTATED = re.compile(r"\*{0,2}([A-Za-z_][\w.]*)\s*:\s*([^=\n]+)")
_PY_ASSIGNED = re.compile(rf"([A-Za-z_][\w.]*)\s*=\s*{_CALL}")
_PY_WITH = re.compile(r"(?:await\s+)?([A-Za-z_][\w.]*)\(.*?\)\s+as\s+([A-Za-z_]\w*)")
_PY_WRAPPED = re.compile(r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Required|NotRequired)\[(.*)\]?$")

_TS = re.compile(
    r"(?:(?:public|private|protected|readonly|static|override|declare)\s+)*([A-Za-z_$#][\w$.#]*)\s*[?!]?\s*"
    rf"(?::\s*([^=;{{\n]+?)\s*(?:=[^=>]|[;,)\n{{]|$)|=\s*(?:new\s+([A-Za-z_$][\w$.]*)|{_CALL}))"
)
_TS_CALLBACK = re.compile(
    r"(?:new\s+)?([A-Za-z_$][\w$.]*)(?:<[^()]{0,80}>)?\(((?:[^(){}\[\]]*,)?)\s*(?:async\s+)?"
    r"(?:\(([\w$,\s]*)\)\s*=>|([A-Za-z_$][\w$]*)\s*=>|function\s*[\w$]*\(([\w$,\s]*)\))"
)
_TS_DESTRUCTURED = re.compile(r"\{([\w$#\s,:=]*)\}\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)*)\s*(?:[;,\n]|$)")
_TS_MEMBER_VALUE = re.compile(r"([A-Za-z_$][\w$.#]*)\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)+)\s*(?:[;,\n]|$)")
_TYPE_FIRST = re.compile(
    r"(?:(?:public|private|protected|static|final|readonly|abstract|internal|volatile|const|late|covariant|required|val|this|in|out|ref|@\w+)\s+)*"
    r"([A-Za-z_][\w.:]*)\s*(?:<[^;={}()]*>)?(?:\s*[*&?]+|\s)\s*([A-Za-z_]\w*)\s*(?:=\s*(?:await\s+)?(new\s+)?([A-Za-z_][\w.]*)?"
    r"(?:<[^;={}()]*>)?\s*(\()?|[;,)\]{}]|$)"
)
_CPP_SMART_POINTER = re.compile(
    r"(?:(?:static|const|mutable|inline)\s+)*(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|optional)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
    r"[\s&]+([A-Za-z_]\w*)"
)
_CPP_MAKE_POINTER = re.compile(
    r"(?:const\s+)?auto[\s&]+([A-Za-z_]\w*)\s*=\s*(?:std::)?make_(?:unique|shared)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
)
_GO = re.compile(
    r"(?:var\s+)?([A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::=|=)\s*(?:&?([A-Za-z_][\w.]*)\s*(\{|\()|new\(([A-Za-z_][\w.]*)\))"
)
_GO_PARAMETER = re.compile(r"(?:var\s+)?((?:[A-Za-z_]\w*\s*,\s*)*[A-Za-z_]\w*)\s+\**([A-Za-z_][\w.]*)")
_RUST = re.compile(
    r"(?:let\s+)?(?:mut\s+)?([A-Za-z_]\w*)\s*(?::\s*([^=;,)\n]+))?\s*(?:=\s*(?:&(?:mut\s+)?)?([A-Za-z_][\w:.]*)\s*(?:::<[^>]*>)?\s*([({]))?"
)
_RUST_TYPE_NAME = re.compile(
    r"(?:&\s*)?(?:'\w+\s*)?(?:mut\s+|dyn\s+|impl\s+)*(?:(?:Box|Rc|Arc|Option)<(?:dyn\s+)?)?([A-Za-z_][\w:]*)"
)
_NAME_FIRST = re.compile(
    r"(?:@[\w:.]+(?:\([^()]*\))?\s+(?://[^\n]*\n\s*)?)*(?:(?:val|var|let|def|private|fileprivate|protected|public|internal|open|final|abstract|override|static|class|const|inline|noinline|crossinline"
    r"|lateinit|lazy|implicit|expect|actual|vararg|weak|unowned|inout|_)(?:\[\w+\]|\([a-z]+\))?\s+)*([A-Za-z_]\w*)\s*"
    r"(?::\s*(?:any\s+|some\s+|inout\s+)?([A-Za-z_][\w.]*)"
    r"|=\s*(?:try[?!]?\s+|await\s+)*(?:new\s+([A-Z][\w.]*)|([A-Za-z_$][\w$.]*)\s*(?:<[^()={}]{0,80}>|\[[^()={}]{0,80}\])?\s*\())"
)
_PHP = re.compile(
    r"(?:(?:public|private|protected|readonly|static)\s+)*(?:\??\\?([A-Za-z_][\w\\]*)\s+)?\$([A-Za-z_]\w*(?:->\w+)?)\s*(?:=\s*new\s+\\?([A-Za-z_][\w\\]*))?"
)
_PERL = re.compile(r"(?:my\s+|our\s+|local\s+|state\s+)?(\$[A-Za-z_]\w*)\s*=\s*([A-Z]\w*(?:::\w+)*)->new\b")
_ZIG = re.compile(
    r"(?:(?:comptime|noalias|const|var)\s+)*([A-Za-z_]\w*)\s*(?::\s*(?:[*?]|const\s)*([A-Za-z_][\w.]*)(?![\w.(]))?"
    r"\s*(?:=\s*(?:try\s+|&)?([A-Za-z_][\w.]*)\s*([({]))?"
)
_ZIG_BUILT_IN_TYPE = re.compile(
    r"[iuf]\d+|[iu]size|bool|void|type|any\w+|comptime_\w+|struct|enum|union|error|opaque|fn|packed|extern"
)
_RUBY = re.compile(r"(@{0,2}[A-Za-z_]\w*)\s*=\s*([A-Z][\w:]*)\.new\b")

_ARGUMENTS_START = re.compile(r"\s*(?:::)?(?:<[^(){};=]{0,80}>)?\s*\(")
_SIMPLE_CALL_END = re.compile(r"""\([^()\[\]{}"'`]*\)[ \t]*(?:[;,)]|\n\s*[^\s.?!/-]|\s*$)""")
_NEXT_LINK = re.compile(
    r"(?:[!?]|\s|//[^\n]*\n)*(?:\.|->|::)\s*([A-Za-z_$][\w$]*)\s*(?:(?:::)?<[^(){};=]{0,80}>\s*)?([({]?)|\s*(\[)"
)
_IDENTITY_MEMBERS = frozenset({"apply", "also", "await"})
"""Members whose value is their receiver."""

_MAX_CHAIN_LINKS = 6
"""Links of a call chain that are followed."""

_STRING_OR_BRACKET = re.compile(r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]""")


def parse_declaration(text: str, language: Language) -> Declarations:
    """Return the (variable, type expression) pairs of the declaration at the beginning of a text."""
    parse = _PARSERS.get(language.declaration_syntax)
    return parse(text) if parse else []


def _chain_type(text: str, callee: str, arguments: int, instantiates: bool = False) -> str:
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


def _pair(variable: str, type_: str) -> Declarations:
    return [(variable, type_)] if type_ else []


def _parse_python(text: str) -> Declarations:
    if match := _PY_ANNOTATED.match(text):
        return _pair(match.group(1), annotation_class(match.group(2)))
    if match := _PY_ASSIGNED.match(text):
        return _pair(match.group(1), _chain_type(text, match.group(2), match.end() - 1))
    if match := _PY_WITH.match(text):
        return [(match.group(2), match.group(1) + "()")]
    return []


def annotation_class(text: str) -> str:
    """Return the class of a Python annotation, "" for none or several: "a.B" for "Optional['a.B']"."""
    text = text.strip().strip("\"'")
    while match := _PY_WRAPPED.match(text):
        text = match.group(1).split(",")[0].rstrip("] ").strip("\"'")
    options = [part.strip().strip("\"'") for part in text.split("|")]
    classes = [part for part in options if part and not part.startswith("None")]
    match = re.match(r"[A-Za-z_][\w.]*", classes[0]) if len(classes) == 1 else None
    return match.group() if match else ""


def _parse_ecmascript(text: str) -> Declarations:
    if callback := _TS_CALLBACK.match(text):
        function, arguments_before, *parameter_lists = callback.groups()
        parameters = next(filter(None, parameter_lists), "").split(",")
        argument = arguments_before.count(",")
        return [(name.strip(), f"{function}({argument},{i})") for i, name in enumerate(parameters) if name.strip()]
    if destructured := _TS_DESTRUCTURED.match(text):
        pieces = (re.findall(r"[\w$#]+", piece.partition("=")[0]) for piece in destructured.group(1).split(","))
        return [(words[-1], f"={destructured.group(2)}.{words[0]}") for words in pieces if 0 < len(words) < 3]
    match = _TS.match(text)
    if match is None:
        member = _TS_MEMBER_VALUE.match(text)
        return [(member.group(1), "=" + member.group(2))] if member is not None else []
    variable, annotation, new_class, callee = match.groups()
    if annotation:
        type_name = _typescript_class(annotation)
        return _pair(variable, type_name if "=>" not in annotation else "")
    if new_class:
        return _pair(variable, _new_instance_type(text, new_class, match.end()))
    if not callee or callee == "require":  # "require" is an import
        return []
    return _pair(variable, _chain_type(text, callee, match.end() - 1))


def _typescript_class(annotation: str) -> str:
    """Return the class of a TypeScript annotation, "" for an array, a choice of several types, or none."""
    options = [part.strip() for part in annotation.split("|") if part.strip() not in ("null", "undefined")]
    if len(options) != 1:
        return ""
    intersected = [part.strip() for part in options[0].split("&") if len(part.strip()) > 1]
    match = re.match(r"[A-Za-z_$][\w$.]*(?![\w$.]*\[)", intersected[0] if intersected else options[0])
    return match.group() if match else ""


def _new_instance_type(text: str, class_name: str, end: int) -> str:
    """Return the type expression of "new A", which may have type arguments and arguments after it."""
    arguments = _ARGUMENTS_START.match(text, end)
    return _chain_type(text, class_name, arguments.end() - 1, instantiates=True) if arguments else class_name


def _parse_type_first(text: str) -> Declarations:
    """Parse declarations of Java, C#, C and Dart: "Foo x = …"."""
    match = _TYPE_FIRST.match(text)
    if match is None:
        return []
    type_name, variable, new, value, called = match.groups()
    if type_name in ("var", "auto", "let", "final", "const", "late"):
        if called and value:
            callee = value.replace("::", ".")
            return _pair(variable, _chain_type(text, callee, match.end() - 1, instantiates=bool(new)))
        return _pair(variable, value if new and value else "")
    if type_name in ("return", "throw", "new", "else", "await", "yield", "goto", "case"):
        return []
    return [(variable, type_name.replace("::", "."))]


def _parse_cpp(text: str) -> Declarations:
    if match := _CPP_SMART_POINTER.match(text):
        return [(match.group(2), match.group(1).replace("::", "."))]
    if match := _CPP_MAKE_POINTER.match(text):
        return [(match.group(1), match.group(2).replace("::", "."))]
    return _parse_type_first(text)


def _parse_go(text: str) -> Declarations:
    if match := _GO.match(text):
        variable, value, bracket, new_type = match.groups()
        return _pair(variable, new_type or (value if bracket == "{" else _chain_type(text, value, match.start(3))))
    if match := _GO_PARAMETER.match(text):
        return [(name.strip(), match.group(2)) for name in match.group(1).split(",")]
    return []


def _parse_rust(text: str) -> Declarations:
    match = _RUST.match(text)
    if match is None:
        return []
    variable, annotation, value, bracket = match.groups()
    if annotation:
        type_name = _RUST_TYPE_NAME.match(annotation.strip())
        return [(variable, type_name.group(1).replace("::", "."))] if type_name else []
    if not value:
        return []
    path = value.replace("::", ".")
    return _pair(variable, _chain_type(text, path, match.start(4)) if bracket == "(" else path)


def _parse_name_first(text: str) -> Declarations:
    """Parse declarations of Kotlin, Swift and Scala: "val x: Foo"."""
    match = _NAME_FIRST.match(text)
    if match is None:
        return []
    variable, type_name, new_class, callee = match.groups()
    if type_name:
        return [(variable, type_name)]
    if new_class:
        return _pair(variable, _new_instance_type(text, new_class, match.end()))
    return _pair(variable, _chain_type(text, callee, match.end() - 1))


def _parse_php(text: str) -> Declarations:
    match = _PHP.match(text)
    if match is None:
        return []
    type_name, variable, new_class = match.groups()
    type_name = new_class or type_name
    return [("$" + variable.replace("->", "."), type_name.replace("\\", "."))] if type_name else []


def _parse_zig(text: str) -> Declarations:
    match = _ZIG.match(text)
    if match is None:
        return []
    variable, type_name, value, bracket = match.groups()
    if type_name:
        return [] if _ZIG_BUILT_IN_TYPE.fullmatch(type_name) else [(variable, type_name)]
    if not value or _ZIG_BUILT_IN_TYPE.fullmatch(value):
        return []
    return _pair(variable, value if bracket == "{" else _chain_type(text, value, match.start(4)))


def _parse_perl(text: str) -> Declarations:
    return _parse_new_call(text, _PERL.match(text))


def _parse_ruby(text: str) -> Declarations:
    return _parse_new_call(text, _RUBY.match(text))


def _parse_new_call(text: str, match: re.Match[str] | None) -> Declarations:
    """Parse "x = A.new(1)"; without arguments, a chain after "new" has no known type in these languages."""
    if match is None:
        return []
    class_name = match.group(2).replace("::", ".")
    arguments = _ARGUMENTS_START.match(text, match.end())
    if arguments is not None:
        return _pair(match.group(1), _chain_type(text, class_name, arguments.end() - 1, instantiates=True))
    return _pair(match.group(1), "" if _NEXT_LINK.match(text, match.end()) else class_name)


_PARSERS: dict[str, Callable[[str], Declarations]] = {
    "python": _parse_python,
    "ecmascript": _parse_ecmascript,
    "type_first": _parse_type_first,
    "cpp": _parse_cpp,
    "name_first": _parse_name_first,
    "go": _parse_go,
    "rust": _parse_rust,
    "php": _parse_php,
    "zig": _parse_zig,
    "perl": _parse_perl,
    "ruby": _parse_ruby,
}
"""Parser by `Language.declaration_syntax`."""
