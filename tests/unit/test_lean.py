"""The protocol's classes are made without what nobody calls, and attrs is as it was."""

from __future__ import annotations

import attrs
from lsprotocol import converters, types

import promptls.server  # noqa: F401  (brings the lean classes, if it is the first)
from promptls.server.lean import import_lsprotocol


def test_messages_are_read_and_written_as_ever() -> None:
    converter = converters.get_converter()
    written = {"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": [{"text": "x"}]}
    read = converter.structure(written, types.DidChangeTextDocumentParams)
    assert read.text_document.version == 2 and converter.unstructure(read) == written


def test_places_are_compared_by_what_they_say() -> None:
    assert types.Position(1, 2) == types.Position(1, 2) < types.Position(2, 0)
    assert types.Range(types.Position(0, 1), types.Position(0, 2)) == types.Range(
        types.Position(0, 1), types.Position(0, 2)
    )


def test_classes_made_later_are_whole() -> None:
    import_lsprotocol()

    @attrs.define
    class Made:
        size: int

    assert Made(1) == Made(1) and repr(Made(1)).endswith("Made(size=1)")
