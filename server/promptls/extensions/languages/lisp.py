"""Lisp dialects."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.extensions.languages import outlined

_COMMON_DEFINITIONS = {
    "def": "constant",
    "defvar": "variable",
    "defparameter": "variable",
    "defconstant": "constant",
    "defstruct": "struct",
    "defclass": "class",
    "deftype": "type",
    "define-condition": "class",
    "defpackage": "module",
    "deftest": "test",
    "define-test": "test",
}

COMMON_LISP = outlined(
    "commonlisp",
    "lisp lsp asd asdf",
    aliases=("lisp", "common-lisp"),
    shebangs=("sbcl", "clisp"),
    line_comments=(";",),
    block_comments=(("#|", "|#"),),
    definition_calls=_COMMON_DEFINITIONS
    | {"defmacro": "macro", "define-compiler-macro": "macro", "defsystem": "module"},
)

CLOJURE = outlined(
    "clojure",
    "clj cljs cljc edn",
    aliases=("clj", "clojurescript"),
    shared_extensions=(("bb", r"^(?:#!.*\bbb\b|\((?:ns|defn?-?|require)\b)"),),
    shebangs=("bb", "clojure"),
    line_comments=(";",),
    definition_calls={
        "ns": "module",
        "def": "constant",
        "defonce": "constant",
        "defn": "function",
        "defn-": "function",
        "defmulti": "function",
        "defmethod": "function",
        "defmacro": "macro",
        "defprotocol": "interface",
        "definterface": "interface",
        "defrecord": "struct",
        "deftype": "class",
        "deftest": "test",
        "s/def": "constant",
        "s/defn": "function",
    },
)

SCHEME = outlined(
    "scheme",
    "scm ss sld sps",
    shared_extensions=(("sls", r"^[ \t]*\((?:library|import|define)\b"),),
    shebangs=("guile", "chicken", "gosh", "scheme"),
    line_comments=(";",),
    block_comments=(("#|", "|#"),),
    definition_calls={
        "define": "function",
        "define*": "function",
        "define-public": "function",
        "define-method": "function",
        "define-macro": "macro",
        "define-syntax": "macro",
        "define-syntax-rule": "macro",
        "define-record-type": "struct",
        "define-class": "class",
        "define-module": "module",
        "define-library": "module",
    },
)

RACKET = replace(
    SCHEME,
    name="racket",
    aliases=("rkt",),
    extensions=("rkt", "rktl", "rktd", "scrbl"),
    shared_extensions=(),
    shebangs=("racket",),
    pack_grammar="racket",
    definition_calls={
        **SCHEME.definition_calls,
        "define/public": "function",
        "define/private": "function",
        "define/override": "function",
        "define/contract": "function",
        "define-values": "constant",
        "define-struct": "struct",
        "define-type": "type",
        "struct": "struct",
        "module": "module",
        "module+": "module",
    },
)

FENNEL = outlined("fennel", "fnl", shebangs=("fennel",), line_comments=(";",), definition_calls={"macro": "macro"})
