"""Scan of the roots: state per root, jobs for the workers, open documents, prescan scheduling, and request priority.

The modules run on the indexer's thread, except where noted.  `jobs` contains the stateless steps.
"""
