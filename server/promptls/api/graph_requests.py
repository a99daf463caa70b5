"""Handle `promptls/graph`: the knowledge graph around a question, a symbol, a file or a call path."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of_document
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import encode_span, redact_result
from promptls.api.search import render_team_hits, start_team_search
from promptls.engine import Engine
from promptls.graph import traversal
from promptls.graph.graph import GraphView
from promptls.graph.graph_markdown import as_text, render_graph
from promptls.graph.nodes import Edge, GraphResult, Node
from promptls.index import to_uri
from promptls.model import CancelToken
from promptls.retrieval.query import parse_query

MAX_NODES = 500
"""Maximum value of `limit`; a larger graph is of no use in a prompt."""
MAX_CALL_PATHS = 20
"""Maximum number of call paths in a result."""


def graph(engine: Engine, params: protocol.GraphParams, token: CancelToken) -> Json:
    """Handle `promptls/graph`."""
    if not 1 <= params.limit <= MAX_NODES:
        raise InvalidParams(f"limit: must be between 1 and {MAX_NODES}.", "limit")
    if (params.from_ is None) != (params.to is None):
        missing = "from" if params.from_ is None else "to"
        raise InvalidParams(f"{missing}: a call path needs both from and to.", missing)
    snapshot = engine.snapshot(token)
    view = engine.graph_of(snapshot)
    header = engine.project_header(snapshot)
    if params.from_ is not None and params.to is not None:
        limit = min(params.limit, MAX_CALL_PATHS)
        result = traversal.graph_for_call_paths(view, params.from_, params.to, header, limit, token)
    elif params.symbol is not None:
        target = traversal.resolve_target(view, params.symbol)
        result = traversal.graph_for_target(view, target, header, params.limit, token)
    elif params.uri is not None:
        target = traversal.resolve_position(view, path_of_document(params.uri, snapshot), -1)
        result = traversal.graph_for_target(view, target, header, params.limit, token)
    elif params.query is not None and params.query.strip():
        team = start_team_search(engine, parse_query(params.query), snapshot)
        result = traversal.graph_for_query(view, params.query, header, limit=params.limit, token=token)
        encoded = {**_encode_graph(view, result), **team(params.limit, ())}
        if rendered := render_team_hits(encoded):
            encoded["markdown"] = f"{encoded['markdown'].rstrip()}\n\n{rendered}\n"
        return redact_result(encoded)
    else:
        valid = ("from", "query", "symbol", "uri")
        raise InvalidParams("params: one of query, symbol, uri, or from and to, is required.", "query", valid)
    return redact_result(_encode_graph(view, result))


def _encode_graph(view: GraphView, result: GraphResult) -> Json:
    project = result.project
    encoded: Json = {
        "project": {
            "name": project.name,
            "description": project.description,
            "languages": list(project.languages),
            "frameworks": list(project.frameworks),
        },
        "layers": [
            {"name": layer.name, "about": layer.description, "nodes": list(layer.nodes)} for layer in result.layers
        ],
        "nodes": [encode_node(node) for node in result.nodes],
        "edges": [_encode_edge(view, edge) for edge in result.edges],
        "markdown": "\n".join(map(as_text, render_graph(result).split("\n"))),
    }
    if result.paths:
        encoded["paths"] = [[view.id(node) for node in path] for path in result.paths]
    if result.problem:
        encoded |= {"problem": result.problem, "suggestions": list(result.suggestions)}
    return encoded


def encode_node(node: Node) -> Json:
    """Encode a node of the graph."""
    return {
        "id": node.id,
        "type": node.type,
        "name": node.name,
        "uri": to_uri(node.path),
        "path": node.label,
        "range": encode_span(node.span),
        "complexity": node.complexity,
        "summary": node.summary,
        "tags": list(node.tags),
        "languageNotes": list(node.language_notes),
        "layer": node.layer,
    }


def _encode_edge(view: GraphView, edge: Edge) -> Json:
    return {
        "source": view.id(edge.source),
        "target": view.id(edge.target),
        "type": edge.type,
        "weight": round(edge.weight, 4),
        "uri": to_uri(edge.path),
        "line": edge.line,
        "description": edge.note,
    }
