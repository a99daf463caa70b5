"""Completion of mentions: search indexes over paths and symbols, and the items they give."""
