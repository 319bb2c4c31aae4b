"""The Tcl by which Vivado packages the core, and the parts that it may be given."""

from __future__ import annotations

import re

from rbdgen.devices.registry import get_device
from rbdgen.errors import ConfigError, short
from rbdgen_hw.packaging.core import BUSES, LIBRARY, VENDOR, Core
from rbdgen_hw.packaging.quoting import tcl_word

DEVICES = ("xc7", "xcup")
"""Devices that Vivado knows."""
OTHERWISE = "xcup"
"""The device whose part is taken for a design for any other."""

_PACKAGE = """\
# Packages {name} for Vivado's IP catalogue, into the folder vivado_ip.
create_project -in_memory -part {part}
add_files {{{files}}}
set_property top {name} [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir vivado_ip -vendor {vendor} -library {library} -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name {name} $core
set_property version {version} $core
set_property description {summary} $core
foreach bus {{{buses}}} {{ ipx::associate_bus_interfaces -busif $bus -clock aclk $core }}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
"""


def check_part(part: str) -> str:
    """The order code ``part``, if it can be one. ConfigError for what has other characters than these have."""
    if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", part):
        raise ConfigError(
            f"part: must be an order code of letters, digits and dashes, such as xck26-sfvc784-2LV-c, not {short(part)}"
        )
    return part


def usual_part(device: str) -> str:
    """The part for a design of ``device`` where none is asked for."""
    known = device if device in DEVICES else OTHERWISE
    return next(iter(get_device(known).parts))


def vivado_package(core: Core) -> str:
    """Tcl by which Vivado packages the core: ``vivado -mode batch -source package_ip.tcl`` in its folder."""
    # Vivado's versions of IP have two numbers
    numbers = core.version.split(".")[:2]
    return _PACKAGE.format(
        name=core.name,
        part=core.part,
        files=" ".join(core.files),
        vendor=VENDOR,
        library=LIBRARY,
        version=".".join(numbers),
        summary=tcl_word(core.summary),
        buses=" ".join(BUSES),
    )
