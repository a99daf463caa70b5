"""Notebooks: their cells as one text, and the way back to the JSON of the file."""
