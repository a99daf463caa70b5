"""How languages find names: who sees whom without imports, whose methods need no receiver.

Tables only.
"""

from __future__ import annotations

from promptls.languages.kinds import TYPE_KINDS

HOLDERS = {
    "perl": TYPE_KINDS | {"module"},
    "elixir": TYPE_KINDS | {"module"},
    "lua": TYPE_KINDS | {"variable"},
}
"""Kinds of definitions that have methods, where they are more than types: Perl's packages, Lua's tables."""

OWN = {"perl": frozenset({"$self", "$class", "shift", "__PACKAGE__"}), "elixir": frozenset({"__MODULE__"})}
"""What code calls the object or class that it is of, where that is no word of the language."""

NEW = frozenset({"perl", "ruby"})
"""Languages where calling "new" on a type or package makes one."""

FILES = frozenset({"zig"})
"""Languages where a file is a type: what is declared at its top are fields and methods."""

SCRIPTS = frozenset({"javascript", "jsx", "typescript", "tsx", "vue", "svelte"})

FAMILIES = (
    SCRIPTS,
    {"c", "cpp"},
    {"java", "kotlin", "scala"},
    {"ocaml", "ocaml_interface"},
    {"css", "scss", "html"},
)
FAMILY = {name: f"family {i}" for i, names in enumerate(FAMILIES) for name in names}

JVM = frozenset({"java", "kotlin", "scala"})
PACKAGED = frozenset({*JVM, "go", "swift"})
"""Languages where files of one folder see each other's definitions."""

SPACED = frozenset({"csharp", "php"})
"""Languages where files see what is in their namespaces, whatever folder it lies in."""

WHOLE = frozenset({"swift"})
"""Languages where all files of a module see each other, and folders say nothing of modules."""

PACKED = {"r": "DESCRIPTION", "julia": "Project.toml"}
"""Languages where all files of a package see each other, and the file in the folder of each."""

ASIDE = frozenset("test tests docs doc benchmark benchmarks perf examples".split())
"""Folders within a package that may have a manifest of their own."""

OPEN = PACKAGED | SPACED | PACKED.keys()
"""Languages where files see each other without imports."""

SHUT = frozenset({"elixir"})
"""Languages where what a module holds cannot be called by its bare name from around it."""

UNIMPORTED = frozenset(
    "c cpp csharp ruby php swift kotlin scala bash elixir lua r elisp vim perl julia sql proto graphql css make hcl".split()
)
"""Languages where a name by itself may come from a file that no import names."""

IMPLICIT_SELF = frozenset({"java", "kotlin", "scala", "csharp", "cpp", "swift", "dart", "ruby", "elixir"})
"""Languages where a method calls its siblings by their bare names."""

WITHIN = IMPLICIT_SELF - {"ruby", "cpp", "elixir"}
"""Of these, languages where a type inside of a type is called by its bare name only there, or is imported."""

WORDS = frozenset("bool byte char decimal double float int long object sbyte short string uint ulong ushort".split())
"""Types that are words of C#."""

CAPITAL = frozenset({*SCRIPTS, *JVM, *"python ruby php swift dart elixir rust haskell ocaml".split()})
"""Languages where a capital begins the names of types and modules, and of little else."""

PASSING = frozenset(
    {*(f"{name}()" for name in "as_mut as_ref borrow borrow_mut clone expect lock to_owned unwrap".split()), "await"}
)
"""What gives the value that it is called on, or what that holds, in Rust: of its types only the innermost is told."""

SCATTERED = frozenset({"go", "cpp", "swift", "rust", "csharp", "ruby", "kotlin"})
"""Languages where a method may stand in another file than its type."""

MIXED_IN = frozenset({"ruby"})
"""Languages whose modules have methods, as types do."""

LOOSE = frozenset(
    {"javascript", "jsx", "typescript", "tsx", "vue", "svelte", "lua", "elixir", "r", "ocaml", "haskell", "perl"}
)
"""Languages where functions are handed around as members of modules and objects: what is called on something
may be a plain function."""

APART = frozenset({"lua", "r"})
"""Of these, languages where what a table or class holds is not called by its bare name."""

STANDARD = {
    "lua": frozenset("coroutine debug io math os package string table utf8".split()),
    "r": frozenset("base grDevices graphics methods stats utils".split()),
}
"""What code calls the libraries of a language that it need not import."""

COMMON = frozenset(
    "add all any append apply bind call catch clear clone close copy count create data decode delete each emit encode "
    "endswith equals every exec execute extend fetch filter find findall first flush forEach format from get gmatch group gsub has hash "
    "includes index indexOf info init insert is_empty items iter join keys last len length list load log lower map match "
    "max min name new next on open parse pop post print push put read reduce register remove render replace reset resolve "
    "reverse run save search send set setdefault size slice some sort split start startswith stop strip sub sum test then "
    "toString trim type unwrap update upper validate value values wait warn write error debug exists put_nowait done".split()
)
"""Method names that so many types have that being the only one in a workspace says nothing."""
