"""Regions of files for the results of the tools: location, symbol and the first lines without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from promptls.api.messages.locations import path_of
from promptls.api.messages.params import Json
from promptls.index import IndexState, SourceReader, from_uri
from promptls.mcp.params import Hit, IndexFreshness, Region, Related
from promptls.model import FileText, Item, Span
from promptls.prompt.rendering.sanitized_lines import SanitizedLines
from promptls.prompt.sanitize import clean, header_text, redact
from promptls.util.text.plural import plural

_ID_SUFFIX = re.compile(r"@\d+\Z")  # of the second definition of a name in a file: its line
CALL_SITE_LINES = 12
"""Maximum number of call sites shown of one definition."""


class RegionReader:
    """Reads regions for one call; each file is read and sanitized once."""

    def __init__(self, sources: SourceReader) -> None:
        self._sources = sources
        self._files: dict[str, SanitizedLines | None] = {}
        self._paths: dict[str, str] = {}  # by URI

    def label(self, uri: str) -> str:
        """Return the path of a URI relative to its workspace folder, with the folder's name if there are several."""
        path = self._path(uri)
        return header_text(self._sources.snapshot.label(path)) if path else uri

    def _path(self, uri: str) -> str:
        """Return the path of the URI in an encoded item; those of indexed files are not resolved on the disk again."""
        if uri not in self._paths:
            path = from_uri(uri)
            known = path is not None and path in self._sources.snapshot.files
            self._paths[uri] = path if path is not None and known else path_of(uri, self._sources.snapshot)
        return self._paths[uri]

    def from_range(self, found: Json, max_lines: int) -> Region:
        """Return the region of an encoded item or graph node."""
        span = span_of(found["range"])
        kind = str(found.get("kind") or found.get("type") or "")
        symbol = qualified_name(found) if "id" in found else str(found.get("symbol", ""))
        return Region(
            self.label(found["uri"]),
            span.start + 1,
            max(span.start + 1, span.end),
            kind,
            symbol,
            self._snippet(self._path(found["uri"]), span, max_lines),
        )

    def from_item(self, item: Item, max_lines: int) -> Region:
        """Return the region of an item: its call sites if it has any, else its first lines."""
        sites = item.call_sites[:CALL_SITE_LINES] if max_lines else ()
        lines = self._lines(item.path) if sites else None
        if lines is not None:
            shown = [item.span.start, *(line for line in sites if line != item.span.start)]
            snippet = "\n".join(f"{line + 1}: {lines[line]}" for line in shown if line < len(lines))
        else:
            snippet = self._snippet(item.path, item.span, max_lines)
        label = header_text(self._sources.snapshot.label(item.path))
        end = max(item.span.start + 1, min(item.span.end, self._line_count(item.path)))
        return Region(label, item.span.start + 1, end, item.kind, redact(item.symbol)[0], snippet)

    def _snippet(self, path: str, span: Span, max_lines: int) -> str:
        """Return the first lines of a span, and how many follow."""
        lines = self._lines(path) if max_lines else None
        if lines is None:
            return ""
        end = min(span.end, len(lines))
        shown = list(lines[span.start : min(end, span.start + max_lines)])
        hidden = end - span.start - len(shown)
        return "\n".join([*shown, *([f"… {plural(hidden, 'more line')}"] if hidden > 0 else [])])

    def _line_count(self, path: str) -> int:
        lines = self._lines(path)
        return len(lines) if lines is not None else 0

    def _lines(self, path: str) -> SanitizedLines | None:
        """Return the sanitized lines of a file, None if it cannot be read."""
        if path not in self._files:
            text = self._sources.read(path)
            self._files[path] = SanitizedLines(text) if isinstance(text, FileText) else None
        return self._files[path]


def qualified_name(node: Json) -> str:
    """Return the qualified name of an encoded graph node from its ID, "" for a file."""
    name = str(node["id"]).removeprefix(f"{node['type']}:{node['path']}").removeprefix(":")
    return _ID_SUFFIX.sub("", name)


def span_of(encoded: Json) -> Span:
    """Return the lines of an encoded range."""
    return Span(encoded["start"]["line"], encoded["end"]["line"])


def related_of(node: Json, reader: RegionReader) -> Related:
    """Return an encoded graph node without its text; the field `line` is that of its edge."""
    region = reader.from_range(node, 0)
    line = node["line"] + 1 if "line" in node else 0
    return Related(region.path, region.start_line, region.end_line, region.kind, region.symbol, line)


def related_of_item(item: Item, reader: RegionReader) -> Related:
    """Return an item without its text."""
    region = reader.from_item(item, 0)
    return Related(region.path, region.start_line, region.end_line, region.kind, region.symbol, 0)


def freshness(state: IndexState, up_to_date: bool) -> IndexFreshness:
    """Return how complete the index was when a call was served; whether it is stored does not matter to callers."""
    if up_to_date and state.phase != "degraded":
        return IndexFreshness(True, "ready", 1.0, "")
    return IndexFreshness(up_to_date, state.phase, round(state.progress, 4), state.message)


def team_region(found: Json, max_lines: int) -> Hit:
    """Return the region of an encoded hit of the team index."""
    span = span_of(found["range"])
    path = header_text(f"{found['repository']}@{found['commit'][:10]}/{found['path']} ({found['age']})")
    snippet = "\n".join(clean(found["text"], found["path"]).lines[:max_lines])
    return Hit(
        path, span.start + 1, max(span.start + 1, span.end), found["kind"], found["symbol"], snippet, found["score"]
    )


def render_region(region: Region, suffix: str = "") -> str:
    """Render a region as a heading, "src/a.py:3-9 function run", and its snippet."""
    heading = f"{place(region)} {region.kind} {region.symbol}".rstrip() + suffix
    return f"{heading}\n{region.snippet}" if region.snippet else heading


def render_related(title: str, related: Iterable[Related]) -> str:
    """Render a list of related definitions, "" if it is empty."""
    lines = [
        f"- {one.symbol or one.kind} {place(one)}" + (f" (line {one.line})" if one.line else "") for one in related
    ]
    return "\n".join([f"{title}:", *lines]) if lines else ""


def place(region: Region | Related) -> str:
    """Return path and lines, "src/a.py:3-9"."""
    return f"{region.path}:{region.start_line}-{region.end_line}"


def render_freshness(index: IndexFreshness) -> str:
    """Render a warning about an index that lacks files or vectors, "" if it lacks nothing."""
    if not index.up_to_date:
        complete = f"{int(100 * index.complete)} % complete"
        return f"Note: the index is not up to date ({complete}); call again later. {index.message}".rstrip()
    return f"Note: {index.message}" if index.state == "degraded" else ""
