"""Mentions: what "@src/app.py:10-20" in a message means, and what to offer while one is typed.

Read in this order: `grammar` (text → mentions, pure) on top of `scanner`; `registry` (the kinds) and one
resolver a file (`file`, `symbol`, `folder`, `workspace`, `client`); `resolve` (message → outcomes);
`complete` (text being typed → items) on top of `catalog` and `haystack`.  Knows nothing of LSP or of prompts.
"""
