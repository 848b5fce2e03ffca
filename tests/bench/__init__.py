"""Benchmarks against peers, timed in turn in one process: ``python -m tests.bench``."""
