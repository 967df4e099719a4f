"""All programs that are not servers: README.md has the map."""
