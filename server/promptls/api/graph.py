"""promptls/graph, promptls/explain: the knowledge graph around a question, a definition, a call path."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.api import params as protocol
from promptls.api import results
from promptls.api.params import InvalidParams, Json
from promptls.documents import Text
from promptls.engine import Engine
from promptls.graph import explain as explaining
from promptls.graph import queries
from promptls.graph.explain import Explanation, Related
from promptls.graph.graph import GraphView
from promptls.graph.markdown import markdown
from promptls.graph.nodes import Edge, GraphResult, Node
from promptls.index import files
from promptls.model import CancelToken

MOST = 500


def graph(engine: Engine, params: protocol.GraphParams, token: CancelToken) -> Json:
    """promptls/graph"""
    if not 1 <= params.limit <= MOST:
        raise InvalidParams(f"limit: it must lie between 1 and {MOST}.", "limit")
    if (params.from_ is None) != (params.to is None):
        missing = "from" if params.from_ is None else "to"
        raise InvalidParams(f"{missing}: a call path needs both from and to.", missing)
    snapshot = engine.view(token)
    view = engine.graph_at(snapshot)
    header = engine.header(snapshot)
    if params.from_ is not None and params.to is not None:
        found = queries.of_paths(view, params.from_, params.to, header, min(params.limit, 20), token)
    elif params.symbol is not None:
        found = queries.of_symbol(view, params.symbol, header, params.limit, token)
    elif params.uri is not None:
        found = queries.of_position(view, files.from_uri(params.uri) or params.uri, None, header, params.limit, token)
    elif params.query is not None and params.query.strip():
        found = queries.of_query(view, params.query, header, limit=params.limit, token=token)
    else:
        valid = ("from", "query", "symbol", "uri")
        raise InvalidParams("params: one of query, symbol, uri, or from and to, must be given.", "query", valid)
    return results.redacted(_result(view, found))


def explain(engine: Engine, params: protocol.ExplainParams, token: CancelToken) -> Json:
    """promptls/explain"""
    snapshot = engine.view(token)
    view = engine.graph_at(snapshot)
    if params.symbol is not None:
        found = explaining.explain_symbol(view, params.symbol)
    elif params.uri is not None and params.position is not None:
        path, line = files.from_uri(params.uri) or params.uri, params.position.line
        word = _word(engine, path, params.position, token)
        found = explaining.explain_position(view, path, line, word)
    else:
        raise InvalidParams("params: symbol, or uri and position, must be given.", "symbol", ("symbol", "uri"))
    answer = {
        "found": found.node is not None,
        **({"node": _node(found.node), **_explanation(found)} if found.node is not None else {}),
        **({"problem": found.problem, "suggestions": list(found.suggestions)} if found.node is None else {}),
        "markdown": explaining.page(view, found),
    }
    return results.redacted(answer)


def _word(engine: Engine, path: str, position: protocol.Position, token: CancelToken) -> str:
    """The identifier at a position, "" where there is none."""
    request = engine.request(protocol.Context(), engine.view(token), token)
    view = request.sources.read(path, explicit=True)
    lines = getattr(view, "lines", ())
    if not 0 <= position.line < len(lines):
        return ""
    line = lines[position.line]
    start = end = Text(line, engine.encoding).offset(0, position.character)
    while start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_$"):
        start -= 1
    while end < len(line) and (line[end].isalnum() or line[end] in "_$"):
        end += 1
    return str(line[start:end])


def _result(view: GraphView, found: GraphResult) -> Json:
    project = found.project
    out: Json = {
        "project": {
            "name": project.name,
            "description": project.description,
            "languages": list(project.languages),
            "frameworks": list(project.frameworks),
        },
        "layers": [{"name": layer.name, "about": layer.about, "nodes": list(layer.nodes)} for layer in found.layers],
        "nodes": [_node(node) for node in found.nodes],
        "edges": [_edge(view, edge) for edge in found.edges],
        "markdown": markdown(found),
    }
    if found.paths:
        out["paths"] = [[view.id(place) for place in path] for path in found.paths]
    if found.problem:
        out |= {"problem": found.problem, "suggestions": list(found.suggestions)}
    return out


def _node(node: Node) -> Json:
    return {
        "id": node.id,
        "type": node.type,
        "name": node.name,
        "uri": files.to_uri(node.path),
        "path": node.label,
        "range": results.range_of(node.span),
        "complexity": node.complexity,
        "summary": node.summary,
        "tags": list(node.tags),
        "languageNotes": list(node.language_notes),
        "layer": node.layer,
    }


def _edge(view: GraphView, edge: Edge) -> Json:
    return {
        "source": view.id(edge.source),
        "target": view.id(edge.target),
        "type": edge.type,
        "weight": round(edge.weight, 4),
        "uri": files.to_uri(edge.path),
        "line": edge.line,
        "description": edge.note,
    }


def _explanation(found: Explanation) -> Json:
    related = ("callers", "callees", "supertypes", "subtypes", "users", "tests", "imports", "importers", "documents")
    return {
        "signature": found.signature,
        "doc": found.doc,
        "exported": found.exported,
        "cyclomatic": found.cyclomatic,
        "parent": _node(found.parent) if found.parent is not None else None,
        "children": [_node(node) for node in found.children],
        **{name: _related(getattr(found, name)) for name in related},
        "others": [_node(node) for node in found.others],
    }


def _related(found: Iterable[Related]) -> list[Json]:
    return [{**_node(one.node), "weight": round(one.edge.weight, 4), "line": one.edge.line} for one in found]
