"""Benchmarks of speed, memory and disk."""
