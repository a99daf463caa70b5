"""Embedding models and their tokenizers."""
