"""Descriptions of the IP core: they name the files and ports that the Verilog has."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from rbdgen import ConfigError
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import core_of, ip_files
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
    assert [e.text for e in root.findall("s:busInterfaces/s:busInterface/s:name", ns)] == list(
        DEFINITIONS
    )
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
