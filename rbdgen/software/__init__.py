"""The same graphs as programs for processors: C, CUDA, and functions that Python calls."""
