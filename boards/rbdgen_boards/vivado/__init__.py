"""AMD's devices."""
