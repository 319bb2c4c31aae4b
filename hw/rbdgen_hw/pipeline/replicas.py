# amaranth: UnusedElaboratable=no
"""Several accelerators behind one stream, in rows of tasks and rows of results (:mod:`rbdgen.protocol.tasks`).

A row's tasks are dealt to the accelerators lane by lane, and inside a task's tag is the number of a place that is kept
for its result in its lane (:class:`Reorder`). Results go to their places as they come, in any order. A row leaves when
all of its results are there, with the tags that its tasks came with, behind all rows before it: order is that of the
tasks, whatever their functions.

Nothing can wait in a circle: a row comes in only if there is a place for each of its results, so that an accelerator
never waits for its results to be taken, and finishes whatever it was given; so the oldest row under way is whole at
some time, and leaves as soon as the sink takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.machines.pipeline.queues import beat_rows
from rbdgen.machines.pipeline.replicas import (
    replica_name,
    result_columns,
    result_lengths,
    row_depth,
    row_entry_bits,
    task_lengths,
)
from rbdgen.protocol.tasks import CALIBRATE, FUNCTION_BITS, TAG_BITS, Packing, TaskFormat
from rbdgen_hw.fifo import BypassFifo, Credits, StreamRegister
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.logic import any_of, cut
from rbdgen_hw.pipeline.accelerator import Accelerator


def lanes(packing: Packing, payload: Value) -> tuple[list[Value], list[Value]]:
    """The beats in the lanes of a stream's beat, and whether there are any: in a single lane always."""
    if packing.lanes == 1:
        return [payload[: packing.beat_bits]], [Const(1)]
    widths = [packing.lane_bits] * packing.lanes
    parts = cut(payload, widths)
    beats = [part[: packing.beat_bits] for part in parts]
    keeps = [part[packing.beat_bits] for part in parts]
    return beats, keeps


class RowEnds:
    """Counts the beats of rows whose packets have the function codes and are there as their first beat says.

    ``first``, ``last``: the present beat is the first or the last one of its row. ``holds``: by lane, whether a packet
    has a beat in it. ``lengths``: beats of a packet by its code; all others have one.
    """

    def __init__(self, lengths: Mapping[int, int], count: int, name: str) -> None:
        self.lengths = lengths
        self.count = count
        self.name = name
        self.most = max(lengths.values())
        self.first = Signal(name=f"{name}_first")
        self.last = Signal(name=f"{name}_last")
        self.holds = [Signal(name=f"{name}_holds{k}") for k in range(count)]

    def write(
        self,
        m: Module,
        codes: Sequence[Value],
        keeps: Sequence[Value],
        moves: Value,
    ) -> None:
        """Write it into ``m``; ``codes`` and ``keeps`` are those of the row's first beat while that is present, and
        ``moves`` says that a beat goes by."""
        inside = Signal(name=f"{self.name}_inside")
        follows = []
        for k, (code, keep) in enumerate(zip(codes, keeps, strict=True)):
            # from the lowest bit on: whether there is the present beat, the next one, ...
            begins = [keep]
            for beats in range(1, self.most):
                begins.append(keep & self._longer(code, beats))
            left = Signal(self.most, name=f"{self.name}_left{k}")
            present = Signal(self.most, name=f"{self.name}_present{k}")
            m.d.comb += [
                present.eq(Mux(inside, left, Cat(*begins))),
                self.holds[k].eq(present[0]),
            ]
            with m.If(moves):
                m.d.sync += left.eq(present >> 1)
            follows.append(present[1:].any())
        m.d.comb += [
            self.first.eq(~inside),
            self.last.eq(~any_of(follows)),
        ]
        with m.If(moves):
            m.d.sync += inside.eq(~self.last)

    def _longer(self, code: Value, beats: int) -> Value:
        """Whether a packet with this function code has more than so many beats."""
        longer = [code == known for known, length in self.lengths.items() if length > beats]
        return any_of(longer)


def code_of(beat: Value) -> Value:
    """The function code in a packet's first beat."""
    return beat[:FUNCTION_BITS]


TAG = slice(FUNCTION_BITS, FUNCTION_BITS + TAG_BITS)
"""Where a header has its tag."""


class Replicas(SharedComponent):
    """Ports ``i`` (stream of rows of tasks) and ``o`` (stream of rows of results)."""

    module_name = ""

    def __init__(self, design: Design) -> None:
        self.design = design
        super().__init__(
            {
                "i": In(stream.Signature(design.tasks.task.row_bits)),
                "o": Out(stream.Signature(design.tasks.result.row_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.design.tasks
        distributor = Distributor(tasks)
        collector = Collector(tasks, row_depth(self.design.plan, tasks))
        instantiate(m, platform, "distributor", distributor)
        instantiate(m, platform, "collector", collector)
        forward(m, self.i, distributor.i)
        forward(m, collector.o, self.o)
        m.d.comb += [
            distributor.room.eq(collector.room),
            collector.row.eq(distributor.row),
            collector.entry.eq(distributor.entry),
            collector.take.eq(distributor.take),
        ]
        for k in range(tasks.replicas):
            accelerator = Accelerator(self.design, "accelerator")
            instantiate(m, platform, replica_name(k), accelerator)
            forward(m, getattr(distributor, f"o{k}"), accelerator.i)
            forward(m, accelerator.o, getattr(collector, f"i{k}"))
            place = getattr(distributor, f"place{k}")
            m.d.comb += place.eq(getattr(collector, f"place{k}"))
        return m


class Distributor(SharedComponent):
    """Deals the rows of the stream ``i`` to the streams ``o0``, ``o1``, ..., a cycle later.

    A row begins while there is ``room``. ``row`` strobes then, with the ``entry`` that is to be kept of it: by lane
    whether there is a task, its function's code and its tag, and whether it loads a parameter. ``take`` says by lane
    that a result will need a place: the one whose number is in ``place0``, ``place1``, ..., and goes into the task as
    its tag. A task that loads a parameter goes from lane 0 to all accelerators.
    """

    module_name = "distributor"

    def __init__(self, tasks: TaskFormat) -> None:
        self.tasks = tasks
        replicas = tasks.replicas
        beats = stream.Signature(tasks.task.beat_bits)
        super().__init__(
            {
                "i": In(stream.Signature(tasks.task.row_bits)),
                **{f"o{k}": Out(beats) for k in range(replicas)},
                **{f"place{k}": In(TAG_BITS) for k in range(replicas)},
                "room": In(1),
                "row": Out(1),
                "entry": Out(row_entry_bits(tasks)),
                "take": Out(replicas),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.tasks
        beats, keeps = lanes(tasks.task, self.i.payload)
        codes = [code_of(beat) for beat in beats]
        accept = Signal()
        ends = RowEnds(task_lengths(tasks), tasks.replicas, "row")
        ends.write(m, codes, keeps, accept)
        load = self._load(m, ends, codes[0], keeps[0], accept)
        free: list[Value] = [self.room | ~ends.first]
        kept = []
        for k, (beat, keep) in enumerate(zip(beats, keeps, strict=True)):
            register = StreamRegister(tasks.task.beat_bits)
            instantiate(m, platform, f"register{k}", register)
            forward(m, register.o, getattr(self, f"o{k}"))
            free.append(register.i.ready)
            sent = beat if k == 0 else Mux(load, beats[0], beat)
            place = getattr(self, f"place{k}")
            # only a packet's first beat has a header
            tag = Mux(ends.first, place, sent[TAG])
            given = keep | load
            m.d.comb += [
                register.i.payload.eq(Cat(code_of(sent), tag, sent[TAG.stop :])),
                register.i.valid.eq(accept & given),
                self.take[k].eq(self.row & given),
            ]
            kept += [keep, codes[k], beat[TAG]]
        if tasks.parameters:
            kept.append(load)
        m.d.comb += [
            self.i.ready.eq(Cat(*free).all()),
            accept.eq(self.i.valid & self.i.ready),
            self.row.eq(accept & ends.first),
            self.entry.eq(Cat(*kept)),
        ]
        return m

    def _load(
        self,
        m: Module,
        ends: RowEnds,
        code: Value,
        keep: Value,
        accept: Value,
    ) -> Value:
        """Whether the present row loads a parameter, as lane 0 says."""
        if not self.tasks.parameters:
            return Const(0)
        held = Signal(name="held_load")
        load = Signal(name="load")
        asked = keep & (code == CALIBRATE)
        m.d.comb += load.eq(Mux(ends.first, asked, held))
        with m.If(accept):
            m.d.sync += held.eq(load)
        return load


class Collector(SharedComponent):
    """Puts the results of the streams ``i0``, ``i1``, ... into rows for the stream ``o``, in the order of the tasks'.

    ``row``, ``entry``, ``take``, ``place0``, ``place1``, ... and ``room`` are those of :class:`Distributor`. Up to
    ``depth`` rows, a power of two, are under way.
    """

    module_name = "collector"

    def __init__(self, tasks: TaskFormat, depth: int) -> None:
        self.tasks = tasks
        self.depth = depth
        replicas = tasks.replicas
        beats = stream.Signature(tasks.result.beat_bits)
        super().__init__(
            {
                **{f"i{k}": In(beats) for k in range(replicas)},
                **{f"place{k}": Out(TAG_BITS) for k in range(replicas)},
                "o": Out(stream.Signature(tasks.result.row_bits)),
                "room": Out(1),
                "row": In(1),
                "entry": In(row_entry_bits(tasks)),
                "take": In(replicas),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.tasks
        credits = Credits(self.depth)
        rows = BypassFifo(row_entry_bits(tasks), self.depth)
        instantiate(m, platform, "credits", credits)
        instantiate(m, platform, "rows", rows)
        advance, leaves = Signal(), Signal()
        m.d.comb += [
            rows.w_data.eq(self.entry),
            rows.w_en.eq(self.row),
            rows.r_en.eq(leaves),
            credits.take.eq(self.row),
            credits.give.eq(leaves),
            self.room.eq(credits.available),
        ]
        # the row that leaves next
        kept = cut(rows.r_data, [1, FUNCTION_BITS, TAG_BITS] * tasks.replicas)
        keeps, codes, tags = kept[0::3], kept[1::3], kept[2::3]
        load = rows.r_data[-1] if tasks.parameters else Const(0)
        ends = RowEnds(result_lengths(tasks), tasks.replicas, "row")
        ends.write(m, codes, keeps, advance)
        beat = Signal(range(ends.most))
        with m.If(advance):
            m.d.sync += beat.eq(Mux(ends.last, 0, beat + 1))
        there: list[Value] = [rows.r_rdy]
        parts = []
        for k in range(tasks.replicas):
            awaited = keeps[k] | load
            lane = Reorder(tasks, self.depth)
            instantiate(m, platform, f"lane{k}", lane)
            forward(m, getattr(self, f"i{k}"), lane.i)
            place = getattr(self, f"place{k}")
            m.d.comb += [
                lane.take.eq(self.take[k]),
                place.eq(lane.place),
                lane.beat.eq(beat),
                lane.read.eq(advance),
                lane.leave.eq(leaves & awaited),
            ]
            there.append(lane.whole | ~awaited)
            parts += self._sent(m, lane.payload, ends, k, tags[k], advance)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(advance)
        m.d.comb += [
            advance.eq(Cat(*there).all() & (~self.o.valid | self.o.ready)),
            leaves.eq(advance & ends.last),
            self.o.payload.eq(Cat(*parts)),
        ]
        return m

    def _sent(
        self,
        m: Module,
        beat: Value,
        ends: RowEnds,
        lane: int,
        tag: Value,
        advance: Value,
    ) -> list[Value]:
        """A lane of the beat that is offered: in a packet's first the task's own tag, and above each whether it is
        one. ``beat`` is what was read as the row went on (``advance``)."""
        holds = Signal(name=f"sent_holds{lane}")
        first = Signal(name=f"sent_first{lane}")
        own = Signal(TAG_BITS, name=f"sent_tag{lane}")
        # along with what is read, which memory gives a cycle later
        with m.If(advance):
            m.d.sync += [
                holds.eq(ends.holds[lane]),
                first.eq(ends.first),
                own.eq(tag),
            ]
        shown = Mux(first, own, beat[TAG])
        return [code_of(beat), shown, beat[TAG.stop :], holds]


class Reorder(SharedComponent):
    """Keeps up to ``depth`` results of one accelerator, a power of two, and gives them in the order in which their
    places were taken.

    ``take`` takes a place, the one whose number is ``place``. A result on the stream ``i``, which never stalls, has
    that number for its tag, and comes in any order. ``whole``: all of the result in the oldest place is there.
    ``read`` reads its beat of number ``beat``, which is on ``payload`` from the next cycle until another is read, and
    ``leave`` gives the place back. Whoever takes places guarantees that there are never more than ``depth``.
    """

    module_name = "reorder"

    def __init__(self, tasks: TaskFormat, depth: int) -> None:
        self.tasks = tasks
        self.depth = depth
        self.lengths = result_lengths(tasks)
        self.most = max(self.lengths.values())
        self.turn_bits = (self.most - 1).bit_length()
        """Bits of a beat's number; none where a result is one beat."""
        super().__init__(
            {
                "i": In(stream.Signature(tasks.result.beat_bits)),
                "take": In(1),
                "place": Out(TAG_BITS),
                "whole": Out(1),
                "beat": In(self.turn_bits or 1),
                "read": In(1),
                "payload": Out(tasks.result.beat_bits),
                "leave": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = (self.depth - 1).bit_length()
        # the depth is a power of two, so that both wrap by themselves
        newest, oldest = Signal(bits), Signal(bits)
        # by place, whether its result is there
        there = Signal(self.depth)
        m.d.comb += [
            self.place.eq(newest),
            self.i.ready.eq(1),
        ]
        with m.If(self.take):
            m.d.sync += newest.eq(newest + 1)
        with m.If(self.leave):
            m.d.sync += oldest.eq(oldest + 1)
        place, turn, final = self._incoming(m, bits)
        self._store(m, Cat(turn, place), Cat(self.beat[: self.turn_bits], oldest))
        came, left = Signal(self.depth), Signal(self.depth)
        m.d.comb += [
            came.eq(final << place),
            left.eq(self.leave << oldest),
            self.whole.eq(there.bit_select(oldest, 1)),
        ]
        m.d.sync += there.eq((there | came) & ~left)
        return m

    def _incoming(self, m: Module, bits: int) -> tuple[Value, Signal, Value]:
        """Of the beat that comes: its result's place, its number in that, and whether it is the last."""
        ends = RowEnds(self.lengths, 1, "result")
        ends.write(m, [code_of(self.i.payload)], [Const(1)], self.i.valid)
        named = self.i.payload[TAG.start : TAG.start + bits]
        held = Signal(bits)
        turn = Signal(self.turn_bits)
        place = Mux(ends.first, named, held)
        with m.If(self.i.valid):
            m.d.sync += [
                held.eq(place),
                turn.eq(Mux(ends.last, 0, turn + 1)),
            ]
        return place, turn, self.i.valid & ends.last

    def _store(self, m: Module, written: Value, read: Value) -> None:
        """The memory of results, a row for each beat, as wide as the widest that stands at each position."""
        columns = result_columns(self.tasks)
        rows = beat_rows(self.most, self.depth)
        # a place is never read in the cycle in which it is written: synthesis need not care what comes of that
        attributes = {"ram_style": "block", "no_rw_check": 1}
        storage = Memory(shape=sum(columns), depth=rows, init=[], attrs=attributes)
        m.submodules.storage = storage
        writing = storage.write_port()
        reading = storage.read_port()
        places = self.tasks.result.places
        words = cut(self.i.payload, places)
        stored = [word[:width] for word, width in zip(words, columns, strict=True)]
        sent = []
        for word, place in zip(cut(reading.data, columns), places, strict=True):
            sent += [word, Const(0, place - len(word))]
        m.d.comb += [
            writing.addr.eq(written),
            writing.data.eq(Cat(*stored)),
            writing.en.eq(self.i.valid),
            reading.addr.eq(read),
            reading.en.eq(self.read),
            self.payload.eq(Cat(*sent)),
        ]
