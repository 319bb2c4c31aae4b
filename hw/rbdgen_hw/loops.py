# amaranth: UnusedElaboratable=no
"""What goes back into the pipelines: from the first pass of a task to the second, and from one evaluation to the next.

Either waits in a FIFO of its own and starts before any new task of its program may. Credits of the exit that leads into
the FIFO guarantee its places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Mux, Signal, Value, signed

from rbdgen.host.tasks import FUNCTION_BITS, HEADER_BITS, TAG_BITS
from rbdgen.ir.fixed import Format
from rbdgen.layout.functions import ROLL_OUT
from rbdgen.layout.network import FEEDBACK
from rbdgen.layout.rollout import AGAIN, STEPS, WEIGHTS, weight_table
from rbdgen.schedule.queues import exit_places, loop_in_block_memory
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import place
from rbdgen_hw.operators import Round, Rounding

if TYPE_CHECKING:
    from rbdgen_hw.accelerator import AcceleratorBuilder


def converted(
    top: AcceleratorBuilder, name: str, value: Value, source: Format, target: Format, lost: list[Value]
) -> Value:
    """``value`` in another format; what may saturate is added to ``lost``."""
    if source == target:
        return value
    converter = _converter(source, target)
    place(top.m, top.platform, name, converter)
    top.m.d.comb += converter.x.eq(value << max(target.frac - source.frac, 0))
    if hasattr(converter, "overflow"):
        lost.append(converter.overflow)
    return converter.y


def _converter(source: Format, target: Format) -> Round:
    """A rounding from one format to another; its argument has the finer binary point of the two."""
    places = max(target.frac - source.frac, 0)
    drop = max(source.frac - target.frac, 0)
    half = (1 << drop) >> 1
    saturates = (((source.maximum << places) + half) >> drop) > target.maximum or (
        ((source.minimum << places) + half) >> drop
    ) < target.minimum
    return Round(source.width + places, Rounding(drop, Format(target.width, 0), saturates))


class _Loop:
    """A FIFO behind the exit ``name``: entries are ``fields`` (widths by name) and the next start's operands.

    ``start``: what waits is admitted; ``chosen``: its operands are chosen, and it leaves the FIFO.
    """

    def __init__(self, top: AcceleratorBuilder, name: str, fields: dict[str, int], operands: dict[str, Format]) -> None:
        self.top, self.name, self.operands = top, name, operands
        widths = fields | {n: f.width for n, f in operands.items()}
        block = loop_in_block_memory(top.plan, name)
        self.queue = BypassFifo(sum(widths.values()), exit_places(top.plan, top.tasks, name), block)
        place(top.m, top.platform, name, self.queue)
        self.waiting: Value = self.queue.r_rdy
        self.fields: dict[str, Value] = {}
        self.words: dict[str, Value] = {}
        position = 0
        for field, width in widths.items():
            part = self.queue.r_data[position : position + width]
            if field in fields:
                self.fields[field] = part
            else:
                self.words[field] = part.as_signed()
            position += width
        self.header = self.fields["header"]
        self.start = Signal(name=f"start_{name}")
        self.chosen = top.chosen(self.start, f"chosen_{name}")

    def write(self, lost: list[Value], parts: list[Value], values: list[Value]) -> None:
        """Write an entry when its task leaves by the exit, and drop it when it starts again."""
        top = self.top
        header = top.headers[self.name] | (Cat(*lost).any() << (FUNCTION_BITS + TAG_BITS))
        data, done = Cat(header[:HEADER_BITS], *parts, *values), getattr(top.core, f"done_{self.name}")
        if top.plan.schedule.device.link:
            data, done = top.register(data, f"left_{self.name}"), top.register(done, f"done_{self.name}")
        top.m.d.comb += [
            self.queue.w_data.eq(data),
            self.queue.w_en.eq(done),
            self.queue.r_en.eq(self.chosen),
            top.credits[self.name].give.eq(self.chosen),
        ]


class Feedback(_Loop):
    """The way of ``dfd`` from its first pass to the second, which goes through ``program``."""

    def __init__(self, top: AcceleratorBuilder) -> None:
        self.program, self.leaves = (last := top.network.exit("dfd")).program, last.name
        formats = {n: top.design.input_format(n) for n, source in top.design.feedback.items() if source is not None}
        super().__init__(top, FEEDBACK, {"header": HEADER_BITS}, formats)
        top.m.d.comb += self.start.eq(self.waiting & top.core.begin & top.credits[self.leaves].available)

    def store(self) -> None:
        """Write what the first pass hands over, in the formats of the second."""
        top, values, lost = self.top, [], []
        for name, target in self.operands.items():
            source = top.design.feedback[name]
            value = getattr(top.core, f"{FEEDBACK}_{source}")
            values.append(converted(top, f"convert_{name}", value, top.design.output_format(source), target, lost))
        self.write(lost, [], values)


class Again(_Loop):
    """The way of roll-outs from one evaluation to the next: beside the header go the steps that are ``left`` and the
    ``number`` of the evaluation in its step.

    ``on`` and ``final``: what waits starts, and leaves by the loop again or for good; ``new_on`` and ``new_final``: so
    would the task in the task register. ``progress`` is what goes along with whatever starts, ``passed`` the same of
    what arrives. Nothing starts while ``blocked``.
    """

    def __init__(self, top: AcceleratorBuilder, blocked: Value) -> None:
        options = top.network.options
        self.weights = weight_table(options.integrator, options.time_step)
        last, bits = len(self.weights) - 1, (len(self.weights) - 1).bit_length()
        formats = {n: top.design.input_format(n) for n in top.network.carried}
        super().__init__(top, AGAIN, {"header": HEADER_BITS, "left": STEPS.width, "number": bits}, formats)
        place_of_steps = [w.name for w in top.functions[ROLL_OUT.name].operands].index("steps") + 1
        given = top.words[place_of_steps][: STEPS.width].as_signed()
        left, number = self.fields["left"].as_signed(), self.fields["number"]
        self.on, self.final = Signal(name="again_on"), Signal(name="again_final")
        self.new_on, self.new_final = Signal(name="roll_on"), Signal(name="roll_final")
        self.asked = Signal(signed(STEPS.width), name="asked")
        self.latest, self.flying = Signal(signed(STEPS.width), name="latest"), Signal(STEPS.width, name="flying")
        self.progress = Signal(STEPS.width + bits, name="progress")
        self.evaluation = Signal(max(bits, 1), name="evaluation")
        self.passed: Value = Const(0)
        final, orderly, direct = Signal(name="is_final"), Signal(name="orderly"), Signal(name="direct")
        ready = self.waiting & top.core.begin & ~blocked
        top.m.d.comb += [
            final.eq((left <= 1) & (number == last if bits else 1)),
            # what waits goes before new tasks; what goes on keeps its place
            self.final.eq(ready & final & top.credits[ROLL_OUT.name].available),
            self.on.eq(ready & ~final),
            self.start.eq(self.final | self.on),
            self.asked.eq(Mux(given < 1, 1, given)),
            orderly.eq((self.flying == 0) | (self.asked >= self.latest)),
            direct.eq((self.asked == 1) & (last == 0)),
            self.new_final.eq(direct & orderly),
            self.new_on.eq(~direct & orderly),
            self.evaluation.eq(Mux(self.chosen, number, 0) if bits else 0),
            self.progress.eq(Mux(self.chosen, Cat(left, number), self.asked.as_unsigned())),
        ]

    def keep_order(self, started: Value) -> None:
        """Roll-outs end in the order of their tasks: one of fewer steps than the latest waits until all are done.

        ``started``: a new one starts.
        """
        top = self.top
        top.m.d.sync += self.flying.eq(self.flying + started - getattr(top.core, f"done_{ROLL_OUT.name}"))
        with top.m.If(started):
            top.m.d.sync += self.latest.eq(self.asked)

    def store(self) -> None:
        """Write what the next evaluation needs."""
        top, lost, values = self.top, [], []
        left, number = self.passed[: STEPS.width].as_signed(), self.passed[STEPS.width :]
        last = number == len(self.weights) - 1 if len(number) else Const(1)
        for name, fmt in self.operands.items():
            carried, ways = top.network.carried[name], []
            for part, source, holds in (("within", carried.within, ~last), ("behind", carried.behind, last)):
                own: list[Value] = []
                value, origin = getattr(top.core, f"{AGAIN}_{source}"), top.design.output_format(source)
                ways.append(converted(top, f"{part}_{name}", value, origin, fmt, own))
                lost += [x & holds for x in own]
            values.append(Mux(last, ways[1], ways[0])[: fmt.width])
        steps, next_number = Mux(last, left - 1, left)[: STEPS.width], Mux(last, 0, number + 1)[: len(number)]
        self.write(lost, [steps, next_number], values)

    def weight(self, name: str) -> Value:
        """A coefficient of the evaluation that starts."""
        fmt = self.top.design.input_format(name)
        column = [w.name for w in self.top.network.operands[WEIGHTS]].index(name)
        value = Signal(signed(fmt.width), name=f"{name}_now")
        with self.top.m.Switch(self.evaluation):
            for k, weights in enumerate(self.weights):
                with self.top.m.Case(k):
                    self.top.m.d.comb += value.eq(int(fmt.quantise(weights[column])))
        return value
