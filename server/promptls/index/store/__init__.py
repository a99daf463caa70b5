"""Persistence of the index: LanceDB table, checkpoint, manifest and cache directory."""
