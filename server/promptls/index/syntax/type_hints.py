"""What a declaration says of a variable's type, read from its text.

"x: Foo" gives ("x", "Foo"); "x = Foo(1)" gives ("x", "Foo()"): the result of calling Foo, which is a Foo
where that is a class and what the function returns where it is one.  "each(items, (x) => …" gives ("x",
"each(1,0)"): what each hands to the function that is its argument 1, as that one's argument 0.  "x = a.b" gives
("x", "=a.b"): a value, not a type.  One reader a family of languages; each gives nothing for what it does not understand.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Typed = list[tuple[str, str]]

_CALLED = r"(?:await\s+)?([A-Za-z_$][\w$.]*)\s*\("
_PY_ANNOTATED = re.compile(r"\*{0,2}([A-Za-z_][\w.]*)\s*:\s*([^=\n]+)")
_PY_ASSIGNED = re.compile(rf"([A-Za-z_][\w.]*)\s*=\s*{_CALLED}")
_PY_AS = re.compile(r"(?:await\s+)?([A-Za-z_][\w.]*)\(.*?\)\s+as\s+([A-Za-z_]\w*)")
_PY_WRAPPED = re.compile(r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Required|NotRequired)\[(.*)\]?$")

_TS = re.compile(
    r"(?:(?:public|private|protected|readonly|static|override|declare)\s+)*([A-Za-z_$#][\w$.#]*)\s*[?!]?\s*"
    rf"(?::\s*([^=;{{\n]+?)\s*(?:=[^=>]|[;,)\n{{]|$)|=\s*(?:new\s+([A-Za-z_$][\w$.]*)|{_CALLED}))"
)
_TS_PASSED = re.compile(
    r"(?:new\s+)?([A-Za-z_$][\w$.]*)(?:<[^()]{0,80}>)?\(((?:[^(){}\[\]]*,)?)\s*(?:async\s+)?"
    r"(?:\(([\w$,\s]*)\)\s*=>|([A-Za-z_$][\w$]*)\s*=>|function\s*[\w$]*\(([\w$,\s]*)\))"
)
_TS_TAKEN = re.compile(r"\{([\w$#\s,:=]*)\}\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)*)\s*(?:[;,\n]|$)")
_TS_HELD = re.compile(r"([A-Za-z_$][\w$.#]*)\s*=\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)+)\s*(?:[;,\n]|$)")
_JAVA = re.compile(
    r"(?:(?:public|private|protected|static|final|readonly|abstract|internal|volatile|const|late|covariant|required|val|this|in|out|ref|@\w+)\s+)*"
    r"([A-Za-z_][\w.:]*)\s*(?:<[^;={}()]*>)?(?:\s*[*&?]+|\s)\s*([A-Za-z_]\w*)\s*(?:=\s*(?:await\s+)?(new\s+)?([A-Za-z_][\w.]*)?"
    r"(?:<[^;={}()]*>)?\s*(\()?|[;,)\]{}]|$)"
)
_POINTS = re.compile(
    r"(?:(?:static|const|mutable|inline)\s+)*(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|optional)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
    r"[\s&]+([A-Za-z_]\w*)"
)
_MADE = re.compile(
    r"(?:const\s+)?auto[\s&]+([A-Za-z_]\w*)\s*=\s*(?:std::)?make_(?:unique|shared)<\s*(?:const\s+)?([A-Za-z_][\w:]*)\s*>"
)
_GO = re.compile(
    r"(?:var\s+)?([A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::=|=)\s*(?:&?([A-Za-z_][\w.]*)\s*(\{|\()|new\(([A-Za-z_][\w.]*)\))"
)
_GO_PARAMETER = re.compile(r"(?:var\s+)?((?:[A-Za-z_]\w*\s*,\s*)*[A-Za-z_]\w*)\s+\**([A-Za-z_][\w.]*)")
_RUST = re.compile(
    r"(?:let\s+)?(?:mut\s+)?([A-Za-z_]\w*)\s*(?::\s*([^=;,)\n]+))?\s*(?:=\s*(?:&(?:mut\s+)?)?([A-Za-z_][\w:.]*)\s*(?:::<[^>]*>)?\s*([({]))?"
)
_RUST_TYPE = re.compile(
    r"(?:&\s*)?(?:'\w+\s*)?(?:mut\s+|dyn\s+|impl\s+)*(?:(?:Box|Rc|Arc|Option)<(?:dyn\s+)?)?([A-Za-z_][\w:]*)"
)
_COLON = re.compile(
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
_ZIG_WORDS = re.compile(
    r"[iuf]\d+|[iu]size|bool|void|type|any\w+|comptime_\w+|struct|enum|union|error|opaque|fn|packed|extern"
)
_RUBY = re.compile(r"(@{0,2}[A-Za-z_]\w*)\s*=\s*([A-Z][\w:]*)\.new\b")

_OPENS = re.compile(r"\s*(?:::)?(?:<[^(){};=]{0,80}>)?\s*\(")
_NOTHING_FOLLOWS = re.compile(r"""\([^()\[\]{}"'`]*\)[ \t]*(?:[;,)]|\n\s*[^\s.?!/-]|\s*$)""")
_GOES_ON = re.compile(
    r"(?:[!?]|\s|//[^\n]*\n)*(?:\.|->|::)\s*([A-Za-z_$][\w$]*)\s*(?:(?:::)?<[^(){};=]{0,80}>\s*)?([({]?)|\s*(\[)"
)
_SAME = frozenset({"apply", "also", "await"})
"""Members that are what they are called on."""
_MAX_LINKS = 6
_STRING = re.compile(r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]""")


def _given(text: str, head: str, at: int, made: bool = False) -> str:
    """The type of a value that begins with a call of `head`, whose arguments begin at a byte: "A()", "A().b()" for what
    calling goes on with; "A" for a new A (`made`) and nothing more, "" where that is not all of it.

    Of a text that ends before the arguments do nothing else is known, and mostly nothing follows.
    """
    alone = head if made else head + "()"
    if _NOTHING_FOLLOWS.match(text, at):  # most of them
        return alone
    end = _closed(text, at)
    out = head + "()"
    for link in range(_MAX_LINKS):
        found = _GOES_ON.match(text, end) if end > 0 else None
        if found is None:
            return out if link else alone
        name, bracket, index = found.groups()
        if index:
            return ""
        end = _closed(text, found.start(2)) if bracket else found.end()
        if name in _SAME and bracket != "(":
            continue
        if not bracket:
            return ""
        out += f".{name}()"
    return ""


def _closed(text: str, at: int) -> int:
    """Where the text goes on behind the bracket that opens at a byte, 0 if it does not close."""
    depth = 0
    for mark in _STRING.finditer(text, at):
        depth += (mark.group() in "([{") - (mark.group() in ")]}")
        if depth == 0:
            return mark.end()
    return 0


def _said(variable: str, of: str) -> Typed:
    return [(variable, of)] if of else []


def _python(text: str) -> Typed:
    if match := _PY_ANNOTATED.match(text):
        of = annotation(match.group(2))
        return [(match.group(1), of)] if of else []
    if match := _PY_ASSIGNED.match(text):
        return _said(match.group(1), _given(text, match.group(2), match.end() - 1))
    if match := _PY_AS.match(text):
        return [(match.group(2), match.group(1) + "()")]
    return []


def annotation(text: str) -> str:
    """The class that a Python annotation speaks of, "" for none or several: "Optional['a.B']" → "a.B"."""
    text = text.strip().strip("\"'")
    while match := _PY_WRAPPED.match(text):
        text = match.group(1).split(",")[0].rstrip("] ").strip("\"'")
    options = [part.strip().strip("\"'") for part in text.split("|")]
    kept = [part for part in options if part and not part.startswith("None")]
    match = re.match(r"[A-Za-z_][\w.]*", kept[0]) if len(kept) == 1 else None
    return match.group() if match else ""


def _script(text: str) -> Typed:
    if passed := _TS_PASSED.match(text):
        function, before, *parameters = passed.groups()
        listed = next(filter(None, parameters), "").split(",")
        at = before.count(",")
        return [(name.strip(), f"{function}({at},{i})") for i, name in enumerate(listed) if name.strip()]
    if taken := _TS_TAKEN.match(text):
        pieces = (re.findall(r"[\w$#]+", piece.partition("=")[0]) for piece in taken.group(1).split(","))
        return [(words[-1], f"={taken.group(2)}.{words[0]}") for words in pieces if 0 < len(words) < 3]
    match = _TS.match(text)
    if match is None:
        held = _TS_HELD.match(text)
        return [(held.group(1), "=" + held.group(2))] if held is not None else []
    variable, of, made, called = match.groups()
    if of:
        kept = [part.strip() for part in of.split("|") if part.strip() not in ("null", "undefined")]
        named = [part.strip() for part in kept[0].split("&") if len(part.strip()) > 1] if len(kept) == 1 else ()
        plain = re.match(r"[A-Za-z_$][\w$.]*(?![\w$.]*\[)", named[0] if named else kept[0]) if len(kept) == 1 else None
        return [(variable, plain.group())] if plain and "=>" not in of else []
    if made:
        opens = _OPENS.match(text, match.end())
        return _said(variable, _given(text, made, opens.end() - 1, made=True) if opens else made)
    if not called or called == "require":  # that is an import
        return []
    return _said(variable, _given(text, called, match.end() - 1))


def _java(text: str) -> Typed:
    match = _JAVA.match(text)
    if match is None:
        return []
    of, variable, new, value, called = match.groups()
    if of in ("var", "auto", "let", "final", "const", "late"):
        if called and value:
            return _said(variable, _given(text, value.replace("::", "."), match.end() - 1, made=bool(new)))
        return _said(variable, value if new and value else "")
    if of in ("return", "throw", "new", "else", "await", "yield", "goto", "case"):
        return []
    return [(variable, of.replace("::", "."))]


def _cpp(text: str) -> Typed:
    if match := _POINTS.match(text):
        return [(match.group(2), match.group(1).replace("::", "."))]
    if match := _MADE.match(text):
        return [(match.group(1), match.group(2).replace("::", "."))]
    return _java(text)


def _go(text: str) -> Typed:
    if match := _GO.match(text):
        variable, value, bracket, new = match.groups()
        return _said(variable, new or (value if bracket == "{" else _given(text, value, match.start(3))))
    if match := _GO_PARAMETER.match(text):
        return [(name.strip(), match.group(2)) for name in match.group(1).split(",")]
    return []


def _rust(text: str) -> Typed:
    match = _RUST.match(text)
    if match is None:
        return []
    variable, of, value, bracket = match.groups()
    if of:
        plain = _RUST_TYPE.match(of.strip())
        return [(variable, plain.group(1).replace("::", "."))] if plain else []
    if not value:
        return []
    head = value.replace("::", ".")
    return _said(variable, _given(text, head, match.start(4)) if bracket == "(" else head)


def _colon(text: str) -> Typed:
    match = _COLON.match(text)
    if match is None:
        return []
    variable, of, made, called = match.groups()
    if of:
        return [(variable, of)]
    if made:
        opens = _OPENS.match(text, match.end())
        return _said(variable, _given(text, made, opens.end() - 1, made=True) if opens else made)
    return _said(variable, _given(text, called, match.end() - 1))


def _php(text: str) -> Typed:
    match = _PHP.match(text)
    if match is None:
        return []
    of, variable, made = match.groups()
    of = made or of
    return [("$" + variable.replace("->", "."), of.replace("\\", "."))] if of else []


def _zig(text: str) -> Typed:
    match = _ZIG.match(text)
    if match is None:
        return []
    variable, of, value, bracket = match.groups()
    if of:
        return [] if _ZIG_WORDS.fullmatch(of) else [(variable, of)]
    if not value or _ZIG_WORDS.fullmatch(value):
        return []
    return _said(variable, value if bracket == "{" else _given(text, value, match.start(4)))


def _new(text: str, match: re.Match[str] | None) -> Typed:
    """What "A.new(1)" gives, unless it goes on: what is called on it says no type in these languages."""
    if match is None:
        return []
    of = match.group(2).replace("::", ".")
    opens = _OPENS.match(text, match.end())
    goes_on = _GOES_ON.match(text, match.end()) if opens is None else None
    return _said(match.group(1), "" if goes_on else _given(text, of, opens.end() - 1, made=True) if opens else of)


_READERS: dict[str, Callable[[str], Typed]] = {
    "python": _python,
    **dict.fromkeys(("javascript", "jsx", "typescript", "tsx", "vue", "svelte"), _script),
    **dict.fromkeys(("java", "csharp", "c", "dart"), _java),
    "cpp": _cpp,
    **dict.fromkeys(("kotlin", "swift", "scala"), _colon),
    "go": _go,
    "rust": _rust,
    "php": _php,
    "zig": _zig,
    "perl": lambda text: _new(text, _PERL.match(text)),
    "ruby": lambda text: _new(text, _RUBY.match(text)),
}


def declared_type(text: str, language: str) -> Typed:
    """(variable, type) pairs of the declaration that a text begins with."""
    reader = _READERS.get(language)
    return reader(text) if reader else []
