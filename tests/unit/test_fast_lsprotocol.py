"""The protocol's classes are made without what nobody calls, and attrs is as it was; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

LEAN = """
import attrs
import promptls.lsp
from lsprotocol import converters, types

assert "__eq__" not in vars(types.TextDocumentIdentifier) and "__repr__" not in vars(types.TextDocumentIdentifier)
assert types.Position(1, 2) == types.Position(1, 2) < types.Position(2, 0)
converter = converters.get_converter()
written = {"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": [{"text": "x"}]}
read = converter.structure(written, types.DidChangeTextDocumentParams)
assert read.text_document.version == 2 and converter.unstructure(read) == written

@attrs.define
class Made:
    size: int

assert Made(1) == Made(1) and repr(Made(1)) == "Made(size=1)"
"""
OTHER_ATTRS = """
import attrs

define = attrs.define
def picky(cls=None, **options):
    if "getstate_setstate" in options:
        raise TypeError("getstate_setstate")
    return define(cls, **options)
attrs.define = picky
import promptls.lsp
from lsprotocol import types

assert attrs.define is picky and types.TextDocumentIdentifier("a") == types.TextDocumentIdentifier("a")
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_messages_are_read_and_written_and_places_compared_as_ever() -> None:
    run(LEAN)


def test_with_another_attrs_the_classes_are_whole() -> None:
    run(OTHER_ATTRS)
