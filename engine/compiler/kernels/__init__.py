"""Functions that are loops, as one node of a program; and loops over the rows of tables."""
