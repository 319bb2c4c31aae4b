"""Machines: kinds of hardware that compute a design's functions, behind one interface."""
