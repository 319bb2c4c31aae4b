"""Devices that designs are made for: one file for each family, listed by :mod:`rbdgen.devices.registry`."""
