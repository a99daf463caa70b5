"""Import statements as written → modules and names."""

from __future__ import annotations

import pytest

from promptls.index.syntax.imports import imports_of

TABLE = [
    ("python", "import a.b as c, d", "a.b=c; d"),
    ("python", "from . import (\n    a,  # why\n    b as c,\n)", ". a b=c"),
    ("python", "from ...x.y import *", "...x.y *"),
    ("python", "from a import \\\n  b", "a b"),
    ("javascript", "import a from 'x'", "x default=a"),
    ("javascript", 'import a, { b as c, default as d } from "./x.js";', "./x.js default=a b=c default=d"),
    ("javascript", "import * as a from 'x'", "x *=a"),
    ("javascript", "import 'x'", "x"),
    ("javascript", "export { a, b as c } from './x'", "./x a b=c"),
    ("javascript", "export * from './x'", "./x *"),
    ("javascript", "require('x')", "x"),
    ("javascript", "a = require('x')", "x *=a"),
    ("javascript", "{ a, b: c, d = 1 } = require('./x')", "./x a b=c d"),
    ("javascript", "a = require('x').b", "x b=a"),
    ("javascript", "a = require('x').a", "x a"),
    ("javascript", "a = await import('x')", "x *=a"),
    ("typescript", "a: A = require('x')", "x *=a"),
    ("javascript", "a = required('x')", ""),
    ("javascript", "import(`./x`)", "./x"),
    ("javascript", "describe('x')", ""),
    ("typescript", "import type { A, type B } from 'x'", "x A B"),
    ("typescript", "import type A from 'x'", "x default=A"),
    ("typescript", "import type, { A } from 'x'", "x A"),
    ("typescript", "import a = require('x')", "x *=a"),
    ("go", 'api "example.com/api"', "example.com/api=api"),
    ("go", "`fmt`", "fmt"),
    ("rust", "use a;", " a"),
    ("rust", "use a::b as c;", "a b=c"),
    (
        "rust",
        "pub(crate) use crate::a::{self, b::{c, d::*}, e as f};",
        "crate::a::b::d *; crate::a::b c; crate::a self e=f",
    ),
    ("rust", "use ::std::fmt;", "std fmt"),
    ("rust", "pub mod wheel;", "self::wheel"),
    ("rust", "extern crate libc as c;", "libc=c"),
    ("java", "import static java.lang.Math.*;", "java.lang.Math *"),
    ("java", "import a.B;", "a B"),
    ("kotlin", "import a.b.C as D", "a.b C=D"),
    ("scala", "import a.b.{C, D => E, _}", "a.b C D=E _"),
    ("scala", "import a.b._", "a.b *"),
    ("c", "#include <sys/types.h>", "sys/types.h"),
    ("c", '#include "a.h" /* x */', "a.h"),
    ("cpp", "using namespace std::chrono;", "std::chrono"),
    ("cpp", "using std::vector;", "std::vector"),
    ("csharp", "global using static System.Math;", "System.Math"),
    ("csharp", "using Json = System.Text.Json;", "System.Text.Json"),
    ("ruby", "require_relative '../a'", "../a"),
    ("ruby", "autoload :A, 'a'", ":A"),
    ("ruby", "requires 'a'", ""),
    ("ruby", "puts 'a'", ""),
    ("php", "use A\\B\\C as D, E;", "A\\B C=D; E"),
    ("php", "use A\\{B, C\\D};", "A B C D"),
    ("php", "use function a\\b;", "a b"),
    ("php", "require __DIR__ . '/a.php';", "/a.php"),
    ("swift", "@testable import struct A.B", "A.B"),
    ("lua", 'require("a.b")', "a.b"),
    ("lua", "print 'a'", ""),
    ("bash", "source ./a.sh", "./a.sh"),
    ("bash", '. "$DIR/a.sh"', "$DIR/a.sh"),
    ("bash", "./a.sh b", ""),
    ("bash", "sourced a", ""),
    ("elixir", "alias A.{B, C}", "A B C"),
    ("elixir", "import A.B, only: [c: 1]", "A.B"),
    ("elixir", "test A do", ""),
    ("haskell", "import qualified A.B as C (d, E (..), (+++))", "A.B d E"),
    ("haskell", "import A hiding (b)", "A"),
    ("ocaml", "open A.B", "A.B"),
    ("r", "library(dplyr)", "dplyr"),
    ("r", 'source("a.R")', "a.R"),
    ("r", "print(a)", ""),
    ("css", "@import url('a.css');", "a.css"),
    ("html", 'src="a.js"', "a.js"),
    ("html", '<link rel="x" href="a.css">', "a.css"),
    ("html", '<a href="b.html">', ""),
    ("dart", "import 'a.dart' show C, D;", "a.dart C D"),
    ("dart", "import 'a.dart' as b show C;", "a.dart *=b"),
    ("dart", "import 'a.dart' hide C;", "a.dart"),
    ("dart", "export 'a.dart' show C;", "a.dart C"),
    ("dart", "export 'a.dart';", "a.dart *"),
    ("dart", "part 'a.dart';", "a.dart"),
    ("zig", '@import("std")', "std"),
    ("julia", "using A, B", "A; B"),
    ("julia", "import A: b, c", "A b c"),
    ("julia", 'println("a")', ""),
    ("make", "include a.mk", "a.mk"),
    ("proto", 'import public "a.proto";', "a.proto"),
    ("elisp", "(require 'a)", "a"),
    ("vim", "source a.vim", "a.vim"),
    ("perl", "use A::B qw(c d);", "A::B c d"),
    ("perl", "use parent -norequire, 'A::B';", "A::B"),
    ("perl", "use strict;", ""),
    ("nix", "import <nixpkgs>", "nixpkgs"),
    ("nix", "import ./a.nix", "./a.nix"),
    ("text", "import a", ""),
]


def told(module: str, names: tuple[str, ...], called: tuple[str, ...]) -> str:
    """ "a.b c d=e": names with what the file calls them; "a.b=c" for a module"""
    if not names:
        return f"{module}={called[0]}" if called else module
    return " ".join([module, *(n if n == c else f"{n}={c}" for n, c in zip(names, called or names, strict=True))])


@pytest.mark.parametrize(("language", "statement", "expected"), TABLE, ids=[f"{row[0]}: {row[1]}" for row in TABLE])
def test_imports(language: str, statement: str, expected: str) -> None:
    assert "; ".join(told(*found) for found in imports_of(statement, language)) == expected
