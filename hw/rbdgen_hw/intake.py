# amaranth: UnusedElaboratable=no
"""Where tasks come in: collected beat by beat into the task register, while their operands' ranges are checked."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream

from rbdgen.compiler import Design
from rbdgen.protocol.tasks import FUNCTION_BITS, HEADER_BITS
from rbdgen.schedule.buffers import Plan
from rbdgen_hw.library import instantiate
from rbdgen_hw.logic import cut
from rbdgen_hw.ranges import RANGE_CYCLES, RangeCheck


def header_cycles(plan: Plan) -> int:
    """Cycles after a task's entry in which its header is written: its first result can't be taken before."""
    return plan.schedule.device.flag_registers


def checked_cycles(plan: Plan) -> int:
    """Cycles after a task's entry in which it is known whether its operands were in range: the last in which that can
    still join the header, if the check has a use for so many registers."""
    return min(header_cycles(plan), RANGE_CYCLES - plan.schedule.entry_cycles)


class Intake:
    """The task register: ``full`` when a task is whole, until it is ``taken``, which others drive.

    ``header`` and ``words`` are the task's, ``known`` what it asks for (a bit for each function) from its first beat
    on. ``outside``: one of its operands is outside its range, ``checked_cycles`` after its entry into the pipelines.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self.packing = design.tasks.task
        self.header = Signal(HEADER_BITS)
        self.full = Signal()
        self.taken = Signal()
        self.known: dict[str, Signal] = {}
        for name in design.tasks.functions:
            self.known[name] = Signal(name=f"is_{name}", reset_less=True)
        self.lengths: dict[int, int] = {}
        """Beats of a task by its function's code."""
        for code, count in design.tasks.task_words.items():
            self.lengths[code] = self.packing.beats(count)
        self.most = max(self.lengths.values())
        bits = self.packing.beat_bits * self.most
        self.register = Signal(bits, reset_less=True)
        widths = list(self.packing.places) * self.most
        self.words = cut(self.register, widths)
        # what is found is needed when the task enters the pipelines
        cycles = design.plan.schedule.entry_cycles + checked_cycles(design.plan)
        self.ranges = RangeCheck(design.tasks, cycles)
        self.outside: Value = self.ranges.outside

    def write(self, m: Module, platform: object, beats: stream.Interface) -> None:
        """Write the task register into ``m``, where it takes ``beats``."""
        awaited, last, accept, final = Signal(self.most, init=1), Signal(), Signal(), Signal()
        first = beats.payload[:FUNCTION_BITS]
        held = self.register[:FUNCTION_BITS]
        code = Mux(awaited[0], first, held)
        m.d.comb += last.eq(awaited[0])
        with m.Switch(code):
            for function_code, length in self.lengths.items():
                with m.Case(function_code):
                    m.d.comb += last.eq(awaited[length - 1])
        # where operands are chosen a cycle after the admission, the next task's come after that
        at_once = self.design.plan.schedule.entry_cycles < 2
        taken = self.taken if at_once else 0
        m.d.comb += [
            beats.ready.eq(~self.full | taken),
            accept.eq(beats.valid & beats.ready),
            final.eq(accept & last),
            self.header.eq(self.register[:HEADER_BITS]),
        ]
        with m.If(final):
            m.d.sync += self.full.eq(1)
        with m.Elif(self.taken):
            m.d.sync += self.full.eq(0)
        with m.If(accept):
            following = Mux(final, 1, awaited << 1)
            m.d.sync += awaited.eq(following)
        self._keep(m, awaited, beats)
        known = Cat(*self.known.values())
        instantiate(m, platform, "ranges", self.ranges)
        m.d.comb += [
            self.ranges.beat.eq(beats.payload),
            self.ranges.turn.eq(awaited),
            self.ranges.accept.eq(accept),
            self.ranges.known.eq(known),
        ]

    def _keep(self, m: Module, awaited: Signal, beats: stream.Interface) -> None:
        """Keep what is offered in the part of the register whose beat is ``awaited``, a bit for each.

        A part takes that until its beat is over, valid or not: its strobe has the whole part to reach, and does not
        wait for the stream's; behind the first beat the register cannot be full.
        """
        functions = self.design.tasks.functions
        code = beats.payload[:FUNCTION_BITS]
        widths = [self.packing.beat_bits] * self.most
        parts = cut(self.register, widths)
        for k, part in enumerate(parts):
            free = beats.ready if k == 0 else 1
            with m.If(awaited[k] & free):
                m.d.sync += part.eq(beats.payload)
                if k == 0:
                    for name, function in functions.items():
                        known = self.known[name]
                        m.d.sync += known.eq(code == function.code)
