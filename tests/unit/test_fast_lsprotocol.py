"""Fast import of lsprotocol: its classes work as before, and attrs is restored. Each test runs in its own process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

FAST_IMPORT = """
import attrs
import promptls.lsp
from lsprotocol import converters, types

assert "__eq__" not in vars(types.TextDocumentIdentifier) and "__repr__" not in vars(types.TextDocumentIdentifier)
assert types.Position(1, 2) == types.Position(1, 2) < types.Position(2, 0)
converter = converters.get_converter()
message = {"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": [{"text": "x"}]}
params = converter.structure(message, types.DidChangeTextDocumentParams)
assert params.text_document.version == 2 and converter.unstructure(params) == message

@attrs.define
class Sized:
    size: int

assert Sized(1) == Sized(1) and repr(Sized(1)) == "Sized(size=1)"
"""


def test_fast_import_keeps_conversion_and_position_comparison() -> None:
    process = subprocess.run([sys.executable, "-c", FAST_IMPORT], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
