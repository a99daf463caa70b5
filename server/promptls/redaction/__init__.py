"""Redaction of secrets, in texts for a prompt and in what is stored about files.  Pure functions over text."""
