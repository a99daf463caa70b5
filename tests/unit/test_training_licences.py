"""Which packages the bundled embedding may learn from: only those that say so by an exact name."""

from __future__ import annotations

import pytest
from training.licences import all_permissive, declared, licence_of, permissive


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0", True),
        ("(MIT OR GPL-3.0)", True),
        ("GPL-3+ or Expat", True),
        ("MIT and GPL-2", False),
        ("MIT AND (GPL-2 OR BSD-3-clause)", True),
        ("MIT/Apache-2.0", True),
        ("Expat, and LGPL-2.1", False),
        ("GPL-2 or LGPL-3, or Expat", True),
        ("Expat and GPL-2, or LGPL-3", False),
        ("BSD-like", False),
        ("MIT-style", False),
        ("Apache-2.0 with LLVM exception", False),
        ("SEE LICENSE IN LICENSE.txt", False),
        ("UNLICENSED", False),
        ("(MIT", False),
        ("MIT or", False),
        ("", False),
    ],
)
def test_an_expression(expression: str, allowed: bool) -> None:
    assert permissive(expression) is allowed


COPYRIGHT = """\
Format: 1.0
Upstream-Name: cart

Files: *
Copyright: 2020 A
License: Expat

Files: src/vendored/* src/one.c
Copyright: 2011 B
License: GPL-2+
 This program is free software.

Files: debian/*
Copyright: 2021 C
License: GPL-3
"""


def test_the_last_stanza_that_matches_a_file_counts() -> None:
    stanzas = declared(COPYRIGHT)
    assert {p: licence_of(stanzas, p) for p in ("src/cart.c", "src/vendored/a/b.c", "src/one.c", "debian/rules")} == {
        "src/cart.c": "Expat",
        "src/vendored/a/b.c": "GPL-2+",
        "src/one.c": "GPL-2+",
        "debian/rules": "GPL-3",
    }


def test_one_part_that_is_not_permissive_rules_the_package_out_but_its_packaging_does_not() -> None:
    assert not all_permissive(declared(COPYRIGHT))
    assert all_permissive(declared(COPYRIGHT.replace("GPL-2+", "ISC")))


def test_prose_declares_nothing() -> None:
    assert declared("This package is under the MIT licence.") == []
    assert not all_permissive([])
