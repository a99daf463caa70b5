"""The `Language` record: everything that promptls knows of one programming language.

The fields are data and, where languages differ in more than data, functions of text. The modules that parse and resolve
use them and do not test which language it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from promptls.languages.declarations import Declarations
from promptls.languages.import_statements import ImportParser
from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.visibility import EVERYTHING, Visibility

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
    "jinja",
    "dockerfile",
    "fixed_columns",
    "bird_tracks",
    "chunks",
    "modules",
    "source_blocks",
]
"""Rewriting of the source before it is parsed; offsets and lines stay the same.

"markup" blanks everything outside of script elements and snippets, and "front_matter" keeps the code between "---"
lines as well. "razor" keeps the blocks "@code" and "@functions" as members of a class "_". "objc_macros" replaces the
macros that declare enumerations, and blanks those alone on a line. "macros" blanks macro calls that hold items.
"signatures" separates call signatures that lack a semicolon, which the TypeScript grammars cannot parse.
"kotlin" blanks context parameters and ends the last member of a one-line block. "hcl" shortens one-line blocks with commas.
"dart" turns extension types into classes. "jinja" blanks tags, whose calls are references. "dockerfile" joins
the words of the value in `ENV name value`. "fixed_columns" blanks columns 1 to 6 and from 73 of COBOL in fixed format.
"bird_tracks" keeps the code of literate Haskell. Of an embedded language, "chunks" keeps the chunks of R Markdown and
Quarto, "source_blocks" those of Org, and "modules" the statements of MDX. "c" and "cpp" hide preprocessor conditionals, and
macros in declarations; "cpp" also blanks the configuration of kernel launches.
"""

Scanner = Literal["", "sql", "lines", "template", "headings"]
"""Search for definitions in the text instead of in a syntax tree, see `promptls.extensions.scanners`.

"sql" reads the statements of all SQL dialects. "lines" recognizes lines that begin definitions in most languages.
"template" recognizes blocks between "{%" and "%}" and the like. A grammar is then optional, and yields references.
"headings" recognizes the sections of documents.
"""

Documentation = Literal["", "docstring", "attribute", "jsdoc", "phpdoc", "yard", "luals"]
"""Documentation other than comments above a definition, and the syntax of types in comments.

"docstring": the first string literal of a definition. "attribute": an attribute such as Elixir's `@doc`. The others are
syntaxes of type annotations in comments.
"""

ImplicitScope = Literal["", "folder", "package", "namespace", "enclosing_namespaces", "module"]
"""The files whose top-level names are visible without an import.

"folder": same folder. "package": same folder, or same package in another source tree. "namespace": the namespaces
that the file is in or uses. "enclosing_namespaces": these and the namespaces around them. "module": the nearest files,
because folders do not determine modules. Definitions of one name in a folder or package are alternatives of each other.
"""


class Manifest(Struct, frozen=True):
    """Implicit scope of all files below the folder of a manifest; definitions of one name in it are alternatives."""

    file: str
    """Name of the manifest."""


ExtensionMethods = Literal["", "this_parameter", "receiver", "extension", "extension_on"]
"""Declaration of a method for a type that is defined elsewhere.

C# marks the first parameter with `this`, and Kotlin writes a receiver before the name. Swift has a block
`extension Type`, Dart a block `extension … on Type`.
"""

NAMED_AFTER_TYPE = "<type>"
"""Value of `Language.constructor` if a constructor has the name of its type."""


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


def _no_local_name(module: str) -> str:
    return ""


class Imports(Struct, frozen=True):
    """Import statements, and their resolution to files."""

    parse: ImportParser
    resolution: ImportResolution = ""
    local_name: Callable[[str], str] = _no_local_name
    """Returns the name that an import without names gives to a module, "" for none."""


def _no_declarations(text: str) -> Declarations:
    return []


def _no_return_type(signature: str) -> str:
    return ""


class TypeSyntax(Struct, frozen=True):
    """Types as code writes them."""

    declarations: Callable[[str], Declarations] = _no_declarations
    """Parses the declaration at the beginning of a text, see `languages.declarations`."""
    return_type: Callable[[str], str] = _no_return_type
    """Returns the return type in a signature, see `languages.signature_types`."""
    transparent_members: frozenset[str] = frozenset()
    """Members whose result has the type of their receiver, or of its content; only the innermost type is recorded."""
    new_creates_instance: bool = False
    """Calling "new" on a type or package creates an instance."""


class Mixins(Struct, frozen=True):
    """Bases of a type other than those in its head."""

    prefix: bytes = b""
    """Regular expression for the code before a module that is mixed in, where a mixin is an ordinary call."""
    are_modules: bool = False
    """Modules have methods, as types do, and can be bases of types."""
    are_imports: bool = False
    """The bases of a module come from import statements inside of it."""


class NameMarks(Struct, frozen=True):
    """What people write before or behind the name of a definition, or leave out."""

    roots: frozenset[str] = frozenset()
    """Names of the outermost namespace, which qualified names may begin with: "crate", "global"."""
    prefixes: tuple[str, ...] = ()
    """Marks before a name that are not a part of it, or that another spelling leaves out: "r#type"."""
    suffix: str = ""
    """Regular expression for what follows a name: "/2" for the number of parameters."""


class FileDefinition(Struct, frozen=True):
    """Definition that a file is as a whole, with the name of the file without its extension."""

    kind: str
    text: bytes
    """Regular expression for code outside of the other definitions of such a file."""
    path: str
    """Regular expression on the path of a file without other definitions that needs no such code."""


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
    query_files: tuple[str, ...] = ()
    """Files in `queries/` without their extension, in order of precedence."""
    path_queries: tuple[tuple[str, str], ...] = ()
    """One more file in `queries/` for some files: (regular expression on their path, file)."""
    embedded: tuple[tuple[Mask, str], ...] = ()
    """Languages inside of this one: (rewriting that leaves only their code, name). Their definitions are added."""
    mask: Mask = ""
    """Rewriting of the source before it is parsed."""
    scanner: Scanner = ""
    """Search for definitions in the text instead of in the syntax tree."""
    definition_patterns: tuple[tuple[str, ...], ...] = ()
    """Additional lines that begin a definition, for the scanner "lines": (kind, regular expression, end).

    The expressions are matched at the beginning of a line, ignoring case. The first has a group "name". The second may
    be missing, and matches the last line of the definition. A kind with a "+" extends to the line before the next one
    that either expression matches.
    """
    call_patterns: tuple[str, ...] = ()
    """Regular expressions, ignoring case, for calls within a line, with a group "name"; for code without a grammar."""
    ignores_case: bool = False
    """Names that differ in case only are the same name."""

    file_definition: FileDefinition | None = None

    # ---- comments and documentation

    line_comments: tuple[str, ...] = ()
    """Markers of a comment that ends with its line, longest first."""
    block_comments: tuple[tuple[str, str], ...] = ()
    """Opening and closing markers of other comments."""
    documentation: Documentation = ""

    # ---- definitions

    name_separators: tuple[str, ...] = ()
    """Separators in the qualified name of a definition; without any, a name is never split."""
    split_name: Callable[[str], list[str]] | None = None
    """Splits the name of a definition, owner first, where it is not enough to split at the separators."""
    name_marks: NameMarks = NameMarks()
    reserved_names: frozenset[str] = frozenset()
    """Keywords that the grammar mistakes for function names when macros confuse it."""
    definition_calls: Mapping[str, str] = MappingProxyType({})
    """Calls that define what their first argument names → kind of the definition; "test" for describe("title", …)."""
    member_calls: Mapping[str, str] = MappingProxyType({})
    """Calls that define what each of their symbols or entries names → kind of the definitions."""
    block_prefixes: Mapping[str, str] = MappingProxyType({})
    """First part of the names by which code refers to a block → by type of the block, where the two differ."""
    method_owner_kinds: frozenset[str] = TYPE_KINDS
    """Kinds of symbols that have methods; `FILE` if a file is a type, with fields and methods at its top level."""
    constructor: str = ""
    """Name of the method that initializes an object, or `NAMED_AFTER_TYPE`."""
    declares_before: bool = False
    """Files declare a callable before its definition; the definition replaces the declaration in the same file."""
    assignment_defines_method: bool = False
    """A function whose name has an owner, as in "A.b = function", is a method."""
    visibility: Visibility = EVERYTHING
    """Rule for whether other files may use a definition."""
    annotations: Literal["", "in_head", "before_head"] = ""
    """Where decorators or attributes may be, which become traits and are left out of the signature."""

    # ---- references

    ignored_references: frozenset[str] = frozenset()
    """Built-in names that the queries capture as references and that never refer to the workspace."""
    member_operators: tuple[str, ...] = (".", "::")
    """Operators between a receiver and a member; () where a dot concatenates or composes."""
    self_names: frozenset[str] = frozenset()
    """Expressions for the current object or class that are not common to most languages."""
    external_receivers: frozenset[str] = frozenset()
    """Built-in types and standard modules, whose members are defined outside of the workspace."""

    # ---- types

    types: TypeSyntax = TypeSyntax()
    mixins: Mixins = Mixins()
    methods_in_other_files: Literal["", "folder", "anywhere"] = ""
    """Where a method may be defined apart from the file of its type."""
    part_modifiers: frozenset[str] = frozenset()
    """Modifiers of definitions that have several parts, which are one definition: "partial"."""
    part_block: str = ""
    """Keyword of a block without a name of its own that adds members to a type."""
    extension_methods: ExtensionMethods = ""
    """Declaration of a method for a type that is defined elsewhere."""

    # ---- imports and name lookup

    imports: Imports | None = None
    family: str = ""
    """Languages of one family call each other's definitions by name; "" for a family of its own."""
    implicit_scope: ImplicitScope | Manifest = ""
    """The files whose names are visible without an import."""
    names_without_import: bool = False
    """A name may come from a file that no import names."""
    implicit_self: bool = False
    """A method calls its siblings without a receiver."""
    owner_required: Literal["", "types", "modules", "members"] = ""
    """Definitions that need their owner's name.

    "types": a nested type, outside of its outer type. "modules": the content of a module, in the code around it.
    "members": the content of a table or class.
    """
    modules_are_called: bool = False
    """A module is called or instantiated by its name, as a function is."""
    functions_as_members: bool = False
    """Functions are passed around as members of modules and objects: a member call may mean a plain function."""
    capitalized_types: bool = False
    """Names of types and modules begin with a capital, and few other names do."""
