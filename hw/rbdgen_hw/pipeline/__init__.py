"""The pipeline of a robot in Amaranth: operators, units, round trips, and the accelerator around them."""
