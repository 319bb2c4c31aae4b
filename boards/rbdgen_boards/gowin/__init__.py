"""Gowin GW5A."""
