"""Rendering of items: forms, fences, sanitized lines and citations."""
