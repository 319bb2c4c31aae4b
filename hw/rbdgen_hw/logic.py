"""Small pieces that modules are made of: combinational logic, registers between two points of a module, and components
whose logic stands in the module of whoever uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out


def any_of(bits: Iterable[Value]) -> Value:
    """Whether one of ``bits`` is high; low for none."""
    return Cat(*bits).any()


def or_of(words: Iterable[Value]) -> Value:
    """Words, of which all but one are zero, joined: the one that is not."""
    return reduce(or_, words)


def selected(strobes: Sequence[Value], words: Sequence[Value]) -> Value:
    """The word whose strobe is high, one at most; zero for none."""
    terms = []
    for strobe, word in zip(strobes, words, strict=True):
        # masked and joined, in whatever order: a chain of choices has one that synthesis must keep
        terms.append(Mux(strobe, word, 0))
    return or_of(terms)


def cut(value: Value, widths: Iterable[int]) -> list[Value]:
    """The parts of ``value`` of so many bits each, from the lowest on."""
    parts = []
    position = 0
    for width in widths:
        parts.append(value[position : position + width])
        position += width
    return parts


def registered(m: Module, value: Value, name: str, reset_less: bool = False) -> Signal:
    """``value`` of the cycle before, in a register of the module ``m`` that is called ``name``."""
    # a signed value stays signed
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


class Inlined(wiring.Component, ABC):
    """A component that has no Verilog module of its own: its user writes its logic into the user's.

    Its signature is all of its boundary, as it is of any component. The user binds values of its own to the inputs,
    then calls the methods that write logic; an output can be read as soon as the method that makes it was called. As a
    submodule, it is an ordinary component with signals at its ports.
    """

    if TYPE_CHECKING:  # the ports come from the signature, at run time

        def __getattr__(self, name: str) -> Any: ...

    def bind(self, **values: Value) -> None:
        """Put values in the place of ports' signals, by name. ValueError for one of another width than its port's."""
        for port, value in values.items():
            width = Shape.cast(self.signature.members[port].shape).width
            if len(value) != width:
                raise ValueError(f"port {port}: must have {width} bits, not {len(value)}")
            setattr(self, port, value)

    @abstractmethod
    def write(self, m: Module, platform: object) -> None:
        """Write all of the logic into ``m``: the methods of a user, in their order."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # before write(), which may put other values in their place
        ports = {
            name: getattr(self, name)
            for name, member in self.signature.members.items()
            if member.flow == Out
        }
        self.write(m, platform)
        for name, port in ports.items():
            made = getattr(self, name)
            if made is not port:
                m.d.comb += port.eq(made)
        return m
