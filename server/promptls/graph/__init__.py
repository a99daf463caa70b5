"""The knowledge graph: files and definitions as nodes, what they are to each other as edges.

Everything is derived from outlines; no text is read and no language model asked.  `view.Graph` is the one
mutable owner; the rest are functions of an immutable `view.GraphView`.
"""
