"""Real firmware on real soft cores in simulation: what it has of an engine on its bus, against the driver in Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.emulation import bit_true, manifest_of
from rbdgen.errors import ToolError
from rbdgen.host.driver import Driver
from rbdgen.host.embedded import embedded_files
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.tasks import Flag
from rbdgen.resident import compile_program
from rbdgen_hw.emit import design_verilog, engine_verilog, registers_verilog
from rbdgen_sim import soft_core
from rbdgen_sim.soft_core import COMPILER, CORES, SoftCore, build_firmware, build_soft_core
from tests.conftest import design, few

needs_compiler = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no {COMPILER}")
CALLS = Path(__file__).parent / "firmware" / "calls.c"
ENGINE = Resident(Core(1, 1, depth=1024, results=512))
COUNT = 12


def firmware(
    manifest: Manifest, folder: Path, program: Program | None = None, source: Path = CALLS
) -> Path:
    """The firmware with a robot's driver, and its program if there is one."""
    files = embedded_files(program or manifest)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    main = folder / source.name
    text = source.read_text(encoding="utf-8")
    if program is not None:
        text = f'#define PROGRAM\n#include "{manifest.name}_program.h"\n{text}'
    main.write_text(text, encoding="utf-8")
    return build_firmware([main, *(folder / n for n in files if n.endswith(".c"))], folder)


def check(core: SoftCore, expected: Driver) -> list[int]:
    """That the firmware's torques and matrices are the driver's; cycles of its calls of ``id``."""
    assert core.receive("<i4", 1).tolist() == [0]
    states = np.random.default_rng(5).uniform(-1.0, 1.0, (COUNT, 3, 2)).astype(np.float32)
    torques = expected.rnea(*states.transpose(1, 0, 2)).astype(np.float32)
    matrices = expected.crba(states[:, 0]).astype(np.float32)
    taken = []
    for k in range(COUNT):
        core.send(states[k])
        cycles, *codes = core.receive("<i4", 3).tolist()
        assert codes == [0, 0]
        assert core.receive("<f4", 2).tolist() == torques[k].tolist()
        assert core.receive("<f4", 4).tolist() == matrices[k].ravel().tolist()
        taken.append(cycles)
    return taken


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "soc",
    few([*((core, "wishbone") for core in CORES), ("vexriscv", "csr")], ("picorv32", "wishbone")),
    ids="-".join,
)
def test_firmware_calls_an_engine(soc: tuple[str, str], tmp_path: Path) -> None:
    core, bus = soc
    d = design("pendulum2", functions=("id", "m"), machine="engine", word=32)
    manifest = manifest_of(d)
    texts = {
        "engine.v": design_verilog(d),
        "shell.v": registers_verilog(d, manifest.identity, bus),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [tmp_path / name for name in texts]
    made = build_soft_core(core, sources, f"{d.name}_{bus}", tmp_path / "build", bus)
    with SoftCore(made, firmware(manifest, tmp_path)) as running:
        cycles = check(running, bit_true(d))
    # none is the first to be much slower than another, and the core does little beside
    assert max(cycles[1:]) < 4000


@pytest.fixture(scope="module", params=few(["wishbone", "csr"], "wishbone"))
def resident(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A soft core with an engine without a program."""
    bus = request.param
    work = tmp_path_factory.mktemp("resident")
    texts = {
        "engine.v": engine_verilog(ENGINE),
        "shell.v": registers_verilog(ENGINE, ENGINE.identity, bus),
    }
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    sources = [work / name for name in texts]
    return build_soft_core("picorv32", sources, f"{ENGINE.name}_{bus}", work / "build", bus)


@pytest.fixture(scope="module")
def program() -> Program:
    options = Options(functions=("id", "m"), machine="engine")
    return compile_program(load_robot("pendulum2"), options, ENGINE)


@needs_compiler
@pytest.mark.slow
def test_firmware_loads_a_program(resident: Path, program: Program, tmp_path: Path) -> None:
    with SoftCore(resident, firmware(program.manifest, tmp_path, program)) as running:
        check(running, Driver.open(program, EmulatedEngine(ENGINE)))


@needs_compiler
@pytest.mark.slow
def test_firmware_is_told_what_is_wrong(resident: Path, program: Program, tmp_path: Path) -> None:
    """Another design, no program, a reset, an answer that is late; behind each a call that is right."""
    source = CALLS.with_name("faults.c")
    made = firmware(program.manifest, tmp_path, program, source)
    other, silent, reset, function = -4, -2, -5, int(Flag.FUNCTION)
    expected = [other, 0, function, reset, 0, 0, 0, reset, 0, 0, silent, reset, 0, 0, 0]
    with SoftCore(resident, made) as running:
        assert running.receive("<i4", len(expected)).tolist() == expected


def test_what_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_core, "COMPILER", "no-such-gcc")
    with pytest.raises(ToolError, match=r"^no-such-gcc is missing: .* apt-get install gcc-riscv64"):
        build_firmware([CALLS], tmp_path)
    monkeypatch.setitem(CORES, "other", ("no_such_core", "core.v"))
    with pytest.raises(ToolError, match=r"pip install no-such-core$"):
        soft_core.core_source("other")


@needs_compiler
def test_a_compilers_complaint_is_passed_on(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return nothing; }\n", encoding="ascii")
    with pytest.raises(ToolError, match=r"cannot build the firmware: .*nothing"):
        build_firmware([source], tmp_path)
