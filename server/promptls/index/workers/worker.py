"""The worker process: reads, parses, chunks and embeds, so that nothing of it can hurt the server.

Started by `spawn`; one request at a time from stdin, ends with it.
A grammar that hangs or crashes here costs this process only; the pool starts another.
Holds the trees of open buffers, what is kept of their parts, what is needed of texts that wait for their vectors, and
what it has learned of words.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from promptls.index import files as disk
from promptls.index.embedding.embedder import (
    Embedder,
    EmbeddingSpec,
    Input,
    ModelUnavailable,
    load,
    model_identity,
    prepare,
)
from promptls.index.prescan.lexer import skim
from promptls.index.search.interning import Runs, TermReader
from promptls.index.search.row_batch import Rows, rounded
from promptls.index.syntax.parse import ORDER, Parsed, plain, scan
from promptls.index.syntax.structural_search import find, pattern
from promptls.index.workers.memory import LARGE_BOUND, be_frugal
from promptls.index.workers.messages import (
    Configure,
    Done,
    Embed,
    EmbedQuery,
    FileScan,
    FindTerms,
    Forget,
    Match,
    Matched,
    Request,
    Response,
    ScanFiles,
    Scanned,
    ScanText,
    SkimFiles,
    Skimmed,
    Terms,
    Vector,
    Vectors,
    read_frame,
    request_decoder,
    write_frame,
)
from promptls.languages.table import language_of
from promptls.model import Span, pack
from promptls.util.hashing import digest_of


class Worker:
    """The state of one worker process."""

    def __init__(self) -> None:
        self.limits = disk.Limits()
        self.grammar_order = ORDER
        self.embedder: Embedder | None = None
        self.documents: dict[str, Parsed] = {}
        self.batch: dict[bytes, str] = {}  # of the last ScanFiles
        self.held: dict[bytes, Input] = {}  # of texts that wait for their vectors
        self.runs, self.terms = Runs(), TermReader()

    def answer(self, request: Request) -> Response:
        if isinstance(request, ScanFiles):
            self.batch = {}
            return Scanned(tuple(self._scan_file(path, request.plain) for path in request.paths))
        if isinstance(request, SkimFiles):
            return Skimmed(skim(self._texts(request.paths)))
        if isinstance(request, ScanText):
            return Scanned((self._scan_document(request),))
        if isinstance(request, FindTerms):
            return Terms(self._terms(request.keys))
        if isinstance(request, Embed):
            vectors = self._vectors(request.keys)
            for key in request.done:
                self.held.pop(key, None)
            return vectors
        if isinstance(request, EmbedQuery):
            return Vector(self.embedder.embed_query(request.text).tobytes() if self.embedder else b"")
        if isinstance(request, Match):
            return self._match(request)
        if isinstance(request, Forget):
            self.documents.pop(request.path, None)
            return Done()
        assert isinstance(request, Configure)
        return self._configure(request)

    def _configure(self, request: Configure) -> Done:
        self.limits = disk.Limits(request.max_file_size, request.max_line)
        self.grammar_order = request.grammar_order or ORDER
        if request.bulk:
            be_frugal(LARGE_BOUND)
        spec = EmbeddingSpec(request.model, request.allow_download)
        self.embedder = None
        try:
            loaded = load(spec)
            if request.identity and model_identity(spec) != request.identity:
                raise ModelUnavailable(
                    f"The embedding model {request.model!r} is another one than when indexing began, and vectors of two "
                    "models do not mix; restart promptls to index with the new one."
                )
        except ModelUnavailable as error:
            return Done(problem=str(error))
        self.embedder = loaded
        return Done(dimension=loaded.dimension)

    def _scan_file(self, path: str, as_plain: bool) -> FileScan:
        got = disk.read_text(path, self.limits)
        if isinstance(got, disk.Skipped):
            if got.passing:
                raise OSError(got.reason)  # this process ends; the file is tried again
            found = disk.stat(path)
            size, mtime_ns = found or (0, 0)
            return FileScan(path, size, mtime_ns, skipped=got.reason, gone=found is None)
        parsed = self._parse(path, got.text, None, as_plain)
        self.batch.update(parsed.texts)
        return FileScan(path, got.size, got.mtime_ns, digest_of(got.text), pack(parsed.outline))

    def _texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        for path in paths:
            got = disk.read_text(path, self.limits)
            if isinstance(got, disk.ReadText):
                yield path, got.text

    def _scan_document(self, request: ScanText) -> FileScan:
        parsed = self._parse(request.path, request.text, self.documents.get(request.path), request.plain, edited=True)
        self.documents[request.path] = parsed
        return FileScan(request.path, digest=digest_of(request.text), outlined=pack(parsed.outline))

    def _match(self, request: Match) -> Matched:
        wanted = pattern(request.pattern)
        files: list[tuple[str, tuple[Span, ...]]] = []
        languages: dict[str, None] = {}
        for path in request.paths:
            text = request.texts.get(path)
            if text is None:
                got = disk.read_any(path, self.limits)  # a text that was taken in is not examined again
                if isinstance(got, disk.Skipped):
                    continue
                text = got.text
            language = language_of(path, text)
            spans = find(wanted, text, language, self.grammar_order)
            if spans is not None:
                languages[language] = None
            if spans:
                files.append((path, tuple(spans)))
        return Matched(tuple(files), tuple(languages))

    def _parse(self, path: str, text: str, previous: Parsed | None, as_plain: bool, edited: bool = False) -> Parsed:
        language = language_of(path, text)
        if as_plain:
            return plain(text, language, "the grammar hung or crashed on this text")

        return scan(text, language, previous, order=self.grammar_order, edited=edited)

    def _terms(self, keys: tuple[bytes, ...]) -> Rows:
        found = {key: text for key in keys if (text := self._text(key)) is not None}
        batch = self.runs.read(tuple(found.values()))
        inputs = self.embedder.inputs(batch) if self.embedder else batch.texts
        self.held.update(zip(found, inputs, strict=True))
        return self.terms.rows(tuple(found), batch)

    def _vectors(self, keys: tuple[bytes, ...]) -> Vectors:
        found = {key: held for key in keys if (held := self.held.get(key)) is not None}
        if self.embedder is None or not found:
            return Vectors(tuple(found), b"")
        return Vectors(tuple(found), rounded(self.embedder.embed_inputs(list(found.values()))))

    def _text(self, key: bytes) -> str | None:
        if key in self.batch:
            return self.batch[key]
        return next((p.texts[key] for p in self.documents.values() if key in p.texts), None)


def main() -> None:
    """Serve requests until stdin ends."""
    be_frugal()
    requests = os.fdopen(os.dup(0), "rb")
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to the log, not into the frames
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    worker = Worker()
    prepare()
    while (body := read_frame(requests)) is not None:
        write_frame(responses, worker.answer(request_decoder.decode(body)))


if __name__ == "__main__":
    main()
