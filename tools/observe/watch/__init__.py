"""A live view of a server: what each process and thread does now."""
