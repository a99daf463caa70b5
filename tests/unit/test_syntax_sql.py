"""Definitions in SQL of several servers: names, extents and signatures, without those in comments, strings and bodies."""

from __future__ import annotations

import pytest

from promptls.index.syntax.parse import parse_as_text, parse_source

TRANSACT_SQL = """\
IF NOT EXISTS (SELECT 1 FROM sys.objects WHERE name = 'CREATE TABLE no1')
BEGIN
    CREATE TABLE dbo.T1 (a int)
    CREATE INDEX IX_1 ON dbo.T1 (a)
END
GO
/* CREATE VIEW no2 AS */
alter procedure [dbo].[sp X]
    @a as int = 1
with execute as owner
as
create table #tmp (x int);
if @a = 1
begin
    select case when 1 = 1 then 2 end;
end
exec ('create procedure no3 as select 1');
GO
CREATE OR ALTER FUNCTION [dbo].[tvf] () RETURNS TABLE AS RETURN (SELECT 1 AS a);
go
create synonym dbo.Syn for other.dbo.Tab
CREATE TABLE [$(Schema)].Foo (a int)
"""

POSTGRES = """\
/* CREATE TABLE no1 (a int); */
DO $$
BEGIN
    CREATE TYPE no2 AS ENUM ('r', 'g');
END $$;
CREATE TABLE IF NOT EXISTS "App"."Order Items" (
    id int -- CREATE TABLE no3
);
COPY public.t (a, b) FROM stdin;
1	it's
2	CREATE TABLE no4 (
\\.
CREATE FUNCTION f1(a int) RETURNS int AS 'select 1; CREATE TABLE no5(a int);' LANGUAGE sql;
ALTER FUNCTION f1(a int) OWNER TO bob;
CREATE OR REPLACE FUNCTION outer_f() RETURNS void LANGUAGE plpgsql AS $_$
BEGIN
  EXECUTE $q$ CREATE TABLE no6 (a int); $q$;
  CREATE TEMP TABLE no7 (x int);
END
$_$;
CREATE FUNCTION atomic_f(a int) RETURNS int
BEGIN ATOMIC
  SELECT CASE WHEN a > 1 THEN 1 ELSE 2 END;
  SELECT 2;
END;
CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;
GRANT CREATE ON SCHEMA depot TO joe;
CREATE MATERIALIZED VIEW depot.busy AS SELECT 1;
CREATE SEQUENCE s1 START 1;
"""

MYSQL = """\
# CREATE TABLE no1 (a int);
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `ins_film` AFTER INSERT ON `film` FOR EACH ROW BEGIN
    INSERT INTO film_text VALUES ('it\\'s; CREATE TABLE no2');
  END */;;
CREATE PROCEDURE `stock count`(a INT)
BEGIN
  IF a > 1 THEN SELECT 1; END IF;
  CASE a WHEN 1 THEN SELECT 1; ELSE BEGIN END; END CASE;
  CREATE TEMPORARY TABLE no3 (a int);
END ;;
DELIMITER ;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `customer_list` AS select 1 AS `a` */;
CREATE TABLE a.`b` (x int);
"""

ORACLE = """\
CREATE OR REPLACE PACKAGE BODY "HR"."EMP" IS
  g_x NUMBER := CASE WHEN 1=1 THEN 1 ELSE 2 END;
  PROCEDURE fwd(p NUMBER);
  FUNCTION f1(p NUMBER) RETURN VARCHAR2 IS
    l VARCHAR2(10) := q'[it's; END;]';
    PROCEDURE inner_p IS
    BEGIN NULL; END;
  BEGIN
    FOR r IN (SELECT 1 FROM dual) LOOP
      IF r.x = 1 THEN NULL; END IF;
    END LOOP;
    RETURN l;
  END f1;
  PROCEDURE fwd(p NUMBER) AS BEGIN NULL; END;
BEGIN
  g_x := 2;
END EMP;
/
CREATE OR REPLACE TRIGGER ct FOR UPDATE ON emp COMPOUND TRIGGER
  BEFORE STATEMENT IS BEGIN NULL; END BEFORE STATEMENT;
  AFTER EACH ROW IS BEGIN NULL; END AFTER EACH ROW;
END ct;
/
create or replace procedure no_slash(p in number) is
  v number;
begin
  null;
end no_slash;

create or replace function next_one return number as
begin return 1; end;
"""

SQLITE = """\
CREATE TRIGGER IF NOT EXISTS log_insert AFTER INSERT ON cart
BEGIN
  UPDATE cart SET n = CASE WHEN n > 1 THEN 2 ELSE 3 END;
  INSERT INTO log VALUES ('x;');
END;
CREATE VIRTUAL TABLE docs USING fts5(body);
CREATE UNIQUE INDEX [by name] ON cart (name);
"""

DEFINITIONS = {
    "transact-sql": (
        TRANSACT_SQL,
        "table dbo.T1 3-3, constant IX_1 4-5, function dbo.sp X 8-17, function dbo.tvf 19-19, constant dbo.Syn 21-21, "
        "table $(Schema).Foo 22-22",
    ),
    "postgresql": (
        POSTGRES,
        "table App.Order Items 6-8, function f1 13-13, function outer_f 15-20, "
        "function atomic_f 21-25, view depot.busy 28-28, constant s1 29-29",
    ),
    "mysql": (MYSQL, "function ins_film 3-5, function stock count 6-11, view customer_list 13-15, table a.b 16-16"),
    "oracle": (
        ORACLE,
        "module HR.EMP 1-17, function HR.EMP.fwd 3-3, function HR.EMP.f1 4-13, "
        "function HR.EMP.fwd 14-17, function ct 19-20, function no_slash 24-28, function next_one 30-31",
    ),
    "sqlite": (SQLITE, "function log_insert 1-5, table docs 6-6, constant by name 7-7"),
}


@pytest.mark.parametrize("server", DEFINITIONS)
def test_definitions_of_each_dialect(server: str) -> None:
    text, expected = DEFINITIONS[server]
    for parse in (parse_source, parse_as_text):
        symbols = parse(text, "sql").outline.symbols
        found = [f"{s.kind} {s.qualified} {s.span.start + 1}-{s.span.end}" for s in symbols]
        assert ", ".join(found) == expected


SIGNATURES = [
    ("CREATE FUNCTION a(b int) RETURNS int AS $$ SELECT 1 $$;", "CREATE FUNCTION a(b int) RETURNS int"),
    ("CREATE PROC a @b INT -- the b\n, @c INT AS\nSELECT 1", "CREATE PROC a @b INT, @c INT"),
    ("CREATE VIEW a AS SELECT 1;", "CREATE VIEW a"),
    ("CREATE PROCEDURE a() BEGIN SELECT 1; END;", "CREATE PROCEDURE a()"),
    ("CREATE TABLE a (b int); SELECT 1;", "CREATE TABLE a (b int)"),
]


@pytest.mark.parametrize(("text", "signature"), SIGNATURES)
def test_signature_has_no_body(text: str, signature: str) -> None:
    assert [symbol.signature.replace(" ,", ",") for symbol in parse_source(text, "sql").outline.symbols] == [signature]
