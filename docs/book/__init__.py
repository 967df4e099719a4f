"""What turns docs/ and a measured run into the book; see docs/conf.py."""
