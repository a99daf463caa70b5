"""Search over all chunks: analyzer, posting lists, vectors, and the readers that retrieval uses."""
