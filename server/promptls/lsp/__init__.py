"""The language server: the only package that imports pygls and lsprotocol.

Start with `server` (handler registration), `connection` (state of one client), `dispatch` (requests) and `handlers`
(table of requests and LSP features).
"""

from promptls.lsp.transport.fast_lsprotocol import import_lsprotocol

import_lsprotocol()

from promptls.lsp.handlers import CUSTOM_REQUESTS, LSP_FEATURES  # noqa: E402
from promptls.lsp.server import create_server, serve_stdio  # noqa: E402

__all__ = ["CUSTOM_REQUESTS", "LSP_FEATURES", "create_server", "serve_stdio"]
