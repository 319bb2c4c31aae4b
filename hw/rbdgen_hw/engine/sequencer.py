# amaranth: UnusedElaboratable=no
"""The sequencer: reads a program's words one after the other, rotates their addresses, and starts tasks.

A word takes three cycles from the memory to its issue. At the first word of an interval a waiting task of the function
that runs may start, if its results have room; without one the interval goes by for those that are under way. When
none is, the sequencer stands still, and the next task may be of another function.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import STAGE_BITS, Core
from rbdgen.machines.engine.loading import column_bits, columns, routine_parts
from rbdgen.machines.engine.program import Layout
from rbdgen.protocol.loading import DATA_BITS
from rbdgen.protocol.tasks import FUNCTION_BITS
from rbdgen_hw.engine.issue import TASKS, beat, issue
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import delayed, registered

PREPARING = 3
"""Cycles from a word's address to the cycle in which its addresses are rotated."""
STARTED = PREPARING + 1
"""Cycles from taking a task to telling cores that an interval begins with it."""


def routine_layout(core: Core) -> data.StructLayout:
    """What the sequencer is told of a routine."""
    fields = routine_parts(core)[1] | {"relevant": routine_parts(core)[2]["relevant"]}
    return data.StructLayout(fields)


class ProgramMemory(SharedComponent):
    """A program's words, written in columns; ``word`` is there two cycles after its ``address``. ``init``: what columns
    hold from the beginning."""

    def __init__(self, core: Core, init: Sequence[Sequence[int]]) -> None:
        self.core = core
        self.init = init
        self.bits = Layout(core).bits
        self.module_name = f"program_{self.bits}x{core.depth}"
        super().__init__(
            {
                "address": In(core.depth_bits),
                "word": Out(self.bits),
                "write": In(1),
                "write_address": In(core.depth_bits),
                "write_column": In(range(columns(self.bits))),
                "write_data": In(DATA_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # in parts of powers of two, which block memories have without logic behind them
        parts = []
        begin = 0
        while begin < self.core.depth:
            size = 1 << (self.core.depth - begin).bit_length() - 1
            parts.append(self._part(m, begin, size))
            begin += size
        word = parts[-1][1]
        for within, own in reversed(parts[:-1]):
            word = Mux(within, own, word)
        m.d.comb += self.word.eq(word)
        return m

    def _part(
        self,
        m: Module,
        begin: int,
        size: int,
    ) -> tuple[Value, Value]:
        """Words from number ``begin`` on: whether the last one that was asked for is among them, and that word."""
        words = []
        step = column_bits(self.bits)
        inside = (size - 1).bit_length()
        number = begin >> inside
        for k in range(columns(self.bits)):
            attributes = {"ram_style": "block", "no_rw_check": 1}
            init = self.init[k][begin : begin + size]
            memory = Memory(shape=step, depth=size, init=init, attrs=attributes)
            m.submodules[f"words{begin}_column{k}"] = memory
            writing, reading = memory.write_port(), memory.read_port()
            own = self.write_address[inside:] == number
            m.d.comb += [
                writing.en.eq(self.write & own & (self.write_column == k)),
                writing.addr.eq(self.write_address[:inside]),
                writing.data.eq(self.write_data),
                reading.addr.eq(self.address[:inside]),
            ]
            # behind a register of its own: block memories are slow, and far from each other
            words.append(
                registered(
                    m,
                    reading.data,
                    f"words{begin}_column{k}_read",
                    reset_less=True,
                )
            )
        within = delayed(
            m,
            self.address[inside:] == number,
            2,
            f"within{begin}_",
        )
        return within, Cat(*words)


class Sequencer(SharedComponent):
    """Plays routines. ``ready``: a task of the function ``code`` waits, whose ``routine`` is what the table has for it,
    and its results have room; ``start`` takes it, and whatever else of that function is ready. ``hold``: none that
    follows is to start before all others have left. ``beat`` is what it tells the cores."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.layout = Layout(core)
        self.module_name = f"sequencer_{core.lanes}x{core.banks}_{core.words}_{core.depth}"
        super().__init__(
            {
                "ready": In(1),
                "hold": In(1),
                "code": In(FUNCTION_BITS),
                "routine": In(routine_layout(core)),
                "start": Out(1),
                "idle": Out(1),
                "program_address": Out(core.depth_bits),
                "program_word": In(self.layout.bits),
                "rotating": In(range(core.words + 1)),
                "beat": Out(beat(core)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        self._play()
        self._rotate()
        self._issue()
        return m

    def _play(self) -> None:
        """The number of the next word, and what starts with it."""
        m, core, routine = self.m, self.core, self.routine
        running = Signal()
        place, last = Signal(core.depth_bits), Signal(core.depth_bits)
        first = Signal(core.depth_bits)
        code = Signal(FUNCTION_BITS)
        under_way, relevant = Signal(TASKS), Signal(TASKS)
        starts = Signal()
        at_first = Signal()
        fresh = Signal()
        at_last = place == last
        # of tasks that began, those whose stages are not all over
        alive = (under_way & relevant).any()
        follows = self.ready & ~self.hold & (self.code == code)
        with m.If(~running):
            m.d.comb += [self.idle.eq(1), starts.eq(self.ready)]
            with m.If(self.ready):
                m.d.sync += [
                    running.eq(1),
                    place.eq(routine.start),
                    first.eq(routine.start),
                    last.eq(routine.last),
                    code.eq(self.code),
                    relevant.eq(routine.relevant),
                    under_way.eq(1),
                ]
        with m.Elif(at_last):
            m.d.comb += starts.eq(follows)
            m.d.sync += [
                place.eq(first),
                under_way.eq(Cat(starts, under_way[:-1])),
                running.eq(starts | alive),
            ]
        with m.Else():
            m.d.sync += place.eq(place + 1)
        m.d.sync += [
            at_first.eq(starts | (running & at_last & alive)),
            fresh.eq(~running),
        ]
        m.d.comb += [self.program_address.eq(place), self.start.eq(starts)]
        # beside the word that was read, on its way to where addresses are rotated
        self.active = delayed(
            m,
            running,
            PREPARING,
            "active_",
        )
        self.at_first = delayed(
            m,
            at_first,
            PREPARING - 1,
            "at_first_",
        )
        self.fresh = delayed(
            m,
            fresh,
            PREPARING - 1,
            "fresh_",
        )

    def _rotate(self) -> None:
        """Numbers of the interval, and where addresses begin in it."""
        m, core = self.m, self.core
        # where words that rotate begin, and where they do for an address beyond the last word
        begin = Signal(core.address_bits)
        turned = Signal(core.address_bits)
        m.d.sync += [
            begin.eq(core.words - self.rotating),
            turned.eq(core.words - 2 * self.rotating),
        ]
        self.high, self.low = Signal(core.address_bits), Signal(core.address_bits)
        following = self.high + 1
        # words are a power of two: behind the last one there is a carry
        anew = self.fresh | following[core.address_bits]
        self.number = Signal(STAGE_BITS)
        after = (self.number + 1)[:STAGE_BITS]
        m.d.sync += [
            self.beat.first.eq(self.at_first),
            self.beat.fresh.eq(self.fresh),
            self.beat.begins.eq(after),
        ]
        with m.If(self.at_first):
            m.d.sync += [
                self.high.eq(Mux(anew, begin, following)),
                self.low.eq(Mux(anew, turned, self.low + 1)),
                self.number.eq(after),
            ]

    def _rotated(self, address: Value, rotates: Value | int = 1) -> Value:
        """The word that an address means."""
        bits = self.core.address_bits
        total = Signal(bits + 1, name="total")
        self.m.d.comb += total.eq(address + self.high)
        below = (address + self.low)[:bits]
        # words are a power of two: what goes beyond them carries
        turned = Mux(total[bits], below, total[:bits])
        return Mux(rotates, turned, address)

    def _issue(self) -> None:
        """A word's fields, with addresses rotated and stages as numbers of tasks."""
        m, core = self.m, self.core
        word = registered(
            m,
            self.program_word,
            "word",
            reset_less=True,
        )
        fields: dict[str, Value] = {}
        for name, (at, width) in self.layout.fields.items():
            fields[name] = word[at : at + width]
        active = self.active
        new = Signal(issue(core))

        def task(stage: Value) -> Value:
            return (self.number - stage)[:STAGE_BITS]

        for k in range(core.lanes):
            own, name = new.lanes[k], f"lane{k}_"
            m.d.comb += [
                own.x_address.eq(
                    self._rotated(fields[name + "x_address"], fields[name + "x_rotates"])
                ),
                own.x_bank.eq(fields[name + "x_bank"]),
                own.y_address.eq(
                    self._rotated(fields[name + "y_address"], fields[name + "y_rotates"])
                ),
                own.y_bank.eq(fields[name + "y_bank"]),
                own.last.eq(fields[name + "last"] & active),
                own.task.eq(task(fields[name + "stage"])),
            ]
            if not core.lean:
                m.d.comb += own.y_operand.eq(fields[name + "y_operand"])
            for part, _ in own.control.shape():
                m.d.comb += own.control[part].eq(fields[name + part])
        for b in range(core.banks):
            own, name = new.banks[b], f"bank{b}_"
            m.d.comb += [
                own.write.eq(fields[name + "write"] & active),
                own.source.eq(fields[name + "source"]),
                own.address.eq(self._rotated(fields[name + "address"])),
            ]
        m.d.comb += [
            new.call.eq(fields["call"] & active),
            new.call_inverse.eq(fields["call_inverse"]),
            new.call_shift.eq(fields["call_shift"]),
            new.call_task.eq(task(fields["call_stage"])),
        ]
        if not core.lean:
            m.d.comb += [
                new.take_write.eq(fields["take_write"] & active),
                new.take_address.eq(self._rotated(fields["take_address"])),
                new.send_address.eq(self._rotated(fields["send_address"], fields["send_rotates"])),
                new.send_bank.eq(fields["send_bank"]),
            ]
        m.d.sync += [
            self.beat.issue.eq(new),
            self.beat.number.eq(self.number),
            self.beat.take.eq(fields["take"] & active),
            self.beat.send.eq(Mux(active, fields["send"], 0)),
            self.beat.sender.eq(task(fields[self.layout.sending["stage"]])),
        ]
