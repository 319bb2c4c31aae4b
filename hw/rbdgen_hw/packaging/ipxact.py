"""An IP-XACT component (IEEE 1685-2009, as Vivado reads it), and the Tcl by which Vivado packages the core."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from rbdgen.protocol.registers import ADDRESS_BITS, Register
from rbdgen_hw.packaging.core import BUSES, LIBRARY, VENDOR, Core
from rbdgen_hw.packaging.quoting import tcl_word, xml_text

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
DEFINITIONS = {
    "s_axis": ("axis", "axis_rtl", "1.0"),
    "m_axis": ("axis", "axis_rtl", "1.0"),
    "s_axi": ("aximm", "aximm_rtl", "1.0"),
    "aclk": ("clock", "clock_rtl", "1.0"),
    "aresetn": ("reset", "reset_rtl", "1.0"),
}
"""AMD's names of the buses, with the library that they are in."""
REGISTER_MAP = "registers"


def _tag(parent: ET.Element, tag: str, text: str | None = None, /, **attributes: str) -> ET.Element:
    element = ET.SubElement(
        parent, f"{{{SPIRIT}}}{tag}", {f"{{{SPIRIT}}}{k}": v for k, v in attributes.items()}
    )
    element.text = text
    return element


def _interface(parent: ET.Element, core: Core, name: str) -> None:
    """One bus, clock or reset."""
    bus, abstraction, version = DEFINITIONS[name]
    interface = _tag(parent, "busInterface")
    _tag(interface, "name", name)
    library = "signal" if name in ("aclk", "aresetn") else "interface"
    for tag, kind in (("busType", bus), ("abstractionType", abstraction)):
        _tag(interface, tag, vendor="xilinx.com", library=library, name=kind, version=version)
    side = _tag(interface, BUSES.get(name, "slave"))
    if name == "s_axi":
        _tag(side, "memoryMapRef", memoryMapRef=REGISTER_MAP)
    maps = _tag(interface, "portMaps")
    logical = {"aclk": "CLK", "aresetn": "RST"}
    ports = (
        {logical[name]: name}
        if name in logical
        else {k.upper(): p.name for k, p in core.bus(name).items()}
    )
    for signal, port in ports.items():
        entry = _tag(maps, "portMap")
        _tag(_tag(entry, "logicalPort"), "name", signal)
        _tag(_tag(entry, "physicalPort"), "name", port)
    parameters = {
        "aclk": {"ASSOCIATED_BUSIF": ":".join(BUSES), "ASSOCIATED_RESET": "aresetn"},
        "aresetn": {"POLARITY": "ACTIVE_LOW"},
    }.get(name, {})
    if parameters:
        group = _tag(interface, "parameters")
        for key, value in parameters.items():
            parameter = _tag(group, "parameter")
            _tag(parameter, "name", key)
            _tag(parameter, "value", value)


def ipxact(core: Core) -> str:
    """Text of ``component.xml``."""
    ET.register_namespace("spirit", SPIRIT)
    root = ET.Element(f"{{{SPIRIT}}}component")
    for tag, text in (
        ("vendor", VENDOR),
        ("library", LIBRARY),
        ("name", core.name),
        ("version", core.version),
    ):
        _tag(root, tag, text)
    interfaces = _tag(root, "busInterfaces")
    for name in DEFINITIONS:
        _interface(interfaces, core, name)
    memory = _tag(_tag(root, "memoryMaps"), "memoryMap")
    _tag(memory, "name", REGISTER_MAP)
    block = _tag(memory, "addressBlock")
    for tag, text in (
        ("name", REGISTER_MAP),
        ("baseAddress", "0"),
        ("range", str(1 << ADDRESS_BITS)),
        ("width", "32"),
    ):
        _tag(block, tag, text)
    for register in Register:
        entry = _tag(block, "register")
        for tag, text in (
            ("name", register.name),
            ("addressOffset", hex(register)),
            ("size", "32"),
        ):
            _tag(entry, tag, text)
    model = _tag(root, "model")
    view = _tag(_tag(model, "views"), "view")
    _tag(view, "name", "synthesis")
    _tag(view, "envIdentifier", ":vivado.xilinx.com:synthesis")
    _tag(view, "language", "verilog")
    _tag(view, "modelName", core.name)
    _tag(_tag(view, "fileSetRef"), "localName", "rtl")
    ports = _tag(model, "ports")
    for p in core.ports:
        port = _tag(ports, "port")
        _tag(port, "name", p.name)
        wire = _tag(port, "wire")
        _tag(wire, "direction", "out" if p.out else "in")
        if p.width > 1:
            vector = _tag(wire, "vector")
            _tag(vector, "left", str(p.width - 1))
            _tag(vector, "right", "0")
    files = _tag(_tag(root, "fileSets"), "fileSet")
    _tag(files, "name", "rtl")
    for name in core.files:
        file = _tag(files, "file")
        _tag(file, "name", name)
        _tag(file, "fileType", "verilogSource")
    _tag(root, "description", xml_text(core.summary))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def vivado_package(core: Core) -> str:
    """Tcl by which Vivado packages the core: ``vivado -mode batch -source package_ip.tcl`` in its folder."""
    return (
        f"# Packages {core.name} for Vivado's IP catalogue, into the folder vivado_ip.\n"
        "create_project -in_memory -part xcvu9p-flga2104-2L-e\n"
        f"add_files {{{' '.join(core.files)}}}\nset_property top {core.name} [current_fileset]\n"
        "update_compile_order -fileset sources_1\n"
        f"ipx::package_project -root_dir vivado_ip -vendor {VENDOR} -library {LIBRARY} -taxonomy /UserIP "
        "-import_files -force\n"
        "set core [ipx::current_core]\n"
        f"set_property name {core.name} $core\nset_property version {'.'.join(core.version.split('.')[:2])} $core\n"
        f"set_property description {tcl_word(core.summary)} $core\n"
        "foreach bus {s_axis m_axis s_axi} { ipx::associate_bus_interfaces -busif $bus -clock aclk $core }\n"
        "ipx::create_xgui_files $core\nipx::update_checksums $core\nipx::save_core $core\n"
    )
