# amaranth: UnusedElaboratable=no
"""The accelerator: a task stream in, a result stream out, around the round-trip pipeline.

Tasks are collected beat by beat into the operand register and start when the pipeline's phase and a credit allow: a
credit is a place in the result FIFO, so that whatever has started can always finish, however long the sink stalls.
Results keep the order of their tasks. The layout of both streams is :class:`rbdgen.host.tasks.TaskFormat`.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.host.tasks import FLAG_BITS, FUNCTION_BITS, HEADER_BITS, TAG_BITS, TaskFormat
from rbdgen.schedule.buffers import Plan, chain_length
from rbdgen_hw.fifo import BypassFifo, Credits
from rbdgen_hw.library import Shape, place
from rbdgen_hw.roundtrip import RoundTrip


def result_places(plan: Plan, tasks: TaskFormat) -> int:
    """Entries of the result FIFO that keep the pipeline full while the sink takes a beat in every cycle."""
    return chain_length(0, plan.length + tasks.result.beats, plan.schedule.ii) + 1


class Accelerator(Shape):
    """Ports ``i`` (stream of task beats) and ``o`` (stream of result beats); function codes it knows: ``codes``."""

    shape_name = ""

    def __init__(self, plan: Plan, tasks: TaskFormat, codes: tuple[int, ...]) -> None:
        self.plan, self.tasks, self.codes = plan, tasks, codes
        super().__init__(
            {
                "i": In(stream.Signature(tasks.task.beat_bits)),
                "o": Out(stream.Signature(tasks.result.beat_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, tasks = self.plan, self.tasks
        graph, ii, last = plan.schedule.fixed.graph, plan.schedule.ii, plan.length - 1
        core = RoundTrip(plan)
        place(m, platform, "core", core)
        start, done = Signal(), Signal()
        m.d.comb += [core.start.eq(start), done.eq(core.done)]
        phase = Signal(range(ii)) if ii > 1 else Const(0, 1)
        if ii > 1:
            # an idle pipeline waits in phase 0, so that a lone task need not wait for its phase
            m.d.comb += core.phase.eq(phase)
            with m.If(start | core.busy):
                m.d.sync += phase.eq(Mux(phase == ii - 1, 0, phase + 1))
            with m.Else():
                m.d.sync += phase.eq(0)

        # operand register
        layout = tasks.task
        operand_register = Signal(layout.beat_bits * layout.beats, reset_less=True)
        full, beat = Signal(), Signal(range(layout.beats))
        accept, final = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full | start),
            accept.eq(self.i.valid & self.i.ready),
            final.eq(accept & (beat == layout.beats - 1)),
        ]
        with m.If(final):
            m.d.sync += full.eq(1)
        with m.Elif(start):
            m.d.sync += full.eq(0)
        with m.If(accept):
            m.d.sync += beat.eq(Mux(final, 0, beat + 1))
            with m.Switch(beat):
                for k in range(layout.beats):
                    with m.Case(k):
                        m.d.sync += operand_register[k * layout.beat_bits : (k + 1) * layout.beat_bits].eq(
                            self.i.payload
                        )
        words = [operand_register[k * layout.word_bits : (k + 1) * layout.word_bits] for k in range(layout.words)]

        # admission
        credits = Credits(result_places(plan, tasks))
        place(m, platform, "credits", credits)
        m.d.comb += [
            start.eq(full & (phase == 0) & credits.available),
            credits.take.eq(start),
        ]

        # what travels beside the data: header, and what is known of the operands at once
        outside = []
        for name, word, fmt, (low, high) in zip(
            graph.inputs, words[1:], tasks.operands, tasks.operand_codes, strict=True
        ):
            value = getattr(core, name)
            m.d.comb += value.eq(word[: fmt.width].as_signed())
            outside.append((value < low) | (value > high))
        function = words[0][:FUNCTION_BITS]
        tag = words[0][FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        unknown = Cat(*(function != code for code in self.codes)).all()
        entry = Cat(function, tag, Cat(*outside).any(), unknown)
        headers = BypassFifo(len(entry), chain_length(0, max(last, 1), ii) + 1)
        place(m, platform, "headers", headers)
        m.d.comb += [
            headers.w_data.eq(entry),
            headers.w_en.eq(start),
            headers.r_en.eq(done),
        ]

        # results
        known = HEADER_BITS - FLAG_BITS
        head = headers.r_data
        flags = Cat(core.overflow, head[known], head[known + 1])
        packet = [Cat(head[:known], flags), *(getattr(core, name) for name in graph.outputs)]
        results = BypassFifo(sum(map(len, packet)), result_places(plan, tasks))
        place(m, platform, "results", results)
        m.d.comb += [results.w_data.eq(Cat(*packet)), results.w_en.eq(done)]
        layout, position, padded = tasks.result, 0, []
        for part in packet:
            word = results.r_data[position : position + len(part)]
            padded.append(Cat(word, Const(0, layout.word_bits - len(part))))
            position += len(part)
        padded += [Const(0, layout.word_bits)] * (layout.beats * layout.words_per_beat - layout.words)
        out_beat, leave = Signal(range(layout.beats)), Signal()
        for k in range(layout.beats):
            with m.If(out_beat == k):
                part = padded[k * layout.words_per_beat : (k + 1) * layout.words_per_beat]
                m.d.comb += self.o.payload.eq(Cat(*part))
        m.d.comb += [
            self.o.valid.eq(results.r_rdy),
            leave.eq(self.o.valid & self.o.ready & (out_beat == layout.beats - 1)),
            results.r_en.eq(leave),
            credits.give.eq(leave),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += out_beat.eq(Mux(leave, 0, out_beat + 1))
        return m
