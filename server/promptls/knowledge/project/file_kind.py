"""Kinds of files by path: tests, peripheral files such as examples and documentation, and architectural layers.

Pure functions of labels, the paths shown to users: "src/api/users.py", or "root:src/api/users.py" with several roots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

_TEST_FOLDER = re.compile(
    r"(?:^|[/:])(?:tests?|testing|testdata|specs?|__tests?__|__specs?__|__mocks__)/", re.IGNORECASE
)
_TEST_STEM = re.compile(r"(?i:test[_-].*|.*[._-](?:test|spec)s?|tests?|conftest.*)|.*[a-z0-9]Tests?")
_PERIPHERAL_FOLDER = re.compile(
    r"(?:^|/)_?(?:examples?|samples?|fixtures?|testdata|templates?|demos?|benchmarks?|docs?|vendor|deps|third[_-]?party)/"
)

_PROSE_EXTENSIONS = frozenset(
    "adoc asc asciidoc ltx man markdown md mdx mkd org pod rdoc rst rtf tex texi textile txt wiki".split()
)
_PROSE_NAMES = frozenset(
    "authors changelog changes contributing copying licence license news notice readme todo".split()
)

_CHANGELOG = re.compile(
    r"(^|/)((change(s|log)s?|history|news|release[-_ ]?notes?|whatsnew)([-_][^/.]*)?(\.(md|rst|txt|adoc|x|\d+))*"
    r"|(change(s|log)s?|release[-_ ]?notes?|relnotes?|newsfragments|whatsnew)/(.*/)?[^/]+\.(md|rst|txt|adoc|x|\d+))$",
    re.I,
)


@lru_cache(maxsize=1 << 14)
def is_test_path(label: str) -> bool:
    """Return true if a path is a test file or a snapshot of one, by one of its folders or by its file name."""
    if _TEST_FOLDER.search(label) or label.endswith(".snap"):
        return True
    name = label.rpartition("/")[2].rpartition(":")[2]
    stem = name.partition(".")[0] if name.count(".") < 2 else name.rpartition(".")[0]
    return _TEST_STEM.fullmatch(stem) is not None


def is_peripheral(label: str) -> bool:
    """Return true for files outside of the project's own code: tests, examples, documentation, third-party copies."""
    return is_test_path(label) or _PERIPHERAL_FOLDER.search(label) is not None


def is_prose_path(label: str) -> bool:
    """Return true for documents that people read: Markdown, reStructuredText, changelogs, licences and the like."""
    name = label.rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    return extension in _PROSE_EXTENSIONS if dot and stem else name in _PROSE_NAMES


@lru_cache(maxsize=1 << 14)
def is_changelog(label: str) -> bool:
    """Return true for documents that list the changes of versions."""
    return _CHANGELOG.search(label) is not None


# ---- layers

CORE = "Core"
TEST = "Test"

CustomLayers = Mapping[str, Iterable[str]]
"""Layer → words configured by the user; they take precedence over the built-in words and may define new layers."""


class Layer(Struct, frozen=True):
    """A layer, which contains the paths with a folder named by one of `words` or its plural."""

    name: str
    words: tuple[str, ...]
    description: str


LAYERS = (
    Layer("API", ("routes", "controller", "handler", "endpoint", "api"), "Entry points for external requests."),
    Layer("Service", ("service", "usecase", "use-case", "business"), "Application logic, independent of transport."),
    Layer(
        "Data",
        ("model", "entity", "schema", "database", "db", "migration", "repository", "repo"),
        "Data structures and their storage.",
    ),
    Layer("UI", ("component", "view", "page", "screen", "layout", "widget", "ui"), "User interface."),
    Layer(
        "Middleware",
        ("middleware", "interceptor", "guard", "filter", "pipe"),
        "Processing steps between a request and its handler.",
    ),
    Layer(
        "External",
        ("client", "integration", "external", "sdk", "vendor", "adapter"),
        "Connections to external services.",
    ),
    Layer(
        "Background",
        ("worker", "job", "queue", "cron", "consumer", "processor", "scheduler", "background"),
        "Background work.",
    ),
    Layer("Utility", ("util", "helper", "lib", "common", "shared"), "Helpers shared by many parts."),
    Layer(TEST, ("test", "spec", "__test__", "__spec__", "__tests__", "__specs__"), "Tests and test support."),
    Layer("Config", ("config", "setting", "env"), "Application configuration."),
)
"""Built-in layers in order of precedence: the first layer with a match wins."""

LAYER_DESCRIPTIONS = {layer.name: layer.description for layer in LAYERS} | {CORE: "Files of no other layer."}

_LAYER_ORDER = {layer.name: at for at, layer in enumerate(LAYERS)}


def _word_forms(word: str) -> tuple[str, ...]:
    """Return a word and its plurals: "entity" → "entity", "entitys", "entities"."""
    return (word, f"{word}s", f"{word[:-1]}ies") if word.endswith("y") else (word, f"{word}s")


_LAYER_OF_WORD: dict[str, str] = {}
for _layer in LAYERS:
    for _word in _layer.words:
        for _form in _word_forms(_word):
            _LAYER_OF_WORD.setdefault(_form, _layer.name)


def layer_of(label: str, custom: CustomLayers | None = None) -> str:
    """Return the layer of a path.

    Custom words come first, then tests, then the built-in words for folders, then the file's own name ("middleware.py").
    """
    segments = [segment.lower() for segment in label.replace(":", "/").split("/")]
    stem = segments[-1].partition(".")[0]
    for name, words in (custom or {}).items():
        if any(form in segments or form == stem for word in words for form in _word_forms(word.lower())):
            return name
    if is_test_path(label):
        return TEST
    found = [_LAYER_OF_WORD[segment] for segment in segments[:-1] if segment in _LAYER_OF_WORD]
    if found:
        return min(found, key=_LAYER_ORDER.__getitem__)
    return _LAYER_OF_WORD.get(stem, CORE)
