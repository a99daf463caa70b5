"""Scan of the roots: state per root, jobs for the workers, open documents, and prescan scheduling.

The modules run on the thread of the state machine, except where noted.  `jobs` contains the stateless steps.
"""
