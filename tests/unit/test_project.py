"""Project facts from files, and their prompt entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.index.snapshot import Snapshot, with_files
from promptls.knowledge.project import project_index as module
from promptls.knowledge.project.facts import ProjectFacts, ProjectHeader, project_header
from promptls.knowledge.project.project_index import ProjectIndex
from promptls.knowledge.project.project_overview import (
    is_overview_question,
    overview_entries,
    project_entries,
)
from promptls.knowledge.project.readme import read_opening, read_purpose, read_summary, split_document, truncate_text
from promptls.model import FileEntry
from workspaces import context_of, snapshot_of

SHOP = """
-- pyproject.toml --
[project]
name = "shop"
description = "Sells things."
dependencies = ["Django>=5", "psycopg[binary]", "tiny_thing"]
[dependency-groups]
dev = ["flask"]
[project.scripts]
shop = "shop.cli:main"
[tool.pytest.ini_options]
-- web/package.json --
{"name": "web", "dependencies": {"react": "19"}, "scripts": {"build": "vite build"}}
-- examples/demo/package.json --
{"dependencies": {"vue": "3"}, "bin": "demo.js"}
-- Makefile --
.PHONY: check
VERSION := 1
check:
	pytest
-- shop/__init__.py --
-- shop/__main__.py --
import shop.cli
-- shop/cli.py --
from shop.services import cart, json
from .models import money
import json
-- shop/services/__init__.py --
-- shop/services/cart.py --
from ..models.money import Money
from shop import cli
-- shop/models/__init__.py --
-- shop/models/money.py --
class Money:
    pass
-- shop/services/json.py --
from shop.models import money
-- tools/release.py --
if __name__ == "__main__":
    print(1)
-- run.py --
if __name__ == "__main__":
    print(1)
-- web/src/index.tsx --
import { Button } from "./button"
-- web/src/button.tsx --
export const Button = 1
-- tests/test_cart.py --
from shop.models import money
-- README.md --
# The shop

![badge](https://example.org/x.svg)

It sells
things. And more.
"""


def facts_of(snapshot: Snapshot) -> ProjectFacts:
    (facts,) = ProjectIndex().get(context_of(snapshot).sources)
    return facts


@pytest.fixture
def shop(tmp_path: Path) -> ProjectFacts:
    return facts_of(snapshot_of(SHOP, tmp_path))


def test_outermost_manifest_names_the_project(shop: ProjectFacts) -> None:
    assert (shop.name, shop.description) == ("shop", "Sells things.")


def test_frameworks_come_from_manifests_except_in_examples(shop: ProjectFacts) -> None:
    assert [(used.label, used.role) for used in shop.frameworks] == [
        ("Django", "web framework"),
        ("React", "UI framework"),
    ]


def test_commands_come_from_outermost_manifest(shop: ProjectFacts) -> None:
    assert [(c.name, c.command_line) for c in shop.commands] == [("check", "make check"), ("test", "pytest")]


def test_commands_of_nested_manifest_change_directory(tmp_path: Path) -> None:
    text = '-- docs/package.json --\n{"scripts": {"build": "x"}}\n-- the web/a/package.json --\n{"scripts": {"build": "x"}}\n'
    assert [c.command_line for c in facts_of(snapshot_of(text, tmp_path)).commands] == [
        "cd 'the web/a' && npm run build"
    ]


def test_entry_points_from_manifests_file_names_and_main_guards(shop: ProjectFacts) -> None:
    assert [(e.kind, e.target) for e in shop.entry_points] == [
        ("command shop", "shop.cli:main"),
        ("python -m", "shop/__main__.py"),
        ("JavaScript entry", "web/src/index.tsx"),
        ("script", "run.py"),
    ]


def test_languages_exclude_prose_and_data(shop: ProjectFacts) -> None:
    assert [(x.name, x.share) for x in shop.languages] == [("python", 17 / 19), ("tsx", 2 / 19)]


def test_project_header(shop: ProjectFacts) -> None:
    assert project_header(shop) == ProjectHeader("shop", "Sells things.", ("python", "tsx"), ("Django", "React"))


def test_readme_names_project_without_manifest(tmp_path: Path) -> None:
    facts = facts_of(snapshot_of("-- README.md --\n# The shop\n\nIt sells\nthings.\n", tmp_path))
    assert (facts.name, facts.description) == ("The shop", "It sells things.")


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ("-- test/cppext/setup.py --\nsetup(name='ext')\n-- os.py --\n", ""),
        ("-- deps/hiredis/CMakeLists.txt --\nproject(hiredis)\n-- Makefile --\nall:\n\tcc a.c\n-- src/a.c --\n", ""),
        ('-- app/package.json --\n{"name": "shop"}\n-- app/x.js --\n-- README.md --\n# The shop\n', "The shop"),
        ("-- README.md --\nIt sells.\n\n# Features\n", ""),
        ("-- README.md --\n## Getting started\n\nType shop.\n", ""),
    ],
)
def test_only_a_name_for_the_whole_project_is_used(tmp_path: Path, files: str, name: str) -> None:
    assert facts_of(snapshot_of(files, tmp_path)).name == name


def test_empty_workspace_has_no_facts(tmp_path: Path) -> None:
    facts = facts_of(snapshot_of("", tmp_path))
    assert project_entries([facts]) == ()


# ---- incremental updates


def test_facts_are_updated_after_change_and_cached_without(tmp_path: Path) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    projects = ProjectIndex()
    before = projects.get(context_of(snapshot).sources)
    assert projects.get(context_of(snapshot).sources) is before
    text = SHOP.replace('"Django>=5"', '"Flask"').replace(
        "class Money:\n    pass", "class Money:\n    a = 1\n    b = 2"
    )
    after = snapshot_of(text, tmp_path)
    changed = snapshot
    for path, entry in after.files.items():
        if entry.content_hash != snapshot.files[path].content_hash:
            changed = with_files(changed, [(path, entry)])
    (facts,) = projects.get(context_of(changed).sources)
    assert facts == facts_of(after)
    assert [u.label for u in facts.frameworks] == ["Flask", "React"]


def test_request_in_large_workspace_waits_for_small_changes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    before = facts_of(snapshot)
    edited = snapshot_of(SHOP.replace("class Money:", "class Money:\n    x = 1\n"), tmp_path)
    after = facts_of(edited)
    monkeypatch.setattr(module, "MAX_SYNC_FILES", 3)
    monkeypatch.setattr(module, "IDLE_FACTOR", 0)
    projects = ProjectIndex()
    assert projects.get(context_of(snapshot).sources) == ()
    projects.follow(context_of(snapshot).sources)
    assert projects.get(context_of(snapshot).sources) == (before,)
    for path, entry in edited.files.items():
        if entry.content_hash != snapshot.files[path].content_hash:
            snapshot = with_files(snapshot, [(path, entry)])
    assert projects.get(context_of(snapshot).sources) == (after,) != (before,)
    root = snapshot.roots[0].path
    more = with_files(snapshot, [(f"{root}/more.py", FileEntry(f"{root}/more.py", root, "more.py"))])
    assert [one.files for one in projects.get(context_of(more).sources)] == [after.files + 1]
    monkeypatch.setattr(module, "MAX_CHANGED_PER_REQUEST", 0)
    assert [one.files for one in projects.get(context_of(snapshot).sources)] == [after.files + 1]
    projects.follow(context_of(snapshot).sources)
    assert projects.get(context_of(snapshot).sources) == (after,)


def test_request_during_indexing_waits_for_small_changes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = snapshot_of(SHOP, tmp_path)
    monkeypatch.setattr(module, "MAX_CHANGED_PER_REQUEST", 0)
    projects = ProjectIndex()
    before = projects.get(context_of(snapshot).sources, complete=False)
    assert before == (facts_of(snapshot),)  # no facts were known
    root = snapshot.roots[0].path
    more = with_files(snapshot, [(f"{root}/more.py", FileEntry(f"{root}/more.py", root, "more.py"))])
    assert projects.get(context_of(more).sources, complete=False) == before
    assert projects.is_outdated
    assert projects.get(context_of(more).sources) == (facts_of(more),) != before
    monkeypatch.setattr(module, "MAX_CHANGED_PER_REQUEST", 1)
    fewer = with_files(more, [(f"{root}/more.py", None)])
    assert projects.get(context_of(fewer).sources, complete=False) == before


def test_each_root_has_its_own_facts(tmp_path: Path) -> None:
    text = '-- a/package.json --\n{"name": "front"}\n-- b/go.mod --\nmodule example.org/back\n-- b/main.go --\npackage main\n'
    snapshot = snapshot_of(text, tmp_path, roots=["a", "b"])
    facts = ProjectIndex().get(context_of(snapshot).sources)
    assert [one.name for one in facts] == ["front", "example.org/back"]
    notes = project_entries(facts, files=[f"{snapshot.roots[1].path}/main.go"])
    assert notes[0].source == "project b" and "example.org/back" in notes[0].text
    projects = ProjectIndex()
    projects.get(context_of(snapshot).sources)
    fewer = replace(snapshot, roots=snapshot.roots[:1])
    assert [one.name for one in projects.get(context_of(fewer).sources)] == ["front"]


# ---- overview


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Give me an overview", True),
        ("How does the app work?", True),
        ("why is parse_date slow", False),
        ("is the heap restructured", False),
    ],
)
def test_overview_questions_are_recognized(question: str, expected: bool) -> None:
    assert is_overview_question(question) is expected


def test_overview_contains_purpose_facts_and_design_documents_in_order(tmp_path: Path) -> None:
    text = (
        SHOP + "\n## License\n\nMIT.\n\n## Use\n\nType shop.\n-- docs/architecture.md --\n# Design\n\nThree layers.\n"
        "-- CONTRIBUTING.md --\nSign the agreement.\n"
    )
    snapshot = snapshot_of(text, tmp_path)
    sources = context_of(snapshot).sources
    notes = overview_entries(sources, ProjectIndex().get(sources))
    assert (notes[0].text, notes[0].source) == ("It sells things. And more.", "README.md")
    assert notes[1].text.startswith("shop: Sells things.")
    assert (notes[-1].text, notes[-1].source) == ("# Design\nThree layers.", "docs/architecture.md")
    assert {note.source for note in notes} == {"README.md", "project", "docs/architecture.md"}


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["README.de.md", "README.md", "README.zh-CN.md"], "README.md"),
        (["README.zh-CN.md", "README.en.md"], "README.en.md"),
        (["docs/README.md", "README.ko.md"], "README.ko.md"),
        ([".github/README.md", "packages/a/README.md"], ".github/README.md"),
    ],
)
def test_readme_of_the_project_is_preferred_to_translations(tmp_path: Path, names: list[str], chosen: str) -> None:
    text = "".join(f"-- {name} --\n# Shop\n\nThis is {name}, which sells things.\n" for name in names)
    notes = overview_entries(context_of(snapshot_of(text, tmp_path)).sources)
    assert [(note.source, note.text) for note in notes] == [(chosen, f"This is {chosen}, which sells things.")]


def test_project_entries_have_versions_tree_entry_points_and_runtime_dependencies(tmp_path: Path) -> None:
    text = """
-- pyproject.toml --
[project]
name = "shop"
description = "Sells things."
requires-python = ">=3.11"
dependencies = ["click"]
[dependency-groups]
dev = ["ruff"]
[project.scripts]
shop = "shop.cli:main"
-- src/shop/__init__.py --
from .cart import Cart
from .money import Money as Amount
from .money import _round
import os
-- src/shop/cli.py --
def main(): ...
-- src/shop/cart.py --
class Cart: ...
-- src/shop/money.py --
class Money: ...
-- src/shop/store/__init__.py --
\"\"\"Keeps orders on disk.  Not thread-safe.\"\"\"
-- src/shop/store/disk.py --
class Disk: ...
-- tests/unit/test_cart.py --
def test(): ...
-- .github/workflows/ci.yml --
on: push
-- dist/shop.txt --
built
""".replace('\\"', '"')
    notes = project_entries([facts_of(snapshot_of(text, tmp_path))])
    assert [note.text for note in notes] == [
        "shop: Sells things.\nLanguages: python 100 % (Python >=3.11)\nSize: 10 files, 21 lines",
        "Main folders:\n- src/shop/ (6 files): cart.py, cli.py, money.py\n"
        "  - src/shop/store/ (2 files): Keeps orders on disk; disk.py\n- tests/ (1 file): tests",
        "Entry points:\n- command shop: shop.cli:main\n- public interface: src/shop/__init__.py exports Cart, Amount",
        "Requires:\n- click",
    ]


# ---- readmes


MONOREPO = """
-- package.json --
{"name": "boats", "workspaces": ["packages/*"]}
-- packages/hull/package.json --
{"name": "@boats/hull", "description": "Hulls of boats. In wood.", "bin": "src/index.js"}
-- packages/hull/src/index.js --
-- packages/sail/package.json --
{"name": "@boats/sail", "dependencies": {"@boats/hull": "1", "left-pad": "1"}, "bin": "src/index.js"}
-- packages/sail/src/index.js --
-- packages/oar/package.json --
{"name": "@boats/oar", "bin": "src/index.js"}
-- packages/oar/src/index.js --
-- packages/mast/package.json --
{"name": "@boats/mast", "bin": "src/index.js"}
-- packages/mast/src/index.js --
-- packages-deprecated/raft/package.json --
{"name": "@boats/raft", "bin": "src/index.js"}
-- packages-deprecated/raft/src/index.js --
"""


def test_packages_of_a_monorepo_have_descriptions_and_needs(tmp_path: Path) -> None:
    snapshot = snapshot_of(MONOREPO, tmp_path)
    facts = ProjectIndex().get(context_of(snapshot).sources)
    text = "\n".join(entry.text for entry in project_entries(facts))
    assert "packages/hull/ (2 files): Hulls of boats" in text
    assert "packages/sail/ (2 files): needs @boats/hull\n" in text
    assert "index.js in 4 folders, such as packages/hull/src/index.js" in text
    assert "raft" not in text


def test_headings_of_both_styles_are_parsed_outside_of_fences() -> None:
    text = "Title\n=====\n\nOne.\n\n```\n# no heading\nList<String> x\n```\n\n## Two ##\n<p align=center><img src=x></p>\nText\n"
    assert [(p.title, p.level, p.text) for p in split_document(text)] == [
        ("Title", 1, "One.\n\n```\n# no heading\nList<String> x\n```"),
        ("Two", 2, "Text"),
    ]


@pytest.mark.parametrize(
    ("text", "title", "paragraph"),
    [
        ("# [Shop](https://x.org) `v2`\n\nIt *is* a [shop](https://x.org), see [its page][p].\n", "Shop v2", "It *is* a shop, see its page."),
        ("# A\n[![CI\nstatus](https://x.org/a.svg)](https://x.org)\n[![b](c)](\nhttps://x.org/q)\n\nIt is.\n", "A", "It is."),
        ("<div><img src='x'/></div>\n<h1 align='center'>Shop</h1>\n<p>\n <a href='x'><b>home</b></a> |\n <a href='y'>docs</a>\n</p>\n\n<p>\n It sells\n  <a href='z'>things</a>.\n</p>\n", "Shop", "It sells things."),
        ("English | [Deutsch](de.md)\n\n> [!NOTE]\n> Not now.\n\n> ### A [shop](x) in *C*\n", "", "A shop in *C*"),
        ("Shop\n====\n\n=====  =====\na      b\n=====  =====\n\nIt sells.\n", "Shop", "It sells."),
    ],
)  # fmt: skip
def test_readme_opening_has_title_and_paragraph(text: str, title: str, paragraph: str) -> None:
    assert (read_opening(text).title, read_opening(text).paragraph) == (title, paragraph)


PURPOSES = {
    "badges and headings": (
        "# Shop\n[![CI](https://x.org/a.svg)](https://x.org) ![b](c)\n\n> [!NOTE]\n> Version 2 is out.\n\n"
        "It sells things to people.\n\nIt is small and quick too.\n\n## Installation\n\nRun pip install shop.\n",
        "It sells things to people.\n\nIt is small and quick too.",
    ),
    "advertisement in the first section": (
        "# Shop\n\nSponsored by Acme, the terminal of the future.\n\n\u2b50 Star us on GitHub, it helps a lot!\n\n"
        "Join our Discord community today.\n\nIt sells things to people.\n",
        "It sells things to people.",
    ),
    "list after a colon": (
        "# Shop\n\nIt sells things. It has:\n\n* a **cart**,\n  with items\n* a [till](t.md)\n\nAn example is:\n\n"
        "```\nshop\n```\n",
        "It sells things. It has:\n\n- a cart, with items\n- a till",
    ),
    "features": (
        "# Shop\n\nIt sells things to people.\n\n## Features\n\n- a cart\n- a till\n\n## Contributing\n\n- sign\n",
        "It sells things to people.\n\n- a cart\n- a till",
    ),
    "reStructuredText": (
        "Shop\n====\n\n.. image:: https://x.org/a.svg\n   :target: https://x.org\n\n|PyPI| |CI|\n\n"
        "It sells `things <https://x.org>`_ to people.\n\n.. code-block:: python\n\n    import shop\n\nLicense\n-------\n\nMIT, as ever.\n",
        "It sells things to people.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PURPOSES)
def test_purpose_is_the_first_prose_of_a_readme(case: str) -> None:
    text, purpose = PURPOSES[case]
    assert read_purpose(text) == purpose


def test_summary_has_headings_with_their_first_paragraph_and_list() -> None:
    text = "# Design\n\nThree layers.\n\nMore of it.\n\n```\na -> b\n```\n\n## Store\n\n- disk\n- memory\n\n## Empty\n"
    assert read_summary(text, 1000) == "# Design\nThree layers.\n## Store\n- disk\n- memory"
    assert read_summary(text, 30) == "# Design\nThree layers."


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("One sentence here. Another one there.", 30, "One sentence here.…"),
        ("A first paragraph.\n\nA second one. With more.", 30, "A first paragraph.…"),
        ("- one item of it\n- two items of it\n- three", 40, "- one item of it\n- two items of it…"),
        ("x" * 50, 20, "…"),
    ],
)
def test_text_is_truncated_after_sentence(text: str, most: int, expected: str) -> None:
    assert truncate_text(text, most) == expected
    assert len(truncate_text(text, most)) <= most


def test_facts_follow_manifests_that_the_index_has_not_read_yet(tmp_path: Path) -> None:
    """On disk, in the editor, and deleted; the snapshot stays the same."""
    snapshot = snapshot_of('-- package.json --\n{"name": "old"}\n-- README.md --\n# Title\n', tmp_path)
    projects = ProjectIndex()

    def name() -> str:
        (facts,) = projects.get(context_of(snapshot).sources)
        return facts.name

    assert name() == "old"
    (tmp_path / "package.json").write_text('{"name": "newer"}')
    assert name() == "newer"
    saved = snapshot
    snapshot = snapshot_of("", tmp_path, unsaved={"package.json": '{"name": "unsaved"}'})
    snapshot = replace(saved, documents=snapshot.documents)
    assert name() == "unsaved"
    snapshot = saved
    assert name() == "newer"
    (tmp_path / "package.json").unlink()
    assert name() == "Title"
