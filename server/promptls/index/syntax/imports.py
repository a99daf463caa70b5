"""Import statements by language, read from their text.

One function a family of languages; each takes the statement as written and gives (module, names, locals),
nothing for a statement that imports nothing; `locals` is what the file calls the names, or the module where there
are none, () where it calls them as they are.  Working on text keeps this the same for every generation of a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Names = tuple[str, ...]
Found = Iterator[tuple[str, Names] | tuple[str, Names, Names]]

_QUOTED = re.compile(r"""["'<`]([^"'>`\n]+)["'>`]""")
_NAME = re.compile(r"[^\W\d][\w$]*")
_REQUIRED = re.compile(
    r"(\{[^{}]*\}|[^\W\d][\w$]*|\$[\w$]*)\s*(?::[^=]*)?=\s*(?:await\s+)?(?:require|import)\s*\([^()]*\)\s*(?:\.\s*([\w$]+))?\s*\Z"
)
_PARENTHESES = re.compile(r"[()\\]")
_COMMENT = re.compile(r"#[^\n]*")


def _python(text: str) -> Found:
    text = _PARENTHESES.sub(" ", _COMMENT.sub("", text))
    if text.startswith("from"):
        module, _, names = text[4:].partition(" import ")
        yield "".join(module.split()), *_renamed([name.split() for name in names.split(",") if name.strip()])
        return
    for module in text.removeprefix("import").split(","):
        if words := module.split():
            yield words[0], (), tuple(words[2:3]) if words[1:2] == ["as"] else ()


def _renamed(pieces: list[list[str]]) -> tuple[Names, Names]:
    """(names, locals) of pieces such as [["a"], ["b", "as", "c"]]."""
    names = tuple(words[0] for words in pieces)
    called = tuple(words[2] if len(words) > 2 and words[1] in ("as", "=>") else words[0] for words in pieces)
    return names, called if called != names else ()


def _script(text: str) -> Found:
    module = _QUOTED.search(text)
    if module is None:
        return
    if text.startswith(("import", "export")) and not re.match(r"import\s*\(", text):
        yield module.group(1), *_clause(text[: module.start()], text.startswith("export"))
    elif re.match(r"(?:require|import)\s*\(", text):
        yield module.group(1), ()
    elif match := _REQUIRED.match(text):
        pattern, member = match.groups()
        if not pattern.startswith("{"):
            yield module.group(1), (member or "*",), (pattern,) if pattern != member else ()
        elif not member:
            pieces = [_NAME.findall(piece.partition("=")[0]) for piece in pattern[1:-1].split(",")]
            names = [words for words in pieces if words]
            yield module.group(1), *_renamed([[words[0], "as", words[-1]] for words in names])


def _clause(clause: str, exports: bool) -> tuple[Names, Names]:
    """(names, locals) of "import a, { b as c, type d } from": a is "default", "* as e" is "*"."""
    assigned = "=" in clause
    clause = re.sub(
        r"^(?:import|export)\b(?:\s+type(?:of)?\b(?!\s*(?:,|from)))?|\bfrom\s*$|\brequire\s*\($|=", " ", clause
    )
    before, _, braced = clause.partition("{")
    pieces: list[list[str]] = []
    for inside, part in ((False, before), (True, braced)):
        for piece in re.split(r"[{},]", part):
            words = [word for word in piece.split() if word != "type"]
            if not words:
                continue
            if not inside and words[0] != "*" and not exports:
                words = ["*" if assigned else "default", "as", words[0]]
            pieces.append(words)
    return _renamed(pieces)


def _go(text: str) -> Found:
    for module in _QUOTED.finditer(text):
        alias = _NAME.search(text[: module.start()])
        yield module.group(1), (), (alias.group(),) if alias and alias.group() != "import" else ()


def _rust(text: str) -> Found:
    if match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)", text):
        yield f"self::{match.group(1)}", ()
    elif match := re.match(r"(?:pub\s+)?extern\s+crate\s+(\w+)", text):
        alias = re.search(r"\bas\s+(\w+)", text)
        yield match.group(1), (), (alias.group(1),) if alias else ()
    elif match := re.match(r"(?:pub(?:\([^)]*\))?\s+)?use\s+(.*?);?\s*$", re.sub(r"//[^\n]*", "", text), re.DOTALL):
        yield from _use("", "".join(re.sub(r"\s+as\s+(\w+)", r"=>\1", match.group(1)).split()))


def _use(prefix: str, tree: str) -> Found:
    """Paths of a use tree without white space: "a::{b,c::d}" → ("a", (b,)), ("a::c", (d,))."""
    names: list[str] = []
    for branch in _branches(tree):
        path, brace, group = branch.partition("{")
        if brace:
            yield from _use(prefix + path, group.removesuffix("}"))
            continue
        module, colons, name = branch.rpartition("::")
        if colons:
            yield (prefix + module).removeprefix("::"), *_arrows([name])
        else:
            names.append(name)
    if names:
        yield prefix.removesuffix("::"), *_arrows(names)


def _arrows(names: list[str]) -> tuple[Names, Names]:
    return _renamed([list(name.partition("=>")) if "=>" in name else [name] for name in names])


def _branches(tree: str) -> Iterator[str]:
    """The parts of a list between commas that are in no braces."""
    depth = start = 0
    for i, character in enumerate(tree):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == "," and depth == 0:
            if tree[start:i]:
                yield tree[start:i]
            start = i + 1
    if tree[start:]:
        yield tree[start:]


def _dotted(text: str) -> Found:
    """Java, Kotlin, Scala: "import a.b.C", "a.b.*", "a.b.{C, D => E}"."""
    text = re.sub(r"^import\s+(?:static\s+)?|;", "", text)
    text = re.sub(r"\s+as\s+(\w+)", r"=>\1", text)
    path = "".join(text.split())
    module, brace, group = path.partition("{")
    if brace:
        yield module.rstrip("."), *_arrows([name for name in group.rstrip("}").split(",") if name])
        return
    module, _, name = path.rpartition(".")
    if module:
        yield module, *_arrows(["*" if name == "_" else name])
    else:
        yield name, ()


def _include(text: str) -> Found:
    if match := re.match(r"using\s+(?:namespace\s+)?([\w:]+)", text):
        yield match.group(1), ()
    elif module := _QUOTED.search(text):
        yield module.group(1), ()


def _csharp(text: str) -> Found:
    match = re.match(r"(?:global\s+)?using\s+(?:static\s+|unsafe\s+)*(?:\w+\s*=\s*)?([\w.:]+)", text)
    if match:
        yield match.group(1), ()


def _called(*verbs: str) -> Callable[[str], Found]:
    """Calls such as require("x"), source x, library(x)."""
    head = re.compile(rf"(?:{'|'.join(map(re.escape, verbs))})(?=[\s(\"'])")

    def found(text: str) -> Found:
        match = head.match(text)
        if match is None:
            return
        rest = text[match.end() :].strip(" \t\n(),;")
        if quoted := _QUOTED.match(rest):
            yield quoted.group(1), ()
        elif word := re.match(r"[^\s,;()'\"]+", rest):
            yield word.group(), ()

    return found


_required_from_here, _required = _called("require_relative"), _called("require", "load")


def _ruby(text: str) -> Found:
    """What is required from here begins with "./" or "../", all else is looked for on the load path."""
    if text.startswith("autoload"):
        if quoted := _QUOTED.search(text):
            yield quoted.group(1), ()
        return
    for found in _required_from_here(text):
        yield found[0] if found[0].startswith((".", "/")) else f"./{found[0]}", ()
    yield from _required(text)


def _php(text: str) -> Found:
    if not text.startswith("use"):
        if quoted := _QUOTED.search(text):
            yield quoted.group(1), ()
        return
    text = re.sub(r"^use\s+(?:function\s+|const\s+)?|;", "", text)
    prefix, brace, group = text.partition("{")
    if brace:
        yield prefix.strip().strip("\\"), tuple(_NAME.findall(re.sub(r"\s+as\s+\w+", "", group)))
        return
    for path in text.split(","):
        words = path.split()
        module, _, name = (words or [""])[0].rpartition("\\")
        renamed = words[2:3] if words[1:2] == ["as"] else []
        if module:
            yield module.lstrip("\\"), (name,), tuple(renamed)
        else:
            yield name, (), tuple(renamed)


def _swift(text: str) -> Found:
    if match := re.search(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?([\w.]+)", text):
        yield match.group(1), ()


def _elixir(text: str) -> Found:
    """All of a module's names come by `import`; what a module uses is called SUPER in it."""
    match = re.match(r"(alias|import|use|require)[\s(]+([\w.]+?)\.?(?:\{([^}]*)\}|(?![\w.]))", text)
    if match is None:
        return
    verb, module, several = match.groups()
    if several is not None:
        yield module, tuple(name for name in re.split(r"[\s,]+", several) if name)
    elif verb == "import":
        yield module, ("*",)
    elif verb == "use":
        yield module, (), ("SUPER",)
    else:
        called = re.search(r"\bas:\s*([A-Z]\w*)", text)
        yield module, (), (called.group(1),) if called else ()


def _haskell(text: str) -> Found:
    """`import A`, with its names, all of them, or none where they are qualified; `as B` is what A is called."""
    match = re.match(
        r"import\s+(?:safe\s+)?(qualified\s+)?([\w.]+)(\s+qualified)?(?:\s+as\s+([\w.]+))?\s*(hiding)?\s*(\(.*\))?",
        text,
        re.DOTALL,
    )
    if match is None:
        return
    before, module, behind, called, hiding, listed = match.groups()
    if called:
        yield module, (), (called,)
    if not before and not behind:
        names = re.sub(r"\([^()]*\)", "", listed[1:-1]) if listed and not hiding else "*"
        kept = tuple(name.strip(" ()\n") for name in names.split(",") if name.strip(" ()\n"))
        if kept or not called:
            yield module, kept
    elif not called:
        yield module, (), (module,)


def _opened(text: str) -> Found:
    if match := re.match(r"(?:(?:open!?|include)\s+)?([A-Z][\w.]*)", text):
        yield match.group(1), ("*",)


def _style(text: str) -> Found:
    for module in _QUOTED.finditer(text):
        yield module.group(1), ()


def _markup(text: str) -> Found:
    match = re.search(r"\b(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", text)
    if match and text.startswith(("src", "<link")):
        yield match.group(1), ()


def _dart(text: str) -> Found:
    """What a file exports it has under its own names, as "*" or one by one; an import without names is seen by it alone."""
    module = _QUOTED.search(text)
    if module is None:
        return
    shown = re.search(r"\bshow\s+([\w\s,]+)", text)
    called = re.search(r"\bas\s+(\w+)", text)
    if called:
        yield module.group(1), ("*",), (called.group(1),)
    else:
        everything = ("*",) if text.startswith("export") else ()
        yield module.group(1), tuple(_NAME.findall(shown.group(1))) if shown else everything


def _zig(text: str) -> Found:
    match = re.match(r'(?:(?:const|var)\s+(\w+)\s*=\s*)?@import\(\s*"([^"]+)"\s*\)(?:\.([\w.]+))?', text)
    if match is not None:
        called, module, member = match.groups()
        yield (module, (member or "*",), (called,)) if called else (module, ())


def _julia(text: str) -> Found:
    if match := re.match(r"(?:using|import)\s+(.*)", text, re.DOTALL):
        module, colon, names = match.group(1).partition(":")
        if colon:
            yield module.strip(), tuple(_NAME.findall(names))
        else:
            for name in module.split(","):
                yield name.strip(), ()
    else:
        yield from _called("include")(text)


def _elisp(text: str) -> Found:
    if match := re.match(r"\((?:require|load)\s+['\"]([^\s'\")]+)", text):
        yield match.group(1), ()


def _perl(text: str) -> Found:
    """What a package is derived from is called SUPER in it."""
    match = re.match(r"(?:use|no|require)\s+([A-Za-z]\w*(?:::\w+)*)\s*(.*)", text, re.DOTALL)
    if match and match.group(1) not in ("strict", "warnings", "utf8", "lib", "constant", "feature", "vars"):
        if match.group(1) in ("parent", "base"):
            for name in re.findall(r"[\w:]+", re.sub(r"\bqw\b|-norequire", "", match.group(2))):
                yield name, (), ("SUPER",)
        elif match.group(1) == "Mojo::Base":
            parent = re.match(r"['\"]([A-Z][\w:]*)", match.group(2))
            yield (
                parent.group(1) if parent else "Mojo::Base",
                (),
                ("SUPER",) if parent or "-base" in match.group(2) else (),
            )
        else:
            words = re.match(r"qw\s*\W([^)\]}/]*)", match.group(2))
            yield match.group(1), tuple(words.group(1).split()) if words else ()


def _nix(text: str) -> Found:
    if match := re.match(r"import\s+<?([^\s>]+)", text):
        yield match.group(1), ()


_READERS: dict[str, Callable[[str], Found]] = {
    "python": _python,
    "javascript": _script,
    "jsx": _script,
    "typescript": _script,
    "tsx": _script,
    "go": _go,
    "rust": _rust,
    "java": _dotted,
    "kotlin": _dotted,
    "scala": _dotted,
    "c": _include,
    "cpp": _include,
    "csharp": _csharp,
    "ruby": _ruby,
    "php": _php,
    "swift": _swift,
    "lua": _called("require", "dofile"),
    "bash": _called("source", "."),
    "elixir": _elixir,
    "haskell": _haskell,
    "ocaml": _opened,
    "ocaml_interface": _opened,
    "r": _called("library", "require", "requireNamespace", "source"),
    "css": _style,
    "scss": _style,
    "html": _markup,
    "vue": _script,
    "svelte": _script,
    "dart": _dart,
    "zig": _zig,
    "julia": _julia,
    "make": _called("include", "-include", "sinclude"),
    "proto": _go,
    "elisp": _elisp,
    "vim": _called("source", "runtime", "import"),
    "perl": _perl,
    "nix": _nix,
}


def imports_of(text: str, language: str) -> list[tuple[str, Names, Names]]:
    """(module, names, locals) of a statement as written; "*" stands for all names."""
    reader = _READERS.get(language)
    return [(f[0], f[1], f[2] if len(f) > 2 else ()) for f in reader(text.strip())] if reader else []
