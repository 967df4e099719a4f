"""Grades a submission of a lab: builds it, runs it, looks at what it does."""
