"""The language server, the only importer of pygls and lsprotocol.

offers: what can be asked for; lean: the protocol's classes; wire: how it comes and goes; connection: the state of one
client, the handlers and the one wrapper of answers.
"""

from promptls.server.lean import import_lsprotocol

import_lsprotocol()

from promptls.server.connection import create_server, serve_stdio, serve_tcp  # noqa: E402
from promptls.server.offers import ENDPOINTS, LANGUAGE  # noqa: E402

__all__ = ["ENDPOINTS", "LANGUAGE", "create_server", "serve_stdio", "serve_tcp"]
