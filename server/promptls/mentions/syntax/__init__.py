"""Syntax of mentions: what is code, where a mention begins and ends, and what it says; all without the workspace."""
