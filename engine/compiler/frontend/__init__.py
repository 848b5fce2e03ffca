"""NumPy's, ``math``'s and Python's functions on traced values, so that users' functions can be traced as they are written."""
