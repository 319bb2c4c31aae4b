"""High-water marks: they are those of the schedule at full rate, and a FIFO over its depth is not overlooked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from rbdgen.compiler import Design
from rbdgen.errors import ToolError
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.queues import queues
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen.workbench import Simulated
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.marks import MarkedAccelerator, mark_ports, marked_name, marked_verilog
from rbdgen_sim.cosim import Cosimulation, cosimulate
from rbdgen_sim.interface import Rtl
from rbdgen_sim.simulators import get_simulator
from tests.conftest import design

ALL = common()


def simulate(
    d: Design, workdir: Path, count: int = 40, simulator: str = "amaranth"
) -> Cosimulation:
    """Run tasks of the design with its marks."""
    sources = workdir / "design.v", workdir / "marks.v"
    if simulator != "amaranth":
        for path, text in zip(sources, (design_verilog(d), marked_verilog(d)), strict=True):
            path.write_text(text)
    widths = d.tasks.task.beat_bits, d.tasks.result.beat_bits
    rtl = Rtl(marked_name(d), sources, *widths, MarkedAccelerator(d), mark_ports(d))
    return cosimulate(d, rtl, get_simulator(simulator), workdir, count)


@pytest.mark.parametrize("ii", [1, 2])
@pytest.mark.slow
def test_marks_at_full_rate_are_those_of_the_schedule(ii: int, tmp_path: Path) -> None:
    d = design("pendulum2", functions=("dfd",), ii=ii)
    result = simulate(d, tmp_path)
    assert d.plan.fifos
    for f in d.plan.fifos:
        assert result.marks[f"core.{f.name}"].high_water == chain_length(f.write, f.read, ii)
    for name, cycle in d.plan.exits.items():
        assert result.marks[f"headers_{name}"].high_water == chain_length(0, cycle, ii)
    assert result.mismatches == 0
    assert result.misused == []
    rows = {f["name"]: f for f in result.report()["fifos"]}
    assert rows.keys() == {q.name for q in queues(d.plan, d.tasks)}
    assert all(
        0 < f["high_water"] <= f["depth"] and not f["fault"]
        for n, f in rows.items()
        if n != "lane_error.queue"
    )


@pytest.mark.slow
def test_the_same_marks_on_another_simulator(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("fd",), ii=2)
    marks = [simulate(d, tmp_path, 20, simulator).marks for simulator in ("amaranth", "icarus")]
    assert marks[0] == marks[1]


def test_every_fifo_of_the_hardware_is_marked() -> None:
    d = design("pendulum2", functions=ALL, ii=2)
    Fragment.get(MarkedAccelerator(d), None)
    wrong = MarkedAccelerator(d)
    wrong.depths["feedback"] += 1
    with pytest.raises(ValueError, match=r"^FIFO feedback: must be \d+ deep, not \d+$"):
        Fragment.get(wrong, None)


def test_a_fifo_over_its_depth_fails_the_simulation(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("dfd",))
    shallow = dataclasses.replace(d.plan.fifos[0], depth=d.plan.fifos[0].depth - 1)
    plan = dataclasses.replace(d.plan, fifos=(shallow, *d.plan.fifos[1:]))
    machine = dataclasses.replace(d.pipeline, plan=plan)
    result = simulate(dataclasses.replace(d, machine=machine), tmp_path)
    name = f"core.{shallow.name}"
    assert result.misused == [name]
    assert result.marks[name].fault
    report = result.report()
    run = Simulated(report, (), 0, tuple(result.misused), tmp_path)
    message = rf"FIFO {name}: \d+ entries at once, depth {shallow.depth}, written while full or read while empty; "
    with pytest.raises(ToolError, match=message):
        run.require_equality()


def test_marks_leave_the_hardware_alone() -> None:
    """What is simulated is the accelerator's own text; the marks' text only instantiates it."""
    d = design("pendulum2")
    text = marked_verilog(d)
    assert text.count("endmodule") == 2
    assert f"\n  {d.name} dut (" in text
    assert "mark" not in design_verilog(d)
