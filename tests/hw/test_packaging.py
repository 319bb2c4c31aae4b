"""Descriptions of the IP core: they name the files and ports that the Verilog has."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from rbdgen import ConfigError
from rbdgen.protocol.task_registers import REGISTER_BUSES
from rbdgen.report.design import design_identity
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import (
    Core,
    core_of,
    ip_files,
    register_core_of,
    register_ip_files,
)
from rbdgen_hw.packaging.ipxact import DEFINITIONS, SPIRIT, usual_part, vivado_package
from tests.conftest import design

NAME = "rbd_pendulum2_id_axi"
IDENTITY = bytes(16)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    d = design("pendulum2")
    return ip_files(d, design_verilog(d), "1.2.3.dev4", 1)


def verilog_ports(text: str) -> dict[str, tuple[str, int]]:
    """Direction and width of the top module's ports."""
    head = re.findall(rf"module {NAME}\((.*?)\);", text, re.S)[0]
    found = re.findall(r"(input|output) (?:\[(\d+):0\] )?(\w+)", head)
    return {name: (direction, int(left or 0) + 1) for direction, left, name in found}


def test_the_core_has_the_verilogs_ports(files: dict[str, str]) -> None:
    ports = verilog_ports(files[f"{NAME}.v"])
    core = core_of(design("pendulum2"), IDENTITY, "1.2.3.dev4", bench=(f"{NAME}_tb.sv",))
    assert {p.name: ("output" if p.out else "input", p.width) for p in core.ports} == ports
    assert core.version == "1.2.3"
    assert {*core.files, *core.bench} <= files.keys()


def test_ip_xact_maps_every_port_once(files: dict[str, str]) -> None:
    root, ns = ET.fromstring(files["component.xml"]), {"s": SPIRIT}
    physical = [e.text for e in root.findall(".//s:physicalPort/s:name", ns)]
    ports = {p.findtext("s:name", None, ns): p for p in root.findall(".//s:ports/s:port", ns)}
    verilog = verilog_ports(files[f"{NAME}.v"])
    assert sorted(map(str, physical)) == sorted(verilog)
    for name, (direction, width) in verilog.items():
        wire = ports[name].find("s:wire", ns)
        assert wire is not None
        assert wire.findtext("s:direction", None, ns) == direction.removesuffix("put")
        assert int(wire.findtext("s:vector/s:left", "0", ns)) == width - 1
    # the interrupt is of the shell of registers alone
    assert [e.text for e in root.findall("s:busInterfaces/s:busInterface/s:name", ns)] == [
        name for name in DEFINITIONS if name != "irq"
    ]
    assert {e.text for e in root.findall(".//s:file/s:name", ns)} == {
        f"{NAME}.v",
        "rbd_pendulum2_id.v",
    }


def test_vivado_packages_for_the_part() -> None:
    d = design("pendulum2")
    usual = vivado_package(core_of(d, IDENTITY, "1.2.3"))
    assert "create_project -in_memory -part xck26-sfvc784-2LV-c\n" in usual
    asked = vivado_package(core_of(d, IDENTITY, "1.2.3", "xc7a35tcpg236-1"))
    assert usual.replace("xck26-sfvc784-2LV-c", "xc7a35tcpg236-1") == asked
    assert usual_part("xc7") == "xc7a100tcsg324-1"
    assert "set_property version 1.2 $core\n" in asked


@pytest.mark.parametrize(
    "part", ["", "xc7a35t; exec touch F", "[exec touch F]", "xc7 a35t", "$env(HOME)", "xc7\n", "-x"]
)
def test_a_part_is_an_order_code(part: str) -> None:
    with pytest.raises(ConfigError, match=r"^part: must be an order code .*, not '") as raised:
        core_of(design("pendulum2"), IDENTITY, "1.0", part)
    assert len(str(raised.value).splitlines()) == 1


def test_several_accelerators_have_no_bench() -> None:
    d = design("pendulum2", replicas=2)
    files = ip_files(d, design_verilog(d), "1.0", 1)
    assert [name for name in files if "_tb" in name] == []
    assert "  sim:" not in files[f"{d.name}_axi.core"]


@pytest.fixture(scope="module", params=REGISTER_BUSES)
def with_registers(request: pytest.FixtureRequest) -> tuple[str, Core, dict[str, str]]:
    """A bus, the core with registers on it, and its files."""
    d = design("pendulum2", machine="engine", word=32)
    verilog = design_verilog(d)
    identity = design_identity(d, verilog, "1.0")
    core = register_core_of(d, identity, request.param, "1.0")
    return request.param, core, register_ip_files(d, verilog, request.param, "1.0")


def test_a_core_with_registers_has_the_verilogs_ports(
    with_registers: tuple[str, Core, dict[str, str]],
) -> None:
    _, core, files = with_registers
    found = re.findall(rf"module {core.name}\((.*?)endmodule", files[f"{core.name}.v"], re.S)[0]
    ports = {
        name: ("output" if way == "output" else "input", int(left or 0) + 1)
        for way, left, name in re.findall(r"(input|output) (?:\[(\d+):0\] )?(\w+)", found)
    }
    assert {p.name: ("output" if p.out else "input", p.width) for p in core.ports} == ports
    assert {*core.files} <= files.keys()


def test_firmware_finds_one_map_and_one_identity(
    with_registers: tuple[str, Core, dict[str, str]],
) -> None:
    """Header, SystemRDL and driver have the same offsets, and the shell tells the driver's identity."""
    _, core, files = with_registers
    driver = files["driver/rbdgen_registers.h"]
    for entry in core.registers:
        line = f"_{entry.name}_OFFSET {entry.address:#04x}u"
        assert line in driver
        assert line in files[f"{core.name}.h"]
        assert f"{entry.name} @ {entry.address:#x};" in files[f"{core.name}.rdl"]
    tables = next(t for n, t in files.items() if n.endswith("id_embedded.c"))
    words = [e.reset for e in core.registers if e.name.startswith("IDENTITY")]
    assert ", ".join(f"{w:#010x}u" for w in words if w is not None) in tables


def test_only_axi_lite_is_described_for_vivado(
    with_registers: tuple[str, Core, dict[str, str]],
) -> None:
    bus, core, files = with_registers
    assert ("component.xml" in files) == ("package_ip.tcl" in files) == (bus == "axi-lite")
    if bus != "axi-lite":
        return
    root, ns = ET.fromstring(files["component.xml"]), {"s": SPIRIT}
    names = [e.text for e in root.findall("s:busInterfaces/s:busInterface/s:name", ns)]
    assert names == [name for name in DEFINITIONS if name in ("s_axi", "irq", "aclk", "aresetn")]
    physical = [e.text for e in root.findall(".//s:physicalPort/s:name", ns)]
    assert sorted(map(str, physical)) == sorted(p.name for p in core.ports)
    assert "foreach bus {s_axi}" in files["package_ip.tcl"]
