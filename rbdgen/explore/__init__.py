"""Sweeps over design choices: points, their figures, and which of them no other beats."""
