"""Programs: what operations are, the graph of them, what it folds to, and how it runs without machine code."""
