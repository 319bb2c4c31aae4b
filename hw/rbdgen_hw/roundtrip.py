# amaranth: UnusedElaboratable=no
"""The round-trip pipeline: all units of a network, the links and bypass FIFOs between them, and their timing.

A task starts with ``start`` in a cycle of phase 0 (every cycle, at an initiation interval of one) while its operands
are on the inputs; its results are on the outputs ``length`` − 1 cycles later, with ``done``. In between nothing
waits: a valid bit per interval moves along, strobes the FIFOs, and collects what the units report as overflow.
"""

from __future__ import annotations

import itertools

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.ir.graph import INPUT_OWNER, OUTPUT_OWNER
from rbdgen.schedule.buffers import Plan
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import Shape, place
from rbdgen_hw.unit import Unit, label, tap_name


class RoundTrip(Shape):
    """Ports: ``<operand>`` in; ``<result>`` out; ``start``, ``phase`` (if ii > 1) in; ``done``, ``overflow``, ``busy``
    and ``fault`` (a FIFO was misused: never, by construction) out."""

    shape_name = "roundtrip"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        fixed = plan.schedule.fixed
        ports: dict = {"start": In(1), "done": Out(1), "overflow": Out(1), "busy": Out(1), "fault": Out(1)}
        if plan.schedule.ii > 1:
            ports["phase"] = In(range(plan.schedule.ii))
        for name, i in fixed.graph.inputs.items():
            ports[name] = In(signed(fixed.formats[i].width))
        for name, i in fixed.graph.outputs.items():
            ports[name] = Out(signed(fixed.formats[i].width))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, schedule = self.plan, self.plan.schedule
        ii, last = schedule.ii, self.plan.length - 1
        graph, formats = schedule.fixed.graph, schedule.fixed.formats
        phase = self.phase if ii > 1 else Const(0, 1)
        wrap: Value = phase == ii - 1 if ii > 1 else Const(1)

        # valid[s] is high in the cycles s·ii to s·ii + ii − 1 of a task
        stages = last // ii + 1
        valid = [Signal(name=f"valid{s}") for s in range(stages)]
        if ii > 1:
            started = Signal()
            with m.If(phase == 0):
                m.d.sync += started.eq(self.start)
            m.d.comb += valid[0].eq(Mux(phase == 0, self.start, started))
            with m.If(wrap):
                m.d.sync += [v.eq(before) for before, v in itertools.pairwise(valid)]
        else:
            m.d.comb += valid[0].eq(self.start)
            m.d.sync += [v.eq(before) for before, v in itertools.pairwise(valid)]
        m.d.comb += self.busy.eq(Cat(valid[1:]).any() | (valid[0] & (phase != 0)))

        def strobe(cycle: int) -> Value:
            turn = phase == cycle % ii if ii > 1 else Const(1)
            return valid[cycle // ii] & turn

        units: dict[str, Unit] = {}
        for unit_plan in plan.units:
            units[unit_plan.name] = unit = Unit(plan, unit_plan)
            place(m, platform, unit_plan.name, unit)
            if ii > 1:
                m.d.comb += unit.phase.eq(phase)

        def offered(source: str, node: int, cycle: int) -> Value:
            if source == INPUT_OWNER:
                return getattr(self, graph.nodes[node].attr)
            return getattr(units[source], tap_name(plan, node, cycle))

        faults = []
        through: dict[tuple[str, int], Value] = {}
        for fifo in plan.fifos:
            queue = BypassFifo(sum(formats[v].width for v in fifo.values), fifo.depth)
            place(m, platform, f"bypass_{fifo.source}_{fifo.sink}", queue)
            m.d.comb += [
                queue.w_data.eq(Cat(offered(fifo.source, v, fifo.write) for v in fifo.values)),
                queue.w_en.eq(strobe(fifo.write)),
                queue.r_en.eq(strobe(fifo.read)),
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
        for name, i in graph.outputs.items():
            if graph.nodes[i].op == "const":
                m.d.comb += getattr(self, name).eq(int(formats[i].quantise(graph.nodes[i].attr)))
            else:
                m.d.comb += getattr(self, name).eq(offered(OUTPUT_OWNER, i, last))

        # overflow[s] collects what units report in the cycles of stage s, and moves along with valid[s]
        reports: dict[int, list[Value]] = {}
        for unit in units.values():
            for cycle in sorted(set(unit.overflow_cycles.values())):
                reports.setdefault(cycle, []).append(getattr(unit, f"overflow{cycle}"))
        collected: Value = Const(0, 1)
        now: Value = Const(0, 1)
        for s in range(stages):
            reported = [r for c in reports if c // ii == s for r in reports[c]]
            now = Signal(name=f"overflow_stage{s}")
            held = Signal(name=f"overflow_held{s}", reset_less=True)
            if ii > 1:
                # within a stage what was reported is kept; at the wrap it goes to the next stage
                kept = Signal(name=f"overflow_kept{s}", reset_less=True)
                m.d.comb += now.eq(Cat(collected, kept, *reported).any())
                m.d.sync += kept.eq(Mux(wrap, 0, now))
                with m.If(wrap):
                    m.d.sync += held.eq(now)
                collected = held & (phase == 0)
            else:
                m.d.comb += now.eq(Cat(collected, *reported).any())
                m.d.sync += held.eq(now)
                collected = held
        m.d.comb += [self.overflow.eq(now), self.done.eq(strobe(last)), self.fault.eq(Cat(*faults).any())]
        return m
