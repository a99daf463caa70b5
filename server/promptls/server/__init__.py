"""The language server, the only importer of pygls and lsprotocol.

offers: what can be asked for; wire: how it comes and goes; connection: the state of one client, the handlers and the
one wrapper of answers.
"""

from promptls.server.connection import create_server, percentage_of, serve_stdio, serve_tcp
from promptls.server.offers import ENDPOINTS, LANGUAGE

__all__ = ["ENDPOINTS", "LANGUAGE", "create_server", "percentage_of", "serve_stdio", "serve_tcp"]
