"""The MCP server: the tools of promptls for agents, over the Model Context Protocol; the only user of its SDK.

Start with `server` (handlers of the protocol), `tools` (table of the tools) and `workspaces` (engines by folder).
"""
