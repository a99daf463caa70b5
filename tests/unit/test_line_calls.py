"""Definitions and calls that patterns of a language find in its lines, without a grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import context_for
from promptls.index.syntax.parse import parse_source
from promptls.languages import LANGUAGES, analyses_calls, language_of
from promptls.mentions.resolve import resolve_mentions


def cobol(*lines: str) -> str:
    """Return lines in fixed format, with sequence numbers and the identification area."""
    return "".join(f"{number:06d}{line:<66}CARTV001\n" for number, line in enumerate(lines, 1))


EXTENTS = {
    "a.cbl": (
        cobol(
            " IDENTIFICATION DIVISION.",
            " PROGRAM-ID. CART.",
            " DATA DIVISION.",
            " WORKING-STORAGE SECTION.",
            " 01  TOTAL-REC.",
            "     05  TOTAL PIC 9(4).",
            " COPY ITEMS.",
            "*OLD-PARAGRAPH.",
            " PROCEDURE DIVISION.",
            " MAIN-PARA.",
            "     PERFORM ADD-ITEM.",
            " ADD-ITEM.",
            "     EXIT.",
        ),
        "module CART 2-13, section DATA DIVISION 3-8, section WORKING-STORAGE 4-8, struct TOTAL-REC 5-6,"
        " section PROCEDURE DIVISION 9-13, function MAIN-PARA 10-11, function ADD-ITEM 12-13",
    ),
    "a.asm": (
        "start:\n  call pay\n.again:\n  ret\n\nglobal pay\npay:\n  ret\n\nsection .data\nmsg: db 1\n"
        "%macro SAVE 0\n  push rax\n%endmacro\n",
        "function start 1-4, function pay 7-8, function msg 11-11, macro SAVE 12-14",
    ),
    "b.asm": ("Pay PROC\n  ret\nPay ENDP\nKEEP MACRO a\n  push a\nENDM\n", "function Pay 1-3, macro KEEP 4-6"),
    "a.sas": (
        "%macro outer;\n %macro inner;\n %mend inner;\n%mend;\n%macro one(x); %put &x; %mend;\nproc sql;\n",
        "macro outer 1-4, macro inner 2-3, macro one 5-5",
    ),
    "a.ado": (
        "program define pay\n  version 17\nend\nprog tax\nend\nprogram drop old\n",
        "function pay 1-3, function tax 4-5",
    ),
    "a.abap": (
        "CLASS c DEFINITION.\n  METHODS pay\n    IMPORTING i TYPE i.\nENDCLASS.\nCLASS c IMPLEMENTATION.\n"
        "  METHOD pay.\n  ENDMETHOD.\nENDCLASS.\nFORM tax.\nENDFORM.\n",
        "class c 1-4, impl  5-8, method pay 6-7, function tax 9-10",
    ),
    "a.pas": (
        "unit U;\ninterface\ntype\n  TCart = class\n    function Total: Integer;\n    procedure Stop; virtual; abstract;\n"
        "  end;\nprocedure Pay;\nimplementation\nfunction TCart.Total: Integer;\nbegin\nend;\nprocedure Pay;\nbegin\nend;\nend.\n",
        "module U 1-16, class TCart 4-7, method Stop 6-6, method Total 10-12, function Pay 13-15",
    ),
    "a.vhd": (
        "package p is\n  function f(a : bit) return bit;\nend;\npackage body p is\n  function f(a : bit) return bit is\n"
        "  begin\n    return a;\n  end function;\nend;\n",
        "namespace p 1-3, namespace p 4-9, function f 5-8",
    ),
    "a.fs": (
        "module M\nlet private scale x = x\nlet inline internal twice x = x\ntype G<'a>(n: int) =\n"
        "    static member Create(p) = G(p)\n",
        "module M 1-5, function scale 2-2, function twice 3-3, class G 4-5, method Create 5-5",
    ),
    "a.hlsl": (
        "cbuffer Water : register(b0)\n{\n  float foam;\n};\nfloat f() { return foam; }\n",
        "struct Water 1-4, function f 5-5",
    ),
}


@pytest.mark.parametrize("path", EXTENTS)
def test_definition_reaches_its_last_line(path: str) -> None:
    text, expected = EXTENTS[path]
    symbols = parse_source(text, language_of(path, text)).outline.symbols
    assert ", ".join(f"{s.kind} {s.name} {s.span.start + 1}-{s.span.end}" for s in symbols) == expected


CALLS = {
    "COBOL": ("cbl", "       PROGRAM-ID. A.\n       P1.\n           PERFORM P2 THRU P3.\n       P2.\n       P3.\n", "P2", "P1"),
    "Solidity": (
        "sol",
        "contract A { event E(); error F(); modifier m() { _; }\n function a() m { emit E(); revert F(); } }\n",
        "E F m",
        "a",
    ),
    "CUDA": ("cu", "__global__ void k(int* a) {}\nvoid run(C* c) {\n  k<<<c->n, 3>>>(p);\n}\n", "k", "run"),
    "CUDA template": ("cu", "template <int N> __global__ void k() {}\nvoid run() {\n  k<4><<<1,\n 2>>>();\n}\n", "k", "run"),
    "VHDL": (
        "vhd",
        "entity e is\nend;\narchitecture rtl of t is\n  procedure go is\n  begin\n  end;\nbegin\n  GO;\n  u: entity work.e;\nend;\n",
        "go e",
        "rtl",
    ),
    "WGSL": ("wgsl", "fn f(a: f32) -> f32 {\n  return a;\n}\nfn g() {\n  let x = f(1.0);\n}\n", "f", "g"),
    "assembly": ("s", "main:\n    bl setup\n    cbz x0, fail\nsetup:\n    ret\nfail:\n    ret\n", "setup fail", "main"),
    "Apex": ("apex", "public class A {\n  void run() { fix(1); }\n  void fix(Integer a) {}\n}\n", "fix", "A.run"),
    "Groovy": ("groovy", "def pay(a) {\n  tax a\n  send(a)\n}\ndef tax(a) {\n}\ndef send(a) {\n}\n", "tax send", "pay"),
    "VBA": ("bas", "Sub Pay()\n  TAX 3\n  Call Send\nEnd Sub\nSub Tax(n)\nEnd Sub\nSub Send()\nEnd Sub\n", "Tax Send", "Pay"),
    "CMake": ("cmake", "function(pay)\n  TAX(a)\nendfunction()\nmacro(tax a)\nendmacro()\n", "tax", "pay"),
    "F#": ("fs", "module M\nlet private tax x = x\nlet pay x =\n    x |> tax\n", "tax", "M.pay"),
    "ABAP": ("abap", "FORM pay.\n  PERFORM Tax.\n  CALL FUNCTION 'SEND'.\nENDFORM.\nFORM tax.\nENDFORM.\nFUNCTION send.\nENDFUNCTION.\n", "tax send", "pay"),
    "SAS": ("sas", "%macro pay;\n  %TAX(3)\n%mend;\n%macro tax(a);\n%mend;\n", "tax", "pay"),
    "Stata": ("ado", "program pay\n  quietly tax x\nend\nprogram tax\nend\n", "tax", "pay"),
    "Pascal": ("pas", "unit U;\ninterface\nimplementation\nprocedure Tax;\nbegin\nend;\nprocedure Pay;\nbegin\n  tax;\nend;\nend.\n", "Tax", "U.Pay"),
}  # fmt: skip


@pytest.mark.parametrize("language", CALLS)
def test_callers_are_found(language: str, tmp_path: Path) -> None:
    extension, text, names, caller = CALLS[language]
    context = context_for(f"-- a.{extension} --\n{text}", tmp_path)
    for name in names.split():
        (outcome,) = resolve_mentions(f"@callers:{name}", context)
        assert outcome.status == "included", (name, outcome.reason)
        assert f".{outcome.targets[0].symbol}".endswith(f".{caller}"), name
        assert "caller" in outcome.reason


COMMENTED = {
    "abap": 'FORM a.\n  b = 1. " tax( )\n* tax( )\nENDFORM.\n',
    "wgsl": "fn a() {\n  b(); // tax()\n  /* tax() */\n}\n",
    "sas": "%macro a;\n  * %tax;\n%mend;\n",
    "vb": "Sub A()\n  b = 1 ' tax(1)\nEnd Sub\n",
    "cobol": "      * PERFORM TAX\n",
}


@pytest.mark.parametrize("language", COMMENTED)
def test_comments_contain_no_calls(language: str) -> None:
    outline = parse_source(COMMENTED[language], language).outline
    assert "tax" not in {name.lower() for name in outline.ref_names}


TOP_LEVEL = {
    "Python": "-- a.py --\ndef pay():\n    pass\n\n\npay()\n",
    "CMake": "-- CMakeLists.txt --\ninclude(pay.cmake)\npay(a)\n-- pay.cmake --\nfunction(pay x)\nendfunction()\n",
    "SAS": "-- a.sas --\n%macro pay;\n%mend;\n%pay\n",
    "Starlark": "-- pay.bzl --\ndef pay(name):\n    pass\n-- BUILD --\nload('pay.bzl', 'pay')\npay(\n    1,\n)\n",
}


@pytest.mark.parametrize("language", TOP_LEVEL)
def test_calls_at_the_top_level_of_a_file_are_callers(language: str, tmp_path: Path) -> None:
    (outcome,) = resolve_mentions("@callers:pay", context_for(TOP_LEVEL[language], tmp_path))
    assert outcome.status == "included"
    assert outcome.reason == "1 caller (syntactic analysis)."


UNKNOWN_CALLS = {
    "gotemplate": '-- a.tpl --\n{{ define "pay" }}\n{{ end }}\n',
    "lean": "-- a.lean --\ndef pay (x : Nat) := x\n",
}


@pytest.mark.parametrize("language", UNKNOWN_CALLS)
@pytest.mark.parametrize("kind", ["callers", "callees"])
def test_answer_does_not_deny_calls_that_are_not_analysed(language: str, kind: str, tmp_path: Path) -> None:
    (outcome,) = resolve_mentions(f"@{kind}:pay", context_for(UNKNOWN_CALLS[language], tmp_path))
    assert outcome.reason == f"{kind.capitalize()} of pay are unknown, because calls in {language} are not analysed."
    assert not analyses_calls(language)


@pytest.mark.parametrize("language", ["python", "cobol", "wgsl", "vhdl", "cmake", "abap", "sas", "stata", "apex", "vb"])
def test_calls_are_analysed(language: str) -> None:
    assert language in LANGUAGES
    assert analyses_calls(language)
