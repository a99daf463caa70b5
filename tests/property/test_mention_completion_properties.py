"""Completion of mentions: inserted mentions resolve to the offered target; fuzzy search agrees with a linear scan."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promptls.graph.graph import Graph
from promptls.graph.imports import ImportResolver
from promptls.index.files.read import FileLimits
from promptls.index.search.chunk_index import ChunkIndex
from promptls.index.snapshot import OpenDocument, Snapshot, SourceReader, with_files
from promptls.mentions.completion.complete import complete
from promptls.mentions.completion.fuzzy import FuzzyIndex, MatchTier
from promptls.mentions.context import ClientContext, ResolveContext, Services
from promptls.mentions.extent import find_mentions
from promptls.mentions.path_lookup import find_files, find_folders
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.syntax.grammar import parse
from promptls.model import FileEntry, Outline, Root, Span, Symbol, encode_outline
from promptls.util.hashing import content_hash
from promptls.util.mappings import PersistentMap

SEGMENT = st.text(st.sampled_from(" .:#@'\"`\\%()[]-~*?!,;+$é😀_aAbB1"), min_size=1, max_size=6).filter(
    lambda part: part.strip(".") and part.strip() == part
)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12, unique=True)
NAMES = st.lists(st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=8), min_size=1, max_size=30, unique=True)
QUERIES = st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=4)


def snapshot(paths: list[str], roots: list[str]) -> Snapshot:
    tops = tuple(Root(f"/ws/{name}", name, f"file:///ws/{name}") for name in roots)
    symbol = Symbol("one", "function", "one", "def one()", "", Span(0, 1), 0, 0, -1)
    entries = [
        FileEntry(
            f"{root.path}/{path}",
            root.path,
            path,
            1,
            1,
            b"x" * 16,
            encoded_outline=encode_outline(Outline("text", 1, (symbol,))),
        )
        for root in tops
        for path in paths
        if not any(other.startswith(path + "/") for other in paths)
    ]
    return with_files(Snapshot(roots=tops), [(e.path, e) for e in entries])


@given(PATHS, st.sampled_from([["r"], ["r", "other root"]]), st.sampled_from(["@", "@a", "@1", '@"', "@b/"]))
@settings(max_examples=400, deadline=None)
def test_inserted_mention_resolves_to_the_offered_path(paths: list[str], roots: list[str], typed: str) -> None:
    current = snapshot(paths, roots)
    context = ResolveContext(SourceReader(current, FileLimits()))
    for item in complete(typed, len(typed), context, limit=200).items:
        if item.kind not in ("file", "folder"):
            continue
        (mention,) = parse(item.insert_text)
        assert mention.text == item.insert_text
        assert mention.kind == item.kind
        wanted = tuple(r for r in current.roots if r.name == mention.root) or current.roots
        find = find_files if item.kind == "file" else find_folders
        found = find(context, mention.target, wanted).paths
        assert [current.label(path) for path in found] == [item.label.rstrip("/")]


TITLE = st.text(st.sampled_from(" .:#'\"`\\aAbB1[]-"), min_size=1, max_size=6).filter(lambda name: name.strip() == name)
DEFINED = st.lists(st.tuples(TITLE, st.integers(0, 5)), min_size=1, max_size=6)
"""(name, number of the enclosing earlier definition or 0) of each definition of a file."""


def defined(files: dict[str, list[tuple[str, int]]], roots: list[str]) -> Snapshot:
    """Return roots with these files, all open, with one definition per line."""
    tops = tuple(Root(f"/ws/{name}", name, f"file:///ws/{name}") for name in roots)
    entries: list[tuple[str, FileEntry]] = []
    documents: dict[str, OpenDocument] = {}
    for root in tops:
        for path, names in files.items():
            symbols: list[Symbol] = []
            for i, (name, holder) in enumerate(names):
                parent = min(holder, i) - 1
                qualified = f"{symbols[parent].qualified}.{name}" if parent >= 0 else name
                symbols.append(Symbol(name, "function", qualified, name, "", Span(i, i + 1), i, i, parent))
            text = "".join(f"{name}\n" for name, _ in names)
            whole = f"{root.path}/{path}"
            outlined = encode_outline(Outline("text", len(names), tuple(symbols)))
            entries.append(
                (whole, FileEntry(whole, root.path, path, 1, 1, content_hash(text), encoded_outline=outlined))
            )
            documents[whole] = OpenDocument(text, 1)
    return replace(with_files(Snapshot(roots=tops), entries), documents=PersistentMap(documents))


@given(DEFINED, DEFINED, st.sampled_from([["r"], ["r", "other root"]]))
@settings(max_examples=300, deadline=None)
def test_inserted_symbol_mention_is_resolved(
    some: list[tuple[str, int]], more: list[tuple[str, int]], roots: list[str]
) -> None:
    current = defined({"x.py": some, "my dir/y.py": more}, roots)
    graph = Graph(ImportResolver)
    services = Services(graph=graph.at, index=ChunkIndex())  # type: ignore[arg-type]  # only its reader is used
    context = ResolveContext(
        SourceReader(current, FileLimits()), ClientContext(open_documents=tuple(current.files)), services=services
    )
    check_symbol_completions(context, ["x.py", "my dir/y.py"])


def check_symbol_completions(context: ResolveContext, labels: list[str]) -> None:
    """Check that all symbols of open documents and of these files resolve to themselves."""
    label = context.snapshot.label
    for typed in ("@#", *(f'@"{name}"#' for name in labels)):
        for item in complete(typed, len(typed), context, limit=200).items:
            (outcome,) = resolve_mentions(f"{item.insert_text} x", context)
            assert (outcome.mention.text, outcome.status) == (item.insert_text, "included"), outcome
            assert item.detail in [f"{i.kind}, {label(i.path)}:{i.span.start + 1}" for i in outcome.targets]
            assert {i.symbol for i in outcome.targets} == {item.label}
    for typed in ("@callers:", *(f'@callers:"{name}#' for name in labels)):
        for item in complete(typed, len(typed), context, limit=200).items:
            (outcome,) = resolve_mentions(f"{item.insert_text} x", context)
            assert outcome.mention.text == item.insert_text
            assert "(syntactic analysis)" in outcome.reason or "not analysed" in outcome.reason, outcome


TYPED = st.text(st.sampled_from("ab/1.:#_ 'é中\"\\"), max_size=5)


@given(PATHS, st.sampled_from([["r"], ["r", "other root"]]), st.sampled_from(["", "#"]), TYPED, TYPED)
@example(["1", "1_"], ["r"], "", "#", ":\\1")  # a symbol in a file whose name begins with that of another file
@settings(max_examples=400, deadline=None)
def test_accepted_item_is_a_mention_of_it_and_keeps_other_text(
    paths: list[str], roots: list[str], sign: str, typed: str, rest: str
) -> None:
    context = ResolveContext(SourceReader(snapshot(paths, roots), FileLimits()))
    text, cursor = f"see @{sign}{typed}{rest} end", len(f"see @{sign}{typed}")
    result = complete(text, cursor, context, limit=20)
    assert result.start <= cursor <= result.end <= len(text)
    for item in result.items:
        if item.kind in ("file", "one", "function", "range"):
            accepted = text[: result.start] + item.insert_text + text[result.end :]
            (alone,) = find_mentions(f"{item.insert_text} x", context)
            (mention,) = [m for m in find_mentions(accepted, context) if m.start == result.start]
            assert mention.text.startswith(alone.text)
            assert mention.text[len(alone.text) :][:1] in ("/.:#" if alone.kind == "symbol" else ":#")


@given(NAMES, QUERIES)
@settings(max_examples=500, deadline=None)
def test_fuzzy_search_agrees_with_a_linear_scan(names: list[str], query: str) -> None:
    fuzzy = FuzzyIndex([(name, name) for name in names], paths=False)
    found = {fuzzy.keys[match.row]: match.tier for match in fuzzy.search(query, 1000)}
    low = unicodedata.normalize("NFC", query).lower()
    for name in names:
        tier = found.get(name, MatchTier.SUBSEQUENCE)
        there = name.lower()
        assert (tier == MatchTier.EXACT) == (there == low)
        assert (tier <= MatchTier.PREFIX) == there.startswith(low)
        if low in there:
            assert tier <= MatchTier.SUBSTRING
