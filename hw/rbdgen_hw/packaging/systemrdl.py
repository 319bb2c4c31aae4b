"""The register map in SystemRDL 2.0, for PeakRDL and what else reads it."""

from __future__ import annotations

from rbdgen.protocol.registers import REGISTER_BITS, Access, Field, RegisterEntry
from rbdgen_hw.packaging.core import Core
from rbdgen_hw.packaging.quoting import rdl_string

_SOFTWARE = {
    Access.READ: "sw = r; hw = w;",
    # a command lasts for a cycle
    Access.WRITE: "sw = w; hw = r; singlepulse;",
    Access.READ_WRITE: "sw = rw; hw = na;",
}
"""What a host and the hardware do with a field."""
_CONSTANT = "sw = r; hw = na;"


def systemrdl(core: Core) -> str:
    """Text of the ``.rdl`` file: an address map of the core's name."""
    lines = [
        f"// Registers of {core.name}, behind its port s_axi.",
        f"addrmap {core.name} {{",
        f"    desc = {rdl_string(core.summary)};",
        f"    default regwidth = {REGISTER_BITS};",
        f"    default accesswidth = {REGISTER_BITS};",
    ]
    for entry in core.registers:
        lines += _register(entry)
    lines.append("};")
    return "\n".join(lines) + "\n"


def _register(entry: RegisterEntry) -> list[str]:
    """The lines of a register."""
    lines = ["", "    reg {", f"        desc = {rdl_string(entry.summary)};"]
    lines += [f"        {_field(entry, field)}" for field in entry.fields]
    lines.append(f"    }} {entry.name} @ {entry.address:#x};")
    return lines


def _field(entry: RegisterEntry, field: Field) -> str:
    """The line of a field."""
    access = _CONSTANT if entry.constant else _SOFTWARE[entry.access]
    described = f"desc = {rdl_string(field.summary)}; " if field.summary else ""
    high = field.low + field.width - 1
    reset = ""
    if entry.reset is not None:
        value = (entry.reset & field.mask) >> field.low
        reset = f" = {field.width}'h{value:x}"
    return f"field {{ {described}{access} }} {field.name}[{high}:{field.low}]{reset};"
