"""A model as MJCF: its tree, what acts on it, what it touches, its states."""
