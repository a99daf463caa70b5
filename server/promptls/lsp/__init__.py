"""The language server, the only importer of pygls and lsprotocol.

offers: what can be asked for; lean: the protocol's classes; wire: how it comes and goes; connection: the state of one
client, the handlers and the one wrapper of answers.
"""

from promptls.lsp.fast_lsprotocol import import_lsprotocol

import_lsprotocol()

from promptls.lsp.handlers import ENDPOINTS, LANGUAGE  # noqa: E402
from promptls.lsp.server import create_server, serve_stdio, serve_tcp  # noqa: E402

__all__ = ["ENDPOINTS", "LANGUAGE", "create_server", "serve_stdio", "serve_tcp"]
