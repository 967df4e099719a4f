"""A prediction, then a measurement: which assumption was off, and by how much?
"""
