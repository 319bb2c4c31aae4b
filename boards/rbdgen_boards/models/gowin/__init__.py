"""Gowin GW5A: what its cells do, before and after nextpnr has packed them."""
