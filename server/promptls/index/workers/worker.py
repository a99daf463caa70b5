"""Worker process: reads, parses, chunks and embeds files, isolated from the server.

Started by `spawn`.  Serves one request at a time from stdin, and exits when stdin ends.  A grammar that hangs or
crashes costs this process only, and the pool starts another.  The worker keeps the syntax trees of open documents, the
embedding inputs of chunks without vectors, and the term dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.index.embedding.embedder import (
    Embedder,
    EmbeddingInput,
    EmbeddingSpec,
    ModelUnavailable,
    load_embedder,
    model_identity,
    preload,
)
from promptls.index.files.read import FileContent, FileLimits, UnreadableFile, file_stat, read_any_text, read_text
from promptls.index.prescan import prescan
from promptls.index.search.interning import RunInterner, TermExtractor
from promptls.index.search.row_batch import RowBatch, quantize
from promptls.index.syntax.parse import ParseResult, parse_as_text, parse_source
from promptls.index.syntax.structural_search import find_matches, parse_pattern
from promptls.index.syntax.tree_sitter.grammars import GRAMMAR_SOURCES
from promptls.index.workers.process_memory import LARGE_MALLOC_THRESHOLD, limit_memory, release_free_memory
from promptls.index.workers.worker_messages import (
    Acknowledged,
    ChunkVectors,
    Configure,
    EmbedChunks,
    EmbedQuery,
    ExtractTerms,
    FileScan,
    ForgetDocument,
    MatchPattern,
    MatchResult,
    PrescanFiles,
    PrescanResult,
    QueryVectors,
    Request,
    Response,
    ScanFiles,
    ScanResult,
    ScanText,
    TermsResult,
    serve_requests,
)
from promptls.languages import language_of
from promptls.model import Span, encode_outline
from promptls.redaction.secret_files import path_below_roots
from promptls.redaction.stored import redact_outline, stored_text
from promptls.util.hashing import content_hash


class Worker:
    """State of one worker process."""

    def __init__(self) -> None:
        self.limits = FileLimits()
        self.grammar_order = GRAMMAR_SOURCES
        self.embedder: Embedder | None = None
        self.documents: dict[str, ParseResult] = {}
        self.batch_texts: dict[bytes, str] = {}  # chunk texts of the last ScanFiles
        self.embedding_inputs: dict[bytes, EmbeddingInput] = {}  # of chunks that are not embedded yet
        self.run_interner, self.term_extractor = RunInterner(), TermExtractor()

    def handle(self, request: Request) -> Response:
        """Handle one request from the server process."""
        if isinstance(request, ScanFiles):
            self.batch_texts = {}
            return ScanResult(
                tuple(
                    self._scan_file(path, request.plain, request.roots, request.known.get(path, ()))
                    for path in request.paths
                )
            )
        if isinstance(request, PrescanFiles):
            return PrescanResult(prescan(self._read_texts(request.paths, request.roots)))
        if isinstance(request, ScanText):
            return ScanResult((self._scan_document(request),))
        if isinstance(request, ExtractTerms):
            return TermsResult(self._extract_terms(request.keys))
        if isinstance(request, EmbedChunks):
            vectors = self._embed(request.keys)
            for key in request.release:
                self.embedding_inputs.pop(key, None)
            return vectors
        if isinstance(request, EmbedQuery):
            if self.embedder is None or (request.shingles and not self.embedder.is_static):
                return QueryVectors(b"")
            embed_query, embed = self.embedder.embed_query, self.embedder.embed
            return QueryVectors((embed(request.shingles) if request.shingles else embed_query(request.text)).tobytes())
        if isinstance(request, MatchPattern):
            return self._match(request)
        if isinstance(request, ForgetDocument):
            self.documents.pop(request.path, None)
            return Acknowledged()
        assert isinstance(request, Configure)
        return self._configure(request)

    def _configure(self, request: Configure) -> Acknowledged:
        self.limits = FileLimits(request.max_file_size, request.max_line)
        self.grammar_order = request.grammar_order or GRAMMAR_SOURCES
        if request.bulk:
            limit_memory(LARGE_MALLOC_THRESHOLD)
        spec = EmbeddingSpec(request.model, request.allow_download)
        self.embedder = None
        try:
            embedder = load_embedder(spec)
            if request.identity and model_identity(spec) != request.identity:
                raise ModelUnavailable(
                    f"The embedding model {request.model!r} has changed since indexing began; restart promptls to use the"
                    " new one."
                )
        except ModelUnavailable as error:
            return Acknowledged(problem=str(error))
        self.embedder = embedder
        release_free_memory()  # that of loading: a tenth
        return Acknowledged(dimension=embedder.dimension)

    def _scan_file(self, path: str, as_text: bool, roots: tuple[str, ...], known: tuple[bytes, ...]) -> FileScan:
        content = read_text(path, self.limits, roots)
        if isinstance(content, UnreadableFile):
            if content.transient:
                raise OSError(content.reason)  # ends this process; the pool tries the file again
            stat = file_stat(path)
            size, mtime_ns = stat or (0, 0)
            return FileScan(path, size, mtime_ns, skip_reason=content.reason, deleted=stat is None)
        text_hash = content_hash(content.text)
        if text_hash in known:
            return FileScan(path, content.size, content.mtime_ns, text_hash, known=True)
        parsed = self._parse(path, roots, language_of(path, content.text), content.text, None, as_text)
        self.batch_texts.update(parsed.chunk_texts)
        return FileScan(path, content.size, content.mtime_ns, text_hash, encode_outline(parsed.outline))

    def _read_texts(self, paths: Iterable[str], roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        for path in paths:
            content = read_text(path, self.limits, roots)
            if isinstance(content, FileContent):
                yield path, content.text

    def _scan_document(self, request: ScanText) -> FileScan:
        language = request.language or language_of(request.path, request.text)
        previous = self.documents.get(request.path)
        parsed = self._parse(request.path, request.roots, language, request.text, previous, request.plain, edited=True)
        self.documents[request.path] = parsed
        return FileScan(
            request.path, content_hash=content_hash(request.text), encoded_outline=encode_outline(parsed.outline)
        )

    def _match(self, request: MatchPattern) -> MatchResult:
        compiled = parse_pattern(request.pattern)
        files: list[tuple[str, tuple[Span, ...]]] = []
        languages: dict[str, None] = {}
        for path in request.paths:
            text = request.texts.get(path)
            if text is None:
                # An indexed text is not checked for generated content again.
                content = read_any_text(path, self.limits, request.roots)
                if isinstance(content, UnreadableFile):
                    continue
                text = content.text
            language = language_of(path, text)
            spans = find_matches(compiled, text, language, self.grammar_order)
            if spans is not None:
                languages[language] = None
            if spans:
                files.append((path, tuple(spans)))
        return MatchResult(tuple(files), tuple(languages))

    def _parse(
        self,
        path: str,
        roots: tuple[str, ...],
        language: str,
        text: str,
        previous: ParseResult | None,
        as_text: bool,
        edited: bool = False,
    ) -> ParseResult:
        """Parse a text without its secrets."""
        name = path_below_roots(path, roots)
        text = stored_text(text, name)
        if as_text:
            parsed = parse_as_text(text, language, "the grammar hung or crashed on this text", path=path)
        else:
            parsed = parse_source(
                text, language, previous, grammar_sources=self.grammar_order, incremental=edited, path=path
            )
        parsed.outline = redact_outline(parsed.outline, name)
        return parsed

    def _extract_terms(self, keys: tuple[bytes, ...]) -> RowBatch:
        texts = {key: text for key in keys if (text := self._chunk_text(key)) is not None}
        batch = self.run_interner.intern(tuple(texts.values()))
        inputs = self.embedder.prepare_inputs(batch) if self.embedder else batch.texts
        self.embedding_inputs.update(zip(texts, inputs, strict=True))
        return self.term_extractor.extract(tuple(texts), batch)

    def _embed(self, keys: tuple[bytes, ...]) -> ChunkVectors:
        inputs = {
            key: embedding_input for key in keys if (embedding_input := self.embedding_inputs.get(key)) is not None
        }
        if self.embedder is None or not inputs:
            return ChunkVectors(tuple(inputs), b"")
        return ChunkVectors(tuple(inputs), quantize(self.embedder.embed_inputs(list(inputs.values()))))

    def _chunk_text(self, key: bytes) -> str | None:
        if key in self.batch_texts:
            return self.batch_texts[key]
        return next((p.chunk_texts[key] for p in self.documents.values() if key in p.chunk_texts), None)


def main() -> None:
    """Serve requests until stdin ends."""
    limit_memory()
    serve_requests(Worker().handle, preload)


if __name__ == "__main__":
    main()
