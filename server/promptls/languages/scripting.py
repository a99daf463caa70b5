"""Shell, Lua, R, Vim script and Emacs Lisp."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.languages.import_statements import ParsedImport, call_parser
from promptls.languages.kinds import TYPE_KINDS
from promptls.languages.language import Imports, Language, Manifest, PathImports
from promptls.languages.visibility import NO_UNDERSCORE


def _parse_elisp(text: str) -> Iterator[ParsedImport]:
    if match := re.match(r"\((?:require|load)\s+['\"]([^\s'\")]+)", text):
        yield ParsedImport(match.group(1))


BASH = Language(
    name="bash",
    aliases=("shell", "sh", "zsh", "shellscript"),
    extensions=("sh", "bash", "zsh", "ksh", "ebuild", "bats"),
    file_names=(".bashrc", ".bash_profile", ".profile", ".zshrc", "pkgbuild"),
    shebangs=("sh", "bash", "zsh", "ksh", "dash"),
    pack_grammar="bash",
    query_files=("bash",),
    line_comments=("#",),
    visibility=NO_UNDERSCORE,
    member_operators=(),
    imports=Imports(call_parser("source", "."), PathImports(("", ".sh"))),
    names_without_import=True,
)

LUA = Language(
    name="lua",
    extensions=("lua",),
    shebangs=("lua", "luajit"),
    pack_grammar="lua",  # the scanner of the legacy grammar keeps state from file to file
    query_files=("lua",),
    line_comments=("--",),
    block_comments=(("--[[", "]]"),),
    documentation="luals",
    name_separators=(".", ":"),
    method_owner_kinds=TYPE_KINDS | {"variable"},
    visibility=NO_UNDERSCORE,
    member_operators=(".", "::", ":"),
    external_receivers=frozenset("coroutine debug io math os package string table utf8".split()),
    imports=Imports(call_parser("require", "dofile"), "lua"),
    names_without_import=True,
    owner_required="members",
    functions_as_members=True,
)

R = Language(
    name="r",
    extensions=("r",),
    file_names=(".rprofile",),
    family="r",
    shebangs=("rscript",),
    pack_grammar="r",
    query_files=("r",),
    line_comments=("#",),
    definition_calls={
        **dict.fromkeys("describe it test_that".split(), "test"),
        "setClass": "class",
        "setRefClass": "class",
        "R6Class": "class",
        "setGeneric": "function",
        "setMethod": "method",
    },
    member_calls={"R6Class": "method", "setRefClass": "method"},
    visibility=NO_UNDERSCORE,
    external_receivers=frozenset("base grDevices graphics methods stats utils".split()),
    imports=Imports(call_parser("library", "require", "requireNamespace", "source"), PathImports(("", ".R", ".r"))),
    implicit_scope=Manifest("DESCRIPTION"),
    names_without_import=True,
    owner_required="members",
    functions_as_members=True,
)

VIM = Language(
    name="vim",
    aliases=("viml", "vimscript"),
    extensions=("vim",),
    file_names=(".vimrc", "vimrc"),
    pack_grammar="vim",
    query_files=("vim",),
    line_comments=('"',),
    member_operators=(),
    imports=Imports(call_parser("source", "runtime", "import"), PathImports(("", ".vim"), anywhere=True)),
    names_without_import=True,
)

ELISP = Language(
    name="elisp",
    aliases=("emacs-lisp",),
    extensions=("el",),
    file_names=(".emacs",),
    shebangs=("emacs",),
    pack_grammar="elisp",
    query_files=("elisp",),
    line_comments=(";",),
    definition_calls={
        "defcustom": "variable",
        "defgroup": "variable",
        "defface": "variable",
        "defalias": "function",
        "define-minor-mode": "function",
        "define-derived-mode": "function",
        "cl-defun": "function",
        "cl-defmethod": "function",
        "cl-defgeneric": "function",
        "cl-defmacro": "macro",
        "cl-defstruct": "struct",
        "defclass": "class",
    },
    imports=Imports(_parse_elisp, PathImports((".el", ""), anywhere=True)),
    names_without_import=True,
)
