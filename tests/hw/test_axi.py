"""The AXI shell under cocotbext-axi: all channels stall at random, every result has the model's bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen.errors import LinkError
from rbdgen.host.beats import StreamLink, check_identity
from rbdgen.host.driver import Driver
from rbdgen.protocol.registers import VERSION
from rbdgen_hw.emit import axi_verilog, design_verilog
from rbdgen_sim.axi import play
from rbdgen_sim.dma import DmaModel
from rbdgen_sim.mixed import check_mixed
from rbdgen_sim.noise import manifest_of, model
from tests.conftest import design

FUNCTIONS = ("id", "m", "did")
TASKS = 600


def run_axi(tasks: int, stall: float, batch: int, work: Path, ii: int, replicas: int) -> dict:
    """``tasks`` random tasks through the RTL in batches; the outcome, after every bit of every result was compared."""
    d = design("pendulum2", functions=FUNCTIONS, ii=ii, replicas=replicas)
    known = manifest_of(d)
    sources = work / "accelerator.v", work / "axi.v"
    for path, text in zip(
        sources, (design_verilog(d), axi_verilog(d, known.identity)), strict=True
    ):
        path.write_text(text)
    # what the driver sends does not depend on the answers: it is recorded, played, and answered from the RTL
    recorder = DmaModel(model(d))
    check_mixed(
        d, Driver(known, StreamLink(known.tasks, recorder.transfer, recorder, batch)), tasks, 1
    )
    outcome = play(sources, f"{d.name}_axi", recorder.sent, stall, 5, work / "sim")
    answers = [bytes.fromhex(r) for r in outcome["results"]]
    link = StreamLink(known.tasks, lambda data, size: answers.pop(0), recorder, batch)
    check_mixed(d, Driver(known, link), tasks, 1)
    assert not answers
    check_identity(outcome["identity"], known.identity, known.name)
    with pytest.raises(LinkError, match=r"^device: holds design "):
        check_identity([1, 2, 3, 4], known.identity, known.name)
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(("ii", "replicas"), [(4, 1), (1, 2), (4, 3)])
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
