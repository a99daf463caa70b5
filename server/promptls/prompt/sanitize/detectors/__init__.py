"""Detectors of secrets: by shape, by the name before a value, by the syntax around it, and by the file."""
