"""Installation of the MCP server in clients: `promptls install`.

`clients` is the table of clients, and `client_configuration` computes and writes the change of a file.
"""
