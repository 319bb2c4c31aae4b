# amaranth: UnusedElaboratable=no
"""The round-trip pipelines: all units of a network, what connects them, bypass FIFOs among it, and their timing.

A task starts a program with ``start_<program>`` in a cycle with ``begin`` (one per interval) and names the exit by
which it leaves with ``to_<exit>``; its operands are on the inputs in that cycle, or in the one before the first of the
pipelines. Its results are on that exit's outputs, each in the cycle of its beat, with that beat's bit of
``beats_<exit>``; ``done_<exit>`` comes with the first of them, and what overflowed. At an interval of several cycles,
all that comes in stands in registers first, so that no unit has to know in the same cycle whether a task starts. In
between nothing waits: a valid bit per interval moves along, strobes the FIFOs, and collects what the units report as
overflow. Strobes come from registers.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Member, Out

from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.buffers import Plan, exit_unit, operand_chains
from rbdgen.machines.pipeline.schedule import chain_length
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of, cut, delayed
from rbdgen_hw.pipeline.phases import Phases, TaskStages
from rbdgen_hw.pipeline.unit import Unit
from rbdgen_hw.pipeline.unit_values import input_port, overflow_port, report_times, tap_name

Queued = dict[tuple[str, int], Value]
"""Values that FIFOs hand over, by the unit that reads them and the node."""
StageExits = tuple[int, tuple[str, ...]]
"""A stage of tasks that leave by one of these exits."""
Reports = dict[StageExits, Value]
"""Whether something overflowed there."""


class RoundTrip(SharedComponent):
    """Ports: ``<operand>`` in; ``<exit>_<result>`` out; ``start_<program>``, ``to_<exit>`` in; ``begin``,
    ``done_<exit>``, ``overflow_<exit>``, ``busy`` and ``fault`` (a FIFO was misused: never, by construction) out. An
    idle pipeline waits in phase 0, so that a lone task need not wait for its phase."""

    module_name = "roundtrip"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        fixed = plan.schedule.fixed
        programs = plan.schedule.programs
        ports: dict[str, Member] = {
            "begin": Out(1),
            "busy": Out(1),
            "fault": Out(1),
        }
        for program in programs.names:
            ports[f"start_{program}"] = In(1)
        for name, i in fixed.graph.inputs.items():
            fmt = fixed.formats[i]
            ports[name] = In(signed(fmt.width))
        for e in programs.exits:
            ports[f"to_{e.name}"] = In(1)
            ports[f"done_{e.name}"] = Out(1)
            ports[f"overflow_{e.name}"] = Out(1)
            beats = len(plan.beats[e.name])
            ports[f"beats_{e.name}"] = Out(beats)
            for name in e.results:
                result = fixed.graph.outputs[name]
                fmt = fixed.formats[result]
                ports[f"{e.name}_{name}"] = Out(signed(fmt.width))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        return RoundTripBuilder(self, platform).build()


class RoundTripBuilder:
    """Writes the module of a round trip, ``ports``."""

    def __init__(self, ports: RoundTrip, platform: object) -> None:
        self.ports = ports
        self.platform = platform
        self.m = Module()
        self.plan = ports.plan
        self.schedule = ports.plan.schedule
        self.ii = self.schedule.ii
        self.graph = self.schedule.fixed.graph
        self.formats = self.schedule.fixed.formats
        self.waits = Signal()
        """Nothing starts, and nothing is under way: what is in phase 0 stays there."""
        self.units: dict[str, Unit] = {}
        self.operands: dict[str, list[Value]] = {}
        """Each operand as it comes in, and behind the registers that keep it for several units."""

    def build(self) -> Module:
        """The module."""
        m = self.m
        self._count_phases()
        self._start_programs()
        self._take_operands()
        self._idle()
        self._instantiate_units()
        queued = self._instantiate_fifos()
        self._connect_units(queued)
        reports = self._reports()
        for leaving in self.schedule.programs.exits:
            self._leave(leaving, reports)
        fault = any_of(self.faults)
        m.d.comb += self.ports.fault.eq(fault)
        return m

    def _entered(self, port: str) -> Value:
        """The value that came in at the port of a start, as the pipelines have it."""
        value = getattr(self.ports, port)
        cycles = self.schedule.entry_cycles
        return delayed(self.m, value, cycles, f"{port}_entered")

    def _count_phases(self) -> None:
        """Phases of the entrance, and those of the pipelines: tasks come in one phase, and from registers later. All
        that follows is as far behind."""
        m = self.m
        waited: Value = self.waits
        for k in range(self.schedule.entry_cycles):
            register = Signal(init=1, reset_less=True, name=f"waited{k or ''}")
            m.d.sync += register.eq(waited)
            waited = register
        self.waited = waited
        self.entrance = Phases(m, self.ii, self.waits)
        self.phases = Phases(m, self.ii, waited)
        self.first_phase = self.phases.at(0)
        self.last_phase = self.phases.at(self.ii - 1)

    def _start_programs(self) -> None:
        """The stages of each program's tasks."""
        names = self.schedule.programs.names
        starts = {name: self._entered(f"start_{name}") for name in names}
        self.programs: dict[str, TaskStages] = {}
        for name, start in starts.items():
            last = self.plan.length(name) - 1
            self.programs[name] = self._stages(name, start, last)

    def _stages(self, name: str, start: Value, last: int) -> TaskStages:
        return TaskStages(self.m, self.phases, name, start, last)

    def _take_operands(self) -> None:
        """Operands come in, and stand behind registers that keep them for several units, which move once per interval.
        Where that has several cycles, an operand comes from a register that holds it for all of them."""
        m = self.m
        schedule = self.schedule
        begin = self.entrance.at(0)
        loads = delayed(m, begin, schedule.entry_cycles - 1, "loads")
        for name, length in self._operand_lengths().items():
            arriving = getattr(self.ports, name)
            value = arriving
            # parameters have registers of their own, which change only while nothing is under way
            if schedule.entry_cycles and name not in schedule.programs.parameters:
                shape = arriving.shape()
                value = Signal(shape, name=f"{name}_entered", reset_less=True)
                with m.If(loads):
                    m.d.sync += value.eq(arriving)
            self.operands[name] = [value]
            for k in range(length):
                shape = value.shape()
                register = Signal(shape, name=f"{name}_r{k}", reset_less=True)
                with m.If(self.last_phase):
                    m.d.sync += register.eq(value)
                self.operands[name].append(register)
                value = register

    def _operand_lengths(self) -> dict[str, int]:
        """Registers that each operand needs to be readable as long as any unit reads it."""
        lengths = dict.fromkeys(self.graph.inputs, 0)
        plan = self.plan
        chains = operand_chains(self.schedule, plan.units, plan.fifos)
        for node, length in chains.items():
            name = self.graph.nodes[node].attr
            lengths[name] = length
        return lengths

    def _operand_length(self, node: int, cycle: int) -> int:
        """Registers that an operand has passed in ``cycle``."""
        stands = self.schedule.stands(node)
        return chain_length(stands, cycle, self.ii)

    def _idle(self) -> None:
        """When tasks may begin, and when the pipelines wait for one."""
        m = self.m
        programs = self.programs.values()
        # what is in its last stage while a task is admitted is over when that enters; the rest is where it was a cycle
        # before
        stays = Signal()
        earlier = [stages.valid[:-1] for stages in programs]
        everything = [stages.valid for stages in programs]
        starts = [getattr(self.ports, f"start_{name}") for name in self.programs]
        not_over = any_of(earlier)
        busy = any_of([*starts, stays])
        under_way = any_of(everything)
        m.d.sync += stays.eq(not_over)
        begin = self.entrance.at(0)
        m.d.comb += [
            self.waits.eq(~busy),
            self.ports.begin.eq(begin),
            self.ports.busy.eq(under_way),
        ]

    def _instantiate_units(self) -> None:
        m = self.m
        for unit_plan in self.plan.units:
            unit = Unit(self.plan, unit_plan)
            self.units[unit_plan.name] = unit
            instantiate(m, self.platform, unit_plan.name, unit)
            if self.ii > 1:
                m.d.comb += unit.waits.eq(self.waited)

    def _offered(self, source: str, node: int, cycle: int) -> Value:
        """The value of ``node`` as the unit ``source`` offers it in ``cycle``, or as an operand stands then."""
        if source == INPUT_OWNER:
            name = self.graph.nodes[node].attr
            length = self._operand_length(node, cycle)
            return self.operands[name][length]
        port = tap_name(self.plan, node, cycle)
        return getattr(self.units[source], port)

    def _instantiate_fifos(self) -> Queued:
        """The bypass FIFOs; what they hand over, by the unit that reads it and the node."""
        m = self.m
        self.faults: list[Value] = []
        queued: Queued = {}
        for fifo in self.plan.fifos:
            widths = [self.formats[i].width for i in fifo.values]
            queue = BypassFifo(sum(widths), fifo.depth)
            instantiate(m, self.platform, fifo.name, queue)
            stages = self.programs[fifo.program]
            values = [self._offered(fifo.source, i, fifo.write) for i in fifo.values]
            m.d.comb += [
                queue.w_data.eq(Cat(*values)),
                queue.w_en.eq(stages.strobe(fifo.write)),
                queue.r_en.eq(stages.strobe(fifo.read)),
            ]
            self.faults.append(queue.fault)
            parts = cut(queue.r_data, widths)
            for i, part in zip(fifo.values, parts, strict=True):
                queued[fifo.sink, i] = part
        return queued

    def _connect_units(self, queued: Queued) -> None:
        """Units' inputs come from a FIFO, or from where their values are made."""
        m = self.m
        for unit_plan in self.plan.units:
            unit = self.units[unit_plan.name]
            for tap in unit_plan.inputs:
                value = queued.get((unit_plan.name, tap.node))
                if value is None:
                    owner = self.graph.nodes[tap.node].owner
                    value = self._offered(owner, tap.node, tap.cycle)
                name = input_port(self.plan, tap.node)
                port = getattr(unit, name)
                m.d.comb += port.eq(value)

    def _reports(self) -> Reports:
        """Overflow that units report in each stage, for tasks that leave by these exits: from registers where results
        stay long enough."""
        m = self.m
        late = int(self.schedule.device.flag_registers > 2)
        found: dict[StageExits, list[Value]] = {}
        for unit in self.units.values():
            for cycle, exits in report_times(unit.reports):
                # a register moves a report a cycle on, which may be the next stage's
                stage = (cycle + late) // self.ii
                port = getattr(unit, overflow_port(cycle, exits))
                together = found.setdefault((stage, exits), [])
                together.append(port)
        reports: Reports = {}
        domain = m.d.sync if late else m.d.comb
        for (stage, exits), ports in sorted(found.items()):
            reported = Signal(name=f"reported{stage}_{'_'.join(exits)}", reset_less=True)
            any_now = any_of(ports)
            domain += reported.eq(any_now)
            reports[stage, exits] = reported
        return reports

    def _leave(self, leaving: Exit, reports: Reports) -> None:
        """Results leave by an exit, beat by beat, with what overflowed."""
        m = self.m
        name = leaving.name
        beats = self.plan.beats[leaving.name]
        for beat in beats:
            for result in beat.results:
                port = getattr(self.ports, f"{name}_{result}")
                value = self._result(name, result, beat.cycle)
                m.d.comb += port.eq(value)
        program = self.programs[leaving.program]
        start = program.start & self._entered(f"to_{name}")
        last = max(beat.cycle for beat in beats)
        stages = self._stages(name, start, last)
        strobes = [stages.strobe(beat.cycle) for beat in beats]
        beats_port = getattr(self.ports, f"beats_{name}")
        done_port = getattr(self.ports, f"done_{name}")
        m.d.comb += [
            beats_port.eq(Cat(*strobes)),
            done_port.eq(strobes[0]),
        ]
        overflow = self._collect_overflow(name, stages, reports)
        overflow_out = getattr(self.ports, f"overflow_{name}")
        m.d.comb += overflow_out.eq(overflow)

    def _result(self, exit_name: str, result: str, cycle: int) -> Value | int:
        """A result as it leaves by an exit in ``cycle``."""
        i = self.graph.outputs[result]
        node = self.graph.nodes[i]
        if node.is_const:
            raw = self.formats[i].quantise(node.attr)
            return int(raw)
        return self._offered(exit_unit(exit_name), i, cycle)

    def _collect_overflow(self, name: str, stages: TaskStages, reports: Reports) -> Value:
        """Whether something overflowed of the task that leaves: every stage collects what is reported in its cycles,
        and that moves along with the task."""
        m = self.m
        collected: Value = Const(0, 1)
        now: Value = Const(0, 1)
        last = self.plan.exits[name] // self.ii
        for s in range(last + 1):
            reported = _of_stage(reports, s, name)
            now = Signal(name=f"overflow_{name}{s}")
            held = Signal(name=f"overflow_{name}_held{s}", reset_less=True)
            if self.ii == 1:
                any_now = any_of([collected, *reported])
                m.d.comb += now.eq(any_now)
                m.d.sync += held.eq(now)
                collected = held
                continue
            # within a stage what was reported is kept; at the wrap it goes to the next stage; nothing is kept without a
            # task: while the pipeline is idle no wrap would clear it
            kept = Signal(name=f"overflow_{name}_kept{s}", reset_less=True)
            of_task = now & stages.valid[s]
            stays = Mux(self.last_phase, 0, of_task)
            any_now = any_of([collected, kept, *reported])
            m.d.comb += now.eq(any_now)
            m.d.sync += kept.eq(stays)
            with m.If(self.last_phase):
                m.d.sync += held.eq(now)
            collected = held & self.first_phase
        return now


def _of_stage(reports: Reports, stage: int, exit_name: str) -> list[Value]:
    """Reports in a stage, of tasks that leave by an exit."""
    found = []
    for (reported_in, exits), report in reports.items():
        if reported_in == stage and exit_name in exits:
            found.append(report)
    return found
