"""Descriptions of the IP core: they name the files and ports that the Verilog has."""

from __future__ import annotations

import re
import sys
import types
import xml.etree.ElementTree as ET

import pytest

from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import core_of, ip_files
from rbdgen_hw.packaging.ipxact import DEFINITIONS, SPIRIT
from tests.conftest import design

NAME = "rbd_pendulum2_id_axi"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    d = design("pendulum2")
    return ip_files(d, design_verilog(d), "1.2.3.dev4")


def verilog_ports(text: str) -> dict[str, tuple[str, int]]:
    """Direction and width of the top module's ports."""
    head = re.search(rf"module {NAME}\((.*?)\);", text, re.S)[1]  # type: ignore[index]
    found = re.findall(r"(input|output) (?:\[(\d+):0\] )?(\w+)", head)
    return {name: (direction, int(left or 0) + 1) for direction, left, name in found}


def test_the_core_has_the_verilogs_ports(files: dict[str, str]) -> None:
    ports = verilog_ports(files[f"{NAME}.v"])
    core = core_of(design("pendulum2"), "1.2.3.dev4")
    assert {p.name: ("output" if p.out else "input", p.width) for p in core.ports} == ports
    assert core.version == "1.2.3"
    assert set(core.files) <= files.keys()


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


def test_fusesoc_names_files_and_top(files: dict[str, str]) -> None:
    text = files[f"{NAME}.core"]
    assert text.startswith(f'CAPI=2:\nname: "rbdgen:accelerators:{NAME}:1.2.3"\n')
    assert re.findall(r"^      - (\S+\.v)$", text, re.M) == ["rbd_pendulum2_id.v", f"{NAME}.v"]
    assert f"    toplevel: {NAME}\n" in text


def test_litex_connects_every_port(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Anything:
        def __init__(self, *args, **kwargs) -> None:
            self.arguments = args, kwargs

        def __getattr__(self, name: str):
            if name.startswith("__"):
                raise AttributeError(name)
            return Anything()

        def __invert__(self):
            return self

    instances = []

    def instance(name: str, **pins):
        instances.append((name, pins))
        return [name]

    class LiteXModule:
        specials: list = []  # noqa: RUF012

    modules = {
        "litex": {},
        "litex.gen": {"LiteXModule": LiteXModule},
        "litex.soc": {},
        "litex.soc.interconnect": {"stream": types.SimpleNamespace(Endpoint=Anything)},
        "litex.soc.interconnect.axi": {"AXILiteInterface": Anything},
        "migen": {"ClockSignal": Anything, "Instance": instance, "ResetSignal": Anything},
    }
    for name, content in modules.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    sources: list[str] = []
    scope: dict = {"__file__": "/ip/wrapper.py"}
    exec(compile(files[f"{NAME}_litex.py"], "wrapper.py", "exec"), scope)
    scope["RbdPendulum2IdAxi"](types.SimpleNamespace(add_source=sources.append))
    assert sources == ["/ip/rbd_pendulum2_id.v", f"/ip/{NAME}.v"]
    ((name, pins),) = instances
    assert name == NAME
    ports = verilog_ports(files[f"{NAME}.v"])
    assert set(pins) == {f"{direction[0]}_{port}" for port, (direction, _) in ports.items()}
