"""Handle `promptls/explain`: a file or symbol with its callers, callees, types, tests and documents.

The tool explain_symbol answers what breaks if a definition changes: also imports, overrides, tests through callers,
and the lines that contain the name but are not analysed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from promptls.api.graph_requests import encode_node
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_location
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.messages.results import redact_result
from promptls.api.search import has_changed_on_disk
from promptls.api.tool_params import RELATIONS, ExplainSymbolParams
from promptls.engine import Engine
from promptls.graph import impact
from promptls.graph.definition_items import find_tests_named_after, tests_of
from promptls.graph.graph import is_index
from promptls.graph.node_explanation import (
    Explanation,
    RelatedNode,
    explain_position,
    explain_symbol,
    render_explanation,
)
from promptls.graph.nodes import Node
from promptls.index import OutlineRef, Snapshot
from promptls.languages import analyses_calls
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import CancelToken, FileText, Span
from promptls.prompt.rendering.sanitized_lines import SanitizedLines
from promptls.prompt.sanitize import one_line
from promptls.redaction.secrets import redact
from promptls.util.text.display import plural, truncate_words
from promptls.util.text.positions import LineIndex

MAX_LISTED = 25
"""Maximum number of entries in each list of explain_symbol; further ones are counted."""
MAX_MENTIONS = 10
"""Maximum number of lines with the name in an explanation of all relations."""
MAX_DEFINITION_LINES = 60
"""Maximum number of lines shown of the explained definition; read_code shows the rest."""
CHANGED = "changed since it was indexed; call again"
"""Note on a file whose lines are not known."""
MAX_LINE_CHARACTERS = 100
"""Length to which lines of code in lists are shortened."""

_FROM_CALLS = frozenset({"Called by", "Callers", "Callees", "Tested by", "Tests"})
"""Titles of relations that are known from calls only."""

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
        **{
            name: [
                {**encode_node(one.node), "weight": round(one.edge.weight, 4), "line": one.edge.line}
                for one in getattr(explanation, name)
            ]
            for name in _RELATIONS
        },
        "others": [encode_node(node) for node in explanation.others],
    }


def explain_as_text(engine: Engine, params: ExplainSymbolParams, token: CancelToken) -> tuple[Json, str]:
    """Return an explanation as JSON, and the text of the tool explain_symbol.

    Raises:
        InvalidParams: Nothing has this name, or a relation is unknown.
    """
    relations = [protocol.one_of("relations", name, RELATIONS) for name in params.relations or RELATIONS]
    snapshot = engine.snapshot(token)
    view = engine.graph_of(snapshot)
    explanation = explain_symbol(view, params.name)
    if explanation.node is None:
        valid = explanation.suggestions
        hint = f" Did you mean {', '.join(valid)}?" if valid else ""
        raise InvalidParams(f"name: {redact(explanation.problem)[0]}{hint}", "name", valid)
    max_mentions = MAX_LISTED if "mentions" in params.relations else MAX_MENTIONS
    text = _ExplanationText(engine, explanation, explanation.node, snapshot, max_mentions, token)
    sections = [text.heading()]
    for name in relations:
        section = getattr(text, name)()
        sections.append(section or (text.none(name.capitalize()) if params.relations else ""))
    return redact_result(_encode_explanation(explanation)), redact("\n\n".join(filter(None, sections)))[0]


Entry = tuple[str, int, str]
"""An entry of a list: path, 0-based line, and text."""


class _ExplanationText:
    """Renders the sections of one explanation; each method returns the section of one relation."""

    def __init__(
        self,
        engine: Engine,
        explanation: Explanation,
        node: Node,
        snapshot: Snapshot,
        max_mentions: int,
        token: CancelToken,
    ) -> None:
        self._engine = engine
        self._explanation = explanation
        self._node = node
        self._ref: OutlineRef = node.ref
        self._view = engine.graph_of(snapshot)
        self._snapshot = snapshot
        self._max_mentions = max_mentions
        self._token = token
        self._sources = engine.index.source_reader(snapshot, engine.settings.secrets.allow_files)
        self._files: dict[str, SanitizedLines | None] = {}

    def heading(self) -> str:
        """Return place, kind and name, and other definitions of the name."""
        node = self._node
        lines = [f"{self._place(node)} {node.type} {one_line(node.qualified or node.name)}".rstrip()]
        if self._explanation.parts:
            lines.append(f"Other parts: {', '.join(map(self._place, self._explanation.parts))}.")
        if self._explanation.others:
            others = ", ".join(
                f"{one_line(other.label)}#{one_line(other.qualified)}" for other in self._explanation.others
            )
            lines.append(f"Others of that name: {others}.")
        return "\n".join(lines)

    def definition(self) -> str:
        """Return the first lines of the definition with their numbers; of a file, the definitions in it."""
        node, children = self._node, self._explanation.children
        parts = []
        if node.type != "file":
            lines, end = self._lines(node.path) or (), node.span.end
            if not lines:
                parts.append(f"The file cannot be read, or has {CHANGED}.")
            shown = range(node.span.start, min(end, len(lines), node.span.start + MAX_DEFINITION_LINES))
            width = len(str(end))
            parts += [f"{number + 1:>{width}}\t{lines[number]}" for number in shown]
            if shown and shown.stop < min(end, len(lines)):
                rest = f"{one_line(node.label)}:{shown.stop + 1}-{end}"
                parts.append(f"… {plural(min(end, len(lines)) - shown.stop, 'more line')}: read_code {rest}")
        if children and (node.type == "file" or len(node.span) > MAX_DEFINITION_LINES or self._explanation.parts):
            parts.append("Contains:")
            parts += [
                f"  {child.span.label} {child.type} {one_line(child.qualified)}" for child in children[: MAX_LISTED * 4]
            ]
            if len(children) > MAX_LISTED * 4:
                parts.append(f"  and {len(children) - MAX_LISTED * 4} more")
        return "\n".join(parts)

    def callers(self) -> str:
        """Return the callers, and uses as a type or decorator."""
        if self._node.type == "file":
            return ""
        used = self._related("Used by", self._explanation.users)
        called = self._related("Called by", self._explanation.callers)
        return _lines(called, used) or self.none("Called by")

    def callees(self) -> str:
        """Return the definitions that are called."""
        edges = self._explanation.callees
        entries = [(one.node.path, one.node.span.start, one.node.qualified or one.node.name) for one in edges]
        return self._list("Calls", entries, quote=False)

    def imports(self) -> str:
        """Return imports and re-exports of a definition, or the imports and importers of a file."""
        if self._node.type == "file":
            imported = [(one.node.path, -1) for one in self._explanation.imports]
            importing = [(one.node.path, one.edge.line) for one in self._explanation.importers]
            return _lines(self._places("Imports", imported), self._places("Imported by", importing))
        found = sorted((edge.path, edge.line) for edge in self._view.import_uses(self._ref))
        return _lines(
            self._places("Imported by", [place for place in found if not is_index(place[0])]),
            self._places("Re-exported by", [place for place in found if is_index(place[0])]),
        )

    def overrides(self) -> str:
        """Return subtypes and supertypes of a type, or the overrides of a method and what it overrides."""
        if self._node.type == "file":
            return ""
        below = self._entries(impact.implementations_of(self._view, self._ref))
        if self._node.type in TYPE_KINDS:
            above = self._entries(one.node.ref for one in self._explanation.supertypes)
            return _lines(self._list("Extended by", below, quote=False), self._list("Extends", above, quote=False))
        above = self._entries(impact.overridden_by(self._view, self._ref))
        return _lines(self._list("Overridden by", below, quote=False), self._list("Overrides", above, quote=False))

    def tests(self) -> str:
        """Return the tests that call a definition, directly or through its callers; of a file, those named after it."""
        if self._node.type == "file":
            found = find_tests_named_after(self._snapshot, self._node.path)
            importing = [one.node.path for one in self._explanation.importers if self._view.is_test(one.node.ref)]
            return self._places("Tests", [(path, -1) for path in dict.fromkeys((*found, *importing))])
        direct = tests_of(self._view, self._ref)
        through = [
            (path, line, f"{name} through {self._name(caller)}")
            for test, caller in impact.indirect_tests(self._view, self._ref, self._token)
            if test not in direct
            for path, line, name in self._entries([test])
        ]
        tested = self._list("Tested by", self._entries(direct), quote=False)
        return _lines(tested or self.none("Tested by"), self._list("Tested through callers", through, quote=False))

    def mentions(self) -> str:
        """Return the lines that contain the name and are not references in code."""
        found = [(one.path, one.line, "") for one in self._mentions]
        return self._list("Mentioned in text, strings and code that is not analysed", found, limit=self._max_mentions)

    @cached_property
    def _mentions(self) -> tuple[impact.TextMention, ...]:
        reader, read = self._engine.index.reader(), self._sources.read
        return impact.text_mentions(self._view, self._ref, reader, read, self._token)

    def none(self, title: str) -> str:
        """Return the sentence for a relation without results, which may exist where syntax does not show it."""
        matches = plural(len(self._mentions), "textual match", "textual matches")
        file = self._view.file_symbols(self._node.path)
        if title in _FROM_CALLS and file is not None and not analyses_calls(file.language.name):
            return f"{title}: unknown, because calls in {file.language.name} are not analysed ({matches})."
        return f"{title}: none found; values, templates and reflection are not analysed ({matches})."

    def _related(self, title: str, related: Iterable[RelatedNode]) -> str:
        entries = [(one.edge.path, one.edge.line, one.node.qualified or "top level of the file") for one in related]
        return self._list(title, entries)

    def _entries(self, refs: Iterable[OutlineRef]) -> list[Entry]:
        nodes = (self._view.node(ref) for ref in refs)
        return [(node.path, node.span.start, node.qualified or node.name) for node in nodes if node is not None]

    def _name(self, ref: OutlineRef) -> str:
        node = self._view.node(ref)
        return (node.qualified or node.name) if node is not None else ""

    def _list(self, title: str, entries: list[Entry], quote: bool = True, limit: int = MAX_LISTED) -> str:
        """Return a list by file, in which each line may quote the code; "" if it is empty."""
        if not entries:
            return ""
        lines = [f"{title} ({len(entries):,}):"]
        by_path: dict[str, list[Entry]] = {}
        for entry in entries[:limit]:
            by_path.setdefault(entry[0], []).append(entry)
        for path, listed in by_path.items():
            changed = has_changed_on_disk(path, self._snapshot)
            lines.append(f"  {one_line(self._snapshot.label(path))}" + (f" ({CHANGED})" if changed else ""))
            lines += [f"    {self._entry(entry, quote)}" for entry in listed] if not changed else []
        if len(entries) > limit:
            lines.append(f"  and {len(entries) - limit:,} more")
        return "\n".join(lines)

    def _places(self, title: str, places: list[tuple[str, int]]) -> str:
        """Return a list of files with a line, -1 for none; "" if it is empty."""
        shown = [
            one_line(self._snapshot.label(path))
            + (f":{line + 1}" if line >= 0 and not has_changed_on_disk(path, self._snapshot) else "")
            for path, line in places[:MAX_LISTED]
        ]
        if len(places) > MAX_LISTED:
            shown.append(f"and {len(places) - MAX_LISTED:,} more")
        return f"{title} ({len(places):,}): {', '.join(shown)}" if places else ""

    def _entry(self, entry: Entry, quote: bool) -> str:
        path, line, text = entry
        code = self._lines(path) if quote else None
        quoted = truncate_words(code[line].strip(), MAX_LINE_CHARACTERS) if code and line < len(code) else ""
        return f"{line + 1} " + ": ".join(filter(None, [one_line(text), quoted]))

    def _place(self, node: Node) -> str:
        label = one_line(node.label)
        has_lines = node.type != "file" and len(node.span) and not has_changed_on_disk(node.path, self._snapshot)
        return f"{label}:{node.span.label}" if has_lines else label

    def _lines(self, path: str) -> SanitizedLines | None:
        """Return the lines of a file; None if it has changed since it was indexed, so that line numbers are wrong."""
        if path not in self._files:
            text, entry = self._sources.read(path), self._snapshot.files.get(path)
            is_same = isinstance(text, FileText) and entry is not None and text.entry.content_hash == entry.content_hash
            self._files[path] = SanitizedLines(text) if isinstance(text, FileText) and is_same else None
        return self._files[path]


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))
