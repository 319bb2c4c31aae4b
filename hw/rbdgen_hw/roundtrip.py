# amaranth: UnusedElaboratable=no
"""The round-trip pipelines: all units of a network, the links and bypass FIFOs between them, and their timing.

A task starts a program with ``start_<program>`` in a cycle with ``begin`` (one per interval) and names the exit by
which it leaves with ``to_<exit>``; its operands are on the inputs in that cycle, or in the one before the first of the
pipelines. Its results are on that exit's outputs, each in the cycle of its beat, with that beat's bit of
``beats_<exit>``; ``done_<exit>`` comes with the first of them, and what overflowed. At an interval of several cycles,
all that comes in stands in registers first, so that no unit has to know in the same cycle whether a task starts. In
between nothing waits: a valid bit per interval moves along, strobes the FIFOs, and collects what the units report as
overflow. Strobes come from registers.
"""

from __future__ import annotations

import itertools

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.schedule.buffers import Plan, exit_unit
from rbdgen.schedule.times import Schedule, chain_length
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import Shape, place
from rbdgen_hw.phases import Phases
from rbdgen_hw.unit import Unit, label, overflow_port, tap_name


def entering(m: Module, schedule: Schedule, value: Value, name: str, still: int = 0) -> Value:
    """What ``value`` was when the task that now enters the pipelines was admitted, or the one that does so in
    ``still`` cycles."""
    for k in range(schedule.entry_cycles - still):
        register = Signal(value.shape(), name=f"{name}{k or ''}")
        m.d.sync += register.eq(value)
        value = register
    return value


class RoundTrip(Shape):
    """Ports: ``<operand>`` in; ``<exit>_<result>`` out; ``start_<program>``, ``to_<exit>`` in; ``begin``,
    ``done_<exit>``, ``overflow_<exit>``, ``busy`` and ``fault`` (a FIFO was misused: never, by construction) out. An
    idle pipeline waits in phase 0, so that a lone task need not wait for its phase."""

    shape_name = "roundtrip"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        fixed, programs = plan.schedule.fixed, plan.schedule.programs
        ports: dict = {"begin": Out(1), "busy": Out(1), "fault": Out(1)}
        for program in programs.names:
            ports[f"start_{program}"] = In(1)
        for name, i in fixed.graph.inputs.items():
            ports[name] = In(signed(fixed.formats[i].width))
        for e in programs.exits:
            ports |= {f"to_{e.name}": In(1), f"done_{e.name}": Out(1), f"overflow_{e.name}": Out(1)}
            ports[f"beats_{e.name}"] = Out(len(plan.beats[e.name]))
            for name in e.results:
                ports[f"{e.name}_{name}"] = Out(signed(fixed.formats[fixed.graph.outputs[name]].width))
        super().__init__(ports)

    def entered(self, m: Module, port: str) -> Value:
        """What came in at the port of a start, as the pipelines have it."""
        return entering(m, self.plan.schedule, getattr(self, port), f"{port}_entered")

    def operands(self, m: Module, begin: Value, last_phase: Value) -> dict[str, list[Value]]:
        """Every operand as it comes in, and behind the registers that keep it for several units, which move once per
        interval. Where that has several cycles, it comes from a register that holds it for all of them."""
        plan, schedule = self.plan, self.plan.schedule
        graph = schedule.fixed.graph
        lengths = dict.fromkeys(graph.inputs, 0)
        for tap in (tap for unit in plan.units for tap in unit.inputs):
            node = graph.nodes[tap.node]
            if node.op == "input":
                length = chain_length(schedule.stands(tap.node), tap.cycle, schedule.ii)
                lengths[node.attr] = max(lengths[node.attr], length)
        operands: dict[str, list[Value]] = {}
        loads = entering(m, schedule, begin, "loads", 1)
        for name, length in lengths.items():
            chain = operands[name] = [getattr(self, name)]
            if schedule.entry_cycles and name not in schedule.programs.parameters:
                chain[0] = Signal(chain[0].shape(), name=f"{name}_entered", reset_less=True)
                with m.If(loads):
                    m.d.sync += chain[0].eq(getattr(self, name))
            for k in range(length):
                chain.append(Signal(chain[0].shape(), name=f"{name}_r{k}", reset_less=True))
                with m.If(last_phase):
                    m.d.sync += chain[-1].eq(chain[-2])
        return operands

    def reports(self, m: Module, units: dict[str, Unit]) -> dict[tuple[int, tuple[str, ...]], Value]:
        """What units report as overflow in each stage, for tasks that leave by these exits: from registers where
        results stay long enough."""
        schedule = self.plan.schedule
        late = int(schedule.device.flag_cycles > 2)
        found: dict[tuple[int, tuple[str, ...]], list[Value]] = {}
        for unit in units.values():
            for cycle, exits in sorted({(report, exits) for (_, exits), report in unit.reports.items()}):
                stage = (cycle + late) // schedule.ii
                found.setdefault((stage, exits), []).append(getattr(unit, overflow_port(cycle, exits)))
        result: dict[tuple[int, tuple[str, ...]], Value] = {}
        for (stage, exits), ports in sorted(found.items()):
            result[stage, exits] = reported = Signal(name=f"reported{stage}_{'_'.join(exits)}", reset_less=True)
            when = m.d.sync if late else m.d.comb
            when += reported.eq(Cat(*ports).any())
        return result

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, schedule = self.plan, self.plan.schedule
        ii = schedule.ii
        graph, formats = schedule.fixed.graph, schedule.fixed.formats
        # tasks come in one phase, and from registers later; all that follows is as far behind
        waits = Signal()
        waited: Value = waits
        for k in range(schedule.entry_cycles):
            before, waited = waited, Signal(init=1, reset_less=True, name=f"waited{k or ''}")
            m.d.sync += waited.eq(before)
        entrance, phases = Phases(m, ii, waits), Phases(m, ii, waited)
        first, last_phase = phases.at(0), phases.at(ii - 1)

        def stages(name: str, start: Value, last: int) -> list[Signal]:
            """Bit s is high in the cycles s·ii to s·ii + ii − 1 of a task that came with ``start``."""
            valid = [Signal(name=f"valid_{name}{s}") for s in range(last // ii + 1)]
            if ii > 1:
                started = Signal(name=f"started_{name}")
                with m.If(first):
                    m.d.sync += started.eq(start)
                m.d.comb += valid[0].eq(Mux(first, start, started))
                with m.If(last_phase):
                    m.d.sync += [v.eq(before) for before, v in itertools.pairwise(valid)]
            else:
                m.d.comb += valid[0].eq(start)
                m.d.sync += [v.eq(before) for before, v in itertools.pairwise(valid)]
            return valid

        begun = {name: self.entered(m, f"start_{name}") for name in schedule.programs.names}
        programs = {name: stages(name, begun[name], plan.length(name) - 1) for name in schedule.programs.names}
        operands = self.operands(m, entrance.at(0), last_phase)
        # what is in its last stage while a task is admitted is over when that enters; the rest is where it was a cycle
        # before
        stays = Signal()
        m.d.sync += stays.eq(Cat(*(valid[:-1] for valid in programs.values())).any())
        m.d.comb += [
            waits.eq(~Cat(*(getattr(self, f"start_{name}") for name in programs), stays).any()),
            self.begin.eq(entrance.at(0)),
            self.busy.eq(Cat(*programs.values()).any()),
        ]

        strobes: dict[tuple[str, int], Value] = {}

        def strobe(name: str, valid: list[Signal], cycle: int) -> Value:
            """High in ``cycle`` of a task."""
            if cycle == 0:
                return begun[name]
            if ii == 1:
                return valid[cycle]
            if (name, cycle) not in strobes:
                strobes[name, cycle] = now = Signal(name=f"strobe_{name}{cycle}")
                before = cycle - 1
                m.d.sync += now.eq(valid[before // ii] & phases.at(before))
            return strobes[name, cycle]

        units: dict[str, Unit] = {}
        for unit_plan in plan.units:
            units[unit_plan.name] = unit = Unit(plan, unit_plan)
            place(m, platform, unit_plan.name, unit)
            if ii > 1:
                m.d.comb += unit.waits.eq(waited)

        def offered(source: str, node: int, cycle: int) -> Value:
            if source == INPUT_OWNER:
                return operands[graph.nodes[node].attr][chain_length(schedule.stands(node), cycle, ii)]
            return getattr(units[source], tap_name(plan, node, cycle))

        faults = []
        through: dict[tuple[str, int], Value] = {}
        for fifo in plan.fifos:
            queue = BypassFifo(sum(formats[v].width for v in fifo.values), fifo.depth)
            place(m, platform, fifo.name, queue)
            m.d.comb += [
                queue.w_data.eq(Cat(offered(fifo.source, v, fifo.write) for v in fifo.values)),
                queue.w_en.eq(strobe(fifo.program, programs[fifo.program], fifo.write)),
                queue.r_en.eq(strobe(fifo.program, programs[fifo.program], fifo.read)),
            ]
            faults.append(queue.fault)
            position = 0
            for v in fifo.values:
                through[fifo.sink, v] = queue.r_data[position : position + formats[v].width]
                position += formats[v].width
        for unit_plan in plan.units:
            for tap in unit_plan.inputs:
                port = getattr(units[unit_plan.name], f"i_{label(plan, tap.node)}")
                source = through.get((unit_plan.name, tap.node))
                m.d.comb += port.eq(
                    offered(graph.nodes[tap.node].owner, tap.node, tap.cycle) if source is None else source
                )

        reports = self.reports(m, units)
        for e in schedule.programs.exits:
            last, beats = plan.exits[e.name], plan.beats[e.name]
            for name, cycle in ((name, beat.cycle) for beat in beats for name in beat.results):
                i, port = graph.outputs[name], getattr(self, f"{e.name}_{name}")
                if graph.nodes[i].op == "const":
                    m.d.comb += port.eq(int(formats[i].quantise(graph.nodes[i].attr)))
                else:
                    m.d.comb += port.eq(offered(exit_unit(e.name), i, cycle))
            begun[e.name] = begun[e.program] & self.entered(m, f"to_{e.name}")
            valid = stages(e.name, begun[e.name], max(beat.cycle for beat in beats))
            strobes_now = [strobe(e.name, valid, beat.cycle) for beat in beats]
            m.d.comb += [
                getattr(self, f"beats_{e.name}").eq(Cat(*strobes_now)),
                getattr(self, f"done_{e.name}").eq(strobes_now[0]),
            ]

            # overflow of stage s collects what is reported in its cycles, and moves along with the task
            collected: Value = Const(0, 1)
            now: Value = Const(0, 1)
            for s in range(last // ii + 1):
                reported = [r for (stage, exits), r in reports.items() if stage == s and e.name in exits]
                now = Signal(name=f"overflow_{e.name}{s}")
                held = Signal(name=f"overflow_{e.name}_held{s}", reset_less=True)
                if ii > 1:
                    # within a stage what was reported is kept; at the wrap it goes to the next stage; nothing is kept
                    # without a task: while the pipeline is idle no wrap would clear it
                    kept = Signal(name=f"overflow_{e.name}_kept{s}", reset_less=True)
                    m.d.comb += now.eq(Cat(collected, kept, *reported).any())
                    m.d.sync += kept.eq(Mux(last_phase, 0, now & valid[s]))
                    with m.If(last_phase):
                        m.d.sync += held.eq(now)
                    collected = held & first
                else:
                    m.d.comb += now.eq(Cat(collected, *reported).any())
                    m.d.sync += held.eq(now)
                    collected = held
            m.d.comb += getattr(self, f"overflow_{e.name}").eq(now)
        m.d.comb += self.fault.eq(Cat(*faults).any())
        return m
