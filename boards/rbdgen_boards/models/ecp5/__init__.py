"""Lattice ECP5: what its cells do, before and after nextpnr has packed them."""
