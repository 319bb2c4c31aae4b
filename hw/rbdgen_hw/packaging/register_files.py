"""The register map as files: SystemRDL 2.0, for PeakRDL and what else reads it, and a header in C99 for firmware that
reaches the registers by their addresses.

Not here: the library for boards on a serial line (:mod:`rbdgen.host.library`).
"""

from __future__ import annotations

from rbdgen.protocol.registers import (
    REGISTER_BITS,
    Access,
    Field,
    RegisterEntry,
    c_macros,
    constants,
)
from rbdgen_hw.packaging.core import Core, rdl_string, register_port

_HEADER = """\
/* Registers of {name}, behind its port {port}: byte offsets, bits, and the values of those that never change. */
#ifndef {prefix}_H
#define {prefix}_H

#include <stdint.h>

{defines}

/* The register at an offset; base is where the core's registers begin. */
static inline uint32_t {name}_read(uintptr_t base, uint32_t offset)
{{
    return *(volatile const uint32_t *)(base + offset);
}}

static inline void {name}_write(uintptr_t base, uint32_t offset, uint32_t value)
{{
    *(volatile uint32_t *)(base + offset) = value;
}}

/* Whether this very core is there, by the registers that never change: 1 or 0. */
static inline int {name}_is_there(uintptr_t base)
{{
    return {conditions};
}}

#endif
"""


def c_header(core: Core) -> str:
    """Text of the ``.h`` file; its names begin with the core's."""
    prefix = core.name.upper()
    read = f"{core.name}_read(base, {prefix}_"
    conditions = [
        f"{read}{entry.name}_OFFSET) == {prefix}_{entry.name}_VALUE"
        for entry, _ in constants(core.registers)
    ]
    return _HEADER.format(
        name=core.name,
        port=register_port(core),
        prefix=prefix,
        defines="\n".join(c_macros(core.registers, prefix)),
        conditions=" &&\n        ".join(conditions),
    )


_SOFTWARE = {
    Access.READ: "sw = r; hw = w;",
    # a command lasts for a cycle
    Access.WRITE: "sw = w; hw = r; singlepulse;",
    Access.READ_WRITE: "sw = rw; hw = na;",
}
"""Access of a host and of the hardware to a field."""
_CONSTANT = "sw = r; hw = na;"


def systemrdl(core: Core) -> str:
    """Text of the ``.rdl`` file: an address map of the core's name."""
    lines = [
        f"// Registers of {core.name}, behind its port {register_port(core)}.",
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
