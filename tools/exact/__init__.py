"""What a request costs in instructions, counted on a simulated machine."""
