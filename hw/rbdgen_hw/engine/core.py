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
    PROGRAM,
    ROTATING,
    ROUTINE,
    TARGET_BITS,
    routine_bits,
    routine_fields,
)
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, TAG_BITS, Flag
from rbdgen_hw.engine.datapath import Datapath
from rbdgen_hw.engine.sequencer import TASKS, ProgramMemory, Sequencer, head
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import registered

QUEUE = 16
"""Tasks whose words are all there, at most."""
CODES = 1 << FUNCTION_BITS


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
        instantiate(
            m,
            platform,
            "datapath",
            self.datapath,
        )
        instantiate(
            m,
            platform,
            "sequencer",
            self.sequencer,
        )
        instantiate(
            m,
            platform,
            "program",
            self.program,
        )
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
        parts = -(-routine_bits(core) // COLUMN_BITS)
        for part in range(parts):
            bits = min(COLUMN_BITS, routine_bits(core) - part * COLUMN_BITS)
            table = Memory(shape=bits, depth=CODES, init=[])
            m.submodules[f"routines{part}"] = table
            writing = table.write_port()
            m.d.comb += [
                writing.en.eq(self.load & (target == ROUTINE) & (self.load_address[0] == part)),
                writing.addr.eq(self.load_address[1:]),
                writing.data.eq(self.load_data),
            ]
            self.tables.append(table)

    def _routine(self, code: Value) -> data.View:
        """The entry of the table for a function's code."""
        parts = []
        for table in self.tables:
            reading = table.read_port(domain="comb")
            self.m.d.comb += reading.addr.eq(code)
            parts.append(reading.data)
        layout = data.StructLayout(dict(routine_fields(self.core)))
        return data.View(layout, Cat(*parts))

    def _take_tasks(self) -> None:
        """A task's words go into a FIFO; when its last one is there the task waits. One of no function waits as well,
        for its answer."""
        m, core = self.m, self.core
        left = Signal(core.address_bits + 1)
        code, tag, known = Signal(FUNCTION_BITS), Signal(TAG_BITS), Signal()
        beat = self.i.payload
        own_code = beat[:FUNCTION_BITS]
        own_tag = beat[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        routine = self._routine(own_code)
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
        waiting, known = self.queue.r_rdy, self.queue.r_data[-1]
        self.next_head = data.View(head(core), self.queue.r_data[:-1])
        routine = self._routine(self.next_head.code)
        free = Signal(range(core.results + 1), init=core.results)
        self.refuse = Signal()
        has_room = free >= routine.results
        m.d.comb += [
            sequencer.waiting.eq(waiting & known),
            sequencer.next.eq(self.next_head),
            sequencer.routine.eq(routine.as_value()),
            sequencer.room.eq(has_room),
            self.queue.r_en.eq(sequencer.start | self.refuse),
        ]
        leaves = self.o.valid & self.o.ready
        taken = Mux(sequencer.start, routine.results, self.refuse)
        m.d.sync += free.eq(free + leaves - taken)
        quiet = registered(m, sequencer.idle, "quiet")
        for k in range(SETTLING):
            quiet = registered(m, quiet & sequencer.idle, f"quiet_{k}")
        # behind everything that came before it has left the sequencer
        m.d.comb += [
            self.refuse.eq(waiting & ~known & quiet & sequencer.idle & (free != 0)),
            self.idle.eq(sequencer.idle & ~waiting & quiet),
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
        m, core, sequencer = self.m, self.core, self.sequencer
        flags = Signal(TASKS)
        m.d.sync += flags.eq((flags & ~sequencer.begin) | self.datapath.lost)
        heads = Memory(shape=head(core), depth=TASKS, init=[])
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


SETTLING = 8
"""Cycles for which the sequencer has stood still when its last results are in their FIFO."""
