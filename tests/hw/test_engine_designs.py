"""Designs with an engine in RTL simulation, from their Verilog: every bit, and cycles as promised."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, Options, Robot, Target, compile_robot, load_robot
from rbdgen.compiler.design import readable
from rbdgen.emulation import manifest_of
from rbdgen.errors import ConfigError
from rbdgen.model import Revolute
from rbdgen.model.body import Body, Inertia, Limits, Placement
from rbdgen.model.robot import DRY
from rbdgen.protocol.links import get_link
from rbdgen.protocol.tasks import Flag
from rbdgen_hw import marks
from rbdgen_hw.emit import accelerator, design_verilog, link_verilog
from rbdgen_sim import scoreboard
from rbdgen_sim.cosim import Cosimulation, cosimulate
from rbdgen_sim.interface import Rtl, Stimulus
from rbdgen_sim.simulators import get_simulator
from tests.conftest import BUILTIN, few

COUNT = 60
AHEAD = 0.05
"""How far a mix of so few tasks is from its promise: the first ones are taken in before any has started."""


def simulated(d: Design, simulator: str, folder: Path, count: int = COUNT) -> Cosimulation:
    """All runs of a design."""
    beats = d.tasks.task.row_bits, d.tasks.result.row_bits
    name, probes = marks.marked_name(d), marks.mark_ports(d)
    if simulator == "amaranth":
        rtl = Rtl(name, (), *beats, design=marks.MarkedAccelerator(d), probes=probes)
    else:
        sources = folder / "accelerator.v", folder / "marks.v"
        for path, text in zip(sources, (design_verilog(d), marks.marked_verilog(d)), strict=True):
            path.write_text(text, encoding="utf-8")
        rtl = Rtl(name, sources, *beats, probes=probes)
    return cosimulate(d, rtl, get_simulator(simulator), folder, count)


def check(run: Cosimulation) -> None:
    """No bit differs, and cycles are as promised."""
    d = run.design
    assert run.mismatches == 0
    if run.full_rate is not None:
        promised, most = run.full_rate.promised, 1.0 + AHEAD
        assert promised / most < run.full_rate.measured < most * promised
    for name, figures in run.functions.items():
        assert readable(figures.interval) == d.mean_interval(name)
        assert figures.alone.latencies[0] == d.promised_latency(name)


@pytest.mark.parametrize(
    ("simulator", "calibratable"),
    [
        ("amaranth", False),
        pytest.param("verilator", True, marks=pytest.mark.thorough),
        pytest.param("amaranth", True, marks=pytest.mark.thorough),
        pytest.param("verilator", False, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_a_small_design(simulator: str, calibratable: bool, tmp_path: Path) -> None:
    robot = load_robot("pendulum2")
    options = Options(functions=("id", "fd"), machine="engine", calibratable=calibratable)
    d = compile_robot(robot, options)
    check(simulated(d, simulator, tmp_path))


def test_hardware_that_answers_late_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoreboard, "QUIET", 1)
    d = compile_robot(load_robot("pendulum2"), Options(functions=("m",), machine="engine"))
    assert d.promised_latency("m") > 1
    check(simulated(d, "amaranth", tmp_path, 4))


@pytest.mark.parametrize("cores", few([2, 3], 3))
@pytest.mark.slow
def test_cores_in_lockstep(cores: int, tmp_path: Path) -> None:
    robot = load_robot("pendulum2")
    d = compile_robot(robot, Options(functions=("id", "m"), machine="engine", cores=cores))
    check(simulated(d, "amaranth", tmp_path))


@pytest.mark.parametrize("functions", few([("fd",), ("id", "m")], ("fd",)))
@pytest.mark.slow
def test_cores_that_get_tasks_in_turn(functions: tuple[str, ...], tmp_path: Path) -> None:
    robot = load_robot("pendulum2")
    options = Options(functions=functions, machine="engine", cores=3)
    d = compile_robot(robot, options, target=Target(link=get_link("serial")))
    assert d.tasks.replicas == 1
    run = simulated(d, "amaranth", tmp_path)
    assert run.mismatches == 0
    for name, figures in run.functions.items():
        assert figures.alone.latencies[0] == d.promised_latency(name)
        assert figures.interval == pytest.approx(d.mean_interval(name), rel=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("name", BUILTIN)
def test_every_function_of_every_robot(name: str, tmp_path: Path) -> None:
    d = compile_robot(load_robot(name), Options(functions=("all",), machine="engine"))
    check(simulated(d, "verilator", tmp_path, 1000))


@pytest.mark.thorough
def test_dry_friction(tmp_path: Path) -> None:
    robot = load_robot("pendulum2")
    bodies = tuple(replace(body, friction=(0.5,)) for body in robot.bodies)
    rubbing = replace(robot, bodies=bodies, friction=DRY)
    d = compile_robot(rubbing, Options(("id", "fd", "did"), machine="engine"))
    assert d.why == ("words of 32 bits keep every error at 4096 states",)
    check(simulated(d, "verilator", tmp_path))


@pytest.mark.slow
def test_a_function_without_results_answers_with_a_header(tmp_path: Path) -> None:
    inertia = Inertia.from_com(1.5, np.zeros(3), np.diag([0.1, 0.1, 0.2]))
    limits = Limits(-1.0, 1.0, 2.0, 30.0)
    axle = Body("b", "j", Revolute((0, 0, 1)), -1, Placement(), inertia, limits)
    d = compile_robot(Robot("axle", "base", (axle,)), Options(("id", "did"), machine="engine"))
    assert d.tasks.result_beats("did") == 1
    check(simulated(d, "verilator", tmp_path))


def test_operands_outside_their_ranges_are_flagged(tmp_path: Path) -> None:
    d = compile_robot(load_robot("pendulum2"), Options(machine="engine"))
    words = d.tasks.functions["id"].operands
    inside = np.array([[word.codes[0] for word in words], [word.codes[1] for word in words]])
    beyond = inside[[0, 1] * len(words)]
    for k in range(len(words)):
        beyond[2 * k, k] -= 1
        beyond[2 * k + 1, k] += 1
    raw = np.concatenate([inside, beyond])
    tags = np.arange(len(raw))
    packets = d.tasks.pack("id", tags, list(raw.T))
    beats = d.tasks.task_rows(packets).beats
    rtl = Rtl(d.name, (), d.tasks.task.row_bits, d.tasks.result.row_bits, design=accelerator(d))
    count = len(raw) * d.tasks.result_beats("id")
    trace = get_simulator("amaranth").run(rtl, Stimulus(beats, count), tmp_path)
    results = d.tasks.unpack("id", d.tasks.split(trace.payloads))
    outside = results.flags & Flag.RANGE != 0
    assert outside.tolist() == [False] * 2 + [True] * len(beyond)
    assert np.array_equal(results.tag, tags)


def test_a_link_of_bytes_takes_no_rows() -> None:
    d = compile_robot(load_robot("pendulum2"), Options(machine="engine", cores=2))
    complaint = r"^cores: a link of bytes feeds one accelerator, not 2; leave cores out"
    with pytest.raises(ConfigError, match=complaint):
        link_verilog(d, bytes(16))


def test_the_manifest_says_what_a_host_needs() -> None:
    d = compile_robot(load_robot("pendulum2"), Options(functions=("id", "fd"), machine="engine"))
    manifest = manifest_of(d)
    assert set(manifest.tasks.functions) == {"id", "fd"}
