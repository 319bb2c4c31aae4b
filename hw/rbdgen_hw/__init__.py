"""The hardware: Amaranth operators, units, round-trip pipelines, top level, and Verilog from them."""
