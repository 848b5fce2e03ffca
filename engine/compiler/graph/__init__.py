"""The program graph: the table of operations, traced scalars, folding, kernels, and the interpreter."""
