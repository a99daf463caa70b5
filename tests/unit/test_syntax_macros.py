"""Definitions of C and C++ among macros and preprocessor conditionals: names, kinds and lines."""

from __future__ import annotations

import pytest

from promptls.index.syntax.c_masks import mask_preprocessor
from promptls.index.syntax.parse import parse_source


def symbols(text: str, language: str) -> list[str]:
    """Return each symbol as "kind qualified-name lines"."""
    outline = parse_source(text, language).outline
    assert not outline.problem
    return [f"{symbol.kind} {symbol.qualified} {symbol.span.label}" for symbol in outline.symbols]


HEADS = [
    ("class LIB_API Boat : public Ship\n{\n};", ["class Boat 1-3"]),
    ('class LIB_VISIBLE("default") Boat final {};', ["class Boat 1"]),
    ("enum class LIB_API Tide : int { Low LABEL(Text = \"low\"), High };", ["enum Tide 1"]),
    ("template <typename T>\nclass LIB_API Row {\n  void f() {}\n};", ["class Row 1-4", "method Row.f 3"]),
    ("LIB_API template <class T> LIB_INLINE auto get(T t) -> int { return 1; }", ["function get 1"]),
    ("class A {\n  Q_OBJECT\n  A_LABEL:\n  LIB_CONST A(int x) : x_(x) {}\n Q_SIGNALS:\n  int g() const {}\n};",
     ["class A 1-7", "constructor A.A 4", "method A.g 6"]),
    ("class A {\n  GENERATED(x)\n public:\n  PROP(Edit, Name = \"b\")\n  float b;\n  FUNC(Call)\n  int g() {}\n};",
     ["class A 1-8", "method A.g 7"]),
    ("LIB_INLINE A::A(int n) noexcept(false) : n_(n) {}\nLIB_INLINE A::~A() {}\nint f() {}",
     ["constructor A.A 1", "method A.~A 2", "function f 3"]),
    ("struct A {\n  LIB_NO A& operator=(A o) LIB_NOEXCEPT { return o; }\n  LIB_NO operator int() { return 1; }\n  int k() GUARDED(m) {}\n};",
     ["struct A 1-5", "method A.operator= 2", "method A.operator int 3", "method A.k 4"]),
    ("void f() {\n  LIB_TRY {\n    g();\n  } LIB_CATCH (...) { }\n}\nint h() {}", ["function f 1-5", "function h 6"]),
    ("class A {\n  template < typename V, typename std::enable_if <\n"
     "    d::all < d::no<std::is_same<V, std::any>>, d::no<std::is_same<V, S>>, d::lazy<d::get, const A&, V>\n"
     "    >::value, int >::type = 0 >\n  LIB_OLD operator V() const { return get<V>(); }\n  T& f()\n  {\n"
     "    if (!g()) { LIB_THROW(e::make(302, d::concat(\"is \", name()), this)); }\n    return *h<T*>();\n  }\n};",
     ["class A 1-11", "method A.operator V 2-5", "method A.f 6-10"]),
    ("double operator\"\"_km(long double x) { return x; }", ['function operator""_km 1']),
]  # fmt: skip
"""C++ text → symbols."""

C_HEADS = [
    ("FAST word_t f(word_t n)\n{\n}", ["function f 1-3"]),
    ("FAST\nstruct tank *f(struct tank *t) { }", ["function f 2"]),
    ("word_t CALL_CONV f(word_t n) { }\nint g() { }", ["function f 1", "function g 2"]),
    ("word_t f(word_t n) NONNULL(1) printf_like(1, 2) { }", ["function f 1"]),
    ("static int __init f(void) { }\nstatic noinline word_t g(void) { }", ["function f 1", "function g 2"]),
    ("struct foo __user *f(void) { }\nint MAIN(void) { }", ["function f 1", "function MAIN 2"]),
    ("__attribute__((noinline)) static int f(int a) { }\nstatic __attribute__((cold)) void g() { }",
     ["function f 1", "function g 2"]),
    ("SYSCALL_DEFINE2(read, int, fd) { }\nPHP_FUNCTION(drain)\n{\n}\nZEND_METHOD(Zone, drain) { }",
     ["function read 1", "function drain 2-4", "method Zone.drain 5"]),
    ("#define SYM(x) zone_##x\nstatic void SYM(open)(int m) { }\nstatic void SYM(close)(int m) { }",
     ["macro SYM 1", "function open 2", "function close 3"]),
    ("MODULE_LICENSE(\"GPL\");\nEXPORT_SYMBOL(f);\nint g() { }", ["function g 3"]),
]  # fmt: skip
"""C text → symbols."""

TESTS = [
    ("TEST(Zone, Reads) {\n}\nTEST_F(Zone, Fills) { }\nTYPED_TEST(Zone, Grows) { }",
     ["test Zone.Reads 1-2", "test Zone.Fills 3", "test Zone.Grows 4"]),
    ('TEST_CASE("is empty", "[zone]") { }\nTEST_CASE_METHOD(Fix, "is full") { }\nSCENARIO("shared") { }',
     ["test is empty 1", "test Fix.is full 2", "test shared 3"]),
    ('TEST_CASE_TEMPLATE("grows", T, int, char) { }\nTEST_SUITE("math") {\nTEST_CASE("adds" * skip()) { }\n}',
     ["test grows 1", "namespace math 2-4", "test math.adds 3"]),
    ("BENCHMARK_F(Fix, Fill)(benchmark::State& s) { }\nTest(suite, name) { }", ["test Fix.Fill 1", "test suite.name 2"]),
    ("TEST_CLASS(Zones) {\n  TEST_METHOD(Fills) { }\n};", ["class Zones 1-3", "test Zones.Fills 2"]),
]  # fmt: skip
"""C++ text of several test frameworks → symbols."""

CONDITIONALS = [
    ("int f() {\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\nint g() { }", ["function f 1-8", "function g 9"]),
    ("#ifdef A\nint f(long n) {\n#else\nint f(int n) {\n#endif\n  return n;\n}\nint g() { }", ["function f 2-7", "function g 8"]),
    ("#ifdef A\nint f() { }\n#else\nint g() { }\n#endif", ["function f 2", "function g 4"]),
    ("int f() {\n  if (x) { }\n#ifdef A\n  else { }\n#endif\n}\nint g() { }", ["function f 1-6", "function g 7"]),
    ("#if A\nstatic int\n#else\nint\n#endif\nf(void) { }", ["function f 2-6"]),
    ("int f(int a,\n#if A\n  int b)\n#else\n  long b)\n#endif\n{\n}\nint g() { }", ["function f 1-8", "function g 9"]),
    ("#if A\nint e() { }\nint f(int a) {\n#else\nint d() { }\nint f(long a) {\n#endif\n}", ["function e 2", "function f 3-8", "function f.d 5"]),
    ("#if 0\nit doesn't {\n#endif\nint f() { }", ["function f 4"]),
    ('#ifdef __cplusplus\nextern "C" {\n#endif\nint f() { }\n#ifdef __cplusplus\n}\n#endif\nint g() { }', ["function f 4", "function g 8"]),
    ("#ifndef A_H\n#define A_H\nstatic const int size = 3;\nint f() {\n#if A\n  if (x) {\n#else\n  {\n#endif\n  }\n}\nint g() { }\n#endif",
     ["variable size 3", "function f 4-11", "function g 12"]),
    ("#define M(x) do { \\\n  a(x); /* first */ \\\n  } while (0)\nint f() { }", ["macro M 1-3", "function f 4"]),
]  # fmt: skip
"""C text → symbols."""


@pytest.mark.parametrize(("text", "expected"), HEADS)
def test_macros_in_a_head_are_not_names(text: str, expected: list[str]) -> None:
    assert symbols(text, "cpp") == expected


@pytest.mark.parametrize(("text", "expected"), C_HEADS)
def test_definitions_of_c_among_macros(text: str, expected: list[str]) -> None:
    assert symbols(text, "c") == expected


@pytest.mark.parametrize(("text", "expected"), TESTS)
def test_tests_made_by_macros_have_their_names(text: str, expected: list[str]) -> None:
    assert symbols(text, "cpp") == expected


@pytest.mark.parametrize(("text", "expected"), CONDITIONALS)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_definitions_around_conditionals(text: str, expected: list[str], language: str) -> None:
    assert symbols(text, language) == expected


def test_bases_of_an_exported_class_are_references() -> None:
    outline = parse_source("class LIB_API Boat : public Ship {};\n", "cpp").outline
    assert [reference.name for reference in outline.references()] == ["Ship"]


def test_fixture_of_a_test_is_a_reference() -> None:
    outline = parse_source("TEST_F(ZoneFixture, Fills) { }\n", "cpp").outline
    assert "ZoneFixture" in [reference.name for reference in outline.references()]


@pytest.mark.parametrize("text", [text for table in (HEADS, C_HEADS, TESTS, CONDITIONALS) for text, _ in table])
def test_mask_keeps_offsets_and_lines(text: str) -> None:
    data = text.encode()
    masked = mask_preprocessor(data, is_c=False).code
    assert len(masked) == len(data)
    assert [i for i, byte in enumerate(masked) if byte == 10] == [i for i, byte in enumerate(data) if byte == 10]
