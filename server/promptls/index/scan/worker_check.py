"""Checks of a worker and of the reranker process, for diagnostics."""

from __future__ import annotations

from msgspec import Struct

from promptls.index.config import IndexConfig
from promptls.index.scan import jobs
from promptls.index.workers.messages import OpenReranker, ScanFiles, ScanResult, ScoreTexts, TextScores
from promptls.index.workers.pool import WorkerChannel, worker_configuration
from promptls.index.workers.spawn import RERANKER_MODULE
from promptls.model import decode_outline


class WorkerCheck(Struct, frozen=True):
    """Result of outlining and embedding one file."""

    symbols: tuple[str, ...]  # names of the symbols found
    embedded: bool  # whether the chunks have vectors
    dimension: int  # of the embedding model, 0 without one
    problem: str  # why the embedding model cannot be used, "" otherwise


def check_reranker(model: str, timeout_s: float) -> str:
    """Load a reranking model in a new process and score a text; return the problem, "" without one.

    Raises:
        WorkerError: The process failed or did not respond in time.
    """
    channel = WorkerChannel(OpenReranker(model), background=False, module=RERANKER_MODULE)
    try:
        response = channel.call(ScoreTexts("query", ("text",)), timeout_s)
        return channel.problem or (response.problem if isinstance(response, TextScores) else "")
    finally:
        channel.stop()


def check_worker(config: IndexConfig, path: str, timeout_s: float) -> WorkerCheck:
    """Outline and embed a file in a new worker process.

    Raises:
        WorkerError: The worker failed or did not respond in time.
    """
    channel = WorkerChannel(worker_configuration(config), background=False)
    try:
        response = channel.call(ScanFiles((path,), roots=(path.replace("\\", "/").rpartition("/")[0],)), timeout_s)
        scans = response.files if isinstance(response, ScanResult) else ()
        symbols = [
            s.name for scan in scans if scan.encoded_outline for s in decode_outline(scan.encoded_outline).symbols
        ]
        lookup = jobs.RowLookup(lambda _: False)
        rows = jobs.embed_rows(channel, jobs.extract_terms(channel, scans, lookup.is_finished), lookup).rows
        return WorkerCheck(tuple(symbols), bool(rows.vectors), channel.dimension, channel.problem)
    finally:
        channel.stop()
