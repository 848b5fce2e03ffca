"""Kernels that come with the compiler: dense layers, look-ups, random numbers, matrix products, and loops over rows of tables."""
