r"""Resolver of symbols: "@#Name", "@#Class.method", "@src/a.py#Name", "@root:#Name".

Definitions come from the outlines of the snapshot, their lines from the current text.  Exact case is preferred.
Definitions in several places are ambiguous, except overloads and the parts of one definition, which are resolved
together.

Outlines qualify names with dots and without type arguments.  `spellings` converts what languages write instead:
`Stack<T>::push`, `(*Server).Serve`, `$this->total`, `App\Models\User`, `save!/1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.graph.definition_items import parts_of
from promptls.graph.resolution.file_tables import SELF_NAMES, SUPER_NAMES
from promptls.graph.traversal import inherited_definitions
from promptls.index import OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_test_path
from promptls.languages import LANGUAGES, implementation_paths, language_named
from promptls.languages.kinds import TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import MAX_CANDIDATES, ambiguous, included, refused, unresolved
from promptls.mentions.path_lookup import (
    access_denied_reason,
    files_below,
    find_files,
    find_folders,
    find_roots,
    mention_for,
    resolve_files,
    resolve_folders,
    sort_by_proximity,
    suggest_symbol,
)
from promptls.mentions.resolvers import file
from promptls.mentions.syntax.grammar import format_mention, is_line_range
from promptls.mentions.syntax.lexer import group_end
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Symbol
from promptls.util.text.display import plural
from promptls.util.text.unicode_forms import nfc

_SEPARATOR = re.compile(r"::|\.|#")


MAX_PARTS = 8
"""Parts of a definition up to which its name means all of them."""


class Definition(Struct, frozen=True):
    """A symbol and its file."""

    path: str
    symbol: Symbol


def resolve(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of a symbol to its definition or overloads."""
    definitions, spelling = matching_definitions(mention, context)
    if isinstance(definitions, MentionOutcome):
        return definitions
    parts = _parts(definitions, context) if not mention.scope else []
    if not parts and len({(d.path, d.symbol.qualified) for d in definitions}) > 1:
        complete = _completely_qualified(definitions, spelling)
        outcome = _ambiguous_outcome(mention, context, [d for d in definitions if d not in complete])
        if not complete:
            return outcome
        chosen = _overloads_outcome(mention, context, complete, spelling)
        others = outcome.candidates
        note = f"{plural(len(others), 'other definition')} end with this name. {chosen.reason}".strip()
        return replace(chosen, candidates=others, reason=note)
    return _overloads_outcome(mention, context, parts or definitions, spelling)


def _parts(definitions: Sequence[Definition], context: ResolveContext) -> list[Definition]:
    """Return all parts of the one definition that these are parts of, [] if they are several definitions."""
    snapshot, names = context.snapshot, {(d.path, d.symbol.qualified) for d in definitions}
    language = language_named(getattr(snapshot.outline(definitions[0].path), "language", ""))
    if not (language.part_modifiers or (language.part_block and definitions[0].symbol.kind in TYPE_KINDS)):
        return []
    own = definitions[0].symbol.name.lower()
    refs = [r for r in snapshot.names.get(own, ()) if (r[0], getattr(snapshot.symbol(r), "qualified", "")) in names]
    parts = parts_of(context.graph, refs[0]) if refs else []
    if len(parts) > MAX_PARTS or not set(refs) <= set(parts):
        return []
    return [Definition(ref[0], symbol) for ref in parts if (symbol := snapshot.symbol(ref)) is not None]


def _completely_qualified(definitions: Sequence[Definition], spelling: Spelling) -> list[Definition]:
    """Return the definitions of the one symbol whose complete name is a qualified name, if there is just one."""
    parts = split_name(spelling.name)
    complete = [d for d in definitions if len(parts) > 1 and split_name(d.symbol.qualified) == parts]
    return complete if len({d.path for d in complete}) == 1 else []


def matching_definitions(
    mention: Mention, context: ResolveContext
) -> tuple[list[Definition] | MentionOutcome, Spelling]:
    """Return all definitions that match the mention, or the outcome if there are none, and the spelling that matched."""
    mention = replace(mention, target=nfc(mention.target))
    spelling = Spelling(mention.target)
    scope = _scope(mention, context)
    if isinstance(scope, MentionOutcome):
        return scope, spelling
    matches: list[Definition] = []
    for spelling in spellings(mention.target):
        matches = filter_matching(spelling.name, _definitions(mention, spelling, context, scope))
        if matches:
            break
    if not matches:
        matches = _trait_methods(mention, context, scope) or _inherited_members(mention, context, scope)
        spelling = Spelling(mention.target, without_receiver=True)
    if not matches:
        return _not_found(mention, context, scope), spelling
    found = {(d.path, d.symbol.qualified) for d in matches}
    matches = [
        d for d in matches if not any((path, d.symbol.qualified) in found for path in implementation_paths(d.path))
    ]
    if scope is not None and len(scope) == 1:  # a complete qualified name cannot be qualified further
        matches = [d for d in matches if d.symbol.qualified == spelling.name] or matches
    return matches, spelling


def definitions_in(context: ResolveContext, path: str) -> list[Definition]:
    """Return the symbols in the current text of a file."""
    view = context.sources.read(path, explicit=True)
    if isinstance(view, Problem) or view.entry.outline is None:
        return []
    return [Definition(path, symbol) for symbol in view.entry.outline.symbols]


def split_name(target: str) -> list[str]:
    """Split a qualified name; the separators of Rust, C++ and Ruby are equivalent to dots."""
    return [part for part in _SEPARATOR.split(target) if part]


def split_scope(argument: str, context: ResolveContext) -> tuple[str, str]:
    """Split "src/cart.py#Cart.total" or "root:#Cart" into path and name; the path is "" without a scope.

    Paths and names may contain "#", so the separator is the first one after an existing file, folder or root.
    """
    for at, char in enumerate(argument):
        path = argument[:at]
        if char == "#" and (resolve_folders if path.endswith(("/", ":")) else resolve_files)(context, path):
            return path, argument[at + 1 :]
    return "", argument


def candidate_names(target: str) -> set[str]:
    """Return the possible own names, in lower case, of definitions whose qualified name ends with the target.

    Names may contain separators ("1.2.0", "#inc", "C# bindings"), so the name may start after any of them.
    """
    starts = (0, *(separator.end() for separator in _SEPARATOR.finditer(target)))
    return {name for start in starts if (name := target[start:].lower())}


def refs_named(snapshot: Snapshot, name: str) -> list[OutlineRef]:
    """Return the definitions whose own name is the last part of a name, ignoring case."""
    return list(dict.fromkeys(ref for own in candidate_names(name) for ref in snapshot.names.get(own, ())))


def filter_matching(target: str, definitions: Iterable[Definition]) -> list[Definition]:
    """Return the definitions whose qualified name ends with the target.

    Matches with exact case are preferred, then matches ignoring case, then matches that are qualified by the module
    or package of their file.  Constructors with the name of a matching type are left out.
    """
    parts = split_name(target)
    exact: list[Definition] = []
    ignoring_case: list[Definition] = []
    in_module: list[Definition] = []
    for definition in definitions:
        qualified = definition.symbol.qualified
        if _ends_with(qualified, target, parts):
            exact.append(definition)
        elif _ends_with(qualified.lower(), target.lower(), [part.lower() for part in parts]):
            ignoring_case.append(definition)
        elif _is_in_module(definition, parts):
            in_module.append(definition)
    exact_in_module = [d for d in in_module if split_name(d.symbol.qualified)[-1:] == parts[-1:]]
    matches = exact or ignoring_case or exact_in_module or in_module
    types = {d.symbol.qualified for d in matches}
    return [d for d in matches if d.symbol.kind != "constructor" or d.symbol.qualified.rpartition(".")[0] not in types]


def _scope(mention: Mention, context: ResolveContext) -> Sequence[str] | MentionOutcome | None:
    """Return the files of the mention's scope, None for all files, or the outcome if the scope does not exist."""
    roots = find_roots(context.snapshot, mention.root)
    if not mention.scope:
        return None if roots or not mention.root else _unknown_scope(mention, context)
    paths = find_files(context, mention.scope, roots).paths
    if paths:
        return sort_by_proximity(context, paths)
    folders = find_folders(context, mention.scope.rstrip("/"), roots).paths
    if folders:
        return files_below(context.snapshot, folders)
    return _unknown_scope(mention, context)


def _unknown_scope(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Return the outcome for an unknown scope; the "#" may be part of a file name."""
    separator = mention.text[len(mention.text) - len(mention.target) - 1]
    as_file = replace(mention, kind="file", target=f"{mention.scope}{separator}{mention.target}", scope="")
    outcome = file.resolve_file(as_file, context)
    if outcome.status != "unresolved":
        return replace(outcome, mention=mention)
    outcome = file.resolve_file(replace(as_file, target=mention.scope), context)
    return replace(outcome, mention=mention, suggestion=_with_symbol(outcome.suggestion, mention.target))


def _with_symbol(path_mention: str, target: str) -> str:
    tail = (format_mention(symbol=target) or "")[1:]
    return path_mention + tail if path_mention and tail and not path_mention.endswith("/") else path_mention


def _trait_methods(mention: Mention, context: ResolveContext, scope: Sequence[str] | None) -> list[Definition]:
    """Return the methods of "Trait::method" in blocks that implement the trait for a type."""
    owner, name = ("", "", *split_name(mention.target))[-2:]
    found = _definitions(mention, Spelling(name), context, scope) if owner else ()
    return [d for d in found if _is_in_implementation(d, owner, context)]


def _inherited_members(mention: Mention, context: ResolveContext, scope: Sequence[str] | None) -> list[Definition]:
    """Return the members of bases that the mention calls members of a type: "Child.run" for the method of its base."""
    if scope is not None or len(split_name(mention.target)) < 2:
        return []
    snapshot, roots = context.snapshot, find_roots(context.snapshot, mention.root)
    refs = [
        ref
        for ref in inherited_definitions(context.graph, mention.target)
        if not mention.root or snapshot.root_of(ref[0]) in roots
    ]
    return [Definition(ref[0], symbol) for ref in refs if (symbol := snapshot.symbol(ref)) is not None]


def _is_in_implementation(definition: Definition, trait: str, context: ResolveContext) -> bool:
    outline = context.snapshot.outline(definition.path)
    if outline is None or not 0 <= definition.symbol.parent < len(outline.symbols):
        return False
    parent = outline.symbols[definition.symbol.parent]
    return parent.kind == "impl" and re.search(rf"(?<!\w){re.escape(trait)}(?!\w)", parent.signature) is not None


def _definitions(
    mention: Mention, spelling: Spelling, context: ResolveContext, scope: Sequence[str] | None
) -> Iterator[Definition]:
    """Yield the definitions whose own name is the last part of a name, ignoring case."""
    snapshot = context.snapshot
    names = candidate_names(spelling.name)
    if scope is not None and len(scope) == 1:
        yield from (d for d in definitions_in(context, scope[0]) if d.symbol.name and d.symbol.name.lower() in names)
        return
    roots = find_roots(snapshot, mention.root)
    allowed = set(scope) if scope is not None else None
    for ref in refs_named(snapshot, spelling.name):
        context.token.check()
        symbol = snapshot.symbol(ref)
        if symbol is None or (allowed is not None and ref[0] not in allowed):
            continue
        if spelling.languages and getattr(snapshot.outline(ref[0]), "language", "") not in spelling.languages:
            continue
        if not mention.root or snapshot.root_of(ref[0]) in roots:
            yield Definition(ref[0], symbol)


def _is_in_module(definition: Definition, parts: list[str]) -> bool:
    """Return whether a target is the name of a definition qualified by the end of its module path.

    Examples are "pack.pack", "Path.Build.relative", "crate::sink::Sink.begin", and "http.Get" in net/http.
    """
    qualified = [_module_name(part) for part in split_name(definition.symbol.qualified)]
    names = [_module_name(part) for part in parts if part not in ("crate", "self", "super")]
    modules = names[: len(names) - len(qualified)]
    if not modules or names[len(modules) :] != qualified:
        return False
    *folders, file_name = definition.path.split("/")[-len(modules) - 1 :]
    path = [_module_name(part) for part in (*folders, file_name.partition(".")[0])]
    return path[-len(modules) :] == modules or path[-len(modules) - 1 : -1] == modules


def _module_name(part: str) -> str:
    return part.lower().replace("-", "_")


def _ends_with(qualified: str, target: str, parts: list[str]) -> bool:
    """Return whether a qualified name ends with the target, or with its parts under other separators."""
    return f".{qualified}".endswith(f".{target}") or (bool(parts) and split_name(qualified)[-len(parts) :] == parts)


def _overloads_outcome(
    mention: Mention, context: ResolveContext, definitions: Sequence[Definition], spelling: Spelling
) -> MentionOutcome:
    """Return the outcome for overloads in one file, or for the parts of one definition."""
    qualified, paths = definitions[0].symbol.qualified, list(dict.fromkeys(d.path for d in definitions))
    denied = {path: reason for path in paths if (reason := access_denied_reason(context, path))}
    if len(denied) == len(paths):
        return refused(mention, denied[paths[0]])
    blocks = {(d.path, d.symbol.signature) for d in definitions if not d.symbol.name}
    current = [
        d
        for path in paths
        for d in definitions_in(context, path)
        if path not in denied and d.symbol.qualified == qualified
        if d.symbol.name or (path, d.symbol.signature) in blocks
    ]
    label = context.snapshot.label(paths[0])
    if not current:
        view = context.sources.read(paths[0], explicit=True)
        cause = view.message if isinstance(view, Problem) else "it was deleted"
        return MentionOutcome(mention, "omitted", reason=f"Cannot read {qualified} in {label}: {cause}.")
    if len(paths) > 1:
        reason = f"{len(current)} parts of {qualified} in {plural(len(paths), 'file')}."
    else:
        reason = f"{len(current)} definitions of {qualified} in {label}." if len(current) > 1 else ""
    parts = split_name(spelling.name)
    if spelling.without_receiver:
        reason = f"{mention.text} was resolved to {qualified}. {reason}".strip()
    elif not qualified.endswith(parts[-1] if parts else ""):
        reason = f"{mention.text} was resolved to {qualified} ignoring case. {reason}".strip()
    return included(
        mention, [Item(d.path, d.symbol.span, d.symbol.kind, Origin.MENTION, 1.0, qualified) for d in current], reason
    )


def _ambiguous_outcome(mention: Mention, context: ResolveContext, definitions: Sequence[Definition]) -> MentionOutcome:
    snapshot = context.snapshot
    order = {path: i for i, path in enumerate(sort_by_proximity(context, (d.path for d in definitions)))}
    ranked = sorted(
        definitions, key=lambda d: (is_test_path(snapshot.label(d.path)), order[d.path], d.symbol.span.start)
    )
    locations = list(dict.fromkeys((d.path, d.symbol.qualified) for d in ranked))
    note = f" The first {MAX_CANDIDATES} are listed." if len(locations) > MAX_CANDIDATES else ""
    return ambiguous(
        mention,
        f"{len(locations)} definitions match {mention.text}; choose one.{note}",
        (mention_for(snapshot, path, symbol=name) for path, name in locations[: 2 * MAX_CANDIDATES]),
    )


def _not_found(mention: Mention, context: ResolveContext, scope: Sequence[str] | None) -> MentionOutcome:
    parts = split_name(mention.target)
    if scope is not None and is_line_range(mention.target):
        path = context.snapshot.label(scope[0]) if len(scope) == 1 else mention.scope
        lines = f'"{mention.target}" is neither a symbol in {path} nor lines such as 10-20.'
        return unresolved(mention, lines, mention_for(context.snapshot, scope[0]) or "" if len(scope) == 1 else "")
    if scope is None:
        reason = f'Symbol "{mention.target}" not found in the workspace.'
        suggestion = suggest_symbol(context, mention.target, parts)
        return unresolved(mention, reason, suggestion)
    label = context.snapshot.label(scope[0]) if len(scope) == 1 else mention.scope
    reason = f'Symbol "{mention.target}" not found in {label}.'
    anywhere = resolve(replace(mention, scope=""), context)
    if anywhere.status == "included":
        item = anywhere.targets[0]
        return unresolved(mention, reason, mention_for(context.snapshot, item.path, symbol=item.symbol) or "")
    similar = suggest_symbol(context, mention.target, parts, scope)
    return unresolved(mention, reason, similar or next(iter(anywhere.candidates), anywhere.suggestion))


# ---------------------------------------------------------------- spellings of qualified names

_SEPARATORS = {"::", ".", "#", "?.", "!."} | {
    separator
    for language in LANGUAGES.values()
    for separator in (*language.name_separators, *(o for o in language.member_operators if o in ("->", "\\")))
}
_NAME_SEPARATOR = re.compile("|".join(re.escape(separator) for separator in sorted(_SEPARATORS, key=len, reverse=True)))

_ROOT_NAMES = frozenset(name for language in LANGUAGES.values() for name in language.name_marks.roots)
_RECEIVERS = SELF_NAMES | SUPER_NAMES | {name for language in LANGUAGES.values() for name in language.self_names}

_SUFFIXES = {
    re.compile(f"(?:{language.name_marks.suffix})$"): frozenset({name})
    for name, language in LANGUAGES.items()
    if language.name_marks.suffix
}
"""Suffix → languages that write it."""

_PREFIXES = sorted({prefix for language in LANGUAGES.values() for prefix in language.name_marks.prefixes}, key=len)
_OPERATOR = re.compile(r"operator\s*(?=[^\w\s])")
_POINTER = "*& "
_GROUP_OPENERS = "<([{"


class Spelling(Struct, frozen=True):
    """A qualified name in the form of an outline."""

    name: str
    without_receiver: bool = False  # "self.total" was written, and nothing is known of the type
    languages: frozenset[str] = frozenset()  # only languages that are spelled like this; empty for any


def spellings(target: str) -> Iterator[Spelling]:
    """Yield a qualified name as written, then as an outline would spell it, most literal first."""
    yield Spelling(target)
    seen = {target}
    parts = [part for part in _NAME_SEPARATOR.split(_without_arguments(target)) if part and part != "prototype"]
    without_receiver = False
    while len(parts) > 1 and (parts[0] in _ROOT_NAMES or parts[0] in _RECEIVERS):
        without_receiver = without_receiver or parts[0] not in _ROOT_NAMES
        del parts[0]
    if not parts:
        return
    *owners, last = parts
    for name, languages in _forms(last, owners[-1] if owners else ""):
        spelled = ".".join((*owners, name))
        if name and spelled not in seen:
            seen.add(spelled)
            yield Spelling(spelled, without_receiver, languages)


def _forms(name: str, owner: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the forms of the last name, without or with what a language writes before or behind it, and the languages."""
    everywhere: frozenset[str] = frozenset()
    yield name, everywhere
    for suffix, languages in _SUFFIXES.items():
        yield suffix.sub("", name), languages
    yield _OPERATOR.sub("", name), everywhere
    if name.startswith(f"_{owner}__"):
        yield name[len(owner) + 1 :], everywhere  # Python mangles the names of private attributes
    for prefix in _PREFIXES:
        yield name[len(prefix) :] if name.startswith(prefix) else prefix + name, everywhere


def _without_arguments(name: str) -> str:
    """Return a name without type arguments, parameters and the brackets around a receiver."""
    kept: list[str] = []
    i = 0
    while i < len(name):
        end = group_end(name, i) if name[i] in _GROUP_OPENERS[:3] else -1
        if end < 0:
            kept.append(name[i])
            i += 1
            continue
        if not kept and end < len(name):
            # "(*Server).Serve" and "<Stack<T> as Drop>::drop"
            kept.append(_without_arguments(name[i + 1 : end - 1].partition(" as ")[0].strip(_POINTER)))
        elif not kept or not (kept[-1].isalnum() or kept[-1] in "_:$!?"):
            kept.append(name[i:end])
        i = end
    return "".join(kept).strip(_POINTER if len(name) > 2 and name[-1].isalnum() else " ")
