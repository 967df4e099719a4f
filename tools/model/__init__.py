"""The model: what a rate would be with more clients, workers, cores, machines."""
