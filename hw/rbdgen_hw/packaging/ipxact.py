"""An IP-XACT component (IEEE 1685-2009, which every version of Vivado reads), with the register map; the Tcl by which
Vivado packages the core, and the parts that it may be given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

from rbdgen.devices.registry import get_device
from rbdgen.errors import ConfigError, short
from rbdgen.protocol.registers import (
    ADDRESS_BITS,
    REGISTER_BITS,
    WHOLE,
    Access,
    RegisterEntry,
)
from rbdgen_hw.packaging.core import LIBRARY, VENDOR, Core, Port, tcl_word, xml_text

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
        buses=" ".join(_clocked(core)),
    )


SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
DEFINITIONS = {
    "s_axis": ("axis", "axis_rtl", "1.0"),
    "m_axis": ("axis", "axis_rtl", "1.0"),
    "s_axi": ("aximm", "aximm_rtl", "1.0"),
    "irq": ("interrupt", "interrupt_rtl", "1.0"),
    "aclk": ("clock", "clock_rtl", "1.0"),
    "aresetn": ("reset", "reset_rtl", "1.0"),
}
"""AMD's names of the buses, with the library that they are in."""
LOGICAL = {"aclk": "CLK", "aresetn": "RST", "irq": "INTERRUPT"}
"""Signals of what is a single one."""
REGISTER_MAP = "registers"
FILE_SET = "rtl"


def _tag(parent: ET.Element, tag: str, text: str | None = None, /, **attributes: str) -> ET.Element:
    # attributes have the namespace too
    element = ET.SubElement(
        parent, f"{{{SPIRIT}}}{tag}", {f"{{{SPIRIT}}}{k}": v for k, v in attributes.items()}
    )
    element.text = text
    return element


def _clocked(core: Core) -> list[str]:
    """Buses that the clock is of."""
    return [name for name in core.buses if name not in LOGICAL]


def _interface(parent: ET.Element, core: Core, name: str) -> None:
    """One bus, clock or reset."""
    bus, abstraction, version = DEFINITIONS[name]
    interface = _tag(parent, "busInterface")
    _tag(interface, "name", name)
    library = "signal" if name in LOGICAL else "interface"
    for tag, kind in (("busType", bus), ("abstractionType", abstraction)):
        _tag(interface, tag, vendor="xilinx.com", library=library, name=kind, version=version)
    side = _tag(interface, core.buses.get(name, "slave"))
    if name == "s_axi":
        _tag(side, "memoryMapRef", memoryMapRef=REGISTER_MAP)
    maps = _tag(interface, "portMaps")
    ports = (
        {LOGICAL[name]: name}
        if name in LOGICAL
        else {k.upper(): p.name for k, p in core.bus(name).items()}
    )
    for signal, port in ports.items():
        entry = _tag(maps, "portMap")
        _tag(_tag(entry, "logicalPort"), "name", signal)
        _tag(_tag(entry, "physicalPort"), "name", port)
    parameters = {
        "aclk": {"ASSOCIATED_BUSIF": ":".join(_clocked(core)), "ASSOCIATED_RESET": "aresetn"},
        "aresetn": {"POLARITY": "ACTIVE_LOW"},
        "irq": {"SENSITIVITY": "LEVEL_HIGH"},
    }.get(name, {})
    if parameters:
        group = _tag(interface, "parameters")
        for key, value in parameters.items():
            parameter = _tag(group, "parameter")
            _tag(parameter, "name", key)
            _tag(parameter, "value", value)


def _tags(parent: ET.Element, texts: Mapping[str, str]) -> None:
    """Elements with a text each."""
    for tag, text in texts.items():
        _tag(parent, tag, text)


def _register(block: ET.Element, entry: RegisterEntry) -> None:
    """One register with its bits."""
    register = _tag(block, "register")
    # all of them change but what is constant, and what the host writes
    volatile = not entry.constant and entry.access == Access.READ
    texts = {
        "name": entry.name,
        "description": entry.summary,
        "addressOffset": hex(entry.address),
        "size": str(REGISTER_BITS),
        "volatile": str(volatile).lower(),
        "access": entry.access.value,
    }
    _tags(register, texts)
    if entry.reset is not None:
        reset = _tag(register, "reset")
        _tags(reset, {"value": hex(entry.reset), "mask": hex(WHOLE.mask)})
    for field in entry.fields:
        element = _tag(register, "field")
        _tag(element, "name", field.name)
        if field.summary:
            _tag(element, "description", field.summary)
        _tags(element, {"bitOffset": str(field.low), "bitWidth": str(field.width)})


def _memory_map(root: ET.Element, core: Core) -> None:
    """The register map."""
    memory = _tag(_tag(root, "memoryMaps"), "memoryMap")
    _tag(memory, "name", REGISTER_MAP)
    block = _tag(memory, "addressBlock")
    texts = {
        "name": REGISTER_MAP,
        "baseAddress": "0",
        "range": str(1 << ADDRESS_BITS),
        "width": str(REGISTER_BITS),
        "usage": "register",
    }
    _tags(block, texts)
    for entry in core.registers:
        _register(block, entry)


def _port(ports: ET.Element, port: Port) -> None:
    """One port of the top module."""
    element = _tag(ports, "port")
    _tag(element, "name", port.name)
    wire = _tag(element, "wire")
    _tag(wire, "direction", "out" if port.out else "in")
    if port.width > 1:
        vector = _tag(wire, "vector")
        _tags(vector, {"left": str(port.width - 1), "right": "0"})


def _model(root: ET.Element, core: Core) -> None:
    """The model: what is synthesised, and its ports."""
    model = _tag(root, "model")
    view = _tag(_tag(model, "views"), "view")
    texts = {
        "name": "synthesis",
        "envIdentifier": ":vivado.xilinx.com:synthesis",
        "language": "verilog",
        "modelName": core.name,
    }
    _tags(view, texts)
    _tag(_tag(view, "fileSetRef"), "localName", FILE_SET)
    ports = _tag(model, "ports")
    for port in core.ports:
        _port(ports, port)


def _file_set(root: ET.Element, core: Core) -> None:
    """The Verilog files."""
    files = _tag(_tag(root, "fileSets"), "fileSet")
    _tag(files, "name", FILE_SET)
    for name in core.files:
        file = _tag(files, "file")
        _tags(file, {"name": name, "fileType": "verilogSource"})


def ipxact(core: Core) -> str:
    """Text of ``component.xml``."""
    ET.register_namespace("spirit", SPIRIT)
    root = ET.Element(f"{{{SPIRIT}}}component")
    texts = {
        "vendor": VENDOR,
        "library": LIBRARY,
        "name": core.name,
        "version": core.version,
    }
    _tags(root, texts)
    interfaces = _tag(root, "busInterfaces")
    for name in DEFINITIONS:
        if name in ("aclk", "aresetn", *core.buses):
            _interface(interfaces, core, name)
    _memory_map(root, core)
    _model(root, core)
    _file_set(root, core)
    _tag(root, "description", xml_text(core.summary))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
