"""Verilog with every shape written once.

Amaranth elaborates every instance of a component anew. Here a component that derives from :class:`Shape` is
written as one Verilog module, named by its parameters, and instantiated by that name wherever it occurs; in
Amaranth's own simulator, and wherever no :class:`Library` is the platform, it is an ordinary submodule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Fragment, Instance, Module, ResetSignal
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdgen.errors import UnsupportedError
from rbdgen_hw.yosys import run_yosys

LARGEST = (1 << 16) - 64
"""Bits that the inputs, or the outputs, of an instance may have together: Amaranth numbers them in 16 bits."""
MEMORY_ATTRIBUTES = ("ram_style", "no_rw_check")
"""Attributes that reach the Verilog: what synthesis needs to know about memories. Others are of Yosys's own use."""
_ATTRIBUTE = re.compile(rf"^ *\(\*(?! (?:{'|'.join(MEMORY_ATTRIBUTES)}) ).*?\*\)\n", re.MULTILINE)
WIDEST = LARGEST
"""Bits that a port may have, whether its component is an instance or a submodule."""


class Shape(wiring.Component):
    """A component whose ``shape_name`` says all that its logic depends on (equal names, equal logic).

    Ports must be plain signals at the top level of its signature. ``clocked`` components take ``clk`` and ``rst``.
    """

    shape_name: str
    clocked: bool = True

    if TYPE_CHECKING:  # the ports come from the signature, at run time

        def __getattr__(self, name: str) -> Any: ...


class Library:
    """Collects shapes while a design is elaborated; doubles as Amaranth's platform object.

    Module names are the shapes' names behind ``prefix``, so that two designs can live in one project.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.shapes: dict[str, Shape] = {}

    def request(self, shape: Shape) -> str:
        """Have ``shape`` written once; returns its module's name."""
        name = f"{self.prefix}_{shape.shape_name}" if shape.shape_name else self.prefix
        self.shapes.setdefault(name, shape)
        return name


def place(m: Module, platform: object, name: str, shape: Shape) -> None:
    """Put ``shape`` into module ``m`` as ``name``: an instance of its one Verilog module, or a submodule. One with too
    many bits for an instance becomes a submodule as well; UnsupportedError if that is so of a single port."""
    for path, _, value in shape.signature.flatten(shape):
        if len(value) > WIDEST:
            raise UnsupportedError(
                f"{name}: {'.'.join(map(str, path))} has {len(value)} bits, and a port may have {WIDEST}; use fewer "
                "--functions, a shorter --word, or leave results out"
            )
    if not isinstance(platform, Library) or _widest_side(shape) > LARGEST:
        m.submodules[name] = shape
        return
    module = platform.request(shape)
    pins = {}
    for path, member, value in shape.signature.flatten(shape):
        pins[("i_" if member.flow == In else "o_") + "__".join(map(str, path))] = value
    if shape.clocked:
        pins.update(i_clk=ClockSignal(), i_rst=ResetSignal())
    m.submodules[name] = Instance(module, **pins)


def _widest_side(shape: Shape) -> int:
    """Bits of the inputs, or of the outputs if they are more."""
    bits = {In: 0, Out: 0}
    for _, member, value in shape.signature.flatten(shape):
        bits[member.flow] += len(value)
    return max(bits.values())


def to_verilog(top: Shape, name: str, header: str, streams: Mapping[str, str]) -> str:
    """Verilog of ``top`` as module ``name`` and every shape below it, preceded by ``header`` (comment lines).

    ``streams`` gives the prefixes of the top's stream ports by member name: ``{"i": "in"}`` makes in_valid of i.valid.

    The same design gives the same text: there are no dates, paths or source positions in it.
    """
    library = Library(name)
    library.shapes[name] = top
    texts: dict[str, str] = {}
    while missing := {module: s for module, s in library.shapes.items() if module not in texts}:
        for module, shape in missing.items():
            texts[module] = _rtlil(shape, module, library, streams if shape is top else {})
    script = [
        "read_rtlil design.il",
        "proc -nomux -norom",
        "memory_collect",
        "write_verilog -norename design.v",
    ]
    verilog = run_yosys(script, {"design.il": "\n".join(texts.values())}, "design.v")
    # the first line says how Yosys itself was compiled, which is not the same on every machine
    return header + _ATTRIBUTE.sub("", verilog.split("\n", 1)[1].lstrip("\n"))


def _rtlil(shape: Shape, name: str, library: Library, streams: Mapping[str, str]) -> str:
    """One module's RTLIL. A clocked shape has its clock and reset ports even if nothing in it is registered."""
    ports = {}
    for path, member, value in shape.signature.flatten(shape):
        first, *rest = map(str, path)
        direction = PortDirection.Input if member.flow == In else PortDirection.Output
        # the top's streams are named for people, all others as place() connects them
        name_in_verilog = "_".join([streams[first], *rest]) if first in streams else "__".join([first, *rest])
        ports[name_in_verilog] = (value, direction)
    fragment = Fragment.get(shape, library)
    if shape.clocked:
        domain = ClockDomain("sync")
        fragment.add_domains(domain)
        ports |= {"clk": (domain.clk, PortDirection.Input), "rst": (domain.rst, PortDirection.Input)}
    return rtlil.convert(fragment, name=name, ports=ports, emit_src=False)
