"""SQL, and schema and interface description languages."""

from __future__ import annotations

from promptls.languages.language import Language

SQL = Language(
    name="sql",
    aliases=("plsql", "mysql", "pgsql"),
    extensions=tuple("sql ddl dml pgsql mysql tsql psql plsql pls plb pks pkb pkg prc trg tps tpb hql cql".split()),
    pack_grammar="sql",
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

PRISMA = Language(
    name="prisma",
    extensions=("prisma",),
    pack_grammar="prisma",
    query_files=("prisma",),
    line_comments=("//",),
    names_without_import=True,
)
