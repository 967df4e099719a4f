"""The tests. `make check` runs them; CONTRIBUTING.md says which folder holds what."""
