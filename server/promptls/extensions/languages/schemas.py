"""SQL, and schema and interface description languages."""

from __future__ import annotations

from promptls.extensions.languages import outlined
from promptls.languages.language import FileDefinition

SQL = outlined(
    "sql",
    "sql ddl dml pgsql mysql tsql psql plsql pls plb pks pkb pkg prc trg tps tpb hql cql",
    aliases=("plsql", "mysql", "pgsql"),
    scanner="sql",
    mask="jinja",
    file_definition=FileDefinition(
        "view", rb"\{\{-?[ \t\n]{0,20}(?:config|ref|source)\(", r"(?:^|/)models/(?:[^/]+/){0,4}[^/]+$"
    ),  # a model of dbt
    line_comments=("--",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
    ignored_references=frozenset("config env_var if in is_incremental not ref return source var".split()),
    functions_as_members=True,
    family="relations",
)

THRIFT = outlined("thrift", "thrift", line_comments=("//", "#"), block_comments=(("/*", "*/"),))

PRISMA = outlined("prisma", "prisma", line_comments=("//",))

CAPNP = outlined("capnp", "capnp", aliases=("capnproto",), line_comments=("#",))

SMITHY = outlined("smithy", "smithy", line_comments=("//",))

FLATBUFFERS = outlined(
    "flatbuffers",
    "fbs",
    aliases=("fbs",),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("struct", r"[ \t]*(?:table|struct|union|rpc_service)[ \t]+(?P<name>\w+)"),
        ("namespace", r"[ \t]*namespace[ \t]+(?P<name>[\w.]+)[ \t]*;"),
    ),
)

DBML = outlined(
    "dbml",
    "dbml",
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("table", r"[ \t]*Table[ \t]+(?P<name>[\w.]+|\"[^\"\n]{1,80}\")"),
        ("enum", r"[ \t]*Enum[ \t]+(?P<name>[\w.]+)"),
    ),
)

GRAMMAR_RULES = outlined(
    "antlr",
    "g4 antlr ebnf peg pest lark",
    aliases=("g4",),
    scanner="lines",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    definition_patterns=(
        ("function", r"(?:fragment[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*(?:::=|:=|<-|=|:(?!:))"),
        ("function", r"(?!(?:options|tokens|channels)[ \t]*$)(?P<name>[A-Za-z_]\w*)[ \t]*$"),
        ("module", r"(?:(?:lexer|parser)[ \t]+)?grammar[ \t]+(?P<name>\w+)[ \t]*;"),
    ),
)
