"""Transport: message framing, JSON-RPC and fast construction of lsprotocol types."""
