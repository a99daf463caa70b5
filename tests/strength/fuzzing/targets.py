"""What is fuzzed: each target takes bytes, gives them to one part of the server, and holds it to its laws.

The same functions run under a coverage-guided fuzzer (`scripts/fuzz`), over the cases that it once found
(`tests/strength/cases`), and over a few thousand generated inputs in every test run.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable

from promptls.index.files import gitignore as ignore
from promptls.index.snapshot import split_lines
from promptls.index.syntax import structural_search
from promptls.index.syntax.parse import parse_source
from promptls.languages import LANGUAGES
from promptls.lsp.framing import FramingError, read_frame
from promptls.mentions.grammar import parse, strip_mentions, utf16_offset
from promptls.model import FileEntry, FileText, Item, Origin, Span
from promptls.model import encode_outline as packed
from promptls.prompt import fences
from promptls.prompt.forms import item_forms
from promptls.prompt.pack import PackingCandidate, pack
from promptls.prompt.recipes import Recipe, context_values, parse_recipe, render_recipe
from promptls.prompt.render import Renderer, render_element
from promptls.prompt.sanitize import clean, header_text, redact
from promptls.prompt.tokens import counter
from promptls.settings import Settings
from promptls.settings import parse as parse_settings

LANGUAGE_NAMES = sorted(LANGUAGES)
SLOW_S = 20.0
"""No input of a few thousand bytes may take longer, on any machine."""


class Draw:
    """Values out of bytes, the same for the same bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, most: int) -> int:
        """From 0 to `most`."""
        size = 1 if most < 256 else 3
        part = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(part, "big") % (most + 1)

    def text(self, most: int = 1 << 20) -> str:
        return self.bytes(most).decode("utf-8", "replace")

    def bytes(self, most: int = 1 << 20) -> bytes:
        part = self.data[self.at : self.at + most]
        self.at += len(part)
        return part


def mentions(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    at = 0
    for found in parse(text):
        assert at <= found.start < found.end <= len(text)
        assert text[found.start : found.end] == found.text and found.text.startswith("@")
        assert found.lines is None or 0 <= found.lines.start < found.lines.end
        again = parse(found.text)
        assert len(again) == 1 and (again[0].kind, again[0].target) == (found.kind, found.target), found
        at = found.end
    strip_mentions(text, parse(text))
    for offset in (0, len(text) // 2, len(text)):
        assert utf16_offset(text, offset) == len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def ignore_rules(data: bytes) -> None:
    draw = Draw(data)
    names = [draw.bytes(1 + draw.number(30)) for _ in range(4)]
    text = draw.bytes()
    for fold in (False, True):
        rules = ignore.parse_rules(text, "/w/.gitignore", fold)
        for name in names if rules is not None else ():
            path = name.strip(b"/") or b"a"
            for folder in (False, True):
                rule = rules.match(path.rsplit(b"/", 1)[-1], path, folder)
                assert rule is None or rule in rules.rules
            ignore.is_match(rules, path)
    ignore.match_globs([n.decode("utf-8", "replace") for n in names], [text[:200].decode("utf-8", "replace")])


def chunks(data: bytes) -> None:
    draw = Draw(data)
    language = LANGUAGE_NAMES[draw.number(len(LANGUAGE_NAMES) - 1)]
    text = draw.text()
    found = parse_source(text, language)
    count = len(split_lines(text))
    for chunk in found.outline.chunks:
        assert 0 <= chunk.span.start < chunk.span.end <= max(1, count)
        assert chunk.key in found.chunk_texts
    for number, symbol in enumerate(found.outline.symbols):
        assert -1 <= symbol.parent < number
        assert 0 <= symbol.doc_start <= symbol.span.start < symbol.span.end <= max(1, count)
    longer = text + draw.text(10) + "\n"
    assert parse_source(longer, language, found).outline == parse_source(longer, language).outline


def query_patterns(data: bytes) -> None:
    draw = Draw(data)
    language = LANGUAGE_NAMES[draw.number(len(LANGUAGE_NAMES) - 1)]
    wanted, text = draw.text(1 + draw.number(120)), draw.text()
    found = structural_search.find_matches(structural_search.parse_pattern(wanted), text, language)
    for span in found or ():
        assert 0 <= span.start < span.end <= len(split_lines(text)) + 1
    assert len(found or ()) <= structural_search.MAX_MATCHES


def _view(text: str, name: str) -> FileText:
    parsed = parse_source(text, "python" if name.endswith(".py") else "text")
    return FileText(
        FileEntry(f"/w/{name}", "/w", name, encoded_outline=packed(parsed.outline)), text, tuple(split_lines(text))
    )


def _renderer() -> Renderer:
    return Renderer(counter("chars4"), lambda path: path.removeprefix("/w/"))


def renderer(data: bytes) -> None:
    draw = Draw(data)
    start, room, name = draw.number(40), draw.number(4000), draw.text(draw.number(20)).replace("/", "") or "a"
    view = _view(draw.text(), f"{name}.py")
    using = _renderer()
    symbols = view.entry.outline.symbols if view.entry.outline else ()
    items = [
        Item(
            view.entry.path,
            Span(start, start + 20),
            "text",
            Origin.TEXT if hasattr(Origin, "TEXT") else Origin.MENTION,
            1.0,
        )
    ]
    items += [Item(view.entry.path, s.span, s.kind, Origin.MENTION, 1.0, s.qualified) for s in symbols[:3]]
    for item in items:
        made = item_forms(item, view, using)
        blocks = [
            made.full(),
            made.signature(),
            made.outline(),
            made.outline(room),
            made.partial(room),
            made.reference("why"),
        ]
        for block in blocks:
            if block is None:
                continue
            boundary = fences.boundary("question", [block.body, name, block.item.symbol], b"s" * 32)
            lines = render_element(block, using.label, boundary).split("\n")
            tags = [line for line in lines if boundary in line]
            assert len(tags) == (1 if block.form == "reference" else 2), lines
            assert lines[0] == tags[0] and lines[-1] == tags[-1]
        partial = made.partial(room)
        assert partial is None or partial.tokens <= room or partial.form == "full"


def packing(data: bytes) -> None:
    draw = Draw(data)
    budget, cut, explicit = draw.number(6000), draw.number(60), draw.number(3)
    mode = ("best", "skip", "signature", "stop", "cut")[draw.number(4)]
    text = draw.text()
    views = [_view(text[: len(text) // 2], "a.py"), _view(text[len(text) // 2 :], "b.py")]
    using = _renderer()
    chosen = []
    for number, view in enumerate(views * 3):
        span = Span(min(cut * number, max(0, len(view.lines) - 1)), len(view.lines))
        chosen.append(
            PackingCandidate(
                item_forms(Item(view.entry.path, span, "text", Origin.MENTION, 1 - number / 10, mention=number), view, using)
            )
        )
    packed = pack(chosen[:explicit], chosen[explicit:], budget, mode=mode)
    assert sum(kept.rendered.tokens for kept in packed.items) <= budget


def settings(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    made, problems = parse_settings(value)
    assert isinstance(made, Settings)
    assert all("\n" not in p.message or isinstance(value, dict) for p in problems)
    assert (made.embedding, made.cache, made.language_model, made.secrets) == (
        Settings().embedding, Settings().cache, Settings().language_model, Settings().secrets,
    )  # fmt: skip
    trusted, _ = parse_settings(value, trusted=True)
    assert parse_settings(value, made)[0] == made
    assert isinstance(trusted, Settings)


def fencing(data: bytes) -> None:
    draw = Draw(data)
    message, content, value = draw.text(draw.number(60)), draw.text(draw.number(4000)), draw.text(60)
    name = fences.boundary(message, [content, value])
    assert name not in message and name not in content and name not in value
    text = fences.fence([("path", value), ("lines", "1-2")], content, name)
    head = text.split("\n", 1)[0]
    assert re.fullmatch(rf'<context-{name}(?: [a-z]+="[^"<>\n\r]*")*>', head), head
    assert text.count(name) == 2 and text[len(head) + 1 : -len(f"\n</context-{name}>")] == content
    assert not set(header_text(value)) & set('\n\r\t"<>\x85\u2028\u2029')


def recipes(data: bytes) -> None:
    draw = Draw(data)
    given, text = draw.text(draw.number(40)), draw.text()
    recipe, problems = parse_recipe("one", text, "workspace", "one.md")
    assert recipe is not None or problems
    assert all("\n" not in p.message for p in problems)
    if isinstance(recipe, Recipe):
        arguments = {argument.name: given for argument in recipe.arguments}
        render_recipe(recipe, arguments, context_values(file=given, symbol=given))


def redaction(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for path in ("a.py", "a.yml", ".env", "promptls:.env (diff)", ""):
        cleaned, found = redact(text, path)
        assert cleaned.count("\n") == text.count("\n")
        assert bool(found) == (cleaned != text)
        assert all(0 <= f.line <= text.count("\n") for f in found)
        assert len(clean(text, path).lines) == text.removeprefix("\ufeff").count("\n") + 1


def framing(data: bytes) -> None:
    try:
        found = bodies(data)
    except FramingError as error:
        assert "\n" not in str(error) and str(error)
        return
    assert sum(map(len, found)) <= len(data)
    assert bodies(b"".join(b"Content-Length: %d\r\n\r\n" % len(body) + body for body in found)) == found


def bodies(data: bytes) -> list[bytes]:
    """All messages in some bytes.  Raises Lost."""
    stream = io.BytesIO(data)
    return list(iter(lambda: read_frame(stream), None))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "mentions": mentions,
    "ignore": ignore_rules,
    "chunks": chunks,
    "patterns": query_patterns,
    "renderer": renderer,
    "pack": packing,
    "settings": settings,
    "fences": fencing,
    "recipes": recipes,
    "redaction": redaction,
    "frames": framing,
}

SEEDS: dict[str, list[bytes]] = {
    "mentions": [b'see @src/a.py:10-20 and @#Cart.total, @"a b.py" @diff:main..HEAD @text:src/:"x y" @@n @root:p @a.py#L3 \\@no `@code`'],
    "ignore": [b"abcd/efgh/ij.py/klm\n*.py\n!keep/\n/build/**/x[a-z]?\n\\#x\n**/foo/**\n[[:alpha:]]*\nx\\ \n"],
    "settings": [b'{"index": {"maxFileSize": 5, "include": ["*.py"]}, "budget": {"tokens": 1}, "graph": {"layers": {"a": ["b"]}}, "cache": {"folder": "/x"}}'],
    "recipes": [b'a\x05bcdef+++\ntitle = "T"\ndescription = "D"\nversion = "1.0"\n[arguments.a]\ndescription = "A"\n+++\nSay {{a|nothing}} of {{subject|it}}.\n'],
    "redaction": [b'api_key = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9b"\npassword: Xyzab!123cdef\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\ncurl -u a:bcdef1234 Bearer aB3dE5gH7jK9mN1pQ3sT\n'],
    "frames": [b"Content-Length: 2\r\nX: y\r\n\r\n{}content-length:  3 \n\nabc"],
    "patterns": [b"\x01\x20foo($A, $$$)def foo(a):\n    foo(a, 1)\n", b"\x02\x30(call) @c               x = call(1)\n"],
}  # fmt: skip
CODE = b'import os\n\n# what it is\nclass A(B):\n    """Doc."""\n\n    def f(self, x=(1, {"a": [2]})):\n        return `x` + f"{y}" // 2\n\nfunction g() { if (a < b && c) { return /* x */ "s"; } }\n'


def seeds(name: str) -> list[bytes]:
    """What a target is started with."""
    if name == "chunks":
        return [bytes([number]) + CODE for number in range(len(LANGUAGE_NAMES))]
    return SEEDS.get(name, [b"\x10\x20\x30\x04abcdef" + CODE * 3])


def timed(target: Callable[[bytes], None], data: bytes) -> None:
    """Run a target on an input, which may not take for ever."""
    start = time.process_time()
    target(data)
    spent = time.process_time() - start
    assert spent < SLOW_S, f"{spent:.1f} s for {len(data):,} bytes"
