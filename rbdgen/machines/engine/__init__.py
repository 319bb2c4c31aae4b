"""The engine: a machine with values in memories and operations from a program, whose area follows its lanes."""
