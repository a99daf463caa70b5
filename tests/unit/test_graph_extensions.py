"""Extension methods: resolution of calls on a value to functions that extend its type elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import calls, view_of

CSHARP = """
-- src/Words.cs --
namespace Shop.Words;

public static class Words
{
    public static string Say(this string text) => text;
}

public static class Numbers
{
    public static string Say(this int number) => "";
    public static string Spell(this int number) => "";
    public static string Each<T>(this IEnumerable<T> all) => "";
}

public static class Carts
{
    public static int Total(this Cart cart) => 1;
    public static T Also<T>(this T it) => it;
}

public class Cart
{
    public void Add() { }
}
-- src/Other.cs --
namespace Other;

public static class Others
{
    public static string Spell(this int number) => "";
}
-- src/Use.cs --
using Shop.Words;

public class Use
{
    void OfText(string text, DateTime when, Cart cart)
    {
        text.Say();
        new string('a', 1).Say();
        int.Parse("1").Say();
    }

    void OfLiterals()
    {
        1.Spell();
    }

    void OfOwn(Cart cart)
    {
        cart.Total();
        cart.Add();
        cart.Also();
    }

    void OfOthers(Cart cart)
    {
        string.Say(1);
        Assert.Total();
        cart.Spell();
    }
}
"""

KOTLIN = """
-- src/main/kotlin/x/Path.kt --
package x

class Path {
    companion object {
        fun String.toPath(): Path = Path()
    }
    fun up() {}
}

fun Int.twice() = 1

fun File.open(): Path = Path()

fun Path.open(): Path = this

fun <T : Any> T.also2(): T = this

private class Windows {
    fun LARGE.toLong(): Long = 1
}
-- src/main/kotlin/y/Tools.kt --
package y

fun String.hidden() {}

fun String.shown() {}
-- src/main/kotlin/x/Use.kt --
package x

import x.Path.Companion.toPath
import y.shown

fun literal() = "a".toPath()

fun number() = 1.twice()

fun text() = "a".twice()

fun imported(a: String) = a.shown()

fun hidden(a: String) = a.hidden()

fun outside(file: File) = file.open()

fun inside(path: Path) = path.open()

fun any(count: Int) = count.also2()

fun windows(count: Int) = count.toLong()
-- src/main/kotlin/z/Far.kt --
package z

fun literal() = "a".toPath()
"""

SWIFT = """
-- Sources/App/Text.swift --
extension String {
    func shout() -> String { self }
}

class Cart {
    func total() -> Int { 1 }
}

extension Cart {
    func count() -> Int { 1 }
}
-- Sources/App/UI/Use.swift --
func literal() { "a".shout() }

func typed(text: String) { text.shout() }

func own(cart: Cart) {
    cart.count()
    cart.shout()
}
"""

DART = """
-- lib/text.dart --
extension Shouting on String {
  String shout() => this;
}
-- lib/use.dart --
import 'text.dart';

void typed(String text) {
  text.shout();
}
"""


@pytest.mark.parametrize(
    ("workspace", "expected"),
    [
        (
            CSHARP,
            {
                "src/Use.cs:Use.OfText": ["Words.Say .85", "Words.Say .85", "Numbers.Say .85"],
                "src/Use.cs:Use.OfLiterals": ["Numbers.Spell .85"],
                "src/Use.cs:Use.OfOwn": ["Carts.Total .85", "Cart.Add .85", "Carts.Also .50"],
                "src/Use.cs:Use.OfOthers": [],
            },
        ),
        (
            KOTLIN,
            {
                "src/main/kotlin/x/Use.kt:literal": ["Path.String.toPath .85"],
                "src/main/kotlin/x/Use.kt:text": [],
                "src/main/kotlin/x/Use.kt:imported": ["String.shown .85"],
                "src/main/kotlin/x/Use.kt:hidden": [],
                "src/main/kotlin/x/Use.kt:outside": ["File.open .85"],
                "src/main/kotlin/x/Use.kt:inside": ["Path.open .85"],
                "src/main/kotlin/x/Use.kt:any": ["T.also2 .50"],
                "src/main/kotlin/z/Far.kt:literal": [],
            },
        ),
        (
            SWIFT,
            {
                "Sources/App/UI/Use.swift:literal": ["String.shout .85"],
                "Sources/App/UI/Use.swift:typed": ["String.shout .85"],
                "Sources/App/UI/Use.swift:own": ["Cart.count .85"],
            },
        ),
        (DART, {"lib/use.dart:typed": ["Shouting.shout .85"]}),
    ],
    ids=["C#", "Kotlin", "Swift", "Dart"],
)
def test_calls_resolve_to_applicable_extension_methods(
    tmp_path: Path, workspace: str, expected: dict[str, list[str]]
) -> None:
    view = view_of(workspace, tmp_path)
    found = {name: calls(view, name) for name in expected}
    assert {name: [one.rpartition(":")[2].removeprefix("Shop.Words.") for one in of] for name, of in found.items()} == {
        name: list(dict.fromkeys(of)) for name, of in expected.items()
    }
