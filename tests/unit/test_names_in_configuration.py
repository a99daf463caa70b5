"""Names in templates and configuration: dbt, Helm, Ansible, Docker and package manifests, and the places that use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import context_for
from promptls.index.syntax.jinja import relations_only
from promptls.index.syntax.parse import parse_source
from promptls.languages import language_of
from promptls.mentions.resolve import resolve_mentions
from promptls.model import CALL

SYMBOLS = {
    "a model is named by its file": (
        "models/staging/stg_orders.sql",
        "{{ config(materialized='view') }}\nselect * from {{ source('shop', 'orders') }}\n",
        "view stg_orders 1-2",
    ),
    "a version of a model": ("models/orders.v2.sql", "select * from {{ ref('a') }}\n", "view orders 1-1"),
    "a model outside of the usual folder": ("sql/a.sql", "select * from {{ ref('b') }}\n", "view a 1-1"),
    "a model without tags": ("models/a.sql", "select 1\n", "view a 1-1"),
    "a model with a macro": (
        "models/a.sql",
        "{% macro b(x) %}{{ x }}{% endmacro %}\nselect {{ b(1) }} from {{ ref('c') }}\n",
        "view a 1-2, macro a.b 1-1",
    ),
    "a query is not a model": ("queries/a.sql", "select * from b;\n", ""),
    "an empty file is not a model": ("models/a.sql", "\n", ""),
    "a script is not a model": ("models/a.sql", "create table t (a int);\n", "table t 1-1"),
    "macros, tests, materializations and snapshots": (
        "macros/a.sql",
        "{%- macro a(\n    x,\n    y=2\n) -%}\n{{ ref('b') }}\n{%- endmacro -%}\n{% test c(model) %}\n{% endtest %}\n"
        "{% materialization d, default %}\n{% endmaterialization %}\n{% snapshot e %}\nselect 1\n{% endsnapshot %}\n",
        "macro a 1-6, macro c 7-8, macro d 9-10, table e 11-13",
    ),
    "comments of Jinja": (
        "macros/a.sql",
        "{# {% macro no() %} it's #}\ncreate table t (a int);\n{% macro yes() %}{% endmacro %}\n",
        "table t 2-2, macro yes 3-3",
    ),
    "definitions of SQL in macros": (
        "macros/a.sql",
        "{% macro a() %}\ncreate table {{ s }}.t (x int)\n{% endmacro %}\n{% macro b() %}\ncreate view v as select 1\n"
        "{% endmacro %}\n",
        "macro a 1-3, table a.t 2-2, macro b 4-6, view b.v 5-5",
    ),
    "sources": (
        "models/schema.yml",
        "sources:\n  - name: shop\n    tables:\n      - name: orders\n        columns:\n          - name: id\n"
        "models:\n  - name: stg_orders\n",
        "key sources 1-6, namespace sources.shop 2-6, table sources.shop.orders 4-6, key models 7-8",
    ),
    "values of Helm": (
        "chart/values-prod.yaml",
        "a:\n  b:\n    c: 1\n    d: {}\n  list:\n    - name: no\n      e: 1\n",
        "key a 1-7, key a.b 2-4, key a.b.c 3-3, key a.b.d 4-4, key a.list 5-7",
    ),
    "other YAML": ("chart/other.yaml", "a:\n  b:\n    c: 1\n", "key a 1-3, key a.b 2-3"),
    "handlers of Ansible": (
        "roles/a/handlers/main.yml",
        '---\n- name: Restart it\n  service: {name: a}\n- listen: b\n  name: "Flush"\n',
        "target Restart it 2-3, target Flush 4-5",
    ),
    "handlers in a playbook": (
        "site.yml",
        "- hosts: all\n  handlers:\n    - name: restart it\n      service: {name: a}\n",
        "target restart it 3-4",
    ),
    "variables of a Dockerfile": (
        "Dockerfile",
        "ARG A=1\nFROM x AS b\nENV C=1 \\\n    D=2\n",
        "constant A 1-1, stage b 2-4, constant b.C 3-3, constant b.D 4-4",
    ),
    "environment of a Dockerfile in the old form": (
        "Dockerfile.prod",
        "FROM a\nENV B c d=e\nenv F -Xmx1g -Xms1g\nENV G h\nFROM i AS j\n",
        "stage a 1-4, constant a.B 2-2, constant a.F 3-3, constant a.G 4-4, stage j 5-5",
    ),
    "commands of npm": (
        "web/package.json",
        '{"scripts": {"dev:it": "vite"}, "config": {"a": "b"}}\n',
        "key scripts 1-1, target scripts.dev:it 1-1, key config 1-1",
    ),
    "scripts in other JSON": ("a.json", '{"scripts": {"a": "b"}}\n', "key scripts 1-1"),
    "commands of Python": (
        "pyproject.toml",
        '[project.scripts]\na-b = "c:d"\n[tool.poetry.scripts]\ne = "f:g"\n[tool.h]\ni = 1\n',
        "section project.scripts 1-2, target project.scripts.a-b 2-2, section tool.poetry.scripts 3-4, "
        "target tool.poetry.scripts.e 4-4, section tool.h 5-6",
    ),
    "entry points of Python": (
        "pyproject.toml",
        '[project]\nscripts = {a = "b:c"}\n[project.entry-points."d.e"]\nf = "g:h"\n',
        'section project 1-2, target project.a 2-2, section project.entry-points."d.e" 3-4, '
        'target project.entry-points."d.e".f 4-4',
    ),
}


@pytest.mark.parametrize("case", SYMBOLS)
def test_names_of_templates_and_configuration(case: str) -> None:
    path, text, expected = SYMBOLS[case]
    symbols = parse_source(text, language_of(path, text), path=path).outline.symbols
    assert ", ".join(f"{s.kind} {s.qualified} {s.span.start + 1}-{s.span.end}" for s in symbols) == expected


REFERENCES = {
    "{{ ref('a') }}": "a",
    "{{- ref( 'pkg', \"a\", v=2) -}}": "a",
    "{{ ref('a', v='2') }}": "a",
    "{{ source('s', 'a') }}": "a",
    "{{ utils.star(ref('a')) }}": "utils.star a",
    "{% set x = b(1) %}": "b",
    "{% if is_incremental() %}": "",
    "{# ref('a') #}": "",
    "{{ ref('a'": "",
}


@pytest.mark.parametrize("tag", REFERENCES)
def test_calls_in_tags_are_references(tag: str) -> None:
    outline = parse_source(f"select 1, {tag}\n", "sql").outline
    names = (f"{use.receiver}.{use.name}" if use.receiver else use.name for use in outline.references())
    assert " ".join(names) == REFERENCES[tag]
    assert {use.kind for use in outline.references()} <= {CALL}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"from {{ ref('a') }} x", b"from         a      x"),
        (b"from {{ source('s', 'a') }} x", b"from                 a      x"),
        (b"  {{ config(a=1) }}\nwith", b"                   \nwith"),
        (b"from {{ this }} {% if a %}", b"from    this" + b" " * 14),
        (b"{{ a", b"{{ a"),
        (b"a }} {{ b }}", b"a }}    b   "),
    ],
)
def test_tags_are_hidden_from_the_parser(code: bytes, expected: bytes) -> None:
    assert relations_only(code) == expected


PROJECT = """
-- models/stg.sql --
select {{ to_euro('fee') }} from {{ source('port', 'moorings') }}
-- models/fct.sql --
select * from {{ ref('stg') }}
-- models/schema.yml --
sources:
  - name: port
    tables:
      - name: moorings
models:
  - name: stg
-- macros/money.sql --
{% macro to_euro(column) %}{{ column }} / 100{% endmacro %}
-- chart/values.yaml --
replicas: 1
crane:
  enabled: true
  arm:
    reach: 40
horn:
  enabled: false
-- chart/values-prod.yaml --
replicas: 3
-- chart/templates/crane.yaml --
{{ if .Values.crane.enabled }}
replicas: {{ .Values.replicas }}
reach: {{ .Values.crane.arm.reach }}
{{ end }}
-- chart/templates/horn.yaml --
{{ if .Values.horn.enabled }}
{{ end }}
-- roles/a/handlers/main.yml --
- name: Restart it
  service: {name: a}
-- roles/a/tasks/main.yml --
- name: Copy it
  copy: {src: a, dest: b}
  notify: Restart it
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@callers:to_euro", ["models/stg.sql"]),
        ("@callers:stg", ["models/fct.sql"]),
        ("@usages:stg", ["models/fct.sql", "models/schema.yml"]),
        ("@callees:stg", ["macros/money.sql", "models/schema.yml"]),
        ("@usages:moorings", ["models/stg.sql"]),
        ("@usages:crane.arm.reach", ["chart/templates/crane.yaml"]),
        ("@usages:crane.enabled", ["chart/templates/crane.yaml"]),
        ("@usages:horn.enabled", ["chart/templates/horn.yaml"]),
        ("@usages:chart/values.yaml#replicas", ["chart/templates/crane.yaml"]),
        ('@usages:"Restart it"', ["roles/a/tasks/main.yml"]),
    ],
)
def test_places_that_use_names_of_configuration(tmp_path: Path, mention: str, expected: list[str]) -> None:
    context = context_for(PROJECT, tmp_path)
    outcome = next(iter(resolve_mentions(mention, context)))
    assert sorted({context.snapshot.label(item.path) for item in outcome.targets}) == expected, outcome.reason
