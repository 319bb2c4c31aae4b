# amaranth: UnusedElaboratable=no
"""What goes back into the pipelines: the FIFO of a loop, and the loop from the first pass of a task to its second.

What waits in a loop starts before any new task of its program may, but for the second pass, which leaves a few turns
to new tasks. Credits of the exit that leads into the FIFO guarantee its entries' room.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib.wiring import In, Member, Out

from rbdgen.compiler import Design
from rbdgen.ir.number_formats import Format
from rbdgen.layout.network import FEEDBACK
from rbdgen.protocol.tasks import FUNCTION_BITS, HEADER_BITS, TAG_BITS
from rbdgen.schedule.mixes import MOST_YIELDS, yields
from rbdgen.schedule.queues import exit_depth, loop_in_block_memory
from rbdgen_hw.conversion import converted
from rbdgen_hw.delays import registered
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.inlined import Inlined
from rbdgen_hw.library import instantiate
from rbdgen_hw.logic import any_of, cut


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
        fields = dict(zip(self.widths, parts, strict=False))
        words = parts[len(fields) :]
        offered = {"waiting_header": fields["header"]}
        for operand, word in zip(self.operands, words, strict=True):
            port = operand_port(operand)
            offered[port] = word.as_signed()
        self.bind(**offered)
        return fields

    def _converted(
        self, m: Module, platform: object, name: str, result: str, operand: str
    ) -> tuple[Value, Value | None]:
        """A result in the format of the operand that it becomes, and whether it saturates, if it can."""
        value = getattr(self, result_port(result))
        formats = self.results[result], self.operands[operand]
        return converted(m, platform, name, value, *formats)

    def _write_entry(
        self, m: Module, lost: Sequence[Value], fields: Sequence[Value], values: Sequence[Value]
    ) -> None:
        """Write an entry when its task leaves by the exit, with a flag where something was ``lost``, and drop it when
        it starts again."""
        flagged = any_of(lost) << (FUNCTION_BITS + TAG_BITS)
        header = (self.header | flagged)[:HEADER_BITS]
        data = Cat(header, *fields, *values)
        done = self.done
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
    that waits longest is one of it. ``wanted``: a new task could start in the
    program of the second pass. It may if the loop is not ``first``: that leaves as many turns to new tasks as
    :data:`rbdgen.schedule.mixes.MOST_YIELDS` from when something waits until nothing does, where the first pass has a
    program of its own (:func:`rbdgen.schedule.mixes.yields`), else none.
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
