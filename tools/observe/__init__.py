"""What does a server do while it waits? Programs that show it.

They look from outside, so they work on the seven servers, on a student's
server and on nginx. See README.md.
"""
