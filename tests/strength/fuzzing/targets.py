"""Fuzzing targets: each one passes bytes to one part of the server and checks its invariants.

The targets run under a coverage-guided fuzzer (`scripts/fuzz`), on recorded failing inputs (`tests/strength/cases`),
and on several thousand generated inputs in every test run.
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
from promptls.lsp.transport.framing import FramingError, read_frame
from promptls.mentions.syntax.grammar import parse, strip_mentions, utf16_offset
from promptls.model import FileEntry, FileText, Item, Origin, Span, encode_outline
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.recipes import Recipe, context_values, parse_recipe, render_recipe
from promptls.prompt.rendering import fences
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import Renderer, render_element
from promptls.prompt.sanitize import clean, header_text
from promptls.prompt.tokens import counter
from promptls.redaction.secrets import redact
from promptls.settings import Settings
from promptls.settings import parse as parse_settings

LANGUAGE_NAMES = sorted(LANGUAGES)
MAX_SECONDS = 20.0
"""Maximum CPU time in seconds for one input of a few thousand bytes, also on slow machines."""


class InputReader:
    """Deterministic conversion of bytes to numbers and texts."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def number(self, maximum: int) -> int:
        """Return a number from 0 to `maximum`."""
        size = 1 if maximum < 256 else 3
        part = self.data[self.position : self.position + size]
        self.position += size
        return int.from_bytes(part, "big") % (maximum + 1)

    def text(self, maximum: int = 1 << 20) -> str:
        return self.bytes(maximum).decode("utf-8", "replace")

    def bytes(self, maximum: int = 1 << 20) -> bytes:
        part = self.data[self.position : self.position + maximum]
        self.position += len(part)
        return part


def check_mentions(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    at = 0
    for mention in parse(text):
        assert at <= mention.start < mention.end <= len(text)
        assert text[mention.start : mention.end] == mention.text and mention.text.startswith("@")
        assert mention.lines is None or 0 <= mention.lines.start < mention.lines.end
        again = parse(mention.text)
        assert len(again) == 1 and (again[0].kind, again[0].target) == (mention.kind, mention.target), mention
        at = mention.end
    strip_mentions(text, parse(text))
    for offset in (0, len(text) // 2, len(text)):
        assert utf16_offset(text, offset) == len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def check_ignore_rules(data: bytes) -> None:
    source = InputReader(data)
    names = [source.bytes(1 + source.number(30)) for _ in range(4)]
    text = source.bytes()
    for fold in (False, True):
        rules = ignore.parse_rules(text, "/w/.gitignore", fold)
        for name in names if rules is not None else ():
            path = name.strip(b"/") or b"a"
            for folder in (False, True):
                rule = rules.match(path, folder)
                assert rule is None or rule in rules.rules
            ignore.is_match(rules, path)
    ignore.match_globs([n.decode("utf-8", "replace") for n in names], [text[:200].decode("utf-8", "replace")])


def check_chunks(data: bytes) -> None:
    source = InputReader(data)
    language = LANGUAGE_NAMES[source.number(len(LANGUAGE_NAMES) - 1)]
    text = source.text()
    parsed = parse_source(text, language)
    count = len(split_lines(text))
    for chunk in parsed.outline.chunks:
        assert 0 <= chunk.span.start < chunk.span.end <= max(1, count)
        assert chunk.key in parsed.chunk_texts
    for number, symbol in enumerate(parsed.outline.symbols):
        assert -1 <= symbol.parent < number
        assert 0 <= symbol.doc_start <= symbol.span.start < symbol.span.end <= max(1, count)
    longer = text + source.text(10) + "\n"
    assert parse_source(longer, language, parsed).outline == parse_source(longer, language).outline


def check_query_patterns(data: bytes) -> None:
    source = InputReader(data)
    language = LANGUAGE_NAMES[source.number(len(LANGUAGE_NAMES) - 1)]
    pattern, text = source.text(1 + source.number(120)), source.text()
    spans = structural_search.find_matches(structural_search.parse_pattern(pattern), text, language)
    for span in spans or ():
        assert 0 <= span.start < span.end <= len(split_lines(text)) + 1
    assert len(spans or ()) <= structural_search.MAX_MATCHES


def _view(text: str, name: str) -> FileText:
    parsed = parse_source(text, "python" if name.endswith(".py") else "text")
    return FileText(
        FileEntry(f"/w/{name}", "/w", name, encoded_outline=encode_outline(parsed.outline)),
        text,
        tuple(split_lines(text)),
    )


def _renderer() -> Renderer:
    return Renderer(counter("chars4"), lambda path: path.removeprefix("/w/"))


def check_renderer(data: bytes) -> None:
    source = InputReader(data)
    start, tokens, name = source.number(40), source.number(4000), source.text(source.number(20)).replace("/", "") or "a"
    view = _view(source.text(), f"{name}.py")
    renderer = _renderer()
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
        forms = item_forms(item, view, renderer)
        blocks = [
            forms.full(),
            forms.signature(),
            forms.outline(),
            forms.outline(tokens),
            forms.partial(tokens),
            forms.reference("why"),
        ]
        for block in blocks:
            if block is None:
                continue
            boundary = fences.boundary("question", [block.body, name, block.item.symbol], b"s" * 32)
            lines = render_element(block, renderer.label, boundary).split("\n")
            tags = [line for line in lines if boundary in line]
            assert len(tags) == (1 if block.form == "reference" else 2), lines
            assert lines[0] == tags[0] and lines[-1] == tags[-1]
        partial = forms.partial(tokens)
        assert partial is None or partial.tokens <= tokens or partial.form == "full"


def check_packing(data: bytes) -> None:
    source = InputReader(data)
    budget, cut, explicit = source.number(6000), source.number(60), source.number(3)
    mode = ("best", "skip", "signature", "stop", "cut")[source.number(4)]
    text = source.text()
    views = [_view(text[: len(text) // 2], "a.py"), _view(text[len(text) // 2 :], "b.py")]
    renderer = _renderer()
    chosen = []
    for number, view in enumerate(views * 3):
        span = Span(min(cut * number, max(0, len(view.lines) - 1)), len(view.lines))
        chosen.append(
            PackingCandidate(
                item_forms(
                    Item(view.entry.path, span, "text", Origin.MENTION, 1 - number / 10, mention=number), view, renderer
                )
            )
        )
    result = pack(chosen[:explicit], chosen[explicit:], budget, mode=mode)
    assert sum(block.rendered.tokens for block in result.items) <= budget


def check_settings(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    settings, problems = parse_settings(value)
    assert isinstance(settings, Settings)
    assert all("\n" not in p.message or isinstance(value, dict) for p in problems)
    assert (settings.embedding, settings.cache, settings.language_model, settings.secrets) == (
        Settings().embedding, Settings().cache, Settings().language_model, Settings().secrets,
    )  # fmt: skip
    trusted, _ = parse_settings(value, trusted=True)
    assert parse_settings(value, settings)[0] == settings
    assert isinstance(trusted, Settings)


def check_fences(data: bytes) -> None:
    source = InputReader(data)
    message, content, value = source.text(source.number(60)), source.text(source.number(4000)), source.text(60)
    name = fences.boundary(message, [content, value])
    assert name not in message and name not in content and name not in value
    text = fences.fence([("path", value), ("lines", "1-2")], content, name)
    head = text.split("\n", 1)[0]
    assert re.fullmatch(rf'<context-{name}(?: [a-z]+="[^"<>\n\r]*")*>', head), head
    assert text.count(name) == 2 and text[len(head) + 1 : -len(f"\n</context-{name}>")] == content
    assert not set(header_text(value)) & set('\n\r\t"<>\x85\u2028\u2029')


def check_recipes(data: bytes) -> None:
    source = InputReader(data)
    argument_value, text = source.text(source.number(40)), source.text()
    recipe, problems = parse_recipe("one", text, "workspace", "one.md")
    assert recipe is not None or problems
    assert all("\n" not in p.message for p in problems)
    if isinstance(recipe, Recipe):
        arguments = {argument.name: argument_value for argument in recipe.arguments}
        render_recipe(recipe, arguments, context_values(file=argument_value, symbol=argument_value))


def check_redaction(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for path in ("a.py", "a.yml", ".env", "promptls:.env (diff)", ""):
        cleaned, redactions = redact(text, path)
        assert cleaned.count("\n") == text.count("\n")
        assert bool(redactions) == (cleaned != text)
        assert all(0 <= r.line <= text.count("\n") for r in redactions)
        assert len(clean(text, path).lines) == text.removeprefix("\ufeff").count("\n") + 1


def check_framing(data: bytes) -> None:
    try:
        bodies = read_frames(data)
    except FramingError as error:
        assert "\n" not in str(error) and str(error)
        return
    assert sum(map(len, bodies)) <= len(data)
    assert read_frames(b"".join(b"Content-Length: %d\r\n\r\n" % len(body) + body for body in bodies)) == bodies


def read_frames(data: bytes) -> list[bytes]:
    """Return the bodies of all frames. Raises FramingError."""
    stream = io.BytesIO(data)
    return list(iter(lambda: read_frame(stream), None))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "mentions": check_mentions,
    "ignore": check_ignore_rules,
    "chunks": check_chunks,
    "patterns": check_query_patterns,
    "renderer": check_renderer,
    "pack": check_packing,
    "settings": check_settings,
    "fences": check_fences,
    "recipes": check_recipes,
    "redaction": check_redaction,
    "frames": check_framing,
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
    """Return valid inputs of a target to start from."""
    if name == "chunks":
        return [bytes([number]) + CODE for number in range(len(LANGUAGE_NAMES))]
    return SEEDS.get(name, [b"\x10\x20\x30\x04abcdef" + CODE * 3])


def run_timed(target: Callable[[bytes], None], data: bytes) -> None:
    """Run a target on one input and check its CPU time."""
    start = time.process_time()
    target(data)
    seconds = time.process_time() - start
    assert seconds < MAX_SECONDS, f"{seconds:.1f} s for {len(data):,} bytes"
