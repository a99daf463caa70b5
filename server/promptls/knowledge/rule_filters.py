"""Front matter of rule files, and the files a rule applies to by it: globs, languages, regular expressions, on request.

The parser supports a subset of YAML: scalars, block and inline lists, folded text, and one level of nested keys.  Cursor
writes unquoted globs ("globs: *.ts, *.tsx"), which YAML parsers reject.  The parser is linear in a bounded number of
lines.

Equivalent keys of different tools (globs, paths, applyTo) are synonyms.  An invalid filter is an error; the rule never
falls back to all files.  Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from promptls.index import match_globs
from promptls.languages import LANGUAGES, language_named
from promptls.util.text.regex import Regex

MAX_LINES = 200
"""Maximum number of lines of front matter; bounds the time."""
MAX_CHARACTERS = 20_000
"""Maximum length of front matter in characters; bounds the time."""

Value = str | tuple[str, ...] | Mapping[str, tuple[str, ...]]

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$", re.DOTALL)
_ITEM = re.compile(r"-(?:[ \t]+(.*))?$", re.DOTALL)
_BLOCK_SCALAR_MARKS = frozenset({"|", ">", "|-", ">-", "|+", ">+"})
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


class FrontMatter(Struct, frozen=True):
    """The fields of front matter, and the text below it."""

    fields: Mapping[str, Value]  # by normalized key: "alwaysapply"
    body: str
    broken: Mapping[str, int] = {}  # 1-based lines of invalid fields
    is_unterminated: bool = False  # begins like front matter, but does not end or has no fields


def parse_front_matter(text: str) -> FrontMatter:
    """Split a rule file into front matter and body; front matter without end is part of the body."""
    lines = text[:MAX_CHARACTERS].split("\n", MAX_LINES)
    if lines[0].rstrip() != "---":
        return FrontMatter({}, text)
    end = next((i for i, line in enumerate(lines[:MAX_LINES]) if i and line.rstrip() == "---"), 0)
    if not end:
        return FrontMatter({}, text, is_unterminated=True)
    body = text[sum(len(line) + 1 for line in lines[: end + 1]) :]
    fields, broken, has_other_text = _parse_fields(lines[1:end])
    if has_other_text and not fields and not broken:  # a text that begins with a horizontal rule
        return FrontMatter({}, text, is_unterminated=True)
    return FrontMatter(fields, body, broken)


def _parse_fields(lines: list[str]) -> tuple[dict[str, Value], dict[str, int], bool]:
    """Return fields, 1-based lines of invalid fields, and whether there is text that is not a field."""
    fields: dict[str, Value] = {}
    broken: dict[str, int] = {}
    has_other_text = False
    i = 0
    while i < len(lines):
        line = lines[i].rstrip()
        i += 1
        key = _KEY.match(line)
        if key is None:
            has_other_text = has_other_text or bool(line and not line.lstrip().startswith("#"))
            continue
        start = i
        while i < len(lines) and (not lines[i].strip() or lines[i][0].isspace() or _ITEM.match(lines[i].rstrip())):
            i += 1
        value = _parse_value((key[2] or "").strip(), lines[start:i])
        if value is None:
            broken[normalize_key(key[1])] = start + 1
        elif value:
            fields[normalize_key(key[1])] = value
    return fields, broken, has_other_text


def normalize_key(key: str) -> str:
    """Normalize a key: lower case without "-" and "_"."""
    return re.sub(r"[-_]", "", key).lower()


def as_list(value: Value | None) -> tuple[str, ...]:
    """Return a value as a list; a string is split at commas."""
    if isinstance(value, str):
        return tuple(unquote(part) for part in _split_commas(value))
    return tuple(part for part in value if part) if isinstance(value, tuple) else ()


def unquote(text: str) -> str:
    """Remove the quotes around a value."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text[1:-1])
    return text


def _parse_value(text: str, below: list[str]) -> Value | None:
    """Parse the value after a key and in the block below it; None if unsupported."""
    text = _strip_comment(text)
    below = [line.rstrip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if text in _BLOCK_SCALAR_MARKS:
        return " ".join(line.strip() for line in below)
    if text.startswith("["):
        text = " ".join([text, *map(str.strip, below)])
        return tuple(map(unquote, _split_commas(text[1:-1]))) if text.endswith("]") else None
    if text:
        plain = unquote(text) if text[0] in "'\"" and _closing_quote(text, 0) == len(text) - 1 else text
        return None if below and _ITEM.match(below[0].strip()) else " ".join([plain, *map(str.strip, below)])
    if not below:
        return ""
    return _parse_items(below) if _ITEM.match(below[0].strip()) else _parse_mapping(below)


def _parse_items(below: list[str]) -> tuple[str, ...] | None:
    """Parse a block list: items after dashes."""
    found = [_ITEM.match(line.strip()) for line in below]
    if not all(found):
        return None
    return tuple(unquote(_strip_comment((item[1] or "").strip())) for item in found if item)


def _parse_mapping(below: list[str]) -> dict[str, tuple[str, ...]] | None:
    """Parse nested keys, each with a list or a single value."""
    indent = len(below[0]) - len(below[0].lstrip())
    if any(line[:indent].strip() for line in below):
        return None
    fields, broken, has_other_text = _parse_fields([line[indent:] for line in below])
    lists = {key: (value,) if isinstance(value, str) else value for key, value in fields.items()}
    if broken or has_other_text or any(isinstance(value, Mapping) for value in lists.values()):
        return None
    return {key: value for key, value in lists.items() if isinstance(value, tuple)}


def _strip_comment(text: str) -> str:
    """Remove a comment: text from a "#" that is outside of quotes and at the beginning of a word."""
    i = 0
    while i < len(text):
        if text[i] in "'\"" and (i == 0 or text[i - 1] in " \t,["):
            i = _closing_quote(text, i)
        elif text[i] == "#" and (i == 0 or text[i - 1].isspace()):
            return text[:i].rstrip()
        i += 1
    return text


def _split_commas(text: str) -> list[str]:
    """Split at commas outside of quotes, braces and brackets."""
    out, start, depth, i = [], 0, 0, 0
    while i < len(text):
        if text[i] in "'\"" and not text[start:i].strip():
            i = _closing_quote(text, i)
        elif text[i] in "{[":
            depth += 1
        elif text[i] in "}]":
            depth = max(0, depth - 1)
        elif text[i] == "," and not depth:
            out.append(text[start:i])
            start = i + 1
        i += 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]


def _closing_quote(text: str, start: int) -> int:
    """Return the index of the closing quote for the quote at `start`, or `start` if there is none."""
    quote, i = text[start], start + 1
    while i < len(text):
        if (text[i] == "\\" and quote == '"') or text[i] == quote == "'" == text[i + 1 : i + 2]:
            i += 1
        elif text[i] == quote:
            return i
        i += 1
    return start


# ---- filters

MAX_GLOBS = 64
"""Maximum number of globs of a rule, after brace expansion; bounds the time."""
MAX_GLOB_CHARACTERS = 300
"""Maximum length of a glob in characters; longer globs are ignored."""
MATCH_BUDGET = 200_000
"""Budget of a request for all filters, in characters of paths matched by one regular expression."""
GLOB_COST = 20
"""Cost of a glob character in units of the budget; the worst globs take 0.1 ms per character."""
MAX_EXPRESSIONS = 16
"""Maximum number of included, and of excluded, regular expressions of a rule."""

_GLOBS = ("globs", "glob", "paths", "path", "applyto")
_LANGUAGES = ("languages", "language", "lang")
_EVERYTHING = frozenset({"**", "*", "**/*", "**/**", "/**"})
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_NAME_BY_ALIAS = {alias: language.name for language in LANGUAGES.values() for alias in language.aliases}
_FILTER_KEYS = frozenset(
    {*_GLOBS, *_LANGUAGES, "pathfilters", "languagefilters", "textcontentfilters", "alwaysapply", "always", "trigger"}
)


class MatchBudgetExceeded(Exception):
    """The filters of a request are too expensive to match."""


class MatchBudget:
    """Remaining budget of a request for matching filters; keeps hostile rules from blocking a request."""

    __slots__ = ("remaining",)

    def __init__(self, remaining: int = MATCH_BUDGET) -> None:
        self.remaining = remaining

    def spend(self, cost: int) -> None:
        """Reduce the budget.

        Raises:
            MatchBudgetExceeded: The budget is exhausted.
        """
        self.remaining -= cost
        if self.remaining < 0:
            raise MatchBudgetExceeded


class ActiveFile(Struct, frozen=True):
    """An active file: open, mentioned or otherwise relevant to the question."""

    path: str
    root: str
    name: str  # relative to the root
    language: str
    position: int  # 0: the most important one

    def relative_to(self, folder: str) -> str:
        """Return the name relative to a folder of the root that contains the file."""
        return self.name[len(folder) + 1 :] if folder else self.name


class RuleFilter(Struct, frozen=True):
    """The files that a rule applies to; without any condition, all files below its folder."""

    on_request: bool = False  # the tool's user or model would have to ask for it: does not apply
    globs: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # canonical names
    not_languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # regular expressions, one of which must match
    not_paths: tuple[str, ...] = ()
    error: str = ""  # why the filter is invalid

    @property
    def is_limited(self) -> bool:
        """True if the rule applies to some files only."""
        return bool(self.globs or self.languages or self.not_languages or self.paths or self.not_paths)


def parse_filter(front_matter: FrontMatter, requires_filter: bool = False) -> RuleFilter:
    """Return the filter of a rule; if it requires a filter, a rule without one does not apply."""
    fields = front_matter.fields
    if trouble := _filter_error(front_matter):
        return RuleFilter(error=trouble)
    trigger = str(fields.get("trigger", "")).strip()
    if _parse_bool(fields.get("alwaysapply", fields.get("always"))) or trigger == "always_on":
        return RuleFilter()
    globs_as_written = [glob for key in _GLOBS for glob in as_list(fields.get(key))]
    expanded = (one.strip().removeprefix("./") for glob in globs_as_written for one in expand_braces(glob))
    usable = (
        "\\" + glob if glob.startswith("#") else glob for glob in expanded if 0 < len(glob) <= MAX_GLOB_CHARACTERS
    )
    globs = tuple(islice(usable, MAX_GLOBS))
    if globs_as_written and not globs:
        return RuleFilter(error=f"its globs are longer than {MAX_GLOB_CHARACTERS} characters")
    everything = any(glob in _EVERYTHING for glob in globs) and not any(glob.startswith("!") for glob in globs)
    languages, not_languages = _include_exclude(fields, "languagefilters")
    paths, not_paths = _include_exclude(fields, "pathfilters")
    languages = (*(language for key in _LANGUAGES for language in as_list(fields.get(key))), *languages)
    rule_filter = RuleFilter(
        globs=() if everything else globs,
        languages=tuple(map(normalize_language, languages)),
        not_languages=tuple(map(normalize_language, not_languages)),
        paths=paths[:MAX_EXPRESSIONS],
        not_paths=not_paths[:MAX_EXPRESSIONS],
    )
    if rule_filter.is_limited or everything:
        return rule_filter
    is_on_request = trigger in ("glob", "manual", "model_decision") or "alwaysapply" in fields or "always" in fields
    return RuleFilter(on_request=is_on_request or requires_filter)


def _filter_error(front_matter: FrontMatter) -> str:
    """Return an error if the filter is invalid, otherwise ""."""
    for key, line in front_matter.broken.items():
        if key in _FILTER_KEYS:
            return f"invalid line {line} in its front matter"
    fields = front_matter.fields
    if _parse_bool(fields.get("alwaysapply", fields.get("always"))) is None:
        return "alwaysApply must be true or false"
    if fields.get("textcontentfilters"):
        return "text_content_filters are not supported"
    for key in (*_GLOBS, *_LANGUAGES):
        if isinstance(fields.get(key), Mapping):
            return f"{key} must be a list or a string"
    for key in ("languagefilters", "pathfilters"):
        if isinstance(value := fields.get(key), Mapping) and not set(value) <= {"include", "exclude"}:
            return f"{key} must have only the fields include and exclude"
    return ""


def matching_files(
    rule_filter: RuleFilter, files: Sequence[ActiveFile], folder: str, budget: MatchBudget
) -> list[ActiveFile]:
    """Return the files that match a filter.

    Globs may be relative to the folder of the rule or to the root.

    Raises:
        RegexError: A regular expression is invalid.
        MatchBudgetExceeded: The budget is exhausted.
    """
    remaining = list(files)
    if rule_filter.globs:
        budget.spend(GLOB_COST * sum(map(len, rule_filter.globs)))
        names = {name for file in remaining for name in (file.name, file.relative_to(folder))}
        matched = set(match_globs(names, rule_filter.globs))
        remaining = [file for file in remaining if file.name in matched or file.relative_to(folder) in matched]
    if rule_filter.languages or rule_filter.not_languages:
        remaining = [file for file in remaining if _matches_language(file.language, rule_filter)]
    if rule_filter.paths or rule_filter.not_paths:
        included, excluded = (list(map(Regex, sources)) for sources in (rule_filter.paths, rule_filter.not_paths))
        budget.spend((len(included) + len(excluded)) * sum(len(file.name) for file in remaining))
        remaining = [
            file
            for file in remaining
            if (not included or any(regex.search(file.name) for regex in included))
            and not any(regex.search(file.name) for regex in excluded)
        ]
    return remaining


def normalize_language(name: str) -> str:
    """Return the canonical name of a language (see `languages`)."""
    name = name.strip().lower()
    return _NAME_BY_ALIAS.get(name, name)


def expand_braces(glob: str, limit: int = MAX_GLOBS) -> list[str]:
    """Expand the braces of a glob: "*.{ts,tsx}" is "*.ts" and "*.tsx".  Returns at most `limit` globs."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= limit:
        text = waiting.pop(0)
        pair = re.search(r"\{([^{}]*)\}", text)
        if pair is None or "," not in pair[1]:
            done.append(text)
        else:
            waiting += [text[: pair.start()] + part.strip() + text[pair.end() :] for part in pair[1].split(",")]
    return done


def _include_exclude(fields: Mapping[str, Value], key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lists "include" and "exclude" of a filter."""
    value = fields.get(key)
    if not isinstance(value, Mapping):
        return as_list(value), ()
    return value.get("include", ()), value.get("exclude", ())


def _parse_bool(value: Value | None) -> bool | None:
    """Parse a Boolean field: false without value, None for an invalid value."""
    if value is None:
        return False
    text = value.strip().lower() if isinstance(value, str) else "?"
    return True if text in _TRUE else False if text in _FALSE or not text else None


def _matches_language(name: str, rule_filter: RuleFilter) -> bool:
    known = {name, language_named(name).dialect_of or name}
    return (not rule_filter.languages or bool(known & set(rule_filter.languages))) and not known & set(
        rule_filter.not_languages
    )
