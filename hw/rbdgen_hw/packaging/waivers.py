"""Warnings of Verilator's ``-Wall`` that an accelerator's Verilog gives rise to, each waived by name with its reason.

Not here: how Verilator is called (:mod:`rbdgen_sim.verilator`).
"""

from __future__ import annotations

from collections.abc import Iterable

WAIVERS = {
    "DECLFILENAME": "a design is one file with a module per component",
    "UNUSEDSIGNAL": "bits that rounding drops, and ports that every component of a kind has though one design uses few",
    "PROCASSINIT": "registers have values at power-up, which FPGAs load; what has a reset gets the same from it",
    "WIDTHEXPAND": "Yosys leaves it to the assignment to extend an operand",
    "WIDTHTRUNC": "Yosys compares with zero by negating the whole word",
    "CASEINCOMPLETE": "what a case does not name keeps the value assigned before it",
    "ASCRANGE": "Yosys writes a counter of one beat, which has no bits, with the range -1 to 0; nothing reads it",
}
"""Rules that are waived, and why."""


def waivers_file(name: str) -> str:
    """Name of the file of the waivers of the module ``name``."""
    return f"{name}.vlt"


def waivers(files: Iterable[str]) -> str:
    """Text of a Verilator configuration file that waives :data:`WAIVERS` in these Verilog files and nowhere else."""
    lines = [
        "// Waivers for verilator -Wall, to be named before the Verilog files: each rule with its reason.",
        "`verilator_config",
    ]
    names = tuple(files)
    for rule, reason in WAIVERS.items():
        lines.append(f"// {reason}")
        lines += [f'lint_off -rule {rule} -file "*{name}"' for name in names]
    return "\n".join(lines) + "\n"
