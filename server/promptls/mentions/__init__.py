"""Mentions: parses, resolves and completes "@…" references such as "@src/app.py:10-20" in a message.

Parsing is `lexer` → `grammar`, with `format` as the inverse.  `resolve` calls the resolver of each kind in the
`registry` and returns outcomes.  `anchors` follow the mentioned lines through edits.  `completion` offers items for the
mention at the cursor.  Independent of LSP and of prompts.

Other packages use `context` (input), `resolve`, `registry`, `completion.complete`, `anchor_store`, `grammar`,
`format` and `path_lookup.mention_for`; plugins also use `outcomes`.
"""
