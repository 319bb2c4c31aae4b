# amaranth: UnusedElaboratable=no
"""The AXI shell: AXI4-Stream in and out, AXI4-Lite registers (:mod:`rbdgen.host.registers`).

TLAST on the last beat of a task closes a batch: no further task is taken until all results are out, and the last of
them carries TLAST. A host that never sets it streams without end.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.compiler import Design
from rbdgen.host.registers import (
    ADDRESS_BITS,
    IDENTITY_WORDS,
    VERSION,
    Control,
    Register,
    StreamError,
    stream_bits,
)
from rbdgen.host.tasks import FUNCTION_BITS, TAG_BITS, Flag
from rbdgen_hw.library import Shape, place
from rbdgen_hw.shells.link import IN_FLIGHT_BITS, place_accelerator

OKAY, SLVERR = 0, 2
"""Responses of AXI."""
FLAGS = {
    Flag.OVERFLOW: (Register.OVERFLOWS, StreamError.OVERFLOW),
    Flag.RANGE: (Register.RANGES, StreamError.RANGE),
    Flag.FUNCTION: (Register.UNKNOWN, StreamError.FUNCTION),
}
"""The counter and the error bit of each flag of a result."""


def stream_signature(bits: int) -> Signature:
    """An AXI4 stream, from its source."""
    return Signature({"tdata": Out(bits), "tvalid": Out(1), "tready": In(1), "tlast": Out(1)})


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


class Registers(Shape):
    """The AXI4-Lite side: ``read_<register>`` are values to be read, ``read`` strobes for the address in ``address``,
    ``clear`` strobes when the host asks for it."""

    shape_name = "registers"

    def __init__(self) -> None:
        self.readable = [r for r in Register if r not in (Register.CONTROL, Register.IDENTITY)]
        super().__init__(
            {
                "s_axi": In(LITE),
                "clear": Out(1),
                "read": Out(1),
                "address": Out(ADDRESS_BITS),
                "identity": In(32 * IDENTITY_WORDS),
                **{f"value_{r.name.lower()}": In(32) for r in self.readable},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.s_axi
        # writes: address and data come in any order and wait for each other
        address, have_address = Signal(ADDRESS_BITS), Signal()
        data, have_data, strobe = Signal(32), Signal(), Signal(4)
        m.d.comb += [bus.awready.eq(~have_address), bus.wready.eq(~have_data)]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [address.eq(bus.awaddr), have_address.eq(1)]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [data.eq(bus.wdata), strobe.eq(bus.wstrb), have_data.eq(1)]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        known = address[2:] == Register.CONTROL >> 2
        with m.If(have_address & have_data & ~bus.bvalid):
            m.d.sync += [have_address.eq(0), have_data.eq(0), bus.bvalid.eq(1), bus.bresp.eq(Mux(known, OKAY, SLVERR))]
            m.d.comb += self.clear.eq(known & strobe[0] & (data & Control.CLEAR).any())
        # reads
        m.d.comb += [
            bus.arready.eq(~bus.rvalid),
            self.read.eq(bus.arvalid & bus.arready),
            self.address.eq(bus.araddr),
        ]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(self.read):
            m.d.sync += [bus.rvalid.eq(1), bus.rresp.eq(OKAY)]
            with m.Switch(bus.araddr[2:]):
                for r in self.readable:
                    with m.Case(r >> 2):
                        m.d.sync += bus.rdata.eq(getattr(self, f"value_{r.name.lower()}"))
                with m.Case(Register.CONTROL >> 2):
                    m.d.sync += bus.rdata.eq(0)
                for k in range(IDENTITY_WORDS):
                    with m.Case((Register.IDENTITY >> 2) + k):
                        m.d.sync += bus.rdata.eq(self.identity.word_select(k, 32))
                with m.Default():
                    m.d.sync += [bus.rdata.eq(0), bus.rresp.eq(SLVERR)]
        return m


def _packet_end(m: Module, code: Value, moves: Value, beats: dict[int, int], name: str) -> tuple[Value, Value]:
    """Whether a stream's present beat is a packet's first, and its last: packets with function code ``code`` in their
    first beat have ``beats`` beats (1 where it is unknown)."""
    most = max(beats.values())
    place_, kept = Signal(range(most), name=f"{name}_beat"), Signal(FUNCTION_BITS, name=f"{name}_code")
    first, last = Signal(name=f"{name}_first"), Signal(name=f"{name}_last")
    final = Signal(range(most), name=f"{name}_final")
    m.d.comb += [first.eq(place_ == 0), last.eq(place_ == final)]
    with m.Switch(Mux(first, code, kept)):
        for known, count in beats.items():
            with m.Case(known):
                m.d.comb += final.eq(count - 1)
    with m.If(moves):
        m.d.sync += place_.eq(Mux(last, 0, place_ + 1))
        with m.If(first):
            m.d.sync += kept.eq(code)
    return first, last


class AxiShell(Shape):
    """Ports ``s_axis`` (tasks), ``m_axis`` (results) and ``s_axi`` (registers)."""

    shape_name = "axi"

    def __init__(self, design: Design, identity: bytes) -> None:
        self.design, self.identity = design, identity
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
        tasks, functions = self.design.tasks, self.design.tasks.functions.values()
        to_core, from_core = place_accelerator(m, platform, self.design)
        source, sink = self.s_axis, self.m_axis
        in_flight, closing = Signal(IN_FLIGHT_BITS), Signal()
        takes, gives = to_core.valid & to_core.ready, from_core.valid & from_core.ready
        lengths = {code: tasks.task.beats(words) for code, words in tasks.task_words.items()}
        _, task_end = _packet_end(m, to_core.payload[:FUNCTION_BITS], takes, lengths, "task")
        result_first, result_end = _packet_end(
            m,
            from_core.payload[:FUNCTION_BITS],
            gives,
            {f.code: tasks.result_beats(f.name) for f in functions},
            "result",
        )
        entered, left = takes & task_end, gives & result_end
        m.d.comb += [
            to_core.valid.eq(source.tvalid & ~closing),
            to_core.payload.eq(source.tdata),
            source.tready.eq(to_core.ready & ~closing),
            sink.tvalid.eq(from_core.valid),
            sink.tdata.eq(from_core.payload),
            sink.tlast.eq(closing & (in_flight == 1) & result_end),
            from_core.ready.eq(sink.tready),
        ]
        with m.If(entered & ~left):
            m.d.sync += in_flight.eq(in_flight + 1)
        with m.Elif(~entered & left):
            m.d.sync += in_flight.eq(in_flight - 1)
        with m.If(entered & source.tlast):
            m.d.sync += closing.eq(1)
        with m.Elif(left & (in_flight == 1)):
            m.d.sync += closing.eq(0)

        registers = Registers()
        place(m, platform, "registers", registers)
        for name, member in LITE.members.items():
            ours, theirs = getattr(self.s_axi, name), getattr(registers.s_axi, name)
            m.d.comb += theirs.eq(ours) if member.flow == Out else ours.eq(theirs)
        flags = from_core.payload[FUNCTION_BITS + TAG_BITS :]
        told = gives & result_first
        happened = {
            Register.BUSY: in_flight != 0,
            Register.TASKS: entered,
            Register.RESULTS: left,
            **{register: told & (flags & flag).any() for flag, (register, _) in FLAGS.items()},
        }
        errors, errors_now = Signal(len(StreamError)), Signal(len(StreamError))
        wrong = {error: happened[register] for register, error in FLAGS.values()}
        wrong[StreamError.LAST] = takes & source.tlast & ~task_end
        m.d.comb += errors_now.eq(Cat(*(wrong[error] for error in StreamError)))
        m.d.sync += errors.eq(Mux(registers.clear, 0, errors) | errors_now)
        for register, event in happened.items():
            counter = Signal(32, name=register.name.lower())
            m.d.sync += counter.eq(Mux(registers.clear, 0, counter + event))
            m.d.comb += getattr(registers, f"value_{register.name.lower()}").eq(counter)
        cycles, upper = Signal(64), Signal(32)
        m.d.sync += cycles.eq(Mux(registers.clear, 0, cycles + 1))
        with m.If(registers.read & (registers.address[2:] == Register.CYCLES >> 2)):
            m.d.sync += upper.eq(cycles[32:])
        m.d.comb += [
            registers.identity.eq(Const(int.from_bytes(self.identity, "little"), len(registers.identity))),
            registers.value_version.eq(VERSION),
            registers.value_functions.eq(sum(1 << f.code for f in functions)),
            registers.value_errors.eq(errors),
            registers.value_cycles.eq(cycles[:32]),
            registers.value_cycles_high.eq(upper),
            registers.value_in_work.eq(in_flight),
        ]
        return m
