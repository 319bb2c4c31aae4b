"""The AXI shell under cocotbext-axi: all channels stall at random, every result has the model's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.stream_link import StreamLink, check_identity
from rbdgen.protocol.registers import VERSION
from rbdgen.tracing.calibration import varied_robot
from rbdgen_hw.emit import axi_verilog, write_shelled
from rbdgen_sim.axi import DmaModel, play
from rbdgen_sim.comparison import check_mixed, random_operands
from tests.conftest import design

FUNCTIONS = ("id", "m", "did")
TASKS = 600


def played(d: Design, recorder: DmaModel, stall: float, work: Path) -> dict:
    """What the RTL makes of the batches that were recorded."""
    written = write_shelled(d, "axi", axi_verilog, work)
    return play(written.sources, written.top, recorder, stall, 5, work / "sim")


def run_axi(tasks: int, stall: float, batch: int, work: Path, ii: int, replicas: int) -> dict:
    """``tasks`` random tasks through the RTL in batches; the outcome, after every bit of every result was compared."""
    d = design("pendulum2", functions=FUNCTIONS, ii=ii, replicas=replicas)
    known = manifest_of(d)
    # what the driver sends does not depend on the answers: it is recorded, played, and answered from the RTL
    recorder = DmaModel(bit_true_shell(d))
    check_mixed(d, Driver(known, StreamLink(known, recorder, batch)), tasks, 1)
    outcome = played(d, recorder, stall, work)
    assert outcome["epochs"] == recorder.epochs
    answers = [bytes.fromhex(r) for r in outcome["results"]]
    replayed = DmaModel(bit_true_shell(d), answers)
    check_mixed(d, Driver(known, StreamLink(known, replayed, batch)), tasks, 1)
    assert not answers
    check_identity(outcome["identity"], known.identity, known.name)
    with pytest.raises(LinkError, match=r"^device: holds design "):
        check_identity([1, 2, 3, 4], known.identity, known.name)
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ii", "replicas"),
    [(4, 1), *(pytest.param(*more, marks=pytest.mark.thorough) for more in ((1, 2), (4, 3)))],
)
def test_tasks_cross_stalling_channels(ii: int, replicas: int, tmp_path: Path) -> None:
    outcome = run_axi(TASKS, 0.3, 149, tmp_path, ii, replicas)
    registers = outcome["registers"]
    assert outcome["broken"] == []
    assert outcome["reads"] > 20
    codes = [
        f.code for f in design("pendulum2", functions=FUNCTIONS, ii=4).tasks.functions.values()
    ]
    assert registers["FUNCTIONS"] == sum(1 << c for c in codes)
    assert (
        registers["VERSION"],
        registers["CONTROL"],
        registers["ERRORS"],
        registers["IN_WORK"],
    ) == (VERSION, 0, 0, 0)
    assert (registers["TASKS"], registers["RESULTS"]) == (TASKS, TASKS)
    assert (
        registers["OVERFLOWS"],
        registers["RANGES"],
        registers["UNKNOWN"],
        registers["CYCLES_HIGH"],
    ) == (0, 0, 0, 0)
    assert registers["CYCLES"] > registers["BUSY"] > TASKS / replicas
    assert outcome["cleared"] < outcome["before"]
    # SLVERR where there is no register, or none to write
    assert (outcome["bad_read"], outcome["bad_write"]) == (2, 2)


@pytest.mark.slow
def test_a_reset_amid_a_batch_is_told_and_mended(tmp_path: Path) -> None:
    """The driver meets the resets with the model; the RTL has the same epochs after each batch, and its answers."""
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    other = varied_robot(d.robot, np.random.default_rng(4))
    known, recorder = manifest_of(d), DmaModel(bit_true_shell(d))
    device = Driver(known, StreamLink(known, recorder, 40))
    device.calibrate(parameter_values(d.robot, other))
    q, v, a, _ = random_operands(d, 100)
    expected = device.rnea(q, v, a)
    recorder.reset()
    with pytest.warns(RbdgenWarning, match=r"^device: was reset in mid-use"):
        assert np.array_equal(device.rnea(q, v, a), expected)
    outcome = played(d, recorder, 0.2, tmp_path)
    assert outcome["epochs"] == recorder.epochs
    assert 0 in outcome["epochs"]
    assert outcome["broken"] == []
    # the model's answers to the last call are the calibrated robot's, and the RTL's hold the same packets
    model_again = DmaModel(bit_true_shell(d))
    again = Driver(known, StreamLink(known, model_again, 40))
    again.calibrate(parameter_values(d.robot, other))
    answers = [bytes.fromhex(r) for r in outcome["results"][-3:]]
    model_again.answers = answers
    assert np.array_equal(again.rnea(q, v, a), expected)
    assert not answers
