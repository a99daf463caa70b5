"""Git history of the workspace: commits, authors, recency, files that change together, state of the working tree.

Read-only, offline, and safe in untrusted repositories. `HistoryCache` owns the state; everything else works on the
values that it returns.
"""
