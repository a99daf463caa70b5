"""Licence checks for training data: a package is used only if its exact licence name is permissive."""

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
def test_licence_expression_is_permissive(expression: str, allowed: bool) -> None:
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


def test_last_matching_stanza_determines_licence() -> None:
    stanzas = declared(COPYRIGHT)
    assert {p: licence_of(stanzas, p) for p in ("src/cart.c", "src/vendored/a/b.c", "src/one.c", "debian/rules")} == {
        "src/cart.c": "Expat",
        "src/vendored/a/b.c": "GPL-2+",
        "src/one.c": "GPL-2+",
        "debian/rules": "GPL-3",
    }


def test_package_with_one_non_permissive_licence_is_excluded_except_for_packaging() -> None:
    assert not all_permissive(declared(COPYRIGHT))
    assert all_permissive(declared(COPYRIGHT.replace("GPL-2+", "ISC")))


def test_prose_is_not_a_licence_declaration() -> None:
    assert declared("This package is under the MIT licence.") == []
    assert not all_permissive([])
