"""Code graph: files and definitions as nodes, and their relations as edges.

All nodes and edges are derived from outlines, without reading texts and without a language model.  `graph.Graph` is the
mutable owner; the other modules are functions of an immutable `graph.GraphView`.
"""
