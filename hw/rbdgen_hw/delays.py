"""Values some clock cycles later: registers between two points of a module."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value


def registered(m: Module, value: Value, name: str, reset_less: bool = False) -> Signal:
    """``value`` of the cycle before, in a register of the module ``m`` that is called ``name``."""
    shape = value.shape()
    register = Signal(shape, name=name, reset_less=reset_less)
    m.d.sync += register.eq(value)
    return register


def delayed(m: Module, value: Value, cycles: int, name: str) -> Value:
    """``value`` of so many cycles before, behind as many registers: ``name``, ``name1``, ...; itself for none."""
    for k in range(cycles):
        suffix = k or ""
        value = registered(m, value, f"{name}{suffix}")
    return value
