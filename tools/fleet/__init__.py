"""Prepares several hosts for one measurement; see README.md."""
