"""The shell of registers under cocotbext-axi: all channels stall at random, every result has the model's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen.emulation import bit_true_shell
from rbdgen_hw.emit import registers_verilog, write_shelled
from rbdgen_sim.axi_registers import call
from tests.conftest import design

TASKS = 60


@pytest.mark.slow
def test_tasks_cross_stalling_channels(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "m"), machine="engine", word=32)
    rnd, model = np.random.default_rng(6), bit_true_shell(d)
    packets, expected = [], []
    for k in range(TASKS):
        name = ("id", "m")[rnd.integers(2)]
        f = d.tasks.functions[name]
        raw = rnd.integers(*f.limits, len(f.operands)) // 4
        (packet,) = d.tasks.pack(name, np.array([k]), [np.array([x]) for x in raw])
        model.keep(np.array(packet, "<u4").tobytes())
        model.work()
        packets.append([int(word) for word in packet])
        expected.append(np.frombuffer(model.answers.pop(), "<u4").tolist())
    written = write_shelled(
        d, "axi_lite", lambda own, identity: registers_verilog(own, identity, "axi-lite"), tmp_path
    )
    lengths = [len(answer) for answer in expected]
    outcome = call(written.sources, written.top, packets, lengths, 0.3, 4, tmp_path / "sim")
    assert outcome["broken"] == []
    assert outcome["results"] == expected
    assert outcome["counters"] == {"TASKS": TASKS, "RESULTS": TASKS, "REFUSED": 0}
    assert outcome["identity"] == np.frombuffer(written.manifest.identity, "<u4").tolist()
    assert (outcome["nothing"], outcome["refused"], outcome["epoch"]) == (0, 1, 0)
    # SLVERR where there is no register, or none to write
    assert (outcome["bad_read"], outcome["bad_write"]) == (2, 2)
