"""Definitions in several parts (partial types, extensions, expect and actual): mentions, relations and explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import context_for, view_of
from promptls.graph.node_explanation import explain_symbol
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.resolvers.symbol import MAX_PARTS

PARTS = """
-- cs/Ferry.cs --
namespace Harbour;
public partial class Ferry {
    public void Board(int n) { Weigh(n); }
    partial void OnBoard();
}
public class Pier { Ferry boat; }
-- cs/Ferry.Generated.cs --
namespace Harbour;
public partial class Ferry {
    private int Weigh(int n) { return n * 2; }
    partial void OnBoard() { }
}
-- cs/Other.cs --
namespace Museum;
public partial class Anchor { }
-- cs/Anchor.cs --
namespace Harbour;
public partial class Anchor { }
-- swift/Gauge.swift --
struct Gauge {
    let port: String
}
-- swift/Gauge+Scale.swift --
extension Gauge {
    func scale(_ n: Int) -> Int { n * 2 }
}
-- lib/src/commonMain/kotlin/tide/Clock.kt --
package tide
expect class Clock() {
    fun now(): Long
}
expect fun platformName(): String
fun show() = platformName()
-- lib/src/jvmMain/kotlin/tide/Clock.jvm.kt --
package tide
actual class Clock actual constructor() {
    actual fun now(): Long = 1L
}
actual fun platformName(): String = "JVM"
-- rust/Cargo.toml --
[package]
name = "quay"
-- rust/src/lib.rs --
mod display;
pub struct Quay { n: u32 }
impl Quay {
    pub fn len(&self) -> u32 { self.n }
}
-- rust/src/display.rs --
use crate::Quay;
impl Quay {
    pub fn wide(&self) -> u32 { 80 }
}
impl std::fmt::Display for Quay {
    fn fmt(&self) -> u32 { self.n }
}
"""


def outcome_of(mention: str, top: Path, tree: str = PARTS) -> str:
    (outcome,) = resolve_mentions(f"{mention} please", context := context_for(tree, top))
    label = context.snapshot.label
    places = sorted(f"{label(item.path).rpartition('/')[2]}:{item.span.label}" for item in outcome.targets)
    return f"{outcome.status}: {', '.join(places or sorted(outcome.candidates)) or outcome.reason}"


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@#Ferry", "included: Ferry.Generated.cs:2-5, Ferry.cs:2-5"),
        ("@#Ferry.OnBoard", "included: Ferry.Generated.cs:4, Ferry.cs:4"),
        ("@cs/Ferry.cs#Ferry", "included: Ferry.cs:2-5"),
        ("@usages:Ferry", "included: Ferry.cs:6"),
        ("@#Anchor", "ambiguous: @cs/Anchor.cs#Harbour.Anchor, @cs/Other.cs#Museum.Anchor"),
        ("@#Gauge", "included: Gauge+Scale.swift:1-3, Gauge.swift:1-3"),
        ("@#Clock", "included: Clock.jvm.kt:2-4, Clock.kt:2-4"),
        ("@#Clock.now", "included: Clock.jvm.kt:3, Clock.kt:3"),
        ("@#platformName", "included: Clock.jvm.kt:5, Clock.kt:5"),
        ("@callers:platformName", "included: Clock.kt:6"),
        ("@#Quay", "included: display.rs:2-4, lib.rs:2, lib.rs:3-5"),
    ],
)
def test_mention_of_a_definition_in_parts_means_all_parts(tmp_path: Path, mention: str, expected: str) -> None:
    assert outcome_of(mention, tmp_path) == expected


def test_definition_in_too_many_parts_is_ambiguous(tmp_path: Path) -> None:
    tree = "".join(f"-- {n}.cs --\npublic partial class Crane {{ }}\n" for n in range(MAX_PARTS + 1))
    assert outcome_of("@#Crane", tmp_path, tree).startswith("ambiguous: ")


@pytest.mark.parametrize(
    ("name", "members", "parts"),
    [
        ("Ferry", ["Board", "OnBoard", "Weigh", "OnBoard"], ["Ferry.Generated.cs"]),
        ("Gauge", ["port", "scale"], ["Gauge+Scale.swift"]),
        ("Clock", ["now", "now"], ["Clock.jvm.kt"]),
        ("Quay", ["len", "wide"], ["lib.rs", "display.rs"]),
    ],
)
def test_explanation_lists_the_members_of_all_parts(
    tmp_path: Path, name: str, members: list[str], parts: list[str]
) -> None:
    explanation = explain_symbol(view_of(PARTS, tmp_path), name)
    assert sorted(child.name for child in explanation.children) == sorted(members)
    assert sorted(part.label.rpartition("/")[2] for part in explanation.parts) == sorted(parts)
    assert explanation.others == ()


def test_caller_of_several_parts_is_listed_once(tmp_path: Path) -> None:
    explanation = explain_symbol(view_of(PARTS, tmp_path), "platformName")
    assert [one.node.name for one in explanation.callers] == ["show"]
