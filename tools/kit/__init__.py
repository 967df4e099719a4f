"""One owner for each thing of the operating system that programs and tests use."""
