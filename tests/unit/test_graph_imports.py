"""Import resolution by language: workspaces as strings, with the targets of each import."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.graph.imports import ImportResolver, ImportResolvers
from promptls.index.snapshot import with_files
from workspaces import snapshot_of


def led(text: str, file: str, top: Path) -> list[str]:
    """Format the imports of a file as "a.b → src/a/b.py f", without target for third parties."""
    snapshot = snapshot_of(text, top)
    base = snapshot.roots[0].path + "/"
    resolver = ImportResolver(snapshot)
    entry = snapshot.files[base + file]
    assert entry.outline is not None
    out = []
    for one in entry.outline.imports:
        targets = [f"{t.path.removeprefix(base)} {t.name}".strip() for t in resolver.targets(entry, one)]
        out.append(f"{one.module} → {', '.join(targets)}".strip())
    return out


def bound(text: str, file: str, top: Path) -> dict[str, str]:
    """Return the targets of the names that a file imports."""
    snapshot = snapshot_of(text, top)
    base = snapshot.roots[0].path + "/"
    found = ImportResolver(snapshot).bindings(snapshot.files[base + file])
    return {name: f"{t.path.removeprefix(base)} {t.name}".strip() for name, t in found.items()}


CASES = {
    "python: absolute, aliased, third party": (
        """
-- app/__init__.py --
-- app/core.py --
def run(): ...
-- app/main.py --
import app.core as core
from app.core import run as go, stop
from app import core as c2
import requests
import os.path
""",
        "app/main.py",
        [
            "app.core → app/core.py",
            "app.core → app/core.py run, app/core.py stop",
            "app → app/core.py",
            "requests →",
            "os.path →",
        ],
        {"core": "app/core.py", "go": "app/core.py run", "stop": "app/core.py stop", "c2": "app/core.py"},
    ),
    "python: relative and star": (
        """
-- pkg/__init__.py --
-- pkg/a.py --
-- pkg/sub/__init__.py --
-- pkg/sub/b.py --
from . import c
from .. import a
from ..a import *
from ....x import y
-- pkg/sub/c.py --
""",
        "pkg/sub/b.py",
        [". → pkg/sub/c.py", ".. → pkg/a.py", "..a → pkg/a.py *", "....x →"],
        {"c": "pkg/sub/c.py", "a": "pkg/a.py"},
    ),
    "python: src layout, namespace package, module bound by its head": (
        """
-- src/shop/cart.py --
-- src/shop/__init__.py --
-- src/plain/deep/mod.py --
-- tests/test_cart.py --
import shop.cart
import plain.deep.mod
from plain.deep import mod
""",
        "tests/test_cart.py",
        [
            "shop.cart → src/shop/cart.py",
            "plain.deep.mod → src/plain/deep/mod.py",
            "plain.deep → src/plain/deep/mod.py",
        ],
        {"shop": "src/shop/__init__.py", "plain": "src/plain", "mod": "src/plain/deep/mod.py"},
    ),
    "script: relative, index, compiled names, third party": (
        """
-- src/main.ts --
import { a as b } from "./util.js";
import Deft, * as all from "./lib";
import type { T } from "./types";
export { c } from "./util";
import React from "react";
import style from "./style.css?inline";
-- src/util.ts --
-- src/lib/index.tsx --
-- src/types.d.ts --
""",
        "src/main.ts",
        [
            "./util.js → src/util.ts a",
            "./lib → src/lib/index.tsx default, src/lib/index.tsx *",
            "./types → src/types.d.ts T",
            "./util → src/util.ts c",
            "react →",
            "./style.css?inline →",
        ],
        {
            "b": "src/util.ts a",
            "Deft": "src/lib/index.tsx default",
            "all": "src/lib/index.tsx",
            "T": "src/types.d.ts T",
            "c": "src/util.ts c",
        },
    ),
    "script: tsconfig with comments, extends and paths; packages of the workspace": (
        """
-- tsconfig.base.json --
{ "compilerOptions": { "baseUrl": ".", // here
  "paths": { "@app/*": ["packages/app/src/*"], }, } }
-- packages/app/tsconfig.json --
{ "extends": "../../tsconfig.base.json" }
-- packages/app/src/main.ts --
import { a } from "@app/deep/a";
import { b } from "@acme/tools";
import { c } from "@acme/tools/extra";
import { d } from "packages/app/src/deep/a";
-- packages/app/src/deep/a.ts --
-- packages/tools/package.json --
{ "name": "@acme/tools", "exports": { ".": { "import": "./dist/index.js" }, "./extra": "./src/extra.ts" } }
-- packages/tools/src/index.ts --
-- packages/tools/src/extra.ts --
""",
        "packages/app/src/main.ts",
        [
            "@app/deep/a → packages/app/src/deep/a.ts a",
            "@acme/tools → packages/tools/src/index.ts b",
            "@acme/tools/extra → packages/tools/src/extra.ts c",
            "packages/app/src/deep/a → packages/app/src/deep/a.ts d",
        ],
        {},
    ),
    "script: folders as frameworks call them, declarations beside what is compiled": (
        """
-- web/src/routes/+page.svelte --
<script>
import { a } from "$lib/a.js";
import List from "$lib/List";
import b from "@/b";
import c from "~/c";
import d from "../d.js";
import e from "@scope/e";
</script>
-- web/src/lib/a.js --
-- web/src/lib/List/index.svelte --
-- web/src/b.vue --
-- web/app/c.ts --
-- web/src/d.d.ts --
-- e.js --
""",
        "web/src/routes/+page.svelte",
        [
            "$lib/a.js → web/src/lib/a.js a",
            "$lib/List → web/src/lib/List/index.svelte default",
            "@/b → web/src/b.vue default",
            "~/c → web/app/c.ts default",
            "../d.js → web/src/d.d.ts default",
            "@scope/e →",
        ],
        {},
    ),
    "go: modules, aliases, versions": (
        """
-- go.mod --
module example.com/shop/v2
-- cart/cart.go --
package cart
-- cart/cart_test.go --
package cart
-- main.go --
package main
import (
  "fmt"
  c "example.com/shop/v2/cart"
)
""",
        "main.go",
        ["fmt →", "example.com/shop/v2/cart → cart/cart.go"],
        {"c": "cart/cart.go"},
    ),
    "rust: crate, self, super, groups, modules, crates of the workspace": (
        """
-- Cargo.toml --
[package]
name = "shop"
-- src/lib.rs --
mod cart;
-- src/cart/mod.rs --
pub mod item;
use crate::cart::item::{Item, Price as P};
use self::item::Item as Again;
use super::cart;
use shop_tools::help;
use std::fmt;
-- src/cart/item.rs --
-- tools/Cargo.toml --
[package]
name = "shop-tools"
-- tools/src/lib.rs --
-- tools/src/help.rs --
""",
        "src/cart/mod.rs",
        [
            "self::item → src/cart/item.rs",
            "crate::cart::item → src/cart/item.rs Item, src/cart/item.rs Price",
            "self::item → src/cart/item.rs Item",
            "super → src/cart/mod.rs",
            "shop_tools → tools/src/help.rs",
            "std →",
        ],
        {"P": "src/cart/item.rs Price", "Again": "src/cart/item.rs Item"},
    ),
    "java and kotlin: classes and packages by the end of their path": (
        """
-- src/main/java/org/shop/Cart.java --
-- src/main/java/org/shop/Item.java --
-- src/main/kotlin/org/web/Main.kt --
import org.shop.Cart as Basket
import org.shop.*
import java.util.List
""",
        "src/main/kotlin/org/web/Main.kt",
        [
            "org.shop → src/main/java/org/shop/Cart.java Cart",
            "org.shop → src/main/java/org/shop/Cart.java *, src/main/java/org/shop/Item.java *",
            "java.util →",
        ],
        {"Basket": "src/main/java/org/shop/Cart.java Cart"},
    ),
    "c: a standard header is the system's, unless it is beside the file or among the headers": (
        """
-- src/main.c --
#include <math.h>
#include <assert.h>
#include "time.h"
#include <stdio.h>
#include <shop/money.h>
-- src/time.h --
-- inc/shop/money.h --
-- include/stdio.h --
-- deps/zlib/test/math.h --
-- deps/zlib/assert.h --
""",
        "src/main.c",
        [
            "math.h →",
            "assert.h →",
            "time.h → src/time.h *",
            "stdio.h → include/stdio.h *",
            "shop/money.h → inc/shop/money.h *",
        ],
        {},
    ),
    "haskell: a module is its whole path": (
        """
-- src/App/Main.hs --
import Citeproc
import App.Citeproc
import Distribution.Types
-- src/App/Citeproc.hs --
-- Cabal/Distribution/Types.hs --
""",
        "src/App/Main.hs",
        ["Citeproc →", "App.Citeproc → src/App/Citeproc.hs *", "Distribution.Types → Cabal/Distribution/Types.hs *"],
        {},
    ),
    "python: what Python brings is no folder, and no package elsewhere": (
        """
-- app/main.py --
import logging
import tempfile
import copy
import own
-- app/tempfile/data.txt --
-- app/copy.py --
-- app/own/a.txt --
-- other/logging/__init__.py --
""",
        "app/main.py",
        ["logging →", "tempfile →", "copy → app/copy.py", "own → app/own"],
        {},
    ),
    "ruby: what is required stands on the load path": (
        """
-- lib/shop/logger.rb --
-- lib/shop/cart.rb --
require "logger"
require "shop"
require "helper"
require_relative "logger"
load "tasks/shop.rb"
-- test/dummy/config/initializers/shop.rb --
-- gem/lib/shop.rb --
-- test/helper.rb --
-- tasks/shop.rb --
""",
        "lib/shop/cart.rb",
        [
            "logger →",
            "shop → gem/lib/shop.rb *",
            "helper → test/helper.rb *",
            "./logger → lib/shop/logger.rb *",
            "tasks/shop.rb → tasks/shop.rb *",
        ],
        {},
    ),
    "php by the namespaces of composer.json": (
        """
-- composer.json --
{ "autoload": { "psr-4": { "App\\\\": "app/", "App\\\\Deep\\\\": ["none/", "deep/"] } }, "autoload-dev": { "psr-4": { "Tests\\\\": "tests" } } }
-- tools/composer.json --
{ "autoload": { "psr-4": { "Tools\\\\": "" } } }
-- app/Models/User.php --
-- app/Util/functions.php --
-- deep/Down.php --
-- tests/UserTest.php --
-- tools/Hammer.php --
-- app/main.php --
<?php
use App\\Models\\User;
use App\\Deep\\Down as D;
use Tests\\UserTest;
use Tools\\Hammer;
use function App\\Util\\slug;
use Vendor\\Models\\User as Other;
""",
        "app/main.php",
        [
            "App\\Models → app/Models/User.php User",
            "App\\Deep → deep/Down.php Down",
            "Tests → tests/UserTest.php UserTest",
            "Tools → tools/Hammer.php Hammer",
            "App\\Util → app/Util/functions.php slug",
            "Vendor\\Models →",
        ],
        {"User": "app/Models/User.php User", "D": "deep/Down.php Down"},
    ),
    "rust: tests are crates of their own": (
        """
-- Cargo.toml --
[package]
name = "shop"
-- src/lib.rs --
mod util;
-- src/util.rs --
fn help() {}
-- tests/all.rs --
mod util;
-- tests/util.rs --
fn help() {}
-- tests/feature.rs --
use crate::util::help;
use crate::nowhere::at;
""",
        "tests/feature.rs",
        ["crate::util → tests/util.rs help", "crate::nowhere →"],
        {"help": "tests/util.rs help"},
    ),
    "dart: exports, prefixes, packages by their pubspec": (
        """
-- pkgs/cart/pubspec.yaml --
name: cart
-- pkgs/cart/lib/cart.dart --
export 'src/total.dart' show total;
export 'src/price.dart';
-- pkgs/cart/lib/src/total.dart --
int total() => 1;
-- pkgs/cart/lib/src/price.dart --
int price() => 1;
-- lib/test.dart --
int expect() => 1;
-- lib/main.dart --
import 'package:cart/cart.dart' as cart;
import 'package:cart/cart.dart' show price;
import 'package:test/test.dart';
""",
        "lib/main.dart",
        [
            "package:cart/cart.dart → pkgs/cart/lib/cart.dart *",
            "package:cart/cart.dart → pkgs/cart/lib/cart.dart price",
            "package:test/test.dart →",
        ],
        {"cart": "pkgs/cart/lib/cart.dart", "price": "pkgs/cart/lib/cart.dart price"},
    ),
    "lua": (
        '-- src/shop/cart.lua --\n-- src/main.lua --\nlocal c = require("shop.cart")\n',
        "src/main.lua",
        ["shop.cart → src/shop/cart.lua"],
        {},
    ),
    "elixir: all of a module, scripts of tests, modules of others": (
        """
-- test/cart_test.exs --
import Shop.Cart
import Shop.Cart, only: [total: 1]
alias Shop.DataCase
use Ecto.Changeset
use ExUnit.Case
import Config
-- config/config.exs --
-- lib/shop/cart.ex --
-- lib/shop/changeset.ex --
-- test/support/data_case.exs --
-- test/support/case.ex --
""",
        "test/cart_test.exs",
        [
            "Shop.Cart → lib/shop/cart.ex Cart",
            "Shop.Cart → lib/shop/cart.ex Cart",
            "Shop.DataCase → test/support/data_case.exs DataCase",
            "Ecto.Changeset →",
            "ExUnit.Case →",
            "Config →",
        ],
        {},
    ),
    "julia: files and packages": (
        """
-- test/runtests.jl --
using Shop, Test
using Shop: price
include("cart.jl")
-- test/cart.jl --
-- src/Shop.jl --
""",
        "test/runtests.jl",
        ["Shop → src/Shop.jl", "Test →", "Shop → src/Shop.jl price", "cart.jl → test/cart.jl *"],
        {},
    ),
    "php: what is included stands here": (
        "-- src/a.php --\n<?php\nrequire __DIR__ . '/functions.php';\n-- src/functions.php --\n-- functions.php --\n",
        "src/a.php",
        ["/functions.php → src/functions.php *"],
        {},
    ),
    "scss with partials": (
        "-- css/_base.scss --\n-- css/main.scss --\n@import 'base';\n",
        "css/main.scss",
        ["base → css/_base.scss"],
        {},
    ),
}


@pytest.mark.parametrize(("text", "file", "targets", "names"), CASES.values(), ids=CASES.keys())
def test_imports_are_resolved(text: str, file: str, targets: list[str], names: dict[str, str], tmp_path: Path) -> None:
    assert led(text, file, tmp_path) == [one.strip() for one in targets]
    found = bound(text, file, tmp_path)
    assert {name: found.get(name) for name in names} == names


HOSTILE = """
-- tsconfig.json --
{ "extends": "./other.json", "compilerOptions": { "baseUrl": "../../..", "paths": { "*": ["../../../etc/*", 5], "x": 7 } } }
-- other.json --
{ "extends": ["./tsconfig.json", 3] }
-- package.json --
{ "name": "../../etc", "exports": { ".": { "import": { "default": { "default": { "default": { "default": "x" } } } } } }, "imports": 5 }
-- Cargo.toml --
[package
name = 5
-- go.mod --
module ../../..
-- composer.json --
{ "autoload": { "psr-4": { "Etc\\\\": "../../etc", "A": 5, "B": [["c"]] } }, "autoload-dev": { "psr-4": [] } }
-- src/a.php --
<?php
use Etc\\passwd;
-- src/main.ts --
import a from "../../../../etc/passwd";
import b from "etc/passwd";
import c from "../../etc";
import d from "#inner";
import e from "/etc/passwd";
-- src/a.py --
from ......... import x
import etc.passwd
-- src/a.rs --
use super::super::super::super::etc::passwd;
-- src/a.go --
package a
import "../../../etc"
-- src/a.c --
#include "../../../../../../etc/passwd"
"""


@pytest.mark.parametrize("file", ["src/main.ts", "src/a.py", "src/a.rs", "src/a.go", "src/a.c", "src/a.php"])
def test_imports_never_leave_the_workspace(file: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("secret")
    for way in led(HOSTILE, file, tmp_path / "root"):
        assert way.endswith("→") or not way.split("→")[1].strip().startswith(("/", ".."))
    assert all(not t.startswith(("/", "..")) for t in bound(HOSTILE, file, tmp_path / "root").values())


def test_caches_survive_edits_but_not_configuration_changes(tmp_path: Path) -> None:
    text = '-- tsconfig.json --\n{ "compilerOptions": { "paths": { "@/*": ["one/*"] } } }\n-- one/a.ts --\n-- two/a.ts --\n-- main.ts --\nimport { a } from "@/a";\n'
    resolvers = ImportResolvers()
    before = snapshot_of(text, tmp_path)
    main = before.files[f"{before.roots[0].path}/main.ts"]
    assert resolvers.at(before).bindings(main)["a"].path.endswith("one/a.ts")
    edited = with_files(before, [(main.path, main)])
    assert resolvers.at(edited).bindings(main) is resolvers.at(before).bindings(main)
    after = snapshot_of(text.replace('"one/*"', '"two/*"'), tmp_path)
    assert resolvers.at(after).bindings(after.files[main.path])["a"].path.endswith("two/a.ts")
