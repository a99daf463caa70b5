"""The resolver of symbols: "@#Name", "@#Class.method", "@src/a.py#Name", "@root:#Name".

Definitions come from the outlines of the snapshot; their lines from the text as it is now.  Letter case as
written comes before any other.  Definitions in several places are candidates; only overloads, which are one
thing with several heads, are taken together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.mentions.context import Request
from promptls.mentions.format import spell
from promptls.mentions.outcomes import MAX_CANDIDATES, ambiguous, included, refused, unresolved
from promptls.mentions.path_lookup import (
    barred,
    files_at,
    files_in,
    find_folders,
    folders_at,
    is_test,
    name_for,
    nearest_first,
    roots_named,
)
from promptls.mentions.resolvers import file
from promptls.mentions.suggest import near_symbol
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Symbol

_SEPARATOR = re.compile(r"::|\.|#")


class Definition(Struct, frozen=True):
    """A symbol and the file it stands in."""

    path: str
    symbol: Symbol


def resolve(mention: Mention, request: Request) -> MentionOutcome:
    """The definition or definitions that the mention names."""
    found = fitting(mention, request)
    if isinstance(found, MentionOutcome):
        return found
    places = {(d.path, d.symbol.qualified) for d in found}
    if len(places) > 1:
        return _candidates(mention, request, found)
    return _all_of(mention, request, found)


def fitting(mention: Mention, request: Request) -> list[Definition] | MentionOutcome:
    """All definitions that the mention fits, at least one; or the outcome if there are none."""
    scope = _scope(mention, request)
    if isinstance(scope, MentionOutcome):
        return scope
    found = matching(mention.target, _definitions(mention, request, scope))
    if not found:
        return _missing(mention, request, scope)
    made = {(d.path, d.symbol.qualified) for d in found if d.path.endswith(".ml")}  # OCaml's interfaces repeat them
    found = [d for d in found if (d.path.removesuffix("i"), d.symbol.qualified) not in made or not d.path.endswith("i")]
    if scope is not None and len(scope) == 1:  # nothing could be added to a name that is whole
        found = [d for d in found if d.symbol.qualified == mention.target] or found
    return found


def definitions_in(request: Request, path: str) -> list[Definition]:
    """The symbols of a file's text as it is now; [] where it has none."""
    view = request.sources.read(path, explicit=True)
    if isinstance(view, Problem) or view.entry.outline is None:
        return []
    return [Definition(path, symbol) for symbol in view.entry.outline.symbols if symbol.name]


def split(target: str) -> list[str]:
    """The names in a qualified name; Rust, C++ and Ruby separators count as dots."""
    return [part for part in _SEPARATOR.split(target) if part]


def parted(argument: str, request: Request) -> tuple[str, str]:
    """(path, name) of "src/cart.py#Cart.total", "root:#Cart"; ("", the argument) where no "#" follows a path.

    Names hold "#" as paths do, so the one between them is the first behind a file, a folder with its slash or a root.
    """
    for at, char in enumerate(argument):
        path = argument[:at]
        if char == "#" and (folders_at if path.endswith(("/", ":")) else files_at)(request, path):
            return path, argument[at + 1 :]
    return "", argument


def last_names(target: str) -> set[str]:
    """The names, lower case, that a definition can have whose qualified name ends in the target.

    Names hold separators as well ("1.2.0", "#inc", "C# bindings"): any of them may be the one before the name.
    """
    starts = (0, *(found.end() for found in _SEPARATOR.finditer(target)))
    return {name for start in starts if (name := target[start:].lower())}


def _scope(mention: Mention, request: Request) -> Sequence[str] | MentionOutcome | None:
    """The files to look in: all (None), those the mention names, or the outcome if it names none."""
    roots = roots_named(request.snapshot, mention.root)
    if not mention.scope:
        return None if roots or not mention.root else _no_scope(mention, request)
    paths = file.paths(replace(mention, kind="file", target=mention.scope, scope=""), request)
    if paths:
        return paths
    folders = find_folders(request, mention.scope.rstrip("/"), roots).paths
    if folders:
        return files_in(request.snapshot, folders)
    return _no_scope(mention, request)


def _no_scope(mention: Mention, request: Request) -> MentionOutcome:
    """The scope names nothing: perhaps the "#" belongs to the name of a file."""
    sign = mention.text[len(mention.text) - len(mention.target) - 1]
    whole = replace(mention, kind="file", target=f"{mention.scope}{sign}{mention.target}", scope="")
    outcome = file.resolve(whole, request)
    if outcome.status != "unresolved":
        return replace(outcome, mention=mention)
    outcome = file.resolve(replace(whole, target=mention.scope), request)
    return replace(outcome, mention=mention, suggestion=_with_symbol(outcome.suggestion, mention.target))


def _with_symbol(path_mention: str, target: str) -> str:
    tail = (spell(symbol=target) or "")[1:]
    return path_mention + tail if path_mention and tail and not path_mention.endswith("/") else path_mention


def _definitions(mention: Mention, request: Request, scope: Sequence[str] | None) -> Iterator[Definition]:
    """All definitions whose own name is the last name of the target, letter case aside."""
    snapshot = request.snapshot
    names = last_names(mention.target)
    if scope is not None and len(scope) == 1:
        yield from (d for d in definitions_in(request, scope[0]) if d.symbol.name.lower() in names)
        return
    roots = roots_named(snapshot, mention.root)
    allowed = set(scope) if scope is not None else None
    for place in dict.fromkeys(place for name in names for place in snapshot.names.get(name, ())):
        request.token.check()
        symbol = snapshot.symbol(place)
        if symbol is None or (allowed is not None and place[0] not in allowed):
            continue
        if not mention.root or snapshot.root_of(place[0]) in roots:
            yield Definition(place[0], symbol)


def matching(target: str, definitions: Iterable[Definition]) -> list[Definition]:
    """Those whose qualified name ends in the target: in these letters if there are any, else in any case; else those
    that the target names by the module or package that their file is, as well.

    A type stands for its constructors, where they bear its name.
    """
    wanted = split(target)
    exact: list[Definition] = []
    other: list[Definition] = []
    within: list[Definition] = []
    for definition in definitions:
        qualified = definition.symbol.qualified
        if _ends(qualified, target, wanted):
            exact.append(definition)
        elif _ends(qualified.lower(), target.lower(), [part.lower() for part in wanted]):
            other.append(definition)
        elif _in_module(definition, wanted):
            within.append(definition)
    spelled = [d for d in within if split(d.symbol.qualified)[-1:] == wanted[-1:]]
    found = exact or other or spelled or within
    types = {d.symbol.qualified for d in found}
    return [d for d in found if d.symbol.kind != "constructor" or d.symbol.qualified.rpartition(".")[0] not in types]


def _in_module(definition: Definition, wanted: list[str]) -> bool:
    """Whether a target names a definition behind the path of its file or folder, as far as it is written:
    "pack.pack", "Path.Build.relative", "crate::sink::Sink.begin", "net/http" as "http.Get"."""
    qualified = [_plain(part) for part in split(definition.symbol.qualified)]
    parts = [_plain(part) for part in wanted if part not in ("crate", "self", "super")]
    modules = parts[: len(parts) - len(qualified)]
    if not modules or parts[len(modules) :] != qualified:
        return False
    *folders, name = definition.path.split("/")[-len(modules) - 1 :]
    path = [_plain(part) for part in (*folders, name.partition(".")[0])]
    return path[-len(modules) :] == modules or path[-len(modules) - 1 : -1] == modules


def _plain(part: str) -> str:
    return part.lower().replace("-", "_")


def _ends(qualified: str, target: str, wanted: list[str]) -> bool:
    """Whether a qualified name ends in the target, as written or with other separators (`wanted`: its parts)."""
    return f".{qualified}".endswith(f".{target}") or (bool(wanted) and split(qualified)[-len(wanted) :] == wanted)


def _all_of(mention: Mention, request: Request, found: Sequence[Definition]) -> MentionOutcome:
    """The outcome for definitions of one qualified name in one file."""
    path, qualified = found[0].path, found[0].symbol.qualified
    why = barred(request, path)
    if why:
        return refused(mention, why)
    current = [d.symbol for d in definitions_in(request, path) if d.symbol.qualified == qualified]
    label = request.snapshot.label(path)
    if not current:
        view = request.sources.read(path, explicit=True)
        why = view.message if isinstance(view, Problem) else f"{qualified} is no longer in it"
        return MentionOutcome(mention, "omitted", reason=f"{label} cannot be shown: {why}.")
    reason = f"{len(current)} definitions of {qualified} in {label}." if len(current) > 1 else ""
    if not found[0].symbol.qualified.endswith(split(mention.target)[-1] if split(mention.target) else ""):
        reason = f"{mention.text} was taken for {qualified}, whose letters differ in case. {reason}".strip()
    return included(mention, [Item(path, s.span, s.kind, Origin.MENTION, 1.0, s.qualified) for s in current], reason)


def _candidates(mention: Mention, request: Request, found: Sequence[Definition]) -> MentionOutcome:
    snapshot = request.snapshot
    order = {path: i for i, path in enumerate(nearest_first(request, (d.path for d in found)))}
    ranked = sorted(found, key=lambda d: (is_test(snapshot.label(d.path)), order[d.path], d.symbol.span.start))
    places = list(dict.fromkeys((d.path, d.symbol.qualified) for d in ranked))
    more = f" The first {MAX_CANDIDATES} are listed." if len(places) > MAX_CANDIDATES else ""
    return ambiguous(
        mention,
        f"{len(places)} definitions fit {mention.text}; say which one.{more}",
        (name_for(snapshot, path, symbol=name) for path, name in places[: 2 * MAX_CANDIDATES]),
    )


def _missing(mention: Mention, request: Request, scope: Sequence[str] | None) -> MentionOutcome:
    parts = split(mention.target)
    name = parts[-1] if parts else mention.target
    if scope is not None:
        label = request.snapshot.label(scope[0]) if len(scope) == 1 else mention.scope
        reason = f'There is no symbol "{mention.target}" in {label}.'
        anywhere = resolve(replace(mention, scope=""), request)
        if anywhere.status == "included":
            item = anywhere.targets[0]
            return unresolved(mention, reason, name_for(request.snapshot, item.path, symbol=item.symbol) or "")
        return unresolved(mention, reason, anywhere.candidates[0] if anywhere.candidates else anywhere.suggestion)
    return unresolved(mention, f'There is no symbol "{mention.target}" in the workspace.', near_symbol(request, name))
