"""A FuseSoC core description (CAPI2): files for synthesis, and a target that lints them."""

from __future__ import annotations

from rbdgen_hw.packaging.core import LIBRARY, VENDOR, Core
from rbdgen_hw.packaging.quoting import yaml_literal


def fusesoc(core: Core) -> str:
    """Text of the ``.core`` file."""
    files = "\n".join(f"      - {name}" for name in core.files)
    return (
        "CAPI=2:\n"
        f'name: "{VENDOR}:{LIBRARY}:{core.name}:{core.version}"\n'
        f"description: {yaml_literal(core.summary)}\n"
        "filesets:\n"
        "  rtl:\n"
        f"    files:\n{files}\n"
        "    file_type: verilogSource\n"
        "targets:\n"
        "  default: &default\n"
        "    filesets: [rtl]\n"
        f"    toplevel: {core.name}\n"
        "  lint:\n"
        "    <<: *default\n"
        "    default_tool: verilator\n"
        "    tools:\n"
        "      verilator:\n"
        "        mode: lint-only\n"
        "        verilator_options: [-Wno-lint, -Wno-style]\n"
    )
