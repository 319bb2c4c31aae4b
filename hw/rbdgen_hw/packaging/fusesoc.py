"""A FuseSoC core description (CAPI2) whose targets use the Flow API: ``lint``, ``sim``, ``synth``, ``vivado``; and the
warnings of the lint, each waived by name with its reason.

Not here: the calls of Verilator (:mod:`rbdgen_sim.verilator`).
"""

from __future__ import annotations

from collections.abc import Iterable

from rbdgen_hw.packaging.core import LIBRARY, VENDOR, Core, yaml_literal

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


_HEAD = """\
CAPI=2:
name: "{vendor}:{library}:{name}:{version}"
description: {summary}

filesets:
  rtl:
    files: [{files}]
    file_type: verilogSource
  waivers:
    files: [{waivers}]
    file_type: vlt
"""

_BENCH = """\
  bench:
    files:
      - {source}
{vectors}
    file_type: systemVerilogSource
"""

_TARGETS = """\

targets:
  default:
    filesets: [rtl]
    toplevel: {name}
  lint:
    description: All warnings of Verilator; what is waived is named with its reason
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
    filesets: [rtl, waivers]
    toplevel: {name}
  synth:
    description: Synthesis by Yosys
    flow: generic
    flow_options:
      tool: yosys
      arch: {arch}
      output_format: json
      yosys_synth_options: [{options}]
    filesets: [rtl]
    toplevel: {name}
"""

_VIVADO = """\
  vivado:
    description: Synthesis by Vivado
    flow: vivado
    flow_options:
      part: {part}
      pnr: none
    filesets: [rtl]
    toplevel: {name}
"""

_SIM = """\
  sim:
    description: The self-checking bench in Verilator; fails where a bit differs
    flow: sim
    flow_options:
      tool: verilator
      mode: binary
      verilator_options: [--timing, -Wno-lint]
    filesets: [bench, rtl]
    toplevel: {top}
    parameters: [seed, stalls]

parameters:
  seed:
    datatype: int
    default: 1
    paramtype: plusarg
    description: Seed of the random stalls
  stalls:
    datatype: int
    default: 1
    paramtype: plusarg
    description: Whether both sides stall at random
"""


def fusesoc(core: Core) -> str:
    """Text of the ``.core`` file."""
    text = _HEAD.format(
        vendor=VENDOR,
        library=LIBRARY,
        name=core.name,
        version=core.version,
        summary=yaml_literal(core.summary),
        files=", ".join(core.files),
        waivers=waivers_file(core.name),
    )
    if core.bench:
        source, *vectors = core.bench
        # a bench reads its vectors in the folder in which it runs
        copied = [f"      - {name}: {{file_type: user, copyto: {name}}}" for name in vectors]
        text += _BENCH.format(source=source, vectors="\n".join(copied))
    # the Flow API takes the family, and makes the command itself
    family, *options = core.synthesis.removeprefix("synth_").split()
    text += _TARGETS.format(name=core.name, arch=family, options=", ".join(options))
    if core.vivado:
        text += _VIVADO.format(name=core.name, part=core.part)
    if core.bench:
        text += _SIM.format(top=core.bench[0].removesuffix(".sv"))
    return text
