"""Helpers without knowledge of the domain, below all other packages."""
