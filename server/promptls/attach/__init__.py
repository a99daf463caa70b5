"""One engine for editors, agents and the shell: a language server accepts connections to its engine.

Start with `registry` (which servers run), then `client` (connects) and `listener` (accepts).  The design is explained in
server/docs/explanation/shared-engine.md.
"""
