"""The driver against the RTL: the accelerator and its byte link, compiled by Verilator, behind the same transport."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from rbdgen import golden
from rbdgen.errors import LinkError
from rbdgen.host.driver import Driver
from rbdgen.host.manifest import Manifest
from rbdgen.host.transport import ProcessTransport
from rbdgen_hw.emit import design_verilog, link_verilog
from rbdgen_sim.device import build_device
from rbdgen_sim.mixed import check_mixed
from rbdgen_sim.noise import Noise, manifest_of
from tests.conftest import design
from tests.host.test_driver import close

FUNCTIONS = ("id", "m", "did")


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    """The manifest and the program of a small robot's accelerator."""
    d, work = design("pendulum2", functions=FUNCTIONS, ii=8), tmp_path_factory.mktemp("device")
    verilog = design_verilog(d)
    digest = hashlib.sha256(verilog.encode()).hexdigest()
    known = manifest_of(d, digest)
    sources = work / "accelerator.v", work / "link.v"
    for path, text in zip(sources, (verilog, link_verilog(d, known.identity)), strict=True):
        path.write_text(text)
    return known, build_device(sources, f"{d.name}_link", work / "build")


@pytest.mark.slow
def test_mixed_tasks_are_all_answered(device: tuple[Manifest, Path]) -> None:
    known, program = device
    with Driver.open(known, ProcessTransport([str(program)])) as dut:
        check_mixed(design("pendulum2", functions=FUNCTIONS, ii=8), dut, 10_000, 1)
        assert (dut.link.counters.sent, dut.link.counters.lost) == (10_000, 0)
        status = dut.link.hello()
        # the hellos are accepted frames, too
        assert status.accepted == 10_000 + dut.link.counters.hellos
        assert (status.damaged, status.overrun, status.rejected) == (0, 0, 0)


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
    other = manifest_of(design("pendulum2", functions=FUNCTIONS, ii=8))
    transport = ProcessTransport([str(program)])
    with pytest.raises(
        LinkError, match=r"^device: holds design [0-9a-f]{32}, not 0123456789abcdef"
    ):
        Driver.open(other, transport)
    transport.close()
