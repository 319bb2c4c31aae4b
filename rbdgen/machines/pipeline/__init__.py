"""Time: operator delays of devices, the modulo schedule, buffers between units, and the checker."""
