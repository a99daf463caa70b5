"""Emacs Lisp."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

ELISP = Language(
    name="elisp",
    aliases=("emacs-lisp",),
    extensions=("el",),
    file_names=(".emacs",),
    shebangs=("emacs",),
    pack_grammar="elisp",
    legacy_grammar="elisp",
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
    import_syntax="elisp",
    import_resolution=PathImports((".el", ""), anywhere=True),
    names_without_import=True,
)
