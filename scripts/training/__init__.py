"""Training of the embedding model and the ranker."""
