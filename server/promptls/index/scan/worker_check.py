"""Check that a worker can parse and embed a file, for diagnostics."""

from __future__ import annotations

from msgspec import Struct

from promptls.index.config import IndexConfig
from promptls.index.scan import jobs
from promptls.index.workers.messages import ScanFiles, ScanResult
from promptls.index.workers.pool import WorkerChannel, worker_configuration
from promptls.model import decode_outline


class WorkerCheck(Struct, frozen=True):
    """Result of outlining and embedding one file."""

    symbols: tuple[str, ...]  # names of the symbols found
    embedded: bool  # whether the chunks have vectors
    dimension: int  # of the embedding model, 0 without one
    problem: str  # why the embedding model cannot be used, "" otherwise


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
