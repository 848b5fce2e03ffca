"""Functions as people write them: NumPy and Python that answer with traced values."""
