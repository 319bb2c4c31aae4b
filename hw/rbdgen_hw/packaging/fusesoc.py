"""A FuseSoC core description (CAPI2) whose targets use the Flow API: ``lint``, ``sim``, ``synth``, ``vivado``."""

from __future__ import annotations

from rbdgen_hw.packaging.core import LIBRARY, VENDOR, Core
from rbdgen_hw.packaging.quoting import yaml_literal
from rbdgen_hw.packaging.waivers import waivers_file

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
    family, *options = core.synthesis.removeprefix("synth_").split()
    text += _TARGETS.format(name=core.name, arch=family, options=", ".join(options))
    if core.vivado:
        text += _VIVADO.format(name=core.name, part=core.part)
    if core.bench:
        text += _SIM.format(top=core.bench[0].removesuffix(".sv"))
    return text
