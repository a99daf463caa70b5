"""Licence headers and change notes: where they are found, and which items leave them out."""

from __future__ import annotations

import pytest

from promptkit import item, renderer, symbol_item, text_file
from promptls.model import Item, Origin
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import find_notes

LICENCE = (
    "Copyright 2020 The Authors.\n"
    "Licensed under the Apache License, Version 2.0;\n"
    "you may not use this file except in compliance with the License.\n"
    "\n"
    "Distributed on an AS IS basis, without warranties of any kind.\n"
)


def commented(text: str, marker: str, start: str = "", end: str = "") -> str:
    lines = [f"{marker}{line}".rstrip() for line in text.splitlines()]
    return "".join(f"{line}\n" for line in [*filter(None, [start]), *lines, *filter(None, [end])])


def found(text: str, language: str = "python") -> list[tuple[str, str]]:
    """Return the name and the lines of each note, such as ("licence", "1-5")."""
    return [(note.name, note.span.label) for note in find_notes(text.splitlines(), language)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (commented(LICENCE, "# ") + "import os\n", "1-5"),
        (commented(LICENCE, "// ") + "\npackage main\n", "1-6"),
        (commented(LICENCE, " * ", "/*", " */") + "\nclass A {}\n", "1-8"),
        (commented(LICENCE, "", "<!--", "-->") + "<html>\n", "1-7"),
        (commented(LICENCE, "-- ") + "SELECT 1;\n", "1-5"),
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + commented(LICENCE, "# ") + "\nimport os\n", "3-8"),
        ("<?php\n" + commented(LICENCE, " * ", "/**", " */") + "namespace A;\n", "2-8"),
    ],
)
def test_licence_at_the_top_is_found(text: str, lines: str) -> None:
    assert found(text) == [("licence", lines)]


def test_description_next_to_a_licence_is_kept() -> None:
    described = commented(LICENCE + "\nParses the orders of a shop.\n", "# ")
    assert found(described + "import os\n") == [("licence", "1-5")]
    before = commented("Parses the orders of a shop.\n\n" + LICENCE, "# ")
    assert found(before + "import os\n") == [("licence", "3-7")]


@pytest.mark.parametrize(
    "text",
    [
        "# SPDX-License-Identifier: MIT\nimport os\n",
        "# Parses orders.\n#\n# One order has\n# several items.\nimport os\n",
        "import os\n" + commented(LICENCE, "# "),
        "",
        "/*\n" + "copyright\n" * 10,
    ],
)
def test_short_or_other_comments_are_kept(text: str) -> None:
    assert found(text) == []


DIRECTIVES = """\
def f(x):
    \"\"\"Return x.

    :param x: any number

    .. versionchanged:: 2.0
        Accepts
        floats.

    .. versionadded:: 1.0
    \"\"\"
    return x
"""


def test_directives_of_changes_are_found() -> None:
    assert found(DIRECTIVES) == [("change notes", "6-10")]
    assert found(DIRECTIVES.replace("        Accepts\n        floats.\n", "")) == []  # three lines
    assert found(DIRECTIVES, "markdown") == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# Orders.\n#\n# Changelog:\n# - 1.0 first\n# - 1.1 second\n# - 1.2 third\nimport os\n", "3-6"),
        ("/*\n * Orders.\n * History:\n *   1.0 first\n *   1.1 second\n *   1.2 third\n */\nint x;\n", "3-6"),
        ('class A:\n    """A.\n\n    History:\n        1.0 first\n        1.1\n        1.2\n    """\n', "4-7"),
    ],
)
def test_sections_with_a_list_of_changes_are_found(text: str, lines: str) -> None:
    assert found(text) == [("change notes", lines)]


def test_code_that_is_named_history_is_kept() -> None:
    assert found("class A:\n    history:\n        x = 1\n        y = 1\n        z = 1\n") == []
    assert found("history:\n\tgit log\n\tgit log\n\tgit log\n", "make") == []


# ---------------------------------------------------------------- in items

FILE = text_file(commented(LICENCE, "# ") + "\n" + "import os\n\n\n" + DIRECTIVES, "app.py")
USING = renderer(omit_notes=True)


def shown(part: Item, explicit: bool) -> str:
    candidates = [PackingCandidate(item_forms(part, FILE, USING))]
    packed = pack(candidates if explicit else [], [] if explicit else candidates, 1000)
    assert packed.items[0].rendered.form == "full"
    return packed.items[0].rendered.body


@pytest.mark.parametrize("origin", [Origin.SEMANTIC, Origin.MENTION])
def test_file_is_shown_without_notes(origin: Origin) -> None:
    lines = shown(item(FILE, origin=origin), origin is Origin.MENTION).split("\n")
    assert lines[:2] == ["… 6 lines (licence)", "import os"]
    assert lines.count("… 5 lines (change notes)") == 1
    assert sum(line.startswith("…") for line in lines) == 2


def test_definition_is_shown_without_notes_unless_it_is_requested() -> None:
    assert "… 5 lines (change notes)" in shown(symbol_item(FILE, "f", origin=Origin.SEMANTIC), False)
    assert ".. versionchanged:: 2.0" in shown(symbol_item(FILE, "f", origin=Origin.MENTION), True)


def test_requested_lines_and_items_of_notes_only_are_shown() -> None:
    licence = commented(LICENCE, "# ").removesuffix("\n")
    assert shown(item(FILE, 1, 5, origin=Origin.MENTION), True) == licence
    assert shown(item(FILE, 1, 5, origin=Origin.SEMANTIC), False) == licence


def test_other_profiles_show_notes() -> None:
    using = renderer()
    full = item_forms(item(FILE), FILE, using).full()
    assert full is not None and "Licensed under" in full.body
