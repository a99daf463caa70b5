"""Pages: the results of requests as read-only Markdown documents, for editors and the summary of the command line.

A line of a page may refer to a region, and may have buttons: words in brackets at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct, structs

from promptls.api.messages.params import Json
from promptls.mentions.syntax.grammar import LAST_LINE
from promptls.util.text.display import plural

MAX_OMITTED = 60
"""Maximum number of omitted items on the page of a prompt."""

MAX_RELATED = 6
"""Maximum number of related definitions of each relation."""
RELATIONS = {
    "caller": "callers",
    "callee": "callees",
    "test": "tests",
    "base": "supertypes",
    "subtype": "subtypes",
    "user": "users",
}
"""Relations on the page of a prompt, with their fields in a result of `promptls/explain`."""

BAR_CELLS = 48
BAR_GLYPHS = "█▓▒▚▞▤"
"""One glyph for each section, the largest first; they differ without colors."""
FREE_GLYPH = "░"

STATUS_SIGNS = {"included": "✓", "partial": "◐", "omitted": "○", "ambiguous": "?"}

BUTTON = re.compile(r"\[(pin|unpin|drop|restore|add|more)\]")
"""A button; the word is the action of `promptls/pageAction`."""

_LOCATION = re.compile(r"(?P<path>[^\s`()\[\],\"]+):(?P<first>\d+)(?:-(?P<last>\d+))?")


class Region(Struct, frozen=True):
    """Lines of a file, as an LSP range."""

    uri: str
    range: Json
    path: str = ""  # as it is shown


Group = tuple[Region, ...]
"""Regions that one decision is about: several if the items of one file share a fence."""


class Related(Struct, frozen=True):
    """A definition that calls, is called by, tests, or is a type of the code of an item."""

    relation: str
    name: str
    region: Region


RelatedItems = Mapping[str, tuple[Related, ...]]
"""Related definitions, by the `region_key` of the item that they are listed below."""


class PageLine(Struct, frozen=True):
    """A line of a page."""

    text: str
    shown: Region | None = None  # where the line leads
    label: str = ""  # the part of the text that is a link to it
    regions: Group = ()  # what the buttons pin or drop


class Page(Struct, frozen=True):
    """A title and lines."""

    title: str
    lines: tuple[PageLine, ...]

    @property
    def text(self) -> str:
        """The document."""
        return "".join(f"{line.text}\n" for line in self.lines)


# ---------------------------------------------------------------- prompts


def prompt_page(
    result: Json, pinned: Iterable[Group] = (), dropped: Iterable[Group] = (), related: RelatedItems | None = None
) -> Page:
    """Return the page of a result of `promptls/buildPrompt`.

    Args:
        result: The result.
        pinned: What the user has pinned.
        dropped: What the user has dropped.
        related: The lists that are open below items.
    """
    keys = frozenset(map(region_key, chain.from_iterable(pinned)))
    return Page("Prompt", tuple(_prompt_lines(result, keys, list(dropped), related or {})))


def _prompt_lines(
    result: Json, pinned: frozenset[str], dropped: list[Group], related: RelatedItems
) -> Iterator[PageLine]:
    yield PageLine(f"# Prompt: {token_usage(result['tokens'])}")
    yield PageLine("")
    yield from map(PageLine, token_bar(result["tokens"]))
    yield PageLine("")
    yield PageLine(result["trace"]["line"])
    warnings = [*result["warnings"]]
    if result["index"]["complete"] < 1:
        warnings.insert(1, "The prompt is built again when the index is complete.")
    yield from _section("Warnings", [PageLine(f"- {warning}") for warning in warnings])
    yield from _section("Mentions", [line for mention in result["mentions"] for line in _mention_lines(mention)])
    yield from _section("Dropped", [_dropped_line(group) for group in dropped])
    yield from _section("In the prompt", _all_item_lines(result["items"], pinned, related))
    omitted = [_omitted_line(item) for item in result["omitted"][:MAX_OMITTED]]
    if len(result["omitted"]) > MAX_OMITTED:
        omitted.append(PageLine(f"- and {len(result['omitted']) - MAX_OMITTED} more"))
    yield from _section("Left out", omitted)
    yield PageLine("")
    yield PageLine("## Text")
    yield PageLine("")
    for heading, text in _texts(result):
        yield from (PageLine(line) for line in (*heading, *text.split("\n")))


def _texts(result: Json) -> Iterator[tuple[list[str], str]]:
    if "prompt" in result:
        yield [], result["prompt"]
    for message in result.get("messages", ()):
        yield [f"### {message['role']}", ""], message["content"]


def _section(title: str, lines: list[PageLine]) -> Iterator[PageLine]:
    from promptls.prompt.sanitize import one_line  # not at the start of the server

    if lines:
        count = sum(line.text.startswith("- ") for line in lines)
        yield from (PageLine(""), PageLine(f"## {title}: {count}"))
        for line in lines:  # names of files and warnings can contain anything
            yield structs.replace(line, text=one_line(line.text), label=one_line(line.label))


def token_usage(tokens: Json) -> str:
    """Return used and available tokens: "5,727 of 8,000 tokens (estimate)"."""
    return (
        f"{tokens['used']:,} of {tokens['budget']:,} tokens ({tokens['counter']}{', exact' if tokens['exact'] else ''})"
    )


def token_bar(tokens: Json) -> tuple[str, str]:
    """Return a bar of the tokens of the sections, and its legend."""
    sections = sorted(tokens["sections"].items(), key=lambda one: (one[0] == "frame", -one[1]))
    total = max(tokens["budget"], tokens["used"], 1)
    bar, legend = "", []
    for n, (name, count) in enumerate((name, count) for name, count in sections if count > 0):
        glyph = BAR_GLYPHS[n % len(BAR_GLYPHS)]
        bar += glyph * max(1, round(BAR_CELLS * count / total))
        legend.append(f"{glyph} {name} {count:,}")
    free = max(0, tokens["budget"] - tokens["used"])
    legend.append(f"{FREE_GLYPH} free {free:,}")
    return bar[:BAR_CELLS].ljust(BAR_CELLS, FREE_GLYPH), "  ".join(legend)


def item_row(item: Json) -> str:
    """Return an item of a prompt: tokens, why, place, names, and how it differs from the full saved text."""
    names = [item["symbol"]] if "symbol" in item else [one["symbol"] for one in item.get("joined", ())]
    named = ", ".join(dict.fromkeys(filter(None, names)))  # parts of a definition have the same name
    parts = (f"{item['tokens']:>6,}  {item['why']:<16}", place_of(item), named, _state(item))
    return "  ".join(filter(None, parts))


def _state(item: Json) -> str:
    form = "" if item["form"] == "full" else item["form"]
    return ", ".join(filter(None, (form, "unsaved" if item.get("unsaved") else "")))


def place_of(item: Json) -> str:
    """Return the path of an item with its lines, from 1: "src/a.py:3-9"; "src/" for a folder."""
    if item.get("kind") == "folder":
        return f"{item['path']}/"
    start, end = item["range"]["start"]["line"] + 1, item["range"]["end"]["line"]
    path: str = item.get("path", "")
    if end >= LAST_LINE:
        return path
    return f"{path}:{start}-{end}" if end > start else f"{path}:{start}"


def _all_item_lines(items: list[Json], pinned: frozenset[str], related: RelatedItems) -> list[PageLine]:
    """Return the lines of the items, each followed by its open list of related definitions."""
    shown = [region for item in items for region in item_regions(item)]
    lines: list[PageLine] = []
    for line in chain.from_iterable(_item_lines(item, pinned) for item in items):
        lines.append(line)
        found = related.get(region_key(line.regions[0])) if len(line.regions) == 1 else None
        lines += (_related_line(one, pinned, shown) for one in found or ())
        if found == ():
            lines.append(PageLine("    - no related definitions"))
    return lines


def _related_line(related: Related, pinned: frozenset[str], shown: list[Region]) -> PageLine:
    region = related.region
    place = place_of(structs.asdict(region))
    button = "[unpin]" if region_key(region) in pinned else "in the prompt" if _is_shown(region, shown) else "[add]"
    text = f"    - {related.relation:<8}  {place}  {related.name}  {button}"
    return PageLine(text, region, place, (region,) if button.startswith("[") else ())


def _is_shown(region: Region, shown: list[Region]) -> bool:
    first, end = region.range["start"]["line"], region.range["end"]["line"]
    return any(
        one.uri == region.uri and one.range["start"]["line"] <= first and end <= one.range["end"]["line"]
        for one in shown
    )


def related_of(explanation: Json) -> tuple[Related, ...]:
    """Return what a result of `promptls/explain` has around a definition, at most `MAX_RELATED` of each relation."""
    return tuple(
        Related(relation, _qualified_name(one), Region(one["uri"], one["range"], one["path"]))
        for relation, field in RELATIONS.items()
        for one in explanation.get(field, ())[:MAX_RELATED]
    )


def _item_lines(item: Json, pinned: frozenset[str]) -> Iterator[PageLine]:
    """Yield the line of an item, and one for each of several regions that share its fence."""
    regions, joined = item_regions(item), item.get("joined", ())
    if len(regions) == 1 or len(regions) > len(joined):
        yield PageLine(f"- {item_row(item)}{_buttons(regions, pinned)}", _shown(item), place_of(item), regions)
        return
    row = "  ".join(filter(None, (f"{item['tokens']:>6,}", item["path"], plural(len(joined), "region"), _state(item))))
    yield PageLine(f"- {row}{_buttons(regions, pinned)}", _shown(item), item["path"], regions)
    for one, region in zip(joined, regions, strict=True):
        place = place_of(one).removeprefix(":")
        row = f"{one['tokens'] or '':>8}  {one['why']:<16}  {place}  {one['symbol']}".rstrip()
        yield PageLine(f"  - {row}{_buttons((region,), pinned)}", region, place, (region,))


def _buttons(regions: Group, pinned: frozenset[str]) -> str:
    related = " [more]" if len(regions) == 1 else ""
    return f"  [{'unpin' if any(region_key(region) in pinned for region in regions) else 'pin'}] [drop]{related}"


def item_regions(item: Json) -> Group:
    """Return the regions that an item shows: several if the items of one file share a fence."""
    ranges = [one["range"] for one in item.get("joined", ())]
    if not ranges or "symbol" in item:
        ranges.insert(0, item["range"])
    return tuple(Region(item["uri"], lines, item["path"]) for lines in ranges)


def _omitted_line(item: Json) -> PageLine:
    tokens = f"{item['tokens']:,}" if item["tokens"] else ""
    names = f"  {item['symbol']}" if item.get("symbol") else ""
    text = f"- {tokens:>6}  {place_of(item)}{names}  {item['reason']}  [add]"
    return PageLine(text, _shown(item), place_of(item), (Region(item["uri"], item["range"], item["path"]),))


def _dropped_line(group: Group) -> PageLine:
    region = group[0]
    place = place_of(structs.asdict(region))
    return PageLine(f"- {place}  [restore]", region, place, group)


def _mention_lines(mention: Json) -> Iterator[PageLine]:
    sign = STATUS_SIGNS.get(mention["status"], "✗")
    tokens = plural(mention["tokens"], "token") if mention["tokens"] else ""
    status = mention["status"] if mention["status"] not in ("included", "partial") else ""
    hint = f"Did you mean {mention['suggestion']}?" if "suggestion" in mention else ""
    parts = (f"- {sign} {mention['text']}", tokens, status, mention.get("anchor", ""), mention["reason"], hint)
    shown = _shown(mention["targets"][0]) if mention["targets"] else None
    yield PageLine("  ".join(filter(None, parts)), shown, mention["text"])
    yield from (PageLine(f"    {candidate}") for candidate in mention.get("candidates", ()))


def _shown(item: Json) -> Region:
    location = item.get("location", item)
    return Region(location["uri"], location["range"])


def region_key(region: Region) -> str:
    """Return what identifies a region: its URI and its lines."""
    start, end = region.range["start"]["line"], region.range["end"]["line"]
    return f"{region.uri}#{start}-{end}"


def whole_file(group: Group) -> Group:
    """Return the file of several regions as one region; a single region as it is."""
    if len(group) == 1:
        return group
    lines = {side: {"line": line, "character": 0} for side, line in (("start", 0), ("end", LAST_LINE))}
    return (Region(group[0].uri, lines, group[0].path),)


def without(group: Group, chosen: tuple[Group, ...]) -> tuple[Group, ...]:
    """Return the groups that share no region with a group."""
    keys = set(map(region_key, group))
    return tuple(one for one in chosen if keys.isdisjoint(map(region_key, one)))


def toggle(group: Group, chosen: tuple[Group, ...]) -> tuple[Group, ...]:
    """Remove the groups that share a region with a group, else add the group."""
    others = without(group, chosen)
    return others if len(others) < len(chosen) else (*chosen, group)


# ---------------------------------------------------------------- other pages


def markdown_page(title: str, result: Json) -> Page:
    """Return the page of a result that has Markdown; its places are links."""
    uris = dict(_paths(result))
    return Page(title, tuple(_linked(line, uris) for line in result["markdown"].split("\n")))


def graph_page(result: Json) -> Page:
    """Return the page of a result of `promptls/graph`: its edges as a tree, and its Markdown."""
    page = markdown_page("Graph", result)
    tree = [*_tree(result)]
    if not tree:
        return page
    at = next((n for n, line in enumerate(page.lines) if line.text.startswith("## ")), len(page.lines))
    section = (PageLine("## Tree"), PageLine(""), *tree, PageLine(""))
    return structs.replace(page, lines=(*page.lines[:at], *section, *page.lines[at:]))


def _qualified_name(node: Json) -> str:
    """Return the qualified name of a definition, "" for a file; its id is "method:src/a.py:A.m" or "…:A.m@12.1"."""
    name: str = node["id"].partition(f":{node['path']}:")[2]
    return re.sub(r"@\d+\.\d+$", "", name)


def _tree(result: Json) -> Iterator[PageLine]:
    """Yield the nodes that have edges, each below the node that an edge comes from; a node is expanded once."""
    from promptls.prompt.sanitize import one_line  # not at the start of the server

    nodes = {node["id"]: node for node in result["nodes"]}
    edges: dict[str, dict[str, str]] = {}
    for edge in result["edges"]:
        if edge["source"] in nodes and edge["target"] in nodes and edge["source"] != edge["target"]:
            edges.setdefault(edge["source"], {}).setdefault(edge["target"], edge["type"])
    targets = {target for found in edges.values() for target in found}
    expanded: set[str] = set()

    def line_of(key: str, lead: str, relation: str) -> PageLine:
        node = nodes[key]
        place = one_line(place_of(node))
        name = _qualified_name(node)
        again = "  (above)" if key in expanded and key in edges else ""
        text = "  ".join(filter(None, (f"{relation} {one_line(name)}".strip(), place)))
        return PageLine(f"{lead}{text}{again}", Region(node["uri"], node["range"]), place)

    def below(key: str, lead: str) -> Iterator[PageLine]:
        if key in expanded:
            return
        expanded.add(key)
        children = [*edges.get(key, {}).items()]
        for n, (target, relation) in enumerate(children, 1):
            corner, rest = ("└─ ", "   ") if n == len(children) else ("├─ ", "│  ")
            yield line_of(target, lead + corner, relation)
            yield from below(target, lead + rest)

    for root in (*(key for key in nodes if key in edges and key not in targets), *edges):
        if root not in expanded:
            yield line_of(root, "", "")
            yield from below(root, "")


def _linked(text: str, uris: Mapping[str, str]) -> PageLine:
    for match in _LOCATION.finditer(text):
        if uri := uris.get(match["path"]):
            first = int(match["first"]) - 1
            start, end = ({"line": line, "character": 0} for line in (first, int(match["last"] or first + 1)))
            return PageLine(text, Region(uri, {"start": start, "end": end}), match[0])
    return PageLine(text)


def _paths(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (path, URI) of everything in a result that has both."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and isinstance(value.get("uri"), str):
            yield value["path"], value["uri"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _paths(one)


def status_page(status: Json) -> Page:
    """Return the page of a result of `promptls/status`."""
    lines = [f"# promptls: {status['state']}", ""]
    if status["message"]:
        lines += [status["message"], ""]
    for root in status["roots"]:
        counts = ", ".join(f"{root[name]:,} {name}" for name in ("files", "symbols", "chunks", "vectors"))
        lines += [f"## {root['name']}", "", f"- {root['uri']}", f"- {counts}"]
        lines += [f"- {root[name]:,} {name}" for name in ("pending", "skipped") if root[name]]
        lines += [f"- ignore files: .gitignore, {', '.join(root['ignoreFiles'])}"] if root["ignoreFiles"] else []
        lines += [f"- {root['lastError']}"] if root["lastError"] else []
        lines.append("")
    embedder, disk = status["embedder"], status["disk"]["bytes"]
    problem = f": {embedder['problem']}" if embedder["problem"] else ""
    lines += [
        "## Server",
        "",
        f"- embedding model: {embedder['model'] or 'none'}{problem}",
        f"- {disk / 1e6:,.1f} MB on disk, {status['memoryBytes'] / 1e6:,.0f} MB of memory",
        f"- log: {status['log']}",
    ]
    return Page("Status", tuple(map(PageLine, lines)))


def mention_kinds_page(result: Json) -> Page:
    """Return the page of a result of `promptls/mentionKinds`."""
    lines = ["# Mentions", ""]
    for kind in result["kinds"]:
        syntax = " ".join(f"`{one}`" for one in kind["syntax"])
        lines += [f"## {kind['name']}", "", syntax, "", kind["help"], ""]
    return Page("Mentions", tuple(map(PageLine, lines)))


PAGES: dict[str, tuple[str, Callable[[Json], Page]]] = {
    "prompt": ("promptls/buildPrompt", prompt_page),
    "explain": (
        "promptls/explain",
        lambda result: markdown_page((result.get("node") or {}).get("name", "Not found"), result),
    ),
    "graph": ("promptls/graph", graph_page),
    "status": ("promptls/status", status_page),
    "mentionKinds": ("promptls/mentionKinds", mention_kinds_page),
}
"""Request and renderer of each kind of page."""
