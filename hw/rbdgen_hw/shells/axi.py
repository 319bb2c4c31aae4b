# amaranth: UnusedElaboratable=no
"""The AXI shell: AXI4-Stream in and out, AXI4-Lite registers (:mod:`rbdgen.protocol.registers`).

TLAST on the last beat of a task closes a batch: no further task is taken until all results are out, and the last of
them carries TLAST. A host that never sets it streams without end.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.machines.pipeline.replicas import result_lengths, task_lengths
from rbdgen.protocol.registers import (
    ADDRESS_BITS,
    IDENTITY_WORDS,
    VERSION,
    Control,
    Register,
    StreamError,
    function_bits,
    stream_bits,
)
from rbdgen.protocol.tasks import FUNCTION_BITS, TAG_BITS, Flag, Packing
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.pipeline.replicas import RowEnds, code_of, lanes
from rbdgen_hw.shells.link import IN_FLIGHT_BITS, instantiate_accelerator
from rbdgen_hw.top import Hardware

OKAY = 0
SLVERR = 2
"""Responses of AXI."""
FLAGS = {
    Flag.OVERFLOW: (Register.OVERFLOWS, StreamError.OVERFLOW),
    Flag.RANGE: (Register.RANGES, StreamError.RANGE),
    Flag.FUNCTION: (Register.UNKNOWN, StreamError.FUNCTION),
}
"""The counter and the error bit of each flag of a result."""


def stream_signature(bits: int) -> Signature:
    """An AXI4 stream, from its source."""
    return Signature(
        {
            "tdata": Out(bits),
            "tvalid": Out(1),
            "tready": In(1),
            "tlast": Out(1),
        }
    )


LITE = Signature(
    {
        "awaddr": Out(ADDRESS_BITS),
        "awprot": Out(3),
        "awvalid": Out(1),
        "awready": In(1),
        "wdata": Out(32),
        "wstrb": Out(4),
        "wvalid": Out(1),
        "wready": In(1),
        "bresp": In(2),
        "bvalid": In(1),
        "bready": Out(1),
        "araddr": Out(ADDRESS_BITS),
        "arprot": Out(3),
        "arvalid": Out(1),
        "arready": In(1),
        "rdata": In(32),
        "rresp": In(2),
        "rvalid": In(1),
        "rready": Out(1),
    }
)
"""AXI4-Lite, from its master."""


def value_port(register: Register) -> str:
    """The port of :class:`Registers` for the value of one of them."""
    return f"value_{register.name.lower()}"


class Registers(SharedComponent):
    """The AXI4-Lite side: ``read_<register>`` are values to be read, ``read`` strobes for the address in ``address``,
    ``clear`` strobes when the host asks for it. It holds the epoch itself."""

    module_name = "registers"

    def __init__(self) -> None:
        own = (Register.CONTROL, Register.EPOCH, Register.IDENTITY)
        self.readable = [r for r in Register if r not in own]
        values = {value_port(register): In(32) for register in self.readable}
        self.epoch = Signal(32)
        super().__init__(
            {
                "s_axi": In(LITE),
                "clear": Out(1),
                "read": Out(1),
                "address": Out(ADDRESS_BITS),
                "identity": In(32 * IDENTITY_WORDS),
                **values,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.s_axi
        # writes: address and data come in any order and wait for each other
        address, have_address = Signal(ADDRESS_BITS), Signal()
        data, have_data, strobe = Signal(32), Signal(), Signal(4)
        m.d.comb += [
            bus.awready.eq(~have_address),
            bus.wready.eq(~have_data),
        ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [
                address.eq(bus.awaddr),
                have_address.eq(1),
            ]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [
                data.eq(bus.wdata),
                strobe.eq(bus.wstrb),
                have_data.eq(1),
            ]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        # registers are words: where in one an address points does not count
        for_control = address[2:] == Register.CONTROL >> 2
        for_epoch = address[2:] == Register.EPOCH >> 2
        with m.If(have_address & have_data & ~bus.bvalid):
            m.d.sync += [
                have_address.eq(0),
                have_data.eq(0),
                bus.bvalid.eq(1),
                bus.bresp.eq(Mux(for_control | for_epoch, OKAY, SLVERR)),
            ]
            asked = data & Control.CLEAR
            m.d.comb += self.clear.eq(for_control & strobe[0] & asked.any())
            for k, written in enumerate(strobe):
                with m.If(for_epoch & written):
                    m.d.sync += self.epoch.word_select(k, 8).eq(data.word_select(k, 8))
        self._read(m)
        return m

    def _read(self, m: Module) -> None:
        """Answer what the host reads."""
        bus = self.s_axi
        m.d.comb += [
            bus.arready.eq(~bus.rvalid),
            self.read.eq(bus.arvalid & bus.arready),
            self.address.eq(bus.araddr),
        ]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(self.read):
            m.d.sync += [
                bus.rvalid.eq(1),
                bus.rresp.eq(OKAY),
            ]
            with m.Switch(bus.araddr[2:]):
                for register in self.readable:
                    with m.Case(register >> 2):
                        value = getattr(self, value_port(register))
                        m.d.sync += bus.rdata.eq(value)
                with m.Case(Register.CONTROL >> 2):
                    m.d.sync += bus.rdata.eq(0)
                with m.Case(Register.EPOCH >> 2):
                    m.d.sync += bus.rdata.eq(self.epoch)
                for k in range(IDENTITY_WORDS):
                    with m.Case((Register.IDENTITY >> 2) + k):
                        word = self.identity.word_select(k, 32)
                        m.d.sync += bus.rdata.eq(word)
                with m.Default():
                    m.d.sync += [
                        bus.rdata.eq(0),
                        bus.rresp.eq(SLVERR),
                    ]


@dataclass(frozen=True)
class _Packets:
    """The present beat of a stream: whether it begins and ends what comes together, ``count`` packets in its lanes; and
    of each lane its beat, and whether a packet begins in it (``starts``)."""

    first: Value
    last: Value
    count: Value | int
    beats: list[Value]
    starts: list[Value]


def _packets(
    m: Module, packing: Packing, payload: Value, moves: Value, lengths: dict[int, int], name: str
) -> _Packets:
    """Follow a stream, whose packets have so many beats by their function's code (1 where it is unknown)."""
    beats, keeps = lanes(packing, payload)
    codes = [code_of(beat) for beat in beats]
    ends = RowEnds(lengths, packing.lanes, name)
    ends.write(m, codes, keeps, moves)
    starts = [moves & ends.first & keep for keep in keeps]
    if packing.lanes == 1:
        return _Packets(ends.first, ends.last, 1, beats, starts)
    kept = Signal(range(packing.lanes + 1), name=f"{name}_kept")
    count = Signal(range(packing.lanes + 1), name=f"{name}_count")
    present = sum(keeps[1:], keeps[0])
    m.d.comb += count.eq(Mux(ends.first, present, kept))
    with m.If(moves):
        m.d.sync += kept.eq(count)
    return _Packets(ends.first, ends.last, count, beats, starts)


def _flagged(results: _Packets, flag: Flag) -> Value:
    """Number of results that begin in the present beat have a flag."""
    told = []
    for beat, start in zip(results.beats, results.starts, strict=True):
        flags = beat[FUNCTION_BITS + TAG_BITS :]
        raised = flags & flag
        told.append(start & raised.any())
    return sum(told[1:], told[0])


def _counted(event: Value, count: Value | int) -> Value:
    """Count the packets that an event is about."""
    return event if isinstance(count, int) else Mux(event, count, 0)


def _count_in_flight(
    m: Module, in_flight: Signal, entered: Value, left: Value, tasks: _Packets, results: _Packets
) -> None:
    """Count the tasks whose results have not left."""
    with m.If(entered & ~left):
        m.d.sync += in_flight.eq(in_flight + tasks.count)
    with m.Elif(~entered & left):
        m.d.sync += in_flight.eq(in_flight - results.count)
    if len(tasks.beats) > 1:
        # rows differ in how many tasks they have
        with m.Elif(entered & left):
            m.d.sync += in_flight.eq(in_flight + tasks.count - results.count)


def _collect_errors(
    m: Module, registers: Registers, happened: dict[Register, Value], misplaced: Value
) -> Signal:
    """The errors since the host cleared them, by bit; ``misplaced``: TLAST came amid a task."""
    errors, errors_now = Signal(len(StreamError)), Signal(len(StreamError))
    wrong = {}
    for register, error in FLAGS.values():
        count = happened[register]
        wrong[error] = count if len(count) == 1 else count.any()
    wrong[StreamError.LAST] = misplaced
    bits = [wrong[error] for error in StreamError]
    # an error in the very cycle in which the host clears them is not lost
    kept = Mux(registers.clear, 0, errors)
    m.d.comb += errors_now.eq(Cat(*bits))
    m.d.sync += errors.eq(kept | errors_now)
    return errors


def _count_events(m: Module, registers: Registers, happened: dict[Register, Value]) -> None:
    """Count what happens since the host cleared the counters."""
    for register, event in happened.items():
        counter = Signal(32, name=register.name.lower())
        m.d.sync += counter.eq(Mux(registers.clear, 0, counter + event))
        value = getattr(registers, value_port(register))
        m.d.comb += value.eq(counter)


def _count_cycles(m: Module, registers: Registers) -> tuple[Signal, Signal]:
    """Count cycles since the host cleared the counters; and the count's upper half when the lower one was read."""
    cycles, upper = Signal(64), Signal(32)
    m.d.sync += cycles.eq(Mux(registers.clear, 0, cycles + 1))
    lower_half = registers.address[2:] == Register.CYCLES >> 2
    # both halves are of the time at which the lower one is read
    with m.If(registers.read & lower_half):
        m.d.sync += upper.eq(cycles[32:])
    return cycles, upper


class AxiShell(SharedComponent):
    """Ports ``s_axis`` (tasks), ``m_axis`` (results) and ``s_axi`` (registers)."""

    module_name = "axi"

    def __init__(self, design: Hardware, identity: bytes) -> None:
        self.design = design
        self.identity = identity
        tasks = design.tasks
        super().__init__(
            {
                "s_axis": In(stream_signature(stream_bits(tasks.task))),
                "m_axis": Out(stream_signature(stream_bits(tasks.result))),
                "s_axi": In(LITE),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.design.tasks
        to_core, from_core = instantiate_accelerator(m, platform, self.design)
        source = self.s_axis
        sink = self.m_axis
        in_flight, closing = Signal(IN_FLIGHT_BITS), Signal()
        takes = to_core.valid & to_core.ready
        gives = from_core.valid & from_core.ready
        task_beats = task_lengths(tasks)
        result_beats = result_lengths(tasks)
        taken = _packets(m, tasks.task, to_core.payload, takes, task_beats, "task")
        given = _packets(m, tasks.result, from_core.payload, gives, result_beats, "result")
        entered = takes & taken.last
        left = gives & given.last
        # what leaves with this beat is still counted
        last_left = closing & (in_flight == given.count) & given.last
        m.d.comb += [
            to_core.valid.eq(source.tvalid & ~closing),
            to_core.payload.eq(source.tdata),
            source.tready.eq(to_core.ready & ~closing),
            sink.tvalid.eq(from_core.valid),
            sink.tdata.eq(from_core.payload),
            sink.tlast.eq(last_left),
            from_core.ready.eq(sink.tready),
        ]
        _count_in_flight(m, in_flight, entered, left, taken, given)
        with m.If(entered & source.tlast):
            m.d.sync += closing.eq(1)
        with m.Elif(left & (in_flight == given.count)):
            m.d.sync += closing.eq(0)

        registers = Registers()
        instantiate(m, platform, "registers", registers)
        for name, member in LITE.members.items():
            ours = getattr(self.s_axi, name)
            theirs = getattr(registers.s_axi, name)
            m.d.comb += theirs.eq(ours) if member.flow == Out else ours.eq(theirs)
        happened = {
            Register.BUSY: in_flight != 0,
            Register.TASKS: _counted(entered, taken.count),
            Register.RESULTS: _counted(left, given.count),
        }
        for flag, (register, _) in FLAGS.items():
            happened[register] = _flagged(given, flag)
        misplaced = takes & source.tlast & ~taken.last
        errors = _collect_errors(m, registers, happened, misplaced)
        _count_events(m, registers, happened)
        cycles, upper = _count_cycles(m, registers)
        identity = int.from_bytes(self.identity, "little")
        codes = function_bits(f.code for f in tasks.functions.values())
        m.d.comb += [
            registers.identity.eq(Const(identity, len(registers.identity))),
            registers.value_version.eq(VERSION),
            registers.value_functions.eq(codes),
            registers.value_errors.eq(errors),
            registers.value_cycles.eq(cycles[:32]),
            registers.value_cycles_high.eq(upper),
            registers.value_in_work.eq(in_flight),
        ]
        return m
