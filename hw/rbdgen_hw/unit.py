# amaranth: UnusedElaboratable=no
"""A unit: the hardware of one submodule, from the schedule and the plan of its taps.

Values stand in register chains that advance once per initiation interval (:mod:`rbdgen_hw.unit_values`), between
operators (:mod:`rbdgen_hw.unit_operators`). Nothing stalls inside. A unit that executes several branches in turn
is in :mod:`rbdgen_hw.folded_unit`.
"""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib.wiring import In, Member, Out

from rbdgen.schedule.buffers import Plan, UnitPlan, uses
from rbdgen.schedule.schedule import chain_length
from rbdgen_hw.folded_unit import FoldedUnit
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.unit_operators import UnitOperators
from rbdgen_hw.unit_ports import (
    input_port,
    overflow_port,
    overflow_reports,
    report_times,
    tap_name,
)


class Unit(SharedComponent):
    """Ports: ``i_<value>`` for what arrives, ``<value>_at<cycle>`` for what leaves, ``waits`` (the pipelines stay in
    phase 0 if they are in it; if ii > 1), and ``overflow<c>_<exits>`` high in cycle c of a task (at that phase) in
    which something saturated shortly before that the results of these exits depend on."""

    def __init__(self, plan: Plan, unit: UnitPlan) -> None:
        self.plan = plan
        self.unit = unit
        self.module_name = unit.name
        formats = plan.schedule.fixed.formats
        ports: dict[str, Member] = {}
        if plan.schedule.ii > 1:
            ports["waits"] = In(1)
        for tap in unit.inputs:
            port = input_port(plan, tap.node)
            fmt = formats[tap.node]
            ports[port] = In(signed(fmt.width))
        for tap in unit.outputs:
            port = tap_name(plan, tap.node, tap.cycle)
            fmt = formats[tap.node]
            ports[port] = Out(signed(fmt.width))
        self.reports = overflow_reports(plan, unit)
        for cycle, exits in report_times(self.reports):
            ports[overflow_port(cycle, exits)] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        if self.unit.name in self.plan.schedule.folds.units:
            return FoldedUnit(self.plan, self.unit, self, platform).build()
        return PlainUnit(self.plan, self.unit, self, platform).build()


class PlainUnit(UnitOperators):
    """Writes a unit with an operator or a slot of one for every node."""

    def build(self) -> Module:
        """The unit's module."""
        m = self.m
        self.arrive()
        for i in self.unit.nodes:
            self.make(i)
        for node, cycles in uses(self.schedule, self.unit).items():
            made = self.made[node]
            last = cycles[-1]
            length = chain_length(made, last, self.ii)
            self.chain(node, length)
        self.operators()
        for tap in self.unit.outputs:
            name = tap_name(self.plan, tap.node, tap.cycle)
            port = getattr(self.ports, name)
            value = self.read(tap.node, tap.cycle)
            m.d.comb += port.eq(value)
        self.report_overflows()
        return m
