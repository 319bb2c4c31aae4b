# amaranth: UnusedElaboratable=no
"""Tasks that go through the pipelines more than once: what is known of them, and the loops by which they go back in,
that from the first pass to the second and that of roll-outs.

What waits in a loop starts before any new task of its program may, but for the second pass, which leaves a few
intervals to new tasks. Credits of the exit that leads into the FIFO guarantee its entries' room. What is known is read
from the network's records of functions; no function is known by its name here. Results become operands in another
fixed-point format.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Member, Out

from rbdgen.compiler import Design
from rbdgen.functions.quantities import COUNT, WEIGHTS
from rbdgen.ir.fixed import SATURATE, Format
from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.mixes import MOST_YIELDS, yields
from rbdgen.machines.pipeline.queues import exit_depth, loop_in_block_memory
from rbdgen.protocol.tasks import FUNCTION_BITS, HEADER_BITS, TAG_BITS, FunctionFormat
from rbdgen.tracing.execute import begin_words
from rbdgen.tracing.network import AGAIN, FEEDBACK, Network
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import instantiate
from rbdgen_hw.logic import Inlined, any_of, cut, registered
from rbdgen_hw.operators import Round, Rounding


def has_second_pass(network: Network) -> bool:
    """Whether tasks of some function go through the pipelines twice."""
    return any(e.name == FEEDBACK for e in network.programs.exits)


def second_pass_exits(network: Network) -> dict[str, Exit]:
    """Where a task of each function leaves that goes through the pipelines twice, all of them in one program."""
    return {function: network.exit(function) for function in network.two_passes}


def repeats(network: Network, function: str | None = None) -> bool:
    """Whether tasks of ``function`` (default: of some function) go through the pipelines as often as they ask for."""
    repeated = network.repeated
    return repeated is not None and function in (None, repeated.name)


def repeated_exit(network: Network) -> Exit:
    """Where a task of a function that repeats leaves for good."""
    assert network.repeated is not None
    return network.exit(network.repeated.name)


def repeated_program(network: Network) -> str:
    """The program that every evaluation of a function that repeats goes through."""
    return network.exit(AGAIN).program


def count_word(network: Network, functions: Mapping[str, FunctionFormat]) -> int:
    """The word of a task of a function that repeats which says how many steps it asks for."""
    assert network.repeated is not None
    assert network.repeated.repeat is not None
    names = [word.name for word in functions[network.repeated.name].operands]
    # word 0 is the header
    return names.index(network.repeated.repeat.count.name) + 1


def coefficient_operands(network: Network) -> list[str]:
    """The operands that are coefficients of an integrator, in the order of its table."""
    return [word.name for word in network.operands.get(WEIGHTS, ())]


def initial_state(network: Network, operand: str) -> str | None:
    """The operand of the state that an operand of the integrator's begins with; None for one of no integrator."""
    for own, state in begin_words(network):
        if own == operand:
            return state
    return None


def converted(
    m: Module,
    platform: object,
    name: str,
    value: Value,
    source: Format,
    target: Format,
) -> tuple[Value, Value | None]:
    """``value`` in another format, by a submodule ``name`` of ``m`` if that differs, and whether it saturates, if it
    ever can."""
    if source == target:
        return value, None
    converter = _converter(source, target)
    longer = max(target.frac - source.frac, 0)
    instantiate(m, platform, name, converter)
    m.d.comb += converter.x.eq(value << longer)
    return converter.y, getattr(converter, "overflow", None)


def _converter(source: Format, target: Format) -> Round:
    """A rounding from one format to another; its argument has the finer binary point of the two."""
    longer = max(target.frac - source.frac, 0)
    drop = max(source.frac - target.frac, 0)
    half = (1 << drop) >> 1
    # rounding keeps the order of values: where both ends fit, everything does
    highest = ((source.maximum << longer) + half) >> drop
    lowest = ((source.minimum << longer) + half) >> drop
    may_overflow = highest > target.maximum or lowest < target.minimum
    # a rounding counts what it drops: equal ones are one module, wherever the point is
    whole = Format(target.width, 0)
    rounding = Rounding(drop, whole, may_overflow, overflow=SATURATE)
    return Round(source.width + longer, rounding)


def result_port(result: str) -> str:
    """The port of a loop at which a result of the pipelines arrives."""
    return f"result_{result}"


def operand_port(operand: str) -> str:
    """The port of a loop that offers an operand of the next start."""
    return f"operand_{operand}"


class Loop(Inlined):
    """A FIFO behind the exit ``name``: entries are a header, more ``fields`` (widths by name) and ``operands``.

    Ports of every loop, and what they mean:

    - ``begin``: the pipelines are in the phase in which a task may start;
    - ``start``: the task that waits longest is admitted; it must have the exit by which it leaves to itself;
    - ``chosen``: its operands are chosen, and it leaves the FIFO;
    - ``waiting_header`` and ``operand_<name>``: what it starts with, from the FIFO's head;
    - ``done``: a task leaves by the exit; with it come its ``header`` and ``result_<name>``, which have the formats
      ``results``.

    The user binds ``begin`` and ``chosen``, calls :meth:`admit`, binds the rest, and calls :meth:`store`.
    """

    def __init__(
        self,
        design: Design,
        name: str,
        operands: Mapping[str, Format],
        results: Mapping[str, Format],
        fields: Mapping[str, int],
        ports: Mapping[str, Member],
    ) -> None:
        self.design = design
        self.name = name
        self.operands = operands
        self.results = results
        self.widths = {"header": HEADER_BITS, **fields}
        members = {
            "begin": In(1),
            "start": Out(1),
            "chosen": In(1),
            "done": In(1),
            "header": In(HEADER_BITS),
            "waiting_header": Out(HEADER_BITS),
            **ports,
        }
        for operand, fmt in operands.items():
            port = operand_port(operand)
            members[port] = Out(signed(fmt.width))
        for result, fmt in results.items():
            port = result_port(result)
            members[port] = In(signed(fmt.width))
        super().__init__(members)
        # an inlined component's ports are signals of its user's module, where loops meet
        self.start.name = f"start_{name}"
        bits = sum(self._entry_widths())
        entries = exit_depth(design.plan, design.tasks, name)
        block = loop_in_block_memory(design.plan, name)
        self.queue = BypassFifo(bits, entries, block)

    def _entry_widths(self) -> list[int]:
        """Bits of the parts of an entry, fields first."""
        operands = [fmt.width for fmt in self.operands.values()]
        return [*self.widths.values(), *operands]

    @abstractmethod
    def admit(self, m: Module, platform: object) -> None:
        """Write the FIFO, and what says when its head starts."""

    @abstractmethod
    def store(self, m: Module, platform: object) -> None:
        """Write what makes an entry of a task that leaves by the exit."""

    def write(self, m: Module, platform: object) -> None:
        self.admit(m, platform)
        self.store(m, platform)

    def _instantiate_queue(self, m: Module, platform: object) -> dict[str, Value]:
        """Put the FIFO into ``m``, and bind what its head offers; the head's fields."""
        instantiate(m, platform, self.name, self.queue)
        parts = cut(self.queue.r_data, self._entry_widths())
        # not strict: the operands' parts stand behind the fields'
        fields = dict(zip(self.widths, parts, strict=False))
        words = parts[len(fields) :]
        offered = {"waiting_header": fields["header"]}
        for operand, word in zip(self.operands, words, strict=True):
            port = operand_port(operand)
            offered[port] = word.as_signed()
        self.bind(**offered)
        return fields

    def _converted(
        self,
        m: Module,
        platform: object,
        name: str,
        result: str,
        operand: str,
    ) -> tuple[Value, Value | None]:
        """A result in the format of the operand that it becomes, and whether it saturates, if it can."""
        value = getattr(self, result_port(result))
        formats = self.results[result], self.operands[operand]
        return converted(m, platform, name, value, *formats)

    def _write_entry(
        self,
        m: Module,
        lost: Sequence[Value],
        fields: Sequence[Value],
        values: Sequence[Value],
    ) -> None:
        """Write an entry when its task leaves by the exit, with a flag where something was ``lost``, and drop it when
        it starts again."""
        flagged = any_of(lost) << (FUNCTION_BITS + TAG_BITS)
        header = (self.header | flagged)[:HEADER_BITS]
        data = Cat(header, *fields, *values)
        done = self.done
        # on a large device the FIFO is far from where results leave
        if self.design.plan.schedule.device.loop_registers:
            data = registered(m, data, f"left_{self.name}")
            done = registered(m, done, f"done_{self.name}")
        m.d.comb += [
            self.queue.w_data.eq(data),
            self.queue.w_en.eq(done),
            self.queue.r_en.eq(self.chosen),
        ]


class FeedbackLoop(Loop):
    """From the first pass of a task to its second.

    ``available``: by function that takes two passes, its exit has room for results; ``meant``, by function: the task
    that waits longest is one of it. ``wanted``: a new task could start in the program of the second pass. It may if the
    loop is not ``first``: that leaves as many intervals to new tasks as
    :data:`rbdgen.machines.pipeline.mixes.MOST_YIELDS` from when something waits until nothing does, where the first
    pass has a program of its own (:func:`rbdgen.machines.pipeline.mixes.yields`), else none.
    """

    def __init__(self, design: Design) -> None:
        operands = {}
        results = {}
        self.sources: dict[str, str] = {}
        for operand, result in design.feedback.items():
            if result is not None:
                self.sources[operand] = result
                operands[operand] = design.input_format(operand)
                results[result] = design.output_format(result)
        self.functions = design.network.two_passes
        count = len(self.functions)
        ports = {"available": In(count), "wanted": In(1), "meant": Out(count), "first": Out(1)}
        super().__init__(design, FEEDBACK, operands, results, {}, ports)
        self.first.name = "feedback_first"

    def admit(self, m: Module, platform: object) -> None:
        self._instantiate_queue(m, platform)
        meant: Value = Const(1)
        if len(self.functions) > 1:
            code = self.waiting_header[:FUNCTION_BITS]
            formats = self.design.tasks.functions
            meant = Cat(*(code == formats[f].code for f in self.functions))
        self.bind(meant=meant)
        ready = Signal(name="feedback_ready")
        room = (self.available & meant).any()
        m.d.comb += ready.eq(self.queue.r_rdy & room)
        if not yields(self.design.network):
            m.d.comb += [
                self.first.eq(ready),
                self.start.eq(ready & self.begin),
            ]
            return
        yielded = Signal(range(MOST_YIELDS + 1), name="feedback_yielded")
        patient = Signal(name="feedback_patient")
        gives_way = patient & self.wanted
        m.d.comb += [
            patient.eq(yielded != MOST_YIELDS),
            self.first.eq(ready & ~patient),
            self.start.eq(ready & self.begin & ~gives_way),
        ]
        with m.If(~self.queue.r_rdy):
            m.d.sync += yielded.eq(0)
        with m.Elif(ready & self.begin & gives_way):
            m.d.sync += yielded.eq(yielded + 1)

    def store(self, m: Module, platform: object) -> None:
        values = []
        lost = []
        for operand, result in self.sources.items():
            name = f"convert_{operand}"
            value, overflow = self._converted(m, platform, name, result, operand)
            values.append(value)
            if overflow is not None:
                lost.append(overflow)
        self._write_entry(m, lost, [], values)


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
        # extended by zeros: the evaluation of number 0
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
                    # of the two conversions only one makes the next value
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
