"""Resolvers: one function per mention kind, from a mention and a context to an outcome."""
