"""Several accelerators behind one stream: bits, order, tags, flags and cycles, whatever is mixed and stalls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Array, Assert, Assume, Elaboratable, Module, ResetInserter, Signal
from amaranth.sim import Simulator

from rbdgen import ConfigError, Options, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.replicas import all_queues, row_depth
from rbdgen.protocol.tasks import (
    CALIBRATE,
    FUNCTION_BITS,
    TAG_BITS,
    FunctionFormat,
    OperandWord,
    ResultWord,
    Rows,
    TaskFormat,
    join_header,
    task_format,
)
from rbdgen.tracing.calibration import varied_robot
from rbdgen.trials import TaskSet, make_tasks, raw_parameters, task_states
from rbdgen_hw.emit import accelerator, design_verilog, link_verilog
from rbdgen_hw.marks import MarkedAccelerator, mark_ports
from rbdgen_hw.pipeline.replicas import Collector, Distributor, Reorder
from rbdgen_sim.cosim import cosimulate
from rbdgen_sim.interface import Rtl, Stimulus
from rbdgen_sim.scoreboard import Run, run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, design
from tests.hw.test_fifo import prove

AMARANTH = get_simulator("amaranth")
ALL = common()


def run(d, tasks: list[TaskSet], order: np.ndarray, workdir: Path, **options: Any) -> Run:
    return run_tasks(d, tasks, order, component(d), AMARANTH, workdir, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replicas", "ii", "device", "programs"),
    [
        (2, 1, "generic125", "two"),
        (2, 3, "gw5a", "two"),
        pytest.param(2, 3, "generic125", "one", marks=pytest.mark.thorough),
        pytest.param(3, 1, "generic125", "two", marks=pytest.mark.thorough),
    ],
)
def test_every_function_alone(
    replicas: int, ii: int, device: str, programs: str, tmp_path: Path
) -> None:
    """What is promised of cycles is what is measured, and a row of several beats is put together as one of one beat."""
    d = design(
        "pendulum2", functions=ALL, ii=ii, device=device, programs=programs, replicas=replicas
    )
    count = 6 * replicas
    tasks = [make_tasks(d, f, task_states(d, count, seed=ii)) for f in ALL]
    for k, function in enumerate(ALL):
        order = np.full(count, k)
        outcome = run(d, tasks, order, tmp_path).outcomes[function]
        assert outcome.mismatches == 0
        assert outcome.latencies[0] == d.promised_latency(function)
        if d.network.admissions(function) == 1:
            half = outcome.intervals[len(outcome.intervals) // 2 :]
            assert np.allclose(half, ii / replicas)
            assert d.mean_interval(function) == pytest.approx(ii / replicas, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replicas", "ii", "programs", "seed"),
    [
        (2, 1, "two", 1),
        (3, 1, "one", 2),
        pytest.param(3, 4, "two", 3, marks=pytest.mark.thorough),
        pytest.param(2, 5, "one", 2, marks=pytest.mark.thorough),
        pytest.param(2, 1, "two", 2, marks=pytest.mark.thorough),
        pytest.param(3, 1, "one", 3, marks=pytest.mark.thorough),
        pytest.param(3, 4, "two", 1, marks=pytest.mark.thorough),
        pytest.param(2, 5, "one", 3, marks=pytest.mark.thorough),
    ],
)
def test_mixes_of_all_functions_with_stalls(
    replicas: int, ii: int, programs: str, seed: int, tmp_path: Path
) -> None:
    """Functions overtake each other inside, rows are of all sizes, and both sides stall: every task is answered in the
    order of its function, with its tag and the model's bits."""
    d = design("pendulum2", functions=ALL, ii=ii, programs=programs, replicas=replicas)
    tasks = [make_tasks(d, f, task_states(d, 90, seed=seed)) for f in ALL]
    # few of the slowest among many of the fastest, and the other way round
    shares = {1: [1] * 7, 2: [20, 1, 20, 1, 1, 3, 1], 3: [1, 1, 1, 1, 1, 20, 20]}[seed]
    order = np.random.default_rng(seed).choice(7, 90, p=np.array(shares) / sum(shares))
    outcomes = run(d, tasks, order, tmp_path, stall=0.3, seed=seed).outcomes
    assert [o.mismatches for o in outcomes.values()] == [0] * 7


@pytest.mark.thorough
def test_roll_outs_of_many_steps_beside_others(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "roll"), replicas=2)
    steps = np.random.default_rng(2).integers(1, 7, (40, 1))
    states = task_states(d, 40, seed=2)
    states.steps[:] = steps
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    order = np.random.default_rng(3).integers(0, 2, 40)
    outcomes = run(d, tasks, order, tmp_path, stall=0.2, seed=1).outcomes
    assert [o.mismatches for o in outcomes.values()] == [0, 0]


@pytest.mark.parametrize("ii", [1, 4])
@pytest.mark.slow
def test_a_parameter_reaches_all_accelerators(ii: int, tmp_path: Path) -> None:
    """It is answered once; tasks before it have the old value, those behind it the new one, in whatever lane."""
    d = design("pendulum2", functions=("id", "dfd"), ii=ii, calibratable=True, replicas=3)
    layout = d.tasks
    robot = varied_robot(d.robot, np.random.default_rng(1))
    states = task_states(d, 8, seed=5)
    before, after = make_tasks(d, "id", states), make_tasks(d, "id", states, robot)
    sent = layout.pack("id", np.arange(8), before.raw)
    number = np.arange(len(layout.parameters))
    loads = layout.pack_calibration(number, number, raw_parameters(d, robot))
    rows = layout.task_rows([*sent, *loads, *sent])
    count = layout.answer_beats(rows.beats)
    stimulus = Stimulus(rows.beats, count, input_stall=0.1, output_stall=0.4, seed=1)
    packets = layout.split(AMARANTH.run(component(d), stimulus, tmp_path).payloads)
    codes = [layout.header(p[0])[0] for p in packets]
    assert codes == [0] * 8 + [CALIBRATE] * len(loads) + [0] * 8
    assert [layout.header(p[0])[1:] for p in packets[8:-8]] == [(k, 0) for k in number]
    results = layout.unpack("id", [*packets[:8], *packets[-8:]])
    for value, old, new in zip(results.values, before.expected, after.expected, strict=True):
        assert value.tolist() == [*old, *new]


@pytest.mark.parametrize("ii", [1, 4])
def test_unknown_functions_are_answered_in_their_lanes(ii: int, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii, replicas=3)
    layout = d.tasks
    tasks = make_tasks(d, "id", task_states(d, 2, seed=6))
    first, second = layout.pack("id", np.array([1, 3]), tasks.raw)
    unknown = [[join_header(9, 2)], [join_header(9, 200)], [join_header(15, 0)]]
    rows = layout.task_rows([unknown[0], first, unknown[1], second, unknown[2]])
    stimulus = Stimulus(rows.beats, layout.answer_beats(rows.beats))
    trace = AMARANTH.run(component(d), stimulus, tmp_path)
    packets = [layout.header(p[0]) for p in layout.split(trace.payloads)]
    assert packets == [(9, 2, 4), (0, 1, 0), (9, 200, 4), (0, 3, 0), (15, 0, 4)]


def test_lanes_may_stay_empty(tmp_path: Path) -> None:
    """A task may stand in any lane, and beats without any are passed over in their turn."""
    d = design("pendulum2", replicas=3)
    layout = d.tasks
    tasks = make_tasks(d, "id", task_states(d, 3, seed=6))
    packets = layout.pack("id", np.array([7, 8, 9]), tasks.raw)
    keep, width = 1 << layout.task.beat_bits, layout.task.lane_bits
    beats = []
    for lane, (beat,) in zip((2, 0, 1), packets, strict=True):
        beats += [(beat | keep) << lane * width, 0]
    trace = AMARANTH.run(component(d), Stimulus(beats, len(beats)), tmp_path)
    found = layout.read_results(trace.payloads)
    assert [layout.header(p[0])[1] for p in found.packets] == [7, 8, 9]
    assert found.ends == [0, 2, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replicas", "ii"), [(2, 1), pytest.param(3, 2, marks=pytest.mark.thorough)]
)
def test_a_cosimulation_measures_what_is_promised(replicas: int, ii: int, tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "dfd"), ii=ii, replicas=replicas)
    marked = Rtl(
        "marked",
        (),
        d.tasks.task.row_bits,
        d.tasks.result.row_bits,
        MarkedAccelerator(d),
        mark_ports(d),
    )
    result = cosimulate(d, marked, AMARANTH, tmp_path, 60)
    assert result.mismatches == 0
    assert result.misused == []
    report = result.report()
    for name, figures in report["functions"].items():
        assert figures["ii_cycles"] == d.mean_interval(name)
        assert figures["latency_cycles"] == d.promised_latency(name)
    fifos = {row["name"]: row for row in report["fifos"]}
    assert fifos.keys() == {q.name for q in all_queues(d.plan, d.tasks)}
    rows = fifos["collector.rows"]
    assert 0 < rows["high_water"] <= rows["depth"] == row_depth(d.plan, d.tasks)
    with pytest.raises(ConfigError, match=rf"^tasks: must be at least {2 * replicas} to measure"):
        cosimulate(d, marked, AMARANTH, tmp_path, 2 * replicas - 1)


@pytest.mark.slow
@pytest.mark.thorough
def test_a_reset_amid_tasks_leaves_nothing_behind(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "dfd"), replicas=2)
    layout = d.tasks
    packets = []
    for tag in range(60):
        function = ("id", "dfd")[tag % 3 == 0]
        raw = make_tasks(d, function, task_states(d, 1, seed=tag)).raw
        packets += layout.pack(function, np.array([tag]), raw)
    beats = layout.task_rows(packets).beats
    wanted = AMARANTH.run(component(d), Stimulus(beats, len(beats)), tmp_path).payloads
    dut, reset = accelerator(d), Signal()
    enough = d.promised_latency("dfd") + len(beats) + 10

    async def bench(ctx) -> None:
        ctx.set(dut.o.ready, 1)
        for cut in (3, 8, 13, d.promised_latency("dfd") + 1, 25, 31):
            sent, seen = 0, []
            for cycle in range(cut + enough):
                ctx.set(reset, cycle == cut)
                ctx.set(dut.i.valid, sent < len(beats) and cycle != cut)
                ctx.set(dut.i.payload, beats[min(sent, len(beats) - 1)])
                sent += ctx.get(dut.i.valid) & ctx.get(dut.i.ready)
                if ctx.get(dut.o.valid) and cycle > cut:
                    seen.append(ctx.get(dut.o.payload))
                if cycle == cut:
                    sent = 0
                await ctx.tick()
            assert layout.split(seen) == layout.split(wanted)

    simulator = Simulator(ResetInserter(reset)(dut))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_one_module_is_there_once() -> None:
    d = design("pendulum2", replicas=3)
    text = design_verilog(d)
    assert text.count(f"\nmodule {d.name}_accelerator(") == 1
    assert text.count(f"{d.name}_accelerator accelerator") == 3
    assert "3 tasks every 1 cycle" in text


def test_a_link_of_bytes_refuses_several() -> None:
    with pytest.raises(
        ConfigError, match=r"^replicas: a link of bytes feeds one accelerator, not 2; leave"
    ):
        link_verilog(design("pendulum2", replicas=2), bytes(8))


def test_more_rows_than_tags_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbdgen.machines.pipeline.replicas.MOST_ROWS", 8)
    message = (
        r"^replicas: at an interval of 1 cycles 1\d rows of tasks would be under way, and tags"
    )
    with pytest.raises(ConfigError, match=message):
        compile_robot(load_robot("pendulum2"), Options(replicas=2, word=18))
    # one accelerator has no such limit
    compile_robot(load_robot("pendulum2"), Options(replicas=1, word=18))


def small_format(replicas: int, lengths: dict[str, tuple[int, int]]) -> TaskFormat:
    """Functions of a word in a beat, with so many beats of tasks and of results."""
    word = Format(4, 0)
    functions = []
    for code, (name, (there, back)) in enumerate(lengths.items()):
        operands = tuple(OperandWord(f"{name}{k}", word, (-8, 7)) for k in range(there - 1))
        results = tuple(ResultWord(f"{name}{k}", word) for k in range(back - 1))
        functions.append(FunctionFormat(name, code, operands, results))
    most = tuple(map(max, zip(*lengths.values(), strict=True)))
    return task_format(functions, *most, (), replicas)


class Around(Elaboratable):
    """Distributor and collector, with the streams between them open: what stands for the accelerators is a program."""

    def __init__(self, tasks: TaskFormat, depth: int) -> None:
        self.distributor = Distributor(tasks)
        self.collector = Collector(tasks, depth)
        self.replicas = tasks.replicas

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.distributor = there = self.distributor
        m.submodules.collector = back = self.collector
        m.d.comb += [
            there.room.eq(back.room),
            back.row.eq(there.row),
            back.entry.eq(there.entry),
            back.take.eq(there.take),
        ]
        for k in range(self.replicas):
            m.d.comb += getattr(there, f"place{k}").eq(getattr(back, f"place{k}"))
        return m


class Model:
    """An accelerator as a program: it keeps the results of each function in their order, lets functions overtake each
    other at random, and takes a task or sends a beat now and then."""

    def __init__(self, tasks: TaskFormat, seed: int) -> None:
        self.tasks = tasks
        self.random = np.random.default_rng(seed)
        self.coming: list[int] = []
        self.waiting: dict[int, list[list[int]]] = {}
        self.sending: list[int] = []

    def take(self, beat: int) -> None:
        """A beat of a task comes in."""
        self.coming.append(beat)
        code, tag, _ = self.tasks.header(self.coming[0])
        if len(self.coming) < self.tasks.task.beats(self.tasks.task_words.get(code, 0)):
            return
        # the result's words say which task it is of: its last word
        count = self.tasks.packet_beats(code)
        result = [join_header(code, tag), *[self.coming[-1] & 15] * (count - 1)]
        self.waiting.setdefault(code, []).append(result)
        self.coming = []

    def give(self) -> int | None:
        """The beat that it sends now, if any."""
        queues = [queue for queue in self.waiting.values() if queue]
        if not self.sending and queues:
            self.sending = queues[self.random.integers(len(queues))].pop(0)
        if not self.sending or self.random.random() < 0.3:
            return None
        return self.sending.pop(0)


def play(tasks: TaskFormat, depth: int, rows: Rows, count: int, seed: int) -> list[int]:
    """The beats of results that come of ``rows``, ``count`` of them, with stalls everywhere."""
    dut = Around(tasks, depth)
    random = np.random.default_rng(seed)
    models = [Model(tasks, seed + k) for k in range(tasks.replicas)]
    seen: list[int] = []

    async def bench(ctx) -> None:
        there, back = dut.distributor, dut.collector
        sent, offered = 0, False
        for _ in range(200 * len(rows.beats) + 200):
            offered = sent < len(rows.beats) and (offered or random.random() < 0.8)
            ctx.set(there.i.valid, offered)
            ctx.set(there.i.payload, rows.beats[min(sent, len(rows.beats) - 1)])
            ctx.set(back.o.ready, random.random() < 0.7)
            ready = [random.random() < 0.6 for _ in models]
            for k, model in enumerate(models):
                ctx.set(getattr(there, f"o{k}").ready, ready[k])
                beat = model.give()
                ctx.set(getattr(back, f"i{k}").valid, beat is not None)
                ctx.set(getattr(back, f"i{k}").payload, beat or 0)
            for k, model in enumerate(models):
                port = getattr(there, f"o{k}")
                if ready[k] and ctx.get(port.valid):
                    model.take(ctx.get(port.payload))
            if offered and ctx.get(there.i.ready):
                sent, offered = sent + 1, False
            if ctx.get(back.o.valid) and ctx.get(back.o.ready):
                seen.append(ctx.get(back.o.payload))
            if len(seen) == count:
                return
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("replicas", [2, 3, 4])
@pytest.mark.parametrize("depth", [2, 8])
def test_rows_come_back_in_order(replicas: int, depth: int, seed: int) -> None:
    """Behind accelerators that answer as late and in as odd an order as they may, with any number of rows under way."""
    tasks = small_format(replicas, {"short": (1, 1), "long": (3, 2), "wide": (2, 4)})
    random = np.random.default_rng(seed)
    packets = []
    for k in range(120):
        code = int(random.integers(0, 4))
        words = tasks.task_words.get(code, 0)
        # the tags are what tells tasks apart; all but the last beat's words are noise
        packets.append([join_header(code, k), *random.integers(0, 16, words).tolist()])
    sizes = iter(random.integers(1, replicas + 1, len(packets)).tolist())
    rows = tasks.task_rows(packets, sizes)
    count = tasks.answer_beats(rows.beats)
    beats = play(tasks, depth, rows, count, seed)
    assert len(beats) == count
    expected = []
    for packet in packets:
        code, tag, _ = tasks.header(packet[0])
        last = packet[-1] & 15
        expected.append([join_header(code, tag), *[last] * (tasks.packet_beats(code) - 1)])
    assert tasks.read_results(beats).packets == expected


class ReorderSpec(Elaboratable):
    """Places are taken while there are any, and answered in any order, each once: what is read is what came for the
    place that was taken first, as soon as all of it is there and not before."""

    def __init__(self, beats: int, depth: int) -> None:
        self.tasks = small_format(2, {"only": (1, beats)})
        self.beats, self.depth = beats, depth
        self.take, self.valid, self.leave = Signal(), Signal(), Signal()
        self.answered = Signal(range(depth))
        self.data = Signal(2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth, beats = self.depth, self.beats
        m.submodules.dut = dut = Reorder(self.tasks, depth)
        taken = Array(Signal(name=f"taken{k}") for k in range(depth))
        whole = Array(Signal(name=f"whole{k}") for k in range(depth))
        words = Array(Signal(2, name=f"word{k}") for k in range(depth))
        newest, oldest = Signal(range(depth)), Signal(range(depth))
        turn, held = Signal(range(beats)), Signal(range(depth))
        place = Signal(range(depth))
        final = Signal()
        m.d.comb += [
            place.eq(self.answered if beats == 1 else held),
            final.eq(self.valid & (turn == beats - 1)),
            dut.take.eq(self.take),
            dut.leave.eq(self.leave),
            dut.read.eq(1),
            dut.beat.eq(beats - 1),
            dut.i.valid.eq(self.valid),
        ]
        if beats > 1:
            with m.If(turn == 0):
                m.d.comb += place.eq(self.answered)
            with m.If(self.valid):
                m.d.sync += [held.eq(place), turn.eq(turn + 1)]
        # the data stand in the last beat's lowest bits that no header is in, or in a header's flags
        shift = FUNCTION_BITS + TAG_BITS if beats == 1 else 0
        header = self.answered << FUNCTION_BITS
        m.d.comb += dut.i.payload.eq(
            (self.data << shift) | (header if beats == 1 else 0),
        )
        if beats > 1:
            with m.If(turn == 0):
                m.d.comb += dut.i.payload.eq(header)
        m.d.comb += [
            Assume(~self.take | ~taken[newest]),
            Assume(~self.valid | (turn != 0) | (taken[self.answered] & ~whole[self.answered])),
            Assume(~self.leave | (taken[oldest] & whole[oldest])),
        ]
        with m.If(self.leave):
            m.d.sync += [taken[oldest].eq(0), whole[oldest].eq(0), oldest.eq(oldest + 1)]
        with m.If(self.take):
            m.d.sync += [taken[newest].eq(1), newest.eq(newest + 1)]
        with m.If(final):
            m.d.sync += [whole[place].eq(1), words[place].eq(self.data)]
        shown, right = Signal(), Signal(2)
        m.d.sync += [shown.eq(dut.whole), right.eq(words[oldest])]
        m.d.comb += [
            Assert(dut.place == newest),
            Assert(dut.whole == whole[oldest]),
            Assert(~shown | (dut.payload[shift : shift + 2] == right)),
        ]
        return m


@pytest.mark.slow
@pytest.mark.parametrize(("beats", "depth", "steps"), [(1, 2, 14), (1, 4, 16), (2, 2, 14)])
def test_results_are_read_in_the_order_of_their_places(
    beats: int, depth: int, steps: int, tmp_path: Path
) -> None:
    spec = ReorderSpec(beats, depth)
    ports = [spec.take, spec.valid, spec.leave, spec.answered, spec.data]
    result = prove(spec, ports, tmp_path, steps, bounded=True)
    assert result is None


@pytest.mark.slow
def test_the_proof_of_order_can_fail(tmp_path: Path) -> None:
    spec = ReorderSpec(1, 2)
    elaborate = spec.elaborate

    def wrong(platform: object) -> Module:
        m = elaborate(platform)
        m.d.comb += Assert(~m.submodules.dut.whole | (spec.answered == 0))
        return m

    spec.elaborate = wrong  # type: ignore[method-assign]
    ports = [spec.take, spec.valid, spec.leave, spec.answered, spec.data]
    assert prove(spec, ports, tmp_path, 7, bounded=True) is not None
