"""Which files a rule is about, as its head says: globs, languages, Cody's expressions, always, or on request.

The tools' keys for one thing are taken alike (globs, paths, applyTo).  A filter that cannot be understood is a
sentence, never a rule that holds everywhere.  Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import files as disk
from promptls.knowledge.rules.frontmatter import Head, Value, words
from promptls.knowledge.rules.regexes import Effort, Expression, Unsupported

MOST_GLOBS = 64
"""Globs of one rule, braces expanded; more are not looked at …"""
MOST_GLOB = 300
"""… nor is one of more characters."""
GLOB_EFFORT = 20
"""What a character of a glob costs, beside the states of expressions: the worst globs take 0.1 ms a character."""
MOST_EXPRESSIONS = 16

_GLOBS = ("globs", "glob", "paths", "path", "applyto")
_LANGUAGES = ("languages", "language", "lang")
_EVERYTHING = frozenset({"**", "*", "**/*", "**/**", "/**"})
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_ALIASES = {
    "js": "javascript", "node": "javascript", "javascriptreact": "jsx", "ts": "typescript", "typescriptreact": "tsx",
    "py": "python", "python3": "python", "golang": "go", "rs": "rust", "rb": "ruby", "kt": "kotlin", "cs": "csharp",
    "c++": "cpp", "cplusplus": "cpp", "c#": "csharp", "csh": "csharp", "shell": "bash", "sh": "bash", "zsh": "bash",
    "shellscript": "bash", "md": "markdown", "yml": "yaml", "terraform": "hcl", "makefile": "make", "docker": "dockerfile",
    "protobuf": "proto", "emacs-lisp": "elisp", "objective-caml": "ocaml", "golang.go": "go",
}  # fmt: skip
_DIALECTS = {"tsx": "typescript", "jsx": "javascript", "ocaml_interface": "ocaml", "scss": "css"}
_FILTERS = frozenset(
    {*_GLOBS, *_LANGUAGES, "pathfilters", "languagefilters", "textcontentfilters", "alwaysapply", "always", "trigger"}
)


class Played(Struct, frozen=True):
    """A file in play, as rules see it."""

    path: str
    root: str
    name: str  # relative to the root
    language: str
    position: int  # 0: the most important one

    def seen_from(self, folder: str) -> str:
        """The name relative to a folder of the root that holds the file."""
        return self.name[len(folder) + 1 :] if folder else self.name


class Filter(Struct, frozen=True):
    """What a head says of the files that its rule is about."""

    always: bool = False
    asked: bool = False  # holds only when it is asked for by name
    globs: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # names of `index.syntax.languages`
    not_languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # expressions, any of which must match
    not_paths: tuple[str, ...] = ()
    trouble: str = ""  # why it is not known what the rule is about

    @property
    def limited(self) -> bool:
        """Whether the rule is about some files only."""
        return bool(self.globs or self.languages or self.not_languages or self.paths or self.not_paths)


def filter_of(head: Head, asks_for_filter: bool = False) -> Filter:
    """The filter of a rule; without any it holds for all files below its folder."""
    fields = head.fields
    if trouble := _trouble(head):
        return Filter(trouble=trouble)
    trigger = str(fields.get("trigger", "")).strip()
    if _truth(fields.get("alwaysapply", fields.get("always"))) or trigger == "always_on":
        return Filter(always=True)
    written = [glob for key in _GLOBS for glob in words(fields.get(key))]
    globs = tuple(islice(_globs(written), MOST_GLOBS))
    if written and not globs:
        return Filter(trouble=f"its globs have more than {MOST_GLOB} characters each")
    everything = any(glob in _EVERYTHING for glob in globs) and not any(glob.startswith("!") for glob in globs)
    with_languages, not_languages = _both(fields, "languagefilters")
    with_paths, not_paths = _both(fields, "pathfilters")
    found = Filter(
        globs=() if everything else globs,
        languages=tuple(map(language, (w for key in _LANGUAGES for w in words(fields.get(key))))),
        not_languages=tuple(map(language, not_languages)),
        paths=with_paths[:MOST_EXPRESSIONS],
        not_paths=not_paths[:MOST_EXPRESSIONS],
    )
    found = replace(found, languages=(*found.languages, *map(language, with_languages)))
    if found.limited or everything:
        return found
    waits = trigger in ("glob", "manual", "model_decision") or "alwaysapply" in fields or "always" in fields
    return Filter(asked=waits or asks_for_filter)


def _trouble(head: Head) -> str:
    """Why it is not known what a rule is about, "" if it is."""
    for key, line in head.broken:
        if key in _FILTERS:
            return f"line {line} of its head is not understood"
    fields = head.fields
    if _truth(fields.get("alwaysapply", fields.get("always"))) is None:
        return "alwaysApply is neither true nor false"
    if fields.get("textcontentfilters"):
        return "text_content_filters are not supported"
    for key in (*_GLOBS, *_LANGUAGES):
        if isinstance(fields.get(key), Mapping):
            return f"{key} is neither a list nor a text"
    for key in ("languagefilters", "pathfilters"):
        if isinstance(value := fields.get(key), Mapping) and not set(value) <= {"include", "exclude"}:
            return f"{key} has other fields than include and exclude"
    return ""


def holding(found: Filter, files: Sequence[Played], folder: str, effort: Effort) -> tuple[list[Played], str]:
    """Those of the files that a filter picks, and by what, in a few words.

    Globs may be relative to the folder that the rule belongs to or to the root.  Raises `Unsupported` for
    expressions and `TooCostly`.
    """
    left = list(files)
    why: list[str] = []
    if found.globs:
        effort.spend(GLOB_EFFORT * sum(map(len, found.globs)))
        names = {name for file in left for name in (file.name, file.seen_from(folder))}
        picked = set(disk.matching(names, found.globs))
        left = [file for file in left if file.name in picked or file.seen_from(folder) in picked]
        why.append(f"glob {', '.join(found.globs[:3])}")
    if found.languages or found.not_languages:
        left = [file for file in left if _speaks(file.language, found)]
        why.append(f"language {', '.join(dict.fromkeys(found.languages))}" if found.languages else "language")
    if found.paths or found.not_paths:
        wanted, unwanted = (list(map(Expression, sources)) for sources in (found.paths, found.not_paths))
        left = [
            file
            for file in left
            if (not wanted or any(e.search(file.name, effort) for e in wanted))
            and not any(e.search(file.name, effort) for e in unwanted)
        ]
        why.append("path filter")
    return left, " and ".join(why)


def language(name: str) -> str:
    """The name that `index.syntax.languages` has for a language as people write it."""
    name = name.strip().lower()
    return _ALIASES.get(name, name)


def expanded(glob: str, most: int = MOST_GLOBS) -> list[str]:
    """A glob with its braces expanded: "*.{ts,tsx}" is "*.ts" and "*.tsx"; at most so many of them."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= most:
        text = waiting.pop(0)
        pair = re.search(r"\{([^{}]*)\}", text)
        if pair is None or "," not in pair[1]:
            done.append(text)
        else:
            waiting += [text[: pair.start()] + part.strip() + text[pair.end() :] for part in pair[1].split(",")]
    return done


def _globs(written: Iterable[str]) -> Iterable[str]:
    for glob in written:
        for one in expanded(glob):
            one = one.strip().removeprefix("./")
            if 0 < len(one) <= MOST_GLOB:
                yield "\\" + one if one.startswith("#") else one


def _both(fields: Mapping[str, Value], key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lists "include" and "exclude" of Cody's filters."""
    value = fields.get(key)
    if not isinstance(value, Mapping):
        return words(value), ()
    return value.get("include", ()), value.get("exclude", ())


def _truth(value: Value | None) -> bool | None:
    """A field that is true or false, false without one, None for anything else."""
    if value is None:
        return False
    text = value.strip().lower() if isinstance(value, str) else "?"
    return True if text in _TRUE else False if text in _FALSE or not text else None


def _speaks(name: str, found: Filter) -> bool:
    known = {name, _DIALECTS.get(name, name)}
    return (not found.languages or bool(known & set(found.languages))) and not known & set(found.not_languages)


__all__ = ["Effort", "Filter", "Played", "Unsupported", "expanded", "filter_of", "holding", "language"]
