"""Measuring with several hosts: the server on one, Redis and load on others.

hosts       the inventory, and a Host that calls our functions over ssh
agent       what runs there
load        shares a load among generators, starts them together, merges
measure     the fleet and its Runner, which the session uses like its own
"""
