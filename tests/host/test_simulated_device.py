"""The driver against the RTL: the accelerator and its byte link, compiled by Verilator, behind the same transport."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, golden, parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver, Tasks
from rbdgen.host.manifest import Manifest
from rbdgen.host.transport import ProcessTransport
from rbdgen.tracing.calibration import varied_robot
from rbdgen_hw.emit import link_verilog, write_shelled
from rbdgen_sim.comparison import check_mixed, random_operands
from rbdgen_sim.device import build_device
from rbdgen_sim.faults import Noise
from tests.conftest import design
from tests.host.native import Asker, needs_compiler, on_program
from tests.host.test_driver import close
from tests.host.wire import requests, same

FUNCTIONS = ("id", "m", "did")


def built(d: Design, work: Path) -> tuple[Manifest, Path]:
    """The manifest and the program of a design."""
    written = write_shelled(d, "link", link_verilog, work)
    return written.manifest, build_device(written.sources, written.top, work / "build")


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    """The manifest and the program of a small robot's accelerator."""
    d = design("pendulum2", functions=FUNCTIONS, ii=8)
    return built(d, tmp_path_factory.mktemp("device"))


@pytest.fixture(scope="module")
def calibratable(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    """The same of one into which parameters are loaded."""
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    return built(d, tmp_path_factory.mktemp("calibratable"))


@pytest.mark.slow
def test_mixed_tasks_are_all_answered(device: tuple[Manifest, Path]) -> None:
    known, program = device
    with Driver.open(known, ProcessTransport([str(program)])) as dut:
        check_mixed(design("pendulum2", functions=FUNCTIONS, ii=8), dut, 10_000, 1)
        assert (dut.link.counters.sent, dut.link.counters.lost) == (10_000, 0)
        assert dut.link.counters.damaged == 0


@pytest.mark.slow
def test_a_damaging_link_loses_time_only(device: tuple[Manifest, Path]) -> None:
    known, program = device
    noise = Noise(ProcessTransport([str(program)]), 0.01, seed=3)
    with Driver.open(known, noise, patience=100) as dut:
        check_mixed(design("pendulum2", functions=FUNCTIONS, ii=8), dut, 10_000, 2)
        assert dut.link.counters.lost > 1000
        assert noise.faults > 3000


@pytest.mark.slow
def test_arrays_in_arrays_out(device: tuple[Manifest, Path]) -> None:
    known, program = device
    d = design("pendulum2", functions=FUNCTIONS, ii=8)
    q, v, a = np.random.default_rng(4).uniform(-1, 1, (3, 2, 5, 2))
    with Driver.open(known, ProcessTransport([str(program)])) as dut:
        close(dut.rnea(q, v, a), golden.rnea(d.robot, q, v, a))
        close(dut.crba(q), golden.crba(d.robot, q))


@pytest.mark.slow
def test_another_design_is_refused(device: tuple[Manifest, Path]) -> None:
    _, program = device
    other = manifest_of(design("pendulum2", functions=FUNCTIONS, ii=8), "f" * 64)
    transport = ProcessTransport([str(program)])
    with pytest.raises(LinkError, match=r"^device: holds design [0-9a-f]{32}, not [0-9a-f]{32} "):
        Driver.open(other, transport)
    transport.close()


class Resetting:
    """A simulated device that is reset once so many bytes have been read since ``left`` was set."""

    def __init__(self, program: Path) -> None:
        self.inner = ProcessTransport([str(program)])
        self.left: int | None = None

    def write(self, data: bytes) -> None:
        self.inner.write(data)
        self._count(0)

    def read(self) -> bytes:
        data = self.inner.read()
        self._count(len(data))
        return data

    def _count(self, size: int) -> None:
        if self.left is not None:
            self.left -= size
            if self.left <= 0:
                self.left = None
                self.inner.process.send_signal(signal.SIGUSR1)

    def close(self) -> None:
        self.inner.close()


@pytest.mark.slow
@pytest.mark.parametrize("bytes_before", [0, 1, 300, 3000, 9000])
def test_a_reset_of_the_rtl_is_mended(
    calibratable: tuple[Manifest, Path], bytes_before: int
) -> None:
    """Between two calls (0: as soon as tasks are written), amid tasks, amid results."""
    known, program = calibratable
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    other = varied_robot(d.robot, np.random.default_rng(4))
    q, v, a, _ = random_operands(d, 1000)
    transport = Resetting(program)
    with Driver.open(known, transport) as dut:
        nominal = dut.rnea(q, v, a)
        dut.calibrate(parameter_values(d.robot, other))
        expected = dut.rnea(q, v, a)
        assert not np.array_equal(expected, nominal)
        transport.left = bytes_before
        with pytest.warns(RbdgenWarning, match=r"^device: was reset in mid-use; its \d+ param"):
            # what is reset behind the first call's last status is seen by the next
            found = [dut.rnea(q, v, a) for _ in range(2)]
        assert transport.left is None
        for got in found:
            assert np.array_equal(got, expected)
    close(expected, golden.rnea(other, q, v, a))


@needs_compiler
@pytest.mark.slow
def test_the_library_in_c_gets_the_same_bits(calibratable: tuple[Manifest, Path]) -> None:
    """Before and after parameters are loaded, and after a reset of the RTL."""
    known, program = calibratable
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    asked = requests(known, 1000)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as driver:
        nominal = driver.solve([Tasks(*one) for one in asked])
        driver.calibrate(values)
        loaded = driver.solve([Tasks(*one) for one in asked])
    pipe = subprocess.PIPE
    with (
        subprocess.Popen([program], stdin=pipe, stdout=pipe) as process,
        on_program(process) as at,
        Asker(known, at) as device,
    ):
        same(device.solve(asked), nominal)
        assert device.calibrate(values).status == 0
        same(device.solve(asked), loaded)
        process.send_signal(signal.SIGUSR1)
        answer = device.solve(asked)
        same(answer, loaded)
        assert answer.note.startswith("device: was reset in mid-use; its 14 parameters were loaded")
