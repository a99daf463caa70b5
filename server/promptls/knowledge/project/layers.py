"""Architectural layers, told from a file's path alone.

The ten named layers and the words for them are Understand-Anything's; a file with none of the words is of
the layer "Core".  Pure functions of labels: knows nothing of snapshots, outlines or settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

CORE = "Core"
TEST = "Test"

Extra = Mapping[str, Iterable[str]]
"""Layer → words of the user's own, looked at before the built-in ones; new layer names are welcome."""


class Layer(Struct, frozen=True):
    """A named layer: a path belongs to it when one of its folders is called like one of `words`, or a plural."""

    name: str
    words: tuple[str, ...]
    about: str


LAYERS = (
    Layer("API", ("routes", "controller", "handler", "endpoint", "api"), "Where requests from outside come in."),
    Layer(
        "Service", ("service", "usecase", "use-case", "business"), "What the application does, apart from transport."
    ),
    Layer(
        "Data",
        ("model", "entity", "schema", "database", "db", "migration", "repository", "repo"),
        "Data structures and how they are stored.",
    ),
    Layer("UI", ("component", "view", "page", "screen", "layout", "widget", "ui"), "What people see and operate."),
    Layer("Middleware", ("middleware", "interceptor", "guard", "filter", "pipe"), "What a request passes on its way."),
    Layer(
        "External",
        ("client", "integration", "external", "sdk", "vendor", "adapter"),
        "Connections to services of others.",
    ),
    Layer(
        "Background",
        ("worker", "job", "queue", "cron", "consumer", "processor", "scheduler", "background"),
        "Work that nobody waits for.",
    ),
    Layer("Utility", ("util", "helper", "lib", "common", "shared"), "Small things that many parts use."),
    Layer(TEST, ("test", "spec", "__test__", "__spec__", "__tests__", "__specs__"), "Tests and what they need."),
    Layer("Config", ("config", "setting", "env"), "Configuration of the application."),
)
"""Understand-Anything's table, in its order: the first layer with a match wins."""

ABOUT = {layer.name: layer.about for layer in LAYERS} | {CORE: "What belongs to no other layer."}

_TEST_FILE = re.compile(r"(?:^test[_-].*|.*[._-](?:test|tests|spec)|^tests?|^conftest|.*(?<=[a-z0-9])Tests?)$")
_ORDER = {layer.name: at for at, layer in enumerate(LAYERS)}


def _forms(word: str) -> tuple[str, ...]:
    """A word and its plurals: "entity" → "entity", "entitys", "entities"."""
    return (word, f"{word}s", f"{word[:-1]}ies") if word.endswith("y") else (word, f"{word}s")


_NAMED: dict[str, str] = {}
for _layer in LAYERS:
    for _word in _layer.words:
        for _form in _forms(_word):
            _NAMED.setdefault(_form, _layer.name)


def is_test(label: str) -> bool:
    """Whether a path is that of a test, by its folders or by the way its file is called."""
    *folders, file = label.replace(":", "/").split("/")
    if any(_NAMED.get(folder.lower()) == TEST for folder in folders):
        return True
    return _TEST_FILE.match(file.partition(".")[0] if file.count(".") < 2 else file.rpartition(".")[0]) is not None


def layer_of(label: str, extra: Extra | None = None, seed: bool = False) -> str:
    """The layer of a path as people write it ("src/api/users.py", "root:src/api/users.py").

    First the user's own words, then tests, then the table over the folders, then the file's own name
    ("middleware.py").  `seed`: Understand-Anything's rule alone, that is the table over the path's segments,
    plurals made with "s".
    """
    segments = [segment.lower() for segment in label.replace(":", "/").split("/")]
    if seed:
        for layer in LAYERS:
            if any(segment in (word, f"{word}s") for word in layer.words for segment in segments):
                return layer.name
        return CORE
    stem = segments[-1].partition(".")[0]
    for name, words in (extra or {}).items():
        if any(form in segments or form == stem for word in words for form in _forms(word.lower())):
            return name
    if is_test(label):
        return TEST
    found = [_NAMED[segment] for segment in segments[:-1] if segment in _NAMED]
    if found:
        return min(found, key=_ORDER.__getitem__)
    return _NAMED.get(stem, CORE)


def layers(labels: Iterable[str], extra: Extra | None = None, seed: bool = False) -> dict[str, tuple[str, ...]]:
    """Paths by layer, paths in the order given; layers in the table's order, the user's own first, Core last."""
    found: dict[str, list[str]] = {name: [] for name in [*(extra or {}), *_ORDER, CORE]}
    for label in labels:
        found[layer_of(label, extra, seed)].append(label)
    return {name: tuple(paths) for name, paths in found.items() if paths}
