"""The `Language` record: everything that promptls knows of one programming language.

A record holds data only; the modules that parse and resolve interpret its fields. To add a language, add one module
with a `Language` constant to this package and its tree-sitter queries to `queries/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from promptls.languages.kinds import TYPE_KINDS

Mask = Literal[
    "",
    "markup",
    "front_matter",
    "razor",
    "objc_macros",
    "macros",
    "signatures",
    "c",
    "cpp",
    "kotlin",
    "hcl",
    "dart",
]
"""Rewriting of the source before it is parsed; offsets and lines stay the same.

"markup" blanks everything outside of script elements and snippets, and "front_matter" keeps the code between "---"
lines as well. "razor" keeps the blocks "@code" and "@functions" as members of a class "_". "objc_macros" replaces the
macros that declare enumerations, and blanks those alone on a line. "macros" blanks macro calls that hold items.
"signatures" separates call signatures that lack a semicolon, which the TypeScript grammars cannot parse.
"kotlin" blanks context parameters and ends the last member of a one-line block. "hcl" shortens one-line blocks with commas.
"dart" turns extension types into classes. "c" and "cpp" hide preprocessor conditionals, and macros in declarations.
"""

Scanner = Literal["", "sql", "lines", "template"]
"""Search for definitions in the text instead of in a syntax tree, see `index.syntax.definitions`.

"sql" reads the statements of all SQL dialects. "lines" recognizes lines that begin definitions in most languages.
"template" recognizes blocks between "{%" and "%}" and the like. A grammar is then optional, and yields references.
"""

DocTags = Literal["", "jsdoc", "phpdoc", "yard", "luals"]
"""Syntax of the type annotations in documentation comments."""

Docstrings = Literal["", "string", "attribute"]
"""Documentation inside of a definition: its first string literal, or an attribute such as Elixir's `@doc`."""

Visibility = Literal[
    "", "python", "export", "capitalized", "pub", "public", "not_private", "not_static", "not_defp", "no_underscore"
]
"""Rule for whether other files may use a definition; "" for always."""

ImportSyntax = Literal[
    "", "python", "ecmascript", "go", "rust", "dotted", "include", "csharp", "ruby", "php", "swift", "elixir", "haskell",
    "ocaml", "quoted", "html", "dart", "zig", "julia", "elisp", "perl", "nix",
]  # fmt: skip
"""Parser of import statements, see `index.syntax.imports`."""

DeclarationSyntax = Literal[
    "", "python", "ecmascript", "type_first", "cpp", "name_first", "go", "rust", "php", "zig", "perl", "ruby"
]
"""Parser of variable declarations, see `index.syntax.type_hints`."""

ReturnSyntax = Literal["", "arrow", "colon", "type_first", "zig", "go"]
"""Position of the return type in a signature, see `graph.resolution.expression_types`."""

ImplicitScope = Literal["", "folder", "package", "namespace", "module", "manifest"]
"""The files whose top-level names are visible without an import.

"folder": same folder. "package": same folder, or same package in another source tree. "namespace": the namespaces
that the file is in or uses. "module": the nearest files, because folders do not determine modules. "manifest": all
files below the folder that holds `package_manifest`.
"""

DefinitionVariants = Literal["", "folder", "package", "methods"]
"""Definitions of one qualified name that are alternatives of each other.

"folder": in files of one folder, for several platforms. "package": in several source trees of one package. "methods":
in all files of a package, for several argument types.
"""

ExtensionMethods = Literal["", "this_parameter", "receiver", "extension", "extension_on"]
"""Declaration of a method for a type that is defined elsewhere.

C# marks the first parameter with `this`, and Kotlin writes a receiver before the name. Swift has a block
`extension Type`, Dart a block `extension … on Type`.
"""


class PathImports(Struct, frozen=True):
    """Resolution of imports that are file paths, relative to the importing file."""

    suffixes: tuple[str, ...] = ("",)
    """Endings that are appended to the path, in order of precedence."""
    as_module: bool = False
    """The import binds the file as one value; otherwise it brings all names of the file."""
    anywhere: bool = False
    """Fall back to a file anywhere in the workspace whose path ends like the import."""
    partials: bool = False
    """The file name may be prefixed by an underscore, as in Sass."""


class ClassImports(Struct, frozen=True):
    """Resolution of imports that are qualified class names: the file whose path ends like the name."""

    suffixes: tuple[str, ...]
    """File extensions, with the dot."""
    members: bool = False
    """Names below a file are members of the type that the file is named after."""


ImportResolution = (
    Literal[
        "", "python", "ecmascript", "go", "rust", "c", "ruby", "php", "lua", "elixir", "haskell", "ocaml", "dart", "zig",
        "julia", "perl",
    ]
    | PathImports
    | ClassImports
)  # fmt: skip
"""Import resolution: a generic one with its parameters, or the name of a resolver in `graph.imports.language_resolvers`."""


class Language(Struct, frozen=True, kw_only=True):
    """Everything that promptls knows of one programming language."""

    # ---- detection

    name: str
    """Identifier used in outlines, settings and query files."""
    aliases: tuple[str, ...] = ()
    """Other names that people and editors use for the language, lower case."""
    dialect_of: str = ""
    """Language whose rules and filters apply to this one too."""
    extensions: tuple[str, ...] = ()
    """File extensions, lower case, without the dot."""
    shared_extensions: tuple[tuple[str, str], ...] = ()
    """Extensions of another language that this one uses, too: (extension, regular expression on its content).

    The expression is searched for in the first lines of a file, with "^" at the beginning of each line.
    """
    file_names: tuple[str, ...] = ()
    """Complete file names in lower case, or in upper case if no other spelling counts."""
    shebangs: tuple[str, ...] = ()
    """Interpreter names of a first line "#!…", without version numbers."""

    # ---- grammar

    pack_grammar: str = ""
    """Grammar in tree-sitter-language-pack 0.13, "" for none."""
    legacy_grammar: str = ""
    """Grammar in tree-sitter-languages 1.10.2, "" for none."""
    query_files: tuple[str, ...] = ()
    """Files in `queries/` without their extension, in order of precedence."""
    embedded: tuple[tuple[Mask, str], ...] = ()
    """Languages inside of this one: (rewriting that leaves only their code, name). Their definitions are added."""
    mask: Mask = ""
    """Rewriting of the source before it is parsed."""
    nests_in_one_line: bool = False
    """A line can open any number of nested blocks by markers such as "> - ". Such lines overflow the scanner."""
    scanner: Scanner = ""
    """Search for definitions in the text instead of in the syntax tree."""
    definition_patterns: tuple[tuple[str, str], ...] = ()
    """Additional lines that begin a definition, for the scanner "lines": (kind, regular expression with a group "name").

    The expression is matched at the beginning of a line. A kind with a "+" extends to the next line that the same
    expression matches.
    """

    # ---- comments and documentation

    line_comments: tuple[str, ...] = ()
    """Markers of a comment that ends with its line, longest first."""
    block_comments: tuple[tuple[str, str], ...] = ()
    """Opening and closing markers of other comments."""
    docstrings: Docstrings = ""
    """Form of documentation inside of a definition."""
    doc_tags: DocTags = ""
    """Syntax of type annotations in documentation comments."""

    # ---- definitions

    name_separators: tuple[str, ...] = ()
    """Separators in the qualified name of a definition; without any, a name is never split."""
    root_names: frozenset[str] = frozenset()
    """Names of the outermost namespace, which qualified names may begin with: "crate", "global"."""
    name_prefixes: tuple[str, ...] = ()
    """Marks before a name that are not a part of it, or that another spelling leaves out: "r#type"."""
    name_suffix: str = ""
    """Regular expression for what people write behind the name of a definition: "/2" for the number of parameters."""
    reserved_names: frozenset[str] = frozenset()
    """Keywords that the grammar mistakes for function names when macros confuse it."""
    definition_calls: Mapping[str, str] = MappingProxyType({})
    """Calls that define what their first argument names → kind of the definition."""
    member_calls: Mapping[str, str] = MappingProxyType({})
    """Calls that define what each of their symbols or entries names → kind of the definitions."""
    block_prefixes: Mapping[str, str] = MappingProxyType({})
    """First part of the names by which code refers to a block → by type of the block, where the two differ."""
    test_calls: frozenset[str] = frozenset()
    """Calls that define a test: describe("title", …)."""
    method_owner_kinds: frozenset[str] = TYPE_KINDS
    """Kinds of symbols that have methods."""
    constructor: str = ""
    """Name of the method that initializes an object."""
    constructor_named_after_type: bool = False
    """The constructor has the name of its type."""
    assignment_defines_method: bool = False
    """A function whose name has an owner, as in "A.b = function", is a method."""
    visibility: Visibility = ""
    """Rule for whether other files may use a definition."""
    has_decorators: bool = False
    """Definitions may have decorators or attributes, which become traits of the symbol."""
    strips_annotations: bool = False
    """Annotations at the beginning of a head are left out of the signature."""
    has_lifetimes: bool = False
    """An apostrophe in a signature begins a lifetime instead of a character literal."""

    # ---- references

    ignored_references: frozenset[str] = frozenset()
    """Built-in names that the queries capture as references and that never refer to the workspace."""
    arrow_members: bool = False
    """Members are accessed by "->", and namespaces may be separated by a backslash."""
    colon_members: bool = False
    """Methods are called by "object:method()"."""
    dot_members: bool = True
    """A dot before a name joins it to a receiver. In Vim script a dot concatenates, in Haskell it composes."""
    mixin_prefix: bytes = b""
    """Regular expression for the code before a module that is mixed in, where a mixin is an ordinary call."""

    # ---- types

    declaration_syntax: DeclarationSyntax = ""
    """Parser of the type in a variable declaration."""
    return_syntax: ReturnSyntax = ""
    """Position of the return type in a signature."""
    primitive_types: frozenset[str] = frozenset()
    """Keywords that are types and that have members."""
    self_names: frozenset[str] = frozenset()
    """Expressions for the current object or class that are not common to most languages."""
    instantiates_with_new: bool = False
    """Calling "new" on a type or package creates an instance."""
    file_is_type: bool = False
    """A file is a type: the declarations at its top level are fields and methods."""
    transparent_members: frozenset[str] = frozenset()
    """Members whose result has the type of their receiver, or of its content; only the innermost type is recorded."""
    methods_in_other_files: bool = False
    """A method may be defined in another file than its type."""
    modules_are_mixins: bool = False
    """Modules have methods, as types do, and can be bases of types."""
    bases_from_imports: bool = False
    """The bases of a module come from import statements inside of it."""
    extension_methods: ExtensionMethods = ""
    """Declaration of a method for a type that is defined elsewhere."""

    definition_variants: DefinitionVariants = ""
    """Definitions of one qualified name that are alternatives of each other."""

    # ---- imports

    import_syntax: ImportSyntax = ""
    """Parser of import statements."""
    import_calls: tuple[str, ...] = ()
    """Functions or commands that import their first argument, such as require("x")."""
    import_resolution: ImportResolution = ""
    """Resolution of an import to files of the workspace."""
    imports_are_paths: bool = False
    """Imports are file paths, among other things; used to count imports without the graph."""
    imports_in_functions: bool = False
    """A function may import names for itself."""
    import_binds_last_part: bool = False
    """An import without names binds the last part of the module's name."""
    standard_libraries: frozenset[str] = frozenset()
    """Standard library modules that code can use without an import."""
    standard_headers: frozenset[str] = frozenset()
    """Headers of the standard library. Such an import never means a file of this name elsewhere in the workspace."""

    # ---- name lookup

    family: str = ""
    """Languages of one family call each other's definitions by name; "" for a family of its own."""
    implicit_scope: ImplicitScope = ""
    """The files whose names are visible without an import."""
    package_manifest: str = ""
    """File in the root folder of a package, for the implicit scope "manifest"."""
    names_without_import: bool = False
    """A name may come from a file that no import names."""
    implicit_self: bool = False
    """A method calls its siblings without a receiver."""
    nested_types_need_owner: bool = False
    """A nested type is visible by its unqualified name only inside of its outer type, or by an import."""
    module_members_need_owner: bool = False
    """The content of a module cannot be used by its unqualified name in the code around the module."""
    members_need_owner: bool = False
    """The content of a table or class cannot be used by its unqualified name."""
    functions_as_members: bool = False
    """Functions are passed around as members of modules and objects: a member call may mean a plain function."""
    capitalized_types: bool = False
    """Names of types and modules begin with a capital, and few other names do."""
