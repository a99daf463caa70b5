"""Impact of a change of a definition: overrides, tests through callers, and mentions of its name in text.

Syntactic analysis does not see values, templates and reflection.  The lines that contain the name show what it missed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Edge
from promptls.graph.resolution.name_lookup import common_segments
from promptls.graph.traversal import MIN_CERTAINTY
from promptls.index import IndexReader, OutlineRef, tokenize
from promptls.knowledge.project.file_kind import is_prose_path
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import PROSE, CancelToken, FileText, Problem

MAX_SUBTYPES = 60
"""Maximum number of subtypes of a type."""
MAX_CALLER_LEVELS, MAX_CALLERS = 3, 200
"""Maximum distance of tests through callers, and maximum number of callers that are followed; bounds the time."""
MAX_TEXT_FILES, TEXT_TIMEOUT_S = 300, 1.0
"""Maximum number of files whose text is searched for a name, nearest folders first, and seconds for it."""


def subtypes_of(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return direct and indirect subtypes of a type, nearest first."""
    subtypes: dict[OutlineRef, None] = {}
    level = [ref]
    while level and len(subtypes) < MAX_SUBTYPES:
        edges = [e for one in level for e in view.incoming(one) if e.type in ("inherits", "implements")]
        level = [e.source for e in edges if e.source not in subtypes and e.source != ref]
        subtypes.update(dict.fromkeys(level))
    return list(subtypes)


def implementations_of(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the subtypes of a type, or the overrides of a method."""
    definition, holder = view.symbol(ref), _owner(view, ref)
    subtypes = subtypes_of(view, holder or ref)
    if definition is None or holder is None:
        return subtypes
    overrides: list[OutlineRef] = []
    for path, index in subtypes:
        facts = view.file_symbols(path)
        children = facts.children.get(index, ()) if facts is not None else ()
        direct = [(path, i) for i in children if facts is not None and facts.symbols[i].name == definition.name]
        indirect = view.resolver.types.own_member((path, index), definition.name) if not direct else None
        overrides += [indirect] if indirect is not None else direct
    return overrides


def overridden_by(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the methods of supertypes that a method overrides, nearest first."""
    definition, holder = view.symbol(ref), _owner(view, ref)
    if definition is None or holder is None:
        return []
    found: dict[OutlineRef, None] = {}
    level, seen = [holder], {holder}
    while level and len(seen) < MAX_SUBTYPES:
        edges = [edge for one in level for edge in view.outgoing(one) if edge.type in ("inherits", "implements")]
        level = [edge.target for edge in edges if edge.target not in seen]
        seen.update(level)
        for base in level:
            member = view.resolver.types.own_member(base, definition.name)
            if member is not None:
                found[member] = None
    return list(found)


def _owner(view: GraphView, ref: OutlineRef) -> OutlineRef | None:
    """Return the type that a member belongs to, None for other definitions."""
    definition, own = view.symbol(ref), view.file_symbols(ref[0])
    kinds = own.language.method_owner_kinds if own is not None else TYPE_KINDS
    if definition is None or own is None or definition.kind in kinds:
        return None
    return view.resolver.types.enclosing_type(ref[0], own, ref[1])


def indirect_tests(
    view: GraphView, ref: OutlineRef, token: CancelToken | None = None
) -> list[tuple[OutlineRef, OutlineRef]]:
    """Return (test, caller) for the tests that reach a definition through a caller of it, nearest first."""
    tests: dict[OutlineRef, OutlineRef] = {}
    first: dict[OutlineRef, OutlineRef] = {ref: ref}  # caller → direct caller of the definition on the way
    level = [ref]
    for distance in range(MAX_CALLER_LEVELS):
        following = []
        for one in level:
            if token is not None:
                token.check()
            for edge in view.incoming(one):
                if edge.type != "calls" or edge.weight < MIN_CERTAINTY or edge.source in first:
                    continue
                if view.is_test(edge.source):
                    if distance:
                        tests.setdefault(edge.source, first[one])
                elif len(first) < MAX_CALLERS:
                    first[edge.source] = first[one] if distance else edge.source
                    following.append(edge.source)
        level = following
    direct = {edge.source for edge in view.incoming(ref) if edge.type == "calls"}
    return [(test, caller) for test, caller in tests.items() if test not in direct]


class TextMention(Struct, frozen=True):
    """A line that contains the name of a definition, but is not a reference that the graph can resolve."""

    path: str
    line: int  # 0-based
    is_code: bool  # written as a call, a member or a quoted name, so that it may be a use


def text_mentions(
    view: GraphView,
    ref: OutlineRef,
    reader: IndexReader,
    read: Callable[[str], FileText | Problem],
    token: CancelToken,
) -> tuple[TextMention, ...]:
    """Return the lines outside of a definition that contain its name as a word, possible uses first.

    Args:
        ref: The definition, or a file.
        reader: The index, which selects the files that contain the parts of the name.
    """
    symbol = view.symbol(ref)
    name, _ = _written_name(view, ref)
    terms = tokenize(name)
    if not terms:
        return ()
    paths = (path for path in reader.paths_with(terms) if path in view.snapshot.files)
    nearest = sorted(paths, key=lambda path: (-common_segments(path, ref[0]), path))[:MAX_TEXT_FILES]
    own_file = view.file_symbols(ref[0])
    ignores_case = own_file is not None and own_file.language.ignores_case
    escaped, flags = re.escape(name), re.IGNORECASE if ignores_case else 0
    word = re.compile(rf"(?<![\w$]){escaped}(?![\w$])", flags)
    code = re.compile(rf"(?:[.:>`'\"]{escaped}(?![\w$])|(?<![\w$]){escaped}[(`'\"])", flags)
    deadline = time.monotonic() + TEXT_TIMEOUT_S
    found: list[TextMention] = []
    for path in nearest:
        token.check()
        if time.monotonic() > deadline:
            break
        text = read(path)
        if isinstance(text, FileText) and (ignores_case or name in text.text):
            known = set(_known_lines(view, path, name))
            own = symbol.span if symbol is not None and path == ref[0] else None
            for number, line in enumerate(text.lines):
                is_new = number not in known and (own is None or number not in own)
                is_new = is_new and (ignores_case or name in line)
                if is_new and word.search(line):
                    found.append(TextMention(path, number, code.search(line) is not None))
    return tuple(sorted(found, key=lambda mention: not mention.is_code))


def _written_name(view: GraphView, ref: OutlineRef) -> tuple[str, bool]:
    """Return the name by which text refers to a definition or file, and whether nothing else has this name.

    This is the path of a key, as in "image.tag", if other keys have its last name.
    """
    symbol = view.symbol(ref)
    if symbol is None:
        return ref[0].rpartition("/")[2], False
    others = view.snapshot.names.get(symbol.name.lower(), ())
    if len(others) == 1 or symbol.kind != "key":
        return symbol.name, len(others) == 1
    folder = ref[0].rpartition("/")[0]
    same = ((path, other) for path, index in others if (other := view.symbol((path, index))) is not None)
    is_unique = all(path.rpartition("/")[0] == folder and other.qualified == symbol.qualified for path, other in same)
    return symbol.qualified, is_unique or symbol.qualified != symbol.name


def value_uses(
    view: GraphView,
    ref: OutlineRef,
    reader: IndexReader,
    read: Callable[[str], FileText | Problem],
    token: CancelToken,
) -> Iterator[Edge]:
    """Yield the uses of a definition as a value: passed, registered, assigned, exported, or bound in a template.

    Such a use is a line of code with the name of the definition, in its file, in a file that imports the name, or where
    the language needs no import: in its folder, or anywhere if no other definition has the name.
    """
    symbol, own = view.symbol(ref), view.file_symbols(ref[0])
    if symbol is None or own is None:
        return
    language = own.language
    needs_import = symbol.parent < 0 and language.imports is not None and not language.names_without_import
    needs_import = needs_import and not language.implicit_scope
    _, is_unique = _written_name(view, ref)
    folder = ref[0].rpartition("/")[0]
    for mention in text_mentions(view, ref, reader, read, token):
        symbols, text = view.file_symbols(mention.path), read(mention.path)
        is_prose = is_prose_path(view.snapshot.label(mention.path))
        if symbols is None or not isinstance(text, FileText) or is_prose:
            continue
        line = text.lines[mention.line].lstrip()
        if line.startswith(("*", "/*", *symbols.language.line_comments)) and not line.startswith("#["):
            continue
        is_imported = any(symbol.name in imported.names for imported in symbols.outline.imports)
        is_near = is_unique or mention.path.rpartition("/")[0] == folder
        if is_imported or mention.path == ref[0] or (is_near and not (needs_import and symbols.language is language)):
            inside = [i for i, other in enumerate(symbols.symbols) if mention.line in other.span]
            owner = min(inside, key=lambda i: len(symbols.symbols[i].span), default=-1)
            yield Edge((mention.path, owner), ref, "uses", 1.0, mention.path, mention.line)


def _known_lines(view: GraphView, path: str, name: str) -> Iterator[int]:
    """Yield the lines of a file that import or define a name, or whose reference to it can be resolved."""
    symbols = view.file_symbols(path)
    if symbols is None:
        return
    for owner, use in symbols.references_named(name):
        if use.kind != PROSE and view.resolver.resolve(path, owner, use):
            yield use.line
    for imported in symbols.outline.imports:
        if name in imported.names:
            yield from range(imported.line, imported.line + len(imported.names) + 1)  # it may have a line for each
    for symbol in symbols.symbols:
        if symbol.name == name:
            yield from range(symbol.span.start, max(symbol.span.start + 1, symbol.body_start))
