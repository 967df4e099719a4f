"""Measures the servers; see README.md."""
