"""The prompt pipeline: from a message and a snapshot to a prompt within its budget.

Entry points: `build.build` and `dry_run.dry_run`, with `options.resolve_options` for the options.  Also used by other
packages: `budget`, `citations`, `hints`, `profile`, `recipes`, `sanitize`, `tokens` and `variants`.
"""
