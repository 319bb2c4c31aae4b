"""Netlists as Verilog for a simulator: what each cell of a device does, written from the vendors' data sheets.

No part of what is built: nothing here changes a bitstream (:func:`rbdgen_boards.flow.own_text`). A cell, a
parameter, a pin or a mode that a model does not know is an error, never simulated as something else.
"""
