"""Latency of mention completion in a generated workspace of 150,000 paths and 300,000 symbols.

No file is read and no server runs. The benchmark measures the response to one keystroke in one process, after the
completion index of the snapshot is built. Names consist of words of real code, so that many are similar.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator

from promptls.index.files.read import FileLimits
from promptls.index.snapshot import Snapshot, SourceReader, with_files
from promptls.mentions.completion.complete import complete
from promptls.mentions.context import ClientContext, ResolveContext
from promptls.model import FileEntry, Outline, Root, Span, Symbol, encode_outline

PATHS, SYMBOLS = 150_000, 300_000
WORDS = """
    account action adapter address agent alert api app asset async audit auth backend base batch billing block body bridge
    buffer build button cache call card cart catalog channel chart check client cluster code column command commit common
    config connection console container content context controller core counter cursor dashboard data database date debug
    default delta detail device dialog diff disk document domain driver edge editor element email encoder engine entity
    entry error event export factory feature field file filter flag flow font form format frame gateway graph grid group
    guard handler hash header health helper history hook host icon image import index info input invoice item job journal
    kernel key label layer layout ledger lexer limit link list loader local lock log login mail manager map marker matrix
    media member memory menu merge message meta metric middleware migration mobile model module monitor mount network node
    notice object offer option order output owner package page panel parser part patch path payment peer pixel plan player
    plugin point policy pool port preview price process product profile project prompt proxy query queue quota range rate
    reader record region registry relay render report request resource response result retry role route rule runner scan
    schema scope screen search section security segment server service session setting shape shard sheet signal site size
    slot socket source stack stage state stats status step storage store stream string style sync system table tag target
    task team template tenant test text theme thread ticket time token tool topic trace tree trigger tunnel type unit
    update upload user utility validator value vector version view widget window worker wrapper writer zone
""".split()
ENDINGS = ("py", "ts", "tsx", "go", "rs", "java", "md", "json")


def snapshot() -> Snapshot:
    """Return the generated workspace."""
    rng = random.Random(7)
    root = Root("/w/large", "large", "file:///w/large")
    entries: dict[str, FileEntry] = {}
    while len(entries) < PATHS:
        folder = "/".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 6)))
        name = f"{folder}/{rng.choice(WORDS)}_{rng.choice(WORDS)}.{rng.choice(ENDINGS)}"
        symbols = tuple(_symbol(rng, i) for i in range(SYMBOLS // PATHS))
        path = f"{root.path}/{name}"
        entries[path] = FileEntry(
            path, root.path, name, 4000, 1, encoded_outline=encode_outline(Outline("python", 60, symbols))
        )
    return with_files(Snapshot(roots=(root,)), entries.items())


def _symbol(rng: random.Random, i: int) -> Symbol:
    name = f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{rng.choice(WORDS)}"
    span = Span(20 * i, 20 * i + 15)
    return Symbol(name, "function", name, f"def {name}(a, b):", "", span, span.start, span.start + 1, -1)


def typed(rng: random.Random) -> Iterator[str]:
    """Yield inputs letter by letter: names, paths, folders, symbols, and typing errors."""
    for _ in range(40):
        one, two = rng.choice(WORDS), rng.choice(WORDS)
        for whole in (
            f"@{one}_{two}",
            f"@{one}/{two}",
            f"@#{one}_{two}",
            f"@{one[:3]}{two[:3]}",
            f"@{one}.py",
            f"@x{one}q",
        ):
            for end in range(1, len(whole) + 1):
                yield whole[:end]


def measure() -> dict[str, tuple[int, float, float]]:
    """Return, by kind of input: (keystrokes, median, 95th percentile in seconds)."""
    made = snapshot()
    opened = tuple(list(made.files)[:20])
    request = ResolveContext(SourceReader(made, FileLimits()), ClientContext(opened[0], None, opened))
    for text in ("@cart", "@#cart"):
        complete(text, len(text), request)
    times: dict[str, list[float]] = {}
    for text in typed(random.Random(3)):
        start = time.perf_counter()
        found = complete(text, len(text), request, count_tokens=lambda path: 1000)
        times.setdefault("symbols" if text.startswith("@#") else "paths", []).append(time.perf_counter() - start)
        assert len(found.items) <= 50
    return {
        what: (len(every), statistics.median(every), sorted(every)[int(0.95 * len(every))])
        for what, every in times.items()
    }
