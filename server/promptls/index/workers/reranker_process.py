"""Reranker process: owns the model of the second stage, isolated from the server and from the workers.

Runs as `python -m promptls.index.workers.reranker_process`. A model may be large and slow, and a damaged graph may crash
the process. The workers keep syntax trees and embed queries, so they must not wait for it.
"""

from __future__ import annotations

import os

from promptls.index.embedding.embedder import ModelUnavailable
from promptls.index.embedding.reranking_model import RerankingModel, load_reranking_model
from promptls.index.workers.memory import limit_memory
from promptls.index.workers.messages import (
    Acknowledged,
    OpenReranker,
    Request,
    Response,
    ScoreTexts,
    TextScores,
    serve_requests,
)


class RerankerProcess:
    """State of the reranker process."""

    def __init__(self) -> None:
        self.model: RerankingModel | None = None

    def handle(self, request: Request) -> Response:
        """Handle one request from the server process."""
        if isinstance(request, OpenReranker):
            try:
                self.model = load_reranking_model(request.model)
            except ModelUnavailable as error:
                return Acknowledged(problem=str(error))
            return Acknowledged()
        assert isinstance(request, ScoreTexts)
        if self.model is None:
            return TextScores((), "the model is not loaded")
        try:
            return TextScores(tuple(self.model.scores(request.query, request.texts)))
        except Exception as error:  # the graph or the tokenizer rejects this input
            return TextScores((), " ".join(str(error).split())[:200] or type(error).__name__)


def main() -> None:
    """Serve requests until stdin ends."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; each call is limited to local files, too
    limit_memory()
    requests = os.fdopen(os.dup(0), "rb")
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log, not into the frames
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    serve_requests(requests, responses, RerankerProcess().handle)


if __name__ == "__main__":
    main()
