"""The labs: each architecture as an exercise, and the grader."""
