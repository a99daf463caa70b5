"""Messages that are not exact: whatever one field of a real message holds, the server answers and works."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pygls.protocol import default_converter

from promptls.lsp.transport.conform import InvalidMessage, conform

Place = tuple[Any, ...]
"""Keys and indices that lead to a value in a message."""

URI = "file:///w/a.py"
_RANGE = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}
_CELL = {"kind": 2, "document": "cell:1", "executionSummary": {"executionOrder": 1, "success": True}}
_TEXT = {"uri": URI, "languageId": "python", "version": 1, "text": "x = 1\n"}
MESSAGES: list[tuple[str, Any]] = [
    (lsp.TEXT_DOCUMENT_DID_OPEN, {"textDocument": _TEXT}),
    (
        lsp.TEXT_DOCUMENT_DID_CHANGE,
        {
            "textDocument": {"uri": URI, "version": 2},
            "contentChanges": [{"range": _RANGE, "rangeLength": 3, "text": "y"}, {"text": "z"}],
        },
    ),
    (lsp.TEXT_DOCUMENT_DID_SAVE, {"textDocument": {"uri": URI}, "text": "x"}),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, {"changes": [{"uri": URI, "type": 1}, {"uri": URI, "type": 3}]}),
    (
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
        {"event": {"added": [{"uri": "file:///w", "name": "w"}], "removed": []}},
    ),
    (
        lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
        {
            "notebookDocument": {"uri": URI, "notebookType": "jupyter-notebook", "version": 1, "cells": [_CELL]},
            "cellTextDocuments": [{**_TEXT, "uri": "cell:1"}],
        },
    ),
    (lsp.WORKSPACE_EXECUTE_COMMAND, {"command": "promptls.status", "arguments": [{}]}),
]
VALUES = st.sampled_from(
    (None, True, 0, -1, 1 << 40, 1.5, 2.0, "", "?", "7", "http://[x", "/w", [], {}, [None], ["?"], [{}], {"?": None})
)
_CONVERTER = default_converter()


def places(value: Any, start: Place = ()) -> Iterator[Place]:
    """Yield the places of all values in a message."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*start, key)
        yield from places(inner, (*start, key))


def replaced(value: Any, place: Place, new: Any) -> Any:
    """Return a message with another value in one place; `...` removes the value."""
    changed = copy.deepcopy(value)
    target = changed
    for key in place[:-1]:
        target = target[key]
    if new is ...:
        del target[place[-1]]
    else:
        target[place[-1]] = new
    return changed


@st.composite
def mutated(draw: st.DrawFn, messages: list[Any]) -> Any:
    """Return one of the messages with a changed or missing value in up to three places."""
    message = draw(st.sampled_from(messages))
    for _ in range(draw(st.integers(1, 3))):
        if found := list(places(message)):
            message = replaced(message, draw(st.sampled_from(found)), draw(VALUES | st.just(...)))
    return message


@given(st.sampled_from(MESSAGES).flatmap(lambda message: st.tuples(st.just(message[0]), mutated([message[1]]))))
def test_conformed_params_are_valid_and_stay_the_same(message: tuple[str, Any]) -> None:
    method, inexact = message
    kind = lsp.METHOD_TO_TYPES[method][2]
    try:
        params, _ = conform(inexact, kind)
    except InvalidMessage as error:
        assert str(error)
        return
    _CONVERTER.structure(params, kind)
    assert conform(params, kind) == (params, [])


CHANGE = {"textDocument": {"uri": URI, "version": 1}, "contentChanges": [{"range": _RANGE, "text": "y"}]}
_CHANGES = ("contentChanges", 0)


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("textDocument", "version"), ..., 0),
        (("textDocument", "version"), None, 0),
        (("textDocument", "version"), "7", 7),
        (("textDocument", "version"), 7.0, 7),
        (("textDocument", "version"), 1 << 40, 2**31 - 1),
        ((*_CHANGES, "range", "start", "line"), -1, 0),
        ((*_CHANGES, "range"), None, None),
        ((*_CHANGES, "range"), ..., ...),
    ],
)
def test_nearest_valid_change(place: Place, value: Any, expected: Any) -> None:
    params, _ = conform(replaced(CHANGE, place, value), lsp.DidChangeTextDocumentParams)
    wanted = replaced(CHANGE, place, expected)
    if place == (*_CHANGES, "range"):
        wanted = replaced(CHANGE, place, ...)
    assert params == wanted


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("textDocument", "uri"), None, "textDocument.uri"),
        (("textDocument",), ..., "textDocument"),
        ((*_CHANGES, "text"), None, "contentChanges[0]"),
        ((*_CHANGES, "range", "end"), ..., "contentChanges[0]"),
        (("contentChanges",), "x", "contentChanges"),
    ],
)
def test_change_without_a_valid_reading_is_rejected(place: Place, value: Any, named: str) -> None:
    """A change with an unreadable range must not replace the whole text."""
    with pytest.raises(InvalidMessage) as error:
        conform(replaced(CHANGE, place, value), lsp.DidChangeTextDocumentParams)
    assert named in str(error.value)
