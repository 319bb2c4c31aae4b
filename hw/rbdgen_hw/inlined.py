"""Components whose logic stands in the module of whoever uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Module, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out


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
