"""Measuring with several hosts: the server on one, Redis and load on others."""
