"""Wheels and source distributions are complete: they are installed outside the checkout and used."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rbdgen.emulation import DIGEST, bit_true, bit_true_shell, manifest_of
from rbdgen.host.driver import Driver
from rbdgen.host.stream_link import StreamLink
from rbdgen.protocol.registers import Register
from rbdgen.report.design import manifest
from rbdgen_sim.axi import DmaModel
from tests.conftest import design
from tests.host.native import on_serial
from tests.project.environments import ROOT, Environment, build, environment

FOLDERS = {"rbdgen": "", "rbdgen_hw": "hw/", "rbdgen_sim": "sim/", "rbdgen_boards": "boards/"}
"""Packages, and where they are in the checkout."""
HOST = "rbdgen/host/pyproject.toml"
LACKING = {
    "generate pendulum2": "amaranth",
    "simulate pendulum2": "cocotb",
    "compare pendulum2 --measure": "cocotb",
    "explore pendulum2 --plot x.svg": "matplotlib",
    "explore pendulum2 --dask tcp://127.0.0.1:1": "distributed",
    "report .": "jinja2",
    "build pendulum2 --board ulx3s_85f": "amaranth",
    "synth pendulum2 --unit Rb_1": "amaranth",
    "emit pendulum2 --target cuda --architecture sm_90": "nvidia-cuda-nvrtc",
}
"""Commands for which an installation without extras lacks a package."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment without extras."""
    return environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with rbdgen-host and pyserial."""
    built = build((ROOT / HOST).parent, "wheel", tmp_path_factory.mktemp("host_wheel"))
    return environment(tmp_path_factory.mktemp("host"), built, "serial")


def test_a_wheel_lists_what_it_requires(wheel: Path) -> None:
    """In CycloneDX's format, with the names and ranges of its metadata, and nothing of when or where it was built."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (bill_name,) = (n for n in names if n.endswith(".dist-info/sboms/rbdgen.cdx.json"))
        (metadata_name,) = (n for n in names if n.endswith(".dist-info/METADATA"))
        bill = json.loads(archive.read(bill_name))
        lines = archive.read(metadata_name).decode().splitlines()
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert "serialNumber" not in bill
    assert "timestamp" not in bill["metadata"]
    listed = {c["name"]: c for c in bill["components"]}
    required = [
        Requirement(x.removeprefix("Requires-Dist: ")) for x in lines if "Requires-Dist" in x
    ]
    others = {canonicalize_name(r.name): r for r in required}
    others.pop("rbdgen", None)
    assert listed.keys() == others.keys()
    always = {canonicalize_name(r.name) for r in required if r.marker is None}
    assert {name for name, c in listed.items() if c["scope"] == "required"} == always
    (edges,) = bill["dependencies"]
    assert edges["dependsOn"] == sorted(listed[name]["bom-ref"] for name in always)
    assert all(listed[name]["properties"] for name in listed)


def tracked() -> set[str]:
    """The files of the checkout that git does not ignore; skips the test where it is none."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    git = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(git, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def test_a_wheel_has_every_file_of_its_packages(wheel: Path) -> None:
    there = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = set()
    for package, folder in FOLDERS.items():
        own = [name for name in tracked() if name.startswith(f"{folder}{package}/")]
        expected |= {name.removeprefix(folder) for name in own}
    assert there == expected - {HOST}


def test_a_source_distribution_has_every_file_and_makes_the_same_wheel(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as file:
        # since Python 3.11.4 what is taken out of an archive is filtered
        if hasattr(tarfile, "data_filter"):
            file.extraction_filter = staticmethod(tarfile.data_filter)
        file.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert there == tracked() | {"PKG-INFO"}
    again = build(folder, "wheel", tmp_path / "again")
    assert (again.name, again.read_bytes()) == (wheel.name, wheel.read_bytes())


@pytest.mark.slow
def test_the_version_is_that_of_the_wheel(bare: Environment, wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    assert bare.output("rbdgen", "--version") == f"rbdgen {version}\n"
    code = "import rbdgen; print(rbdgen.__version__, rbdgen.__file__)"
    assert bare.output("python", "-c", code).startswith(f"{version} {bare.folder}")


@pytest.mark.slow
def test_commands_without_extras(bare: Environment) -> None:
    verbs = re.findall(r"^    (\w+)\s", bare.output("rbdgen", "--help"), re.M)
    assert len(verbs) == 16
    for verb in verbs:
        assert "examples:" in bare.output("rbdgen", verb, "--help")
    assert "iiwa14" in bare.output("rbdgen", "robots")
    pictures = ["--svg", "a.svg", "--chart", "b.svg", "--trace", "c.json", "--board", "kr260"]
    assert "multipliers" in bare.output("rbdgen", "layout", "pendulum2", *pictures)
    assert "multipliers" in bare.output("rbdgen", "compare", "pendulum2", "-o", "compared")
    assert "wrote" in bare.output("rbdgen", "emit", "pendulum2", "-o", "c")
    assert "wrote" in bare.output("rbdgen", "emit", "pendulum2", "--target", "cuda", "-o", "cuda")
    few = ("--ii", "4", "--tasks", "20", "--jobs", "1")
    done = bare.run("rbdgen", "explore", "pendulum2", *few, "-o", "sweep")
    assert (done.returncode, done.stderr.startswith("rbdgen: note: no plot: ")) == (0, True)
    made = {path.name for path in bare.written()}
    assert made == {"a.svg", "b.svg", "c.json", "compared", "c", "cuda", "sweep"}


@pytest.mark.parametrize("command", LACKING)
def test_what_a_command_lacks_is_said_at_once(bare: Environment, command: str) -> None:
    before = bare.written()
    done = bare.run("rbdgen", *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert re.search(rf"; install it with: pip install .*'{LACKING[command]}[<>=]", done.stderr)
    assert bare.written() == before


@pytest.mark.thorough
@pytest.mark.slow
def test_commands_with_extras(wheel: Path, tmp_path: Path) -> None:
    full = environment(tmp_path, wheel, "sim", "report")
    design = ("pendulum2", "--word", "12", "--ii", "4")
    full.output("rbdgen", "generate", *design, "--ip", "--testbench", "20", "-o", "arm")
    full.output("rbdgen", "report", "arm")
    full.output("rbdgen", "emit", "arm", "--target", "host", "-o", "host")
    full.output(
        *("rbdgen", "simulate", *design),
        *("--simulator", "icarus", "--tasks", "20", "--waves", "-o", "icarus"),
    )
    few = (
        "--measure",
        "--simulator",
        "amaranth",
        "--tasks",
        "5",
        "--plot",
        "plot.svg",
        "-o",
        "compared",
    )
    assert "pendulum2" in full.output("rbdgen", "compare", *design, *few)
    cells = full.output("rbdgen", "synth", *design, "--unit", "Rb_1", "--device", "ecp5", "--json")
    assert json.loads(cells)["unit"] == "Rb_link1"
    work = tmp_path / "work"
    assert "<svg" in (work / "plot.svg").read_text()
    assert (work / "arm/report.html").stat().st_size > 10_000
    assert (work / "arm/ip/component.xml").is_file()


def test_rbdgen_host_has_what_its_modules_import(host: Environment) -> None:
    """Its wheel names files one by one; another import in one of them needs another line there."""
    code = (
        "import importlib, pkgutil, rbdgen\n"
        "for found in pkgutil.walk_packages(rbdgen.__path__, 'rbdgen.'):\n"
        "    importlib.import_module(found.name)\n"
        "    print(found.name)"
    )
    modules = host.output("python", "-c", code).split()
    assert {
        "rbdgen.host.driver",
        "rbdgen.host.pynq",
        "rbdgen.host.xdma",
        "rbdgen.host.library",
    } <= {*modules}
    assert {m for m in modules if m.startswith("rbdgen.ir.")} == imported_by_drivers(host)


def imported_by_drivers(host: Environment) -> set[str]:
    """Modules of the representation that drivers load."""
    code = "import sys, rbdgen.host.driver; print(*sys.modules)"
    modules = host.output("python", "-c", code).split()
    return {m for m in modules if m.startswith("rbdgen.ir.")}


@pytest.mark.parametrize("package", ["networkx", "scipy", "defusedxml", "rich", "tomli_w"])
def test_rbdgen_host_works_without(package: str, host: Environment) -> None:
    done = host.run("python", "-c", f"import {package}")
    assert f"No module named '{package}'" in done.stderr


def test_a_driver_needs_rbdgen_host_only(host: Environment) -> None:
    """It drives a device on a serial port, whose other end is the bit-true model here."""
    d = design("pendulum2", functions=("id", "m"), ii=4)
    (host.folder / "work/manifest.json").write_text(json.dumps(manifest(d, DIGEST, "0")))
    code = (
        "import numpy as np, sys\n"
        "from rbdgen.host.driver import Driver\n"
        "with Driver.serial('manifest.json', sys.argv[1], int(sys.argv[2])) as device:\n"
        "    print(device.rnea(*np.full((3, 5, 2), 0.25)).tolist())"
    )
    with on_serial(bit_true_shell(d)) as (_, port, baud):
        answer = json.loads(host.output("python", "-c", code, port, baud))
    assert answer == bit_true(d).rnea(*np.full((3, 5, 2), 0.25)).tolist()


def test_boards_behind_dma_need_rbdgen_host_only(host: Environment) -> None:
    """PYNQ's and AMD's drivers are not there; what answers in their place was recorded here."""
    d = design("pendulum2", functions=("id", "m"), ii=4)
    content = manifest(d, DIGEST, "0")
    known = manifest_of(d)
    work = host.folder / "work"
    (work / "manifest.json").write_text(json.dumps(content))
    dma = Recorded(bit_true_shell(d))
    tau = Driver(known, StreamLink(known, dma)).rnea(*np.full((3, 5, 2), 0.25)).tolist()
    registers = dma.registers | {int(Register.RESULTS): 0}
    record = {"registers": registers, "tasks": dma.sent[0].hex(), "results": dma.answer.hex()}
    (work / "record.json").write_text(json.dumps(record))
    found = json.loads(host.output("python", ROOT / "tests/project/replay.py"))
    assert found == {"pynq": tau, "xdma": tau}


class Recorded(DmaModel):
    """A device behind streams that keeps its last answer."""

    answer = b""

    def transfer(self, data: bytes, size: int) -> bytes:
        self.answer = super().transfer(data, size)
        return self.answer


def test_rbdgen_host_says_what_it_has_not(host: Environment) -> None:
    done = host.run("python", "-c", "from rbdgen import load")
    assert done.stderr.splitlines()[-1] == (
        "rbdgen.errors.ToolError: rbdgen.load: is not in rbdgen-host, which only drives boards; "
        "uninstall that and install rbdgen"
    )
    code = "import rbdgen; print(rbdgen.__version__, rbdgen.RbdgenError.__module__)"
    assert re.fullmatch(r"\d[\w.]+ rbdgen\.errors\n", host.output("python", "-c", code))
    code = "from rbdgen.host.transport import SerialTransport; SerialTransport('/dev/nothing', 1)"
    assert "LinkError: port /dev/nothing: cannot be opened" in host.run("python", "-c", code).stderr


def test_two_distributions_of_the_same_files_are_warned_of(host: Environment) -> None:
    (packages,) = host.folder.glob("lib/python*/site-packages")
    other = packages / "rbdgen-1.0.dist-info"
    other.mkdir()
    try:
        (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rbdgen\nVersion: 1.0\n")
        said = host.run("python", "-c", "import rbdgen; rbdgen.__version__").stderr
    finally:
        shutil.rmtree(other)
    assert "RbdgenWarning: rbdgen and rbdgen-host are both installed and have the same" in said


def test_rbdgen_host_has_the_same_requirements() -> None:
    """They allow what rbdgen does, and older ones beside."""
    whole, light = (tomllib.loads((ROOT / p).read_text()) for p in ("pyproject.toml", HOST))
    extras = [project["project"]["optional-dependencies"] for project in (whole, light)]
    assert extras[1]["serial"] == extras[0]["serial"]
    assert light["build-system"] == whole["build-system"]
    for key in ("source", "fallback-version"):
        versions = [project["tool"]["hatch"]["version"][key] for project in (whole, light)]
        assert versions[0] == versions[1]


@pytest.mark.parametrize("path", ["pyproject.toml", HOST])
def test_requirements_have_upper_bounds(path: str) -> None:
    project = tomllib.loads((ROOT / path).read_text())
    listed = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        listed += extra
    loose = [text for text in listed if not re.search(r"<|==|^rbdgen\[", text)]
    assert loose == []
