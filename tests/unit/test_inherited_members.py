"""Members under the name of a type that inherits them: "Child.run" for the method of its base."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import context_for, view_of
from promptls.graph.node_explanation import explain_symbol
from promptls.mentions.resolve import resolve_mentions

VESSELS = """
-- vessels/base.py --
class Vessel:
    def sail(self):
        return self.crew()

    def crew(self):
        return 1
-- vessels/ferry.py --
from vessels.base import Vessel

class Ferry(Vessel):
    def crew(self):
        return 4

class CarFerry(Ferry):
    pass

def leave(ferry: Ferry):
    return ferry.sail()
-- Dock.java --
class Quay { void moor() { } }
class Dock extends Quay { }
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@#CarFerry.sail", "included: base.py:2-3"),
        ("@#CarFerry.crew", "included: ferry.py:4-5"),
        ("@#Ferry::sail", "included: base.py:2-3"),
        ("@#Dock.moor", "included: Dock.java:1"),
        ("@callers:CarFerry.sail", "included: ferry.py:10-11"),
        ("@#CarFerry.sink", "unresolved: "),
        ("@vessels/ferry.py#CarFerry.sail", "unresolved: "),
    ],
)
def test_mention_of_an_inherited_member_means_that_of_the_nearest_base(
    tmp_path: Path, mention: str, expected: str
) -> None:
    (outcome,) = resolve_mentions(f"{mention} please", context := context_for(VESSELS, tmp_path))
    places = (f"{context.snapshot.label(i.path).rpartition('/')[2]}:{i.span.label}" for i in outcome.targets)
    assert f"{outcome.status}: {', '.join(places)}" == expected


def test_inherited_member_is_explained(tmp_path: Path) -> None:
    explanation = explain_symbol(view_of(VESSELS, tmp_path), "CarFerry.sail")
    assert explanation.node is not None
    assert explanation.node.label == "vessels/base.py"
