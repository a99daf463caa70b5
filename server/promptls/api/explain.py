"""Handle `promptls/explain`: a file or symbol with its callers, callees, types, tests and documents."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.api.graph import encode_node
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_location
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import redact_result
from promptls.engine import Engine
from promptls.graph.explain import Explanation, RelatedNode, explain_position, explain_symbol, render_explanation
from promptls.index import Snapshot
from promptls.model import CancelToken, Span
from promptls.util.text.line_index import LineIndex

_RELATIONS = ("callers", "callees", "supertypes", "subtypes", "users", "tests", "imports", "importers", "documents")


def explain(engine: Engine, params: protocol.ExplainParams, token: CancelToken) -> Json:
    """Handle `promptls/explain`."""
    snapshot = engine.snapshot(token)
    view = engine.graph_of(snapshot)
    if params.symbol is not None:
        explanation = explain_symbol(view, params.symbol)
    elif params.uri is not None and params.position is not None:
        line = params.position.line
        path, span = decode_location(params.uri, Span(line, line + 1), snapshot) or (params.uri, Span(0, 0))
        position = protocol.Position(span.start, params.position.character)
        word = _identifier_at(engine, snapshot, path, position)
        explanation = explain_position(view, path, position.line, word)
    else:
        raise InvalidParams("params: symbol, or uri and position, is required.", "symbol", ("symbol", "uri"))
    if explanation.node is not None:
        details = {"node": encode_node(explanation.node), **_encode_explanation(explanation)}
    else:
        details = {"problem": explanation.problem, "suggestions": list(explanation.suggestions)}
    return redact_result(
        {"found": explanation.node is not None, **details, "markdown": render_explanation(view, explanation)}
    )


def _identifier_at(engine: Engine, snapshot: Snapshot, path: str, position: protocol.Position) -> str:
    """Return the identifier at a position, "" if there is none."""
    sources = engine.index.source_reader(snapshot, engine.settings.secrets.allow_files)
    lines = getattr(sources.read(path, explicit=True), "lines", ())
    if not 0 <= position.line < len(lines):
        return ""
    line = lines[position.line]
    start = end = LineIndex(line, engine.encoding).offset(0, position.character)
    while start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_$"):
        start -= 1
    while end < len(line) and (line[end].isalnum() or line[end] in "_$"):
        end += 1
    return str(line[start:end])


def _encode_explanation(explanation: Explanation) -> Json:
    return {
        "signature": explanation.signature,
        "doc": explanation.doc,
        "exported": explanation.exported,
        "cyclomatic": explanation.cyclomatic,
        "parent": encode_node(explanation.parent) if explanation.parent is not None else None,
        "children": [encode_node(node) for node in explanation.children],
        **{name: _encode_related(getattr(explanation, name)) for name in _RELATIONS},
        "others": [encode_node(node) for node in explanation.others],
    }


def _encode_related(related: Iterable[RelatedNode]) -> list[Json]:
    return [{**encode_node(one.node), "weight": round(one.edge.weight, 4), "line": one.edge.line} for one in related]
