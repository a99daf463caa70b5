"""Items of a stack trace: the definitions of the workspace that its frames are in, and the place that raises it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import collect_items, resolve_mentions
from promptls.model import FileText, Item, Mention, Origin, Span, Symbol
from promptls.prompt.tasks.stack_trace import ErrorMessage, Frame, error_messages, parse_frames, raise_sites
from promptls.util.cancellation import check_each

MAX_ITEMS = 12
"""Maximum number of items of a stack trace."""

MAX_MATCHES = 2
"""Maximum number of files that one frame may refer to; of more, none is shown."""

MAX_VERIFIED = 20
"""Maximum number of files that have only their name in common with a path and are checked for the function."""

CONTEXT_LINES = 5
"""Lines shown before and after a line outside of definitions."""

MAX_TYPE_LINES = 60
"""Length up to which the type around a line outside of its methods is shown."""

TOP_SCORE, SCORE_STEP, MIN_SCORE = 0.95, 0.03, 0.5
"""Score of the innermost frame, decrease from one item to the next, and lowest score."""

_MAX_FUNCTION_NAMES = 3
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_LAMBDA = re.compile(
    r"func\d+|[db]__\d\w*|lambda|closure|anonymous|block|in|invoke|invokeSuspend|MoveNext|locals|as|async"
)
"""Parts of printed function names that compilers add."""

_LIBRARY = re.compile(
    r".*/(?:site-packages|dist-packages|node_modules|gems/[^/]+|vendor/[^/]+/[^/]+|pkg/mod/[^/]+|registry/src/[^/]+"
    r"|lib/python\d[.\d]*|Python\d+/Lib|(?:usr/local|usr/lib|opt)/go[^/]*/src|library/(?:std|core|alloc))/"
)
"""Folders of installed libraries, up to the path inside of them."""


class StackTrace(Struct, frozen=True):
    """The items of the stack traces and error messages in a text."""

    items: tuple[Item, ...] = ()  # most important first: innermost frame, raise site, outer frames
    frames: tuple[Frame, ...] = ()  # innermost first
    errors: tuple[ErrorMessage, ...] = ()


class _Location(Struct, frozen=True):
    """A region of a file with the lines that a stack trace names."""

    path: str
    span: Span
    kind: str
    symbol: str = ""
    lines: tuple[int, ...] = ()


def mask_mentions(message: str, mentions: Sequence[Mention]) -> str:
    """Return a message of the same length in which these mentions are blank."""
    parts: list[str] = []
    at = 0
    for mention in check_each(sorted(mentions, key=lambda mention: mention.start)):
        if mention.end > at:
            parts += [message[at : mention.start], " " * (mention.end - max(at, mention.start))]
            at = mention.end
    return "".join(parts) + message[at:]


def stack_trace_items(message: str, context: ResolveContext) -> StackTrace:
    """Return the items for the stack traces and error messages in a text.

    Each item is the definition that encloses the line of a frame; `Item.call_sites` are the lines of all frames in it.
    """
    frames = parse_frames(message)
    errors = error_messages(message, frames)
    located: list[_Location] = []
    for frame in frames:
        located += resolve_frame(frame, context)
        context.token.check()
        if len({(location.path, location.span) for location in located}) > MAX_ITEMS:
            break
    raised: list[_Location] = []
    for error in errors:
        for site in raise_sites(error, context):
            view = context.sources.read(site.path)
            if isinstance(view, FileText):
                raised.append(replace(_enclosing_location(view, site.lines[0]), lines=site.lines))
    innermost, outer = located[:1], located[1:]
    merged = _merge([*innermost, *raised, *_exception_types(errors, context), *outer])[:MAX_ITEMS]
    items = [
        Item(
            location.path,
            location.span,
            location.kind,
            Origin.TASK,
            round(max(MIN_SCORE, TOP_SCORE - SCORE_STEP * n), 4),
            location.symbol,
            {"stack trace": 1.0},
            call_sites=location.lines,
        )
        for n, location in enumerate(merged)
    ]
    return StackTrace(tuple(items), frames, errors)


def _exception_types(errors: Sequence[ErrorMessage], context: ResolveContext) -> list[_Location]:
    """Return the definitions of the exceptions of errors, if they are in the workspace and short."""
    names = dict.fromkeys(re.split(r"\W+", error.type)[-1] for error in errors if error.type)
    found = [collect_items((outcome,)) for outcome in resolve_mentions(" ".join(f"@#{n}" for n in names), context)]
    types = [items[0] for items in found if len(items) == 1 and items[0].kind in TYPE_KINDS]
    short = [item for item in types if len(item.span) <= MAX_TYPE_LINES]
    return [_Location(item.path, item.span, item.kind, item.symbol) for item in short]


def _merge(locations: Sequence[_Location]) -> list[_Location]:
    """Join locations of which one contains the other; the joined one takes the position of the first."""
    merged: list[_Location] = []
    for location in locations:
        same = [i for i, m in enumerate(merged) if m.path == location.path and _nested(m.span, location.span)]
        for i in reversed(same):
            other = merged.pop(i) if i != same[0] else merged[i]
            outer = other if other.span.contains(location.span) else location
            location = replace(outer, lines=tuple(sorted({*other.lines, *location.lines})))
        if same:
            merged[same[0]] = location
        else:
            merged.append(location)
    return merged


def _nested(a: Span, b: Span) -> bool:
    return a.contains(b) or b.contains(a)


# ---------------------------------------------------------------- frames


def resolve_frame(frame: Frame, context: ResolveContext) -> list[_Location]:
    """Return the locations of a frame in the workspace: none, one, or up to `MAX_MATCHES` that are equally likely."""
    names = function_names(frame)
    paths = matching_paths(frame, context)
    views = [view for path in paths if isinstance(view := context.sources.read(path), FileText)]
    if len(views) > 1:
        views = _with_function(views, names, frame)
        in_folders = _with_most_folders([view.entry.path for view in views], frame, context)
        views = [view for view in views if view.entry.path in in_folders]
    if len(views) > MAX_MATCHES:
        return []
    return [location for view in views if (location := _locate(view, names, frame)) is not None]


def function_names(frame: Frame) -> tuple[str, ...]:
    """Return the names of the definitions that the function of a frame may refer to, innermost first."""
    function = frame.function.partition(" [as ")[0]
    names = [name for name in _IDENTIFIER.findall(function.replace("$", ".")) if not _LAMBDA.fullmatch(name)]
    if function.startswith("<"):
        return ()
    return tuple(dict.fromkeys(reversed(names)))[:_MAX_FUNCTION_NAMES]


def matching_paths(frame: Frame, context: ResolveContext) -> list[str]:
    """Return the indexed files that match a path best: by the longest common suffix.

    A match of the file name alone counts only if the file defines the function of the frame.
    """
    segments = _segments(frame)
    if not segments:
        return []
    required = _required_segments(frame)
    by_length: dict[int, list[str]] = {}
    for path in context.snapshot.basenames.get(segments[-1].lower()):
        by_length.setdefault(_common_suffix(segments, path.strip("/").split("/")), []).append(path)
    longest = max(by_length, default=0)
    paths = by_length[longest] if longest >= required else []
    if len(paths) > MAX_VERIFIED:
        paths = _with_most_folders(paths, frame, context)
    if len(paths) > MAX_VERIFIED:
        return []
    if longest > 1 or len(segments) == 1:
        return paths
    return [path for path in paths if "/" not in context.snapshot.label(path) or _has_function(path, frame, context)]


def _with_most_folders(paths: Sequence[str], frame: Frame, context: ResolveContext) -> list[str]:
    """Return the files that have most folders in common with the path of a frame, at any position."""
    folders = {*_segments(frame)[:-1]}
    counts = [len(folders.intersection(context.snapshot.label(path).split("/")[:-1])) for path in paths]
    return [path for path, count in zip(paths, counts, strict=True) if count == max(counts)]


def _required_segments(frame: Frame) -> int:
    """Return the minimum length of the common suffix: a file of a library must match by its whole path in it."""
    path = frame.path.replace("\\", "/")
    library = _LIBRARY.match(path)
    if library is None:
        return 1
    rest = _path_segments(path[library.end() :])
    return max(2, len(rest) - (len(rest) > 1 and rest[0].startswith("@")))


def _segments(frame: Frame) -> list[str]:
    """Return the segments of the path of a frame; for Java and Kotlin, the package is its folder."""
    segments = _path_segments(frame.path.partition("?")[0].replace("\\", "/"))
    if len(segments) == 1 and frame.language in ("java", "kotlin", "scala", "groovy"):
        return [*frame.function.split(".")[:-2], *segments]
    return segments


def _path_segments(path: str) -> list[str]:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            segments.clear()
        elif segment not in ("", "."):
            segments.append(segment)
    return segments


def _common_suffix(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of last segments that two paths share, ignoring letter case."""
    count = 0
    for one, other in zip(reversed(a), reversed(b), strict=False):
        if one.lower() != other.lower():
            break
        count += 1
    return count


def _has_function(path: str, frame: Frame, context: ResolveContext) -> bool:
    """Return whether a file defines the function of a frame, or contains its source line."""
    view = context.sources.read(path)
    if not isinstance(view, FileText):
        return False
    defined = {symbol.name for symbol in _symbols(view)}
    names = function_names(frame)[:1]
    return bool(defined.intersection(names)) or (len(frame.code) > 8 and frame.code in view.text)


def _with_function(views: Sequence[FileText], names: Sequence[str], frame: Frame) -> list[FileText]:
    """Return the files whose definition at the line has the name of the function, else those that define it."""
    at_line = [v for v in views if any(s.name in names[:1] and frame.line in s.span for s in _symbols(v))]
    quoted = [
        v for v in views if frame.code and frame.line < len(v.lines) and v.lines[frame.line].strip() == frame.code
    ]
    defining = [v for v in views if any(s.name in names[:1] for s in _symbols(v))]
    for selected in ([v for v in at_line if v in quoted], quoted, at_line, defining):
        if selected:
            return selected
    return list(views)


# ---------------------------------------------------------------- lines


def _locate(view: FileText, names: Sequence[str], frame: Frame) -> _Location | None:
    """Return the region around the line of a frame; a line that has moved since is located by its text or function."""
    named = [symbol for name in names for symbol in _symbols(view) if symbol.name == name]
    first_name = [symbol for symbol in named if symbol.name in names[:1]]
    line = _present_line(view, first_name, frame)
    in_file = line < len(view.lines)
    if in_file and (any(line in symbol.span for symbol in named) or not first_name or _is_quoted(view, line, frame)):
        return _enclosing_location(view, line)
    if len(first_name) == 1:  # the file has changed, but the function is still there
        symbol = first_name[0]
        return _Location(view.entry.path, symbol.span, symbol.kind, symbol.qualified)
    return _enclosing_location(view, line) if in_file else None


def _present_line(view: FileText, named: Sequence[Symbol], frame: Frame) -> int:
    """Return the line that has the quoted text now: in the named function, else the only one in the file."""
    if not frame.code or _is_quoted(view, frame.line, frame):
        return frame.line
    same = [n for n, line in enumerate(view.lines) if line.strip() == frame.code]
    inside = [n for n in same if any(n in symbol.span for symbol in named)]
    if inside:
        return min(inside, key=lambda n: abs(n - frame.line))
    return same[0] if len(same) == 1 and not named else frame.line


def _is_quoted(view: FileText, line: int, frame: Frame) -> bool:
    return bool(frame.code) and line < len(view.lines) and view.lines[line].strip() == frame.code


def _enclosing_location(view: FileText, line: int) -> _Location:
    """Return the innermost function, else the short type around a line, else some lines around it."""
    enclosing = [symbol for symbol in _symbols(view) if line in symbol.span and symbol.name]
    callables = [symbol for symbol in enclosing if symbol.kind in CALLABLE_KINDS]
    types = [s for s in enclosing if s.kind in TYPE_KINDS and len(s.span) <= MAX_TYPE_LINES]
    for symbols in (callables, types):
        if symbols:
            symbol = min(symbols, key=lambda s: len(s.span))
            return _Location(view.entry.path, symbol.span, symbol.kind, symbol.qualified, (line,))
    around = Span(max(0, line - CONTEXT_LINES), min(len(view.lines), line + CONTEXT_LINES + 1))
    return _Location(view.entry.path, around, "text", "", (line,))


def _symbols(view: FileText) -> Sequence[Symbol]:
    return view.entry.outline.symbols if view.entry.outline is not None else ()
