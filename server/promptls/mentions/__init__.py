"""Mentions: parses, resolves and completes "@…" references such as "@src/app.py:10-20" in a message.

Parsing is `lexer` → `grammar`, with `format_mention` as the inverse.  `resolve` calls the resolver of each kind in the
`registry` and returns outcomes.  `anchors` follow the mentioned lines through edits.  `completion` offers items for the
mention at the cursor.  Independent of LSP and of prompts.

Other packages use `context` (input), `resolve`, `registry`, `completion.complete`, `anchors`, `syntax.grammar` and
`path_lookup.mention_for`; plugins use `context`, `kinds` and `outcomes`.
"""
