"""SQL, and schema and interface description languages."""

from __future__ import annotations

from promptls.languages.language import Language

SQL = Language(
    name="sql",
    aliases=("plsql", "mysql", "pgsql"),
    extensions=tuple("sql ddl dml pgsql mysql tsql psql plsql pls plb pks pkb pkg prc trg tps tpb hql cql".split()),
    pack_grammar="sql",
    legacy_grammar="sql",
    query_files=("sql",),
    scanner="sql",
    line_comments=("--",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
    names_without_import=True,
)

THRIFT = Language(
    name="thrift",
    extensions=("thrift",),
    pack_grammar="thrift",
    query_files=("thrift",),
    line_comments=("//", "#"),
    block_comments=(("/*", "*/"),),
    names_without_import=True,
)

CAPNP = Language(
    name="capnp",
    aliases=("capnproto",),
    extensions=("capnp",),
    pack_grammar="capnp",
    query_files=("capnp",),
    line_comments=("#",),
    names_without_import=True,
)

PRISMA = Language(
    name="prisma",
    extensions=("prisma",),
    pack_grammar="prisma",
    query_files=("prisma",),
    line_comments=("//",),
    names_without_import=True,
)

SMITHY = Language(
    name="smithy",
    extensions=("smithy",),
    pack_grammar="smithy",
    query_files=("smithy",),
    line_comments=("//",),
    names_without_import=True,
)

FLATBUFFERS = Language(
    name="flatbuffers",
    aliases=("fbs",),
    extensions=("fbs",),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("struct", r"[ \t]*(?:table|struct|union|rpc_service)[ \t]+(?P<name>\w+)"),
        ("namespace", r"[ \t]*namespace[ \t]+(?P<name>[\w.]+)[ \t]*;"),
    ),
    names_without_import=True,
)

DBML = Language(
    name="dbml",
    extensions=("dbml",),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("table", r"[ \t]*Table[ \t]+(?P<name>[\w.]+|\"[^\"\n]{1,80}\")"),
        ("enum", r"[ \t]*Enum[ \t]+(?P<name>[\w.]+)"),
    ),
    names_without_import=True,
)

GRAMMAR_RULES = Language(
    name="antlr",
    aliases=("g4",),
    extensions=("g4", "antlr", "ebnf", "peg", "pest", "lark"),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", r"(?:fragment[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*(?:::=|:=|<-|=|:(?!:))"),
        ("function", r"(?!(?:options|tokens|channels)[ \t]*$)(?P<name>[A-Za-z_]\w*)[ \t]*$"),
        ("module", r"(?:(?:lexer|parser)[ \t]+)?grammar[ \t]+(?P<name>\w+)[ \t]*;"),
    ),
    names_without_import=True,
)
