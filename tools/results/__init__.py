"""What a run leaves on disk, written while it goes on."""
