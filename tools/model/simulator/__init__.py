"""The simulator: a page that lets clients, workers and Redis move."""
