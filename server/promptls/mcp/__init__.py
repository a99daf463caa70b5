"""The MCP server: the tools of promptls for agents, over the Model Context Protocol; the only user of its SDK.

Start with `handshake` (answers before the SDK is imported), `relay` (the engine of an editor, or an own one), `mcp_server`
(handlers of the protocol) and `workspaces` (engines by folder).  The tools are those of `promptls.api.tools`.
"""
