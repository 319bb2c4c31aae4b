# amaranth: UnusedElaboratable=no
"""An engine: streams of tasks and results around a sequencer and a datapath, and what is loaded before it runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import STAGE_BITS, Core
from rbdgen.machines.engine.loading import (
    ADDRESS_BITS,
    COLUMN_BITS,
    COLUMN_NUMBER_BITS,
    CONSTANT,
    PART_BITS,
    PROGRAM,
    ROTATING,
    ROUTINE,
    TARGET_BITS,
    routine_parts,
)
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, TAG_BITS, Flag
from rbdgen_hw.engine.datapath import Datapath
from rbdgen_hw.engine.sequencer import HEAD, TASKS, ProgramMemory, Sequencer
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import registered

QUEUE = 16
"""Tasks whose words are all there, at most."""
CODES = 1 << FUNCTION_BITS
SETTLING = 8
"""Cycles for which the sequencer has stood still when its last results are in their FIFO."""


class EngineCore(SharedComponent):
    """A core with its sequencer. Streams have a header or a word in each beat, as the protocol has them. ``load``
    writes ``load_data`` to an address of a target (:mod:`rbdgen.machines.engine.loading`), while no task is there."""

    def __init__(self, core: Core, name: str = "") -> None:
        self.core = core
        self.module_name = name
        beat = stream.Signature(core.width)
        super().__init__(
            {
                "i": In(beat),
                "o": Out(beat),
                "idle": Out(1),
                "load": In(1),
                "load_target": In(TARGET_BITS),
                "load_address": In(ADDRESS_BITS),
                "load_data": In(COLUMN_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m, self.platform = m, platform
        core = self.core
        self.datapath = Datapath(core)
        self.sequencer = Sequencer(core)
        self.program = ProgramMemory(core)
        instantiate(m, platform, "datapath", self.datapath)
        instantiate(m, platform, "sequencer", self.sequencer)
        instantiate(m, platform, "program", self.program)
        m.submodules.words = self.words = SyncFIFOBuffered(width=core.width, depth=core.words)
        m.submodules.queue = self.queue = SyncFIFO(width=FUNCTION_BITS + TAG_BITS + 1, depth=QUEUE)
        m.submodules.results = self.results = SyncFIFOBuffered(width=core.width, depth=core.results)
        self._load()
        self._take_tasks()
        self._start()
        self._send()
        return m

    def _load(self) -> None:
        """Program memory, constants, the table of routines and the number of rotating words."""
        m, core, program, datapath = self.m, self.core, self.program, self.datapath
        target = self.load_target
        m.d.comb += [
            program.write.eq(self.load & (target == PROGRAM)),
            program.write_column.eq(self.load_address[:COLUMN_NUMBER_BITS]),
            program.write_address.eq(self.load_address[COLUMN_NUMBER_BITS:]),
            program.write_data.eq(self.load_data),
            program.address.eq(self.sequencer.program_address),
            self.sequencer.program_word.eq(program.word),
            datapath.load.eq(self.load & (target == CONSTANT)),
            datapath.load_bank.eq(self.load_address[: core.bank_bits]),
            datapath.load_address.eq(self.load_address[core.bank_bits :]),
            datapath.load_data.eq(self.load_data[: core.width]),
            datapath.issue.eq(self.sequencer.issue),
        ]
        rotating = Signal(range(core.words + 1), init=core.words)
        with m.If(self.load & (target == ROTATING)):
            m.d.sync += rotating.eq(self.load_data)
        m.d.comb += self.sequencer.rotating.eq(rotating)
        self.tables = []
        for part, fields in enumerate(routine_parts(core)):
            table = Memory(shape=data.StructLayout(dict(fields)), depth=CODES, init=[])
            m.submodules[f"routines{part}"] = table
            writing = table.write_port()
            own = self.load_address[:PART_BITS] == part
            m.d.comb += [
                writing.en.eq(self.load & (target == ROUTINE) & own),
                writing.addr.eq(self.load_address[PART_BITS:]),
                writing.data.as_value().eq(self.load_data),
            ]
            self.tables.append(table)

    def _routine(self, code: Value, part: int) -> data.View:
        """A part of the entry of the table for a function's code."""
        reading = self.tables[part].read_port(domain="comb")
        self.m.d.comb += reading.addr.eq(code)
        return reading.data

    def _take_tasks(self) -> None:
        """A task's words go into a FIFO; when its last one is there the task waits. One of no function waits as well,
        for its answer."""
        m, core = self.m, self.core
        left = Signal(core.address_bits + 1)
        code, tag, known = Signal(FUNCTION_BITS), Signal(TAG_BITS), Signal()
        beat = self.i.payload
        own_code = beat[:FUNCTION_BITS]
        own_tag = beat[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        routine = self._routine(own_code, 0)
        at_header = left == 0
        taken = self.i.valid & self.i.ready
        operands = Mux(routine.known, routine.operands, 0)
        whole = taken & Mux(at_header, operands == 0, left == 1)
        m.d.comb += [
            self.i.ready.eq(self.queue.w_rdy & (at_header | self.words.w_rdy)),
            self.words.w_en.eq(taken & ~at_header),
            self.words.w_data.eq(beat),
            self.queue.w_en.eq(whole),
            self.queue.w_data.eq(
                Mux(at_header, Cat(own_code, own_tag, routine.known), Cat(code, tag, known))
            ),
        ]
        with m.If(taken):
            m.d.sync += left.eq(Mux(at_header, operands, left - 1))
            with m.If(at_header):
                m.d.sync += [code.eq(own_code), tag.eq(own_tag), known.eq(routine.known)]

    def _start(self) -> None:
        """Offer the task at the head to the sequencer; count the room of its results."""
        m, core, sequencer = self.m, self.core, self.sequencer
        # what waits is taken from its FIFO, then its routine is looked up, then it is told whether there is room
        offered, known = Signal(), Signal()
        self.next_head = Signal(HEAD)
        taken = Signal()
        m.d.comb += self.queue.r_en.eq(~offered)
        with m.If(~offered):
            m.d.sync += [
                offered.eq(self.queue.r_rdy),
                Cat(self.next_head, known).eq(self.queue.r_data),
            ]
        with m.Elif(taken):
            m.d.sync += offered.eq(0)
        looked_up = registered(m, offered & ~taken, "looked_up")
        compared = registered(m, looked_up & ~taken, "compared")
        own = self._routine(self.next_head.code, 1).as_value()
        routine = data.View(
            data.StructLayout(dict(routine_parts(core)[1])),
            registered(
                m,
                own,
                "routine",
                True,
            ),
        )
        results = self._routine(self.next_head.code, 2).results
        needed = registered(
            m,
            results,
            "needed",
            reset_less=True,
        )
        free = Signal(range(core.results + 1), init=core.results)
        self.refuse = Signal()
        has_room = registered(m, free >= Mux(known, needed, 1), "has_room")
        waiting = offered & compared
        m.d.comb += [
            sequencer.waiting.eq(waiting & known),
            sequencer.next.eq(self.next_head),
            sequencer.routine.eq(routine),
            sequencer.room.eq(has_room),
            taken.eq(sequencer.start | self.refuse),
        ]
        leaves = self.o.valid & self.o.ready
        # a cycle late, which only makes less room than there is
        started = registered(m, sequencer.start, "started")
        refused = registered(m, self.refuse, "refused")
        spent = Mux(
            started,
            registered(
                m,
                needed,
                "needed_later",
                True,
            ),
            refused,
        )
        m.d.sync += free.eq(free + registered(m, leaves, "leaves") - spent)
        quiet = registered(m, sequencer.idle, "quiet")
        for k in range(SETTLING):
            quiet = registered(m, quiet & sequencer.idle, f"quiet_{k}")
        # behind everything that came before it has left the sequencer
        m.d.comb += [
            self.refuse.eq(waiting & ~known & quiet & sequencer.idle & has_room),
            self.idle.eq(sequencer.idle & ~offered & ~self.queue.r_rdy & quiet),
        ]
        m.d.comb += self.words.r_en.eq(sequencer.take)
        word = registered(
            m,
            self.words.r_data,
            "operand_1",
            reset_less=True,
        )
        m.d.comb += self.datapath.operand.eq(
            registered(
                m,
                word,
                "operand_2",
                reset_less=True,
            )
        )

    def _send(self) -> None:
        """Headers and words into the FIFO of results."""
        m, sequencer = self.m, self.sequencer
        flags = Signal(TASKS)
        m.d.sync += flags.eq((flags & ~sequencer.begin) | self.datapath.lost)
        heads = Memory(shape=HEAD, depth=TASKS, init=[])
        m.submodules.heads = heads
        writing, reading = heads.write_port(), heads.read_port(domain="comb")
        number = Signal(STAGE_BITS)
        for k in range(TASKS):
            with m.If(sequencer.begin[k]):
                m.d.comb += number.eq(k)
        m.d.comb += [
            writing.en.eq(sequencer.begin.any()),
            writing.addr.eq(number),
            writing.data.eq(sequencer.begin_head),
            reading.addr.eq(sequencer.sender),
        ]
        lost = flags.bit_select(sequencer.sender, 1)
        own = reading.data
        overflow = Mux(lost, Const(int(Flag.OVERFLOW), FLAG_BITS), 0)
        answered = Cat(own.code, own.tag, overflow)
        refused = Cat(self.next_head.code, self.next_head.tag, Const(int(Flag.FUNCTION), FLAG_BITS))
        header = Mux(self.refuse, refused, answered)
        header_1 = registered(
            m,
            header,
            "header",
            reset_less=True,
        )
        is_header = registered(m, sequencer.send_header | self.refuse, "is_header")
        is_word = registered(m, sequencer.send_word, "is_word")
        m.d.comb += [
            self.results.w_en.eq(is_header | is_word),
            self.results.w_data.eq(Mux(is_header, header_1, self.datapath.sent.as_unsigned())),
            self.o.valid.eq(self.results.r_rdy),
            self.o.payload.eq(self.results.r_data),
            self.results.r_en.eq(self.o.ready),
        ]
