"""SQL, and schema and interface description languages."""

from __future__ import annotations

from promptls.extensions.languages import outlined

SQL = outlined(
    "sql",
    "sql ddl dml pgsql mysql tsql psql plsql pls plb pks pkb pkg prc trg tps tpb hql cql",
    aliases=("plsql", "mysql", "pgsql"),
    scanner="sql",
    line_comments=("--",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
)

THRIFT = outlined("thrift", "thrift", line_comments=("//", "#"), block_comments=(("/*", "*/"),))

PRISMA = outlined("prisma", "prisma", line_comments=("//",))
