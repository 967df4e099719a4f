"""Builds, checks and measures the variants: patches, each of which adds one improvement to a plain
server. __main__.py has the commands.

`what` says which variants there are; `copy` patches and builds one; `pages` writes what its page
counts; `served` starts one; `check` tests it, and `measure` says what it costs.
"""
