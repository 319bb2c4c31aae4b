"""Boards as data: one folder per board.

Not here: how a design becomes a bitstream, which is the same for every board of a family.
"""
