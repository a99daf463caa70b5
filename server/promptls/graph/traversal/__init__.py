"""Traversal of the code graph: neighbours, call paths, centrality and expansion, and queries made of them."""
