"""The loop of roll-outs: from one evaluation of the dynamics to the next."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.functions.quantities import COUNT
from rbdgen.ir.number_formats import Format
from rbdgen.layout.network import AGAIN
from rbdgen_hw.loops import Loop
from rbdgen_hw.passes import coefficient_operands


def coefficient_port(operand: str) -> str:
    """The port that offers a coefficient of the evaluation that starts."""
    return f"coefficient_{operand}"


class RollOutLoop(Loop):
    """Beside the header of a roll-out go the steps that are ``left`` and the ``number`` of the evaluation in its step.

    Ports beyond those of :class:`Loop`:

    - ``blocked``: nothing of the loop may start; ``available``: the exit of finished roll-outs has room;
    - ``on`` and ``final``: what waits starts, and leaves by the loop again or for good;
    - ``asked_steps``: the steps that the task in the task register asks for; ``new_on`` and ``new_final``: if that
      starts, it leaves by the loop, or for good; ``started``: it starts; ``finished``: a roll-out leaves for good;
    - ``progress``: what goes along with whatever starts; ``passed``: the same of what arrives;
    - ``coefficient_<name>``: the coefficients of the evaluation that starts.
    """

    def __init__(self, design: Design) -> None:
        self.weights = design.network.options.weights
        self.last_number = len(self.weights) - 1
        self.number_bits = self.last_number.bit_length()
        self.coefficients = coefficient_operands(design.network)
        operands: dict[str, Format] = {}
        results: dict[str, Format] = {}
        for operand, carried in design.network.carried.items():
            operands[operand] = design.input_format(operand)
            for result in (carried.within, carried.behind):
                results[result] = design.output_format(result)
        progress_bits = COUNT.width + self.number_bits
        ports = {
            "blocked": In(1),
            "available": In(1),
            "on": Out(1),
            "final": Out(1),
            "asked_steps": In(signed(COUNT.width)),
            "new_on": Out(1),
            "new_final": Out(1),
            "started": In(1),
            "finished": In(1),
            "progress": Out(progress_bits),
            "passed": In(progress_bits),
        }
        for name in self.coefficients:
            fmt = design.input_format(name)
            port = coefficient_port(name)
            ports[port] = Out(signed(fmt.width))
        fields = {"left": COUNT.width, "number": self.number_bits}
        super().__init__(design, AGAIN, operands, results, fields, ports)
        self.on.name = "again_on"
        self.final.name = "again_final"
        self.new_on.name = "roll_on"
        self.new_final.name = "roll_final"
        steps = signed(COUNT.width)
        self.asked = Signal(steps, name="asked")
        self.latest = Signal(steps, name="latest")
        self.flying = Signal(COUNT.width, name="flying")
        bits = max(self.number_bits, 1)
        self.evaluation = Signal(bits, name="evaluation")

    def write(self, m: Module, platform: object) -> None:
        super().write(m, platform)
        self.keep_order(m)
        for name in self.coefficients:
            self.choose_coefficient(m, name)

    def admit(self, m: Module, platform: object) -> None:
        fields = self._instantiate_queue(m, platform)
        left = fields["left"].as_signed()
        number = fields["number"]
        final = Signal(name="is_final")
        orderly = Signal(name="orderly")
        direct = Signal(name="direct")
        ready = self.queue.r_rdy & self.begin & ~self.blocked
        last = self._last(number)
        orderly_steps = self.asked >= self.latest
        single = (self.asked == 1) & (self.last_number == 0)
        at_least_one = Mux(self.asked_steps < 1, 1, self.asked_steps)
        evaluation = Mux(self.chosen, number, 0) if self.number_bits else 0
        waiting = Cat(left, number)
        beginning = self.asked.as_unsigned()
        progress = Mux(self.chosen, waiting, beginning)
        m.d.comb += [
            final.eq((left <= 1) & last),
            # what waits goes before new tasks; what goes on keeps its room in the FIFO
            self.final.eq(ready & final & self.available),
            self.on.eq(ready & ~final),
            self.start.eq(self.final | self.on),
            self.asked.eq(at_least_one),
            orderly.eq((self.flying == 0) | orderly_steps),
            direct.eq(single),
            self.new_final.eq(direct & orderly),
            self.new_on.eq(~direct & orderly),
            self.evaluation.eq(evaluation),
            self.progress.eq(progress),
        ]

    def _last(self, number: Value) -> Value:
        """Whether the evaluation of this number is the last of its step."""
        if not self.number_bits:
            return Const(1)
        return number == self.last_number

    def keep_order(self, m: Module) -> None:
        """Write what makes roll-outs end in the order of their tasks: one of fewer steps than the latest waits until
        all are done."""
        flying = self.flying + self.started - self.finished
        m.d.sync += self.flying.eq(flying)
        with m.If(self.started):
            m.d.sync += self.latest.eq(self.asked)

    def store(self, m: Module, platform: object) -> None:
        left = self.passed[: COUNT.width].as_signed()
        number = self.passed[COUNT.width :]
        last = self._last(number)
        values = []
        lost = []
        for operand, fmt in self.operands.items():
            next_values = []
            for part, result, holds in self._sources(operand, last):
                name = f"{part}_{operand}"
                value, overflow = self._converted(m, platform, name, result, operand)
                next_values.append(value)
                if overflow is not None:
                    lost.append(overflow & holds)
            within, behind = next_values
            value = Mux(last, behind, within)
            values.append(value[: fmt.width])
        steps = Mux(last, left - 1, left)
        next_number = Mux(last, 0, number + 1)
        next_steps = steps[: COUNT.width]
        fields = [next_steps, next_number[: self.number_bits]]
        self._write_entry(m, lost, fields, values)

    def _sources(self, operand: str, last: Value) -> Iterator[tuple[str, str, Value]]:
        """The results that an operand's next value comes from, each with a name and when it does: within a step, and
        behind its last evaluation."""
        carried = self.design.network.carried[operand]
        yield "within", carried.within, ~last
        yield "behind", carried.behind, last

    def choose_coefficient(self, m: Module, name: str) -> Value:
        """Write the choice of one coefficient; its value."""
        fmt = self.design.input_format(name)
        column = self.coefficients.index(name)
        value = Signal(signed(fmt.width), name=f"{name}_now")
        with m.Switch(self.evaluation):
            for k, weights in enumerate(self.weights):
                raw = fmt.quantise(weights[column])
                with m.Case(k):
                    m.d.comb += value.eq(int(raw))
        port = coefficient_port(name)
        self.bind(**{port: value})
        return value
