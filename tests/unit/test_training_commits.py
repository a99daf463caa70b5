"""Commits as training records: which messages count, and which definitions a patch changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from training import commits
from training.licences import licence_of_text

CART = """\
def add_line(cart, line):
    for known in cart.lines:
        if known.article == line.article:
            known.count += line.count
            return known
    cart.lines.append(line)
    return line


def total_price(cart):
    total = sum(line.price * line.count for line in cart.lines)
    return round(total, 2)
"""


@pytest.mark.parametrize(
    ("subject", "texts"),
    [
        ("Round the total of a cart to cents (#12)", ("Round the total of a cart to cents",)),
        ("fix(cart): keep the order of equal articles", ("keep the order of equal articles",)),
        ("🐛 bug: keep the order of equal articles", ("keep the order of equal articles",)),
        ("[cart] Keep the order of equal articles", ("Keep the order of equal articles",)),
        ("Bump requests from 2.1 to 2.2 in the build", ()),
        ("chore(cart): rename a helper of the cart", ()),
        ("Fix a typo in the message of a cart", ()),
        ("docs: explain how a cart is rounded", ()),
        ("Round totals", ()),
    ],
)
def test_subjects_that_count(subject: str, texts: tuple[str, ...]) -> None:
    assert commits.said(subject, "") == texts


def test_first_sentence_of_the_body_is_a_second_text() -> None:
    body = "The total had more digits than an invoice shows. See below.\n\nSigned-off-by: A <a@example.org>"
    assert commits.said("Round the total of a cart to cents", body) == (
        "Round the total of a cart to cents",
        "The total had more digits than an invoice shows.",
    )


def test_trailers_are_not_a_text() -> None:
    assert (
        len(commits.said("Round the total of a cart to cents", "Signed-off-by: Some Author Name <a@example.org>")) == 1
    )


@pytest.mark.process
def test_changed_definition_is_a_record(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "cart.py").write_text(CART.replace("round(total, 2)", "total"), encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "Initial version of the shopping cart module")
    (tmp_path / "cart.py").write_text(CART, encoding="utf-8")
    git("commit", "-qam", "Round the total of a cart to cents")
    found = list(commits.records(tmp_path / ".git", git("rev-parse", "HEAD")))
    assert [(row["qualified"], row["commits"]) for row in found] == [
        ("total_price", ["Round the total of a cart to cents"])
    ]
    assert "round(total, 2)" in found[0]["code"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Permission is hereby granted, free of charge, to any person obtaining a copy of this software and", "MIT"),
        ("Apache License\n    Version 2.0, January 2004", "Apache-2.0"),
        ("GNU General Public License ... Apache License Version 2.0", ""),
        ("All rights reserved.", ""),
    ],
)
def test_licence_of_a_text(text: str, name: str) -> None:
    assert licence_of_text(text) == name
