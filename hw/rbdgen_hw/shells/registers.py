# amaranth: UnusedElaboratable=no
"""The shell of registers (:mod:`rbdgen.protocol.task_registers`): a processor writes tasks and reads results word by
word, on its AXI4-Lite or Wishbone bus, or as CSRs of LiteX.

One block of registers stands behind a plain bus of the shell's own; a bus of a processor's is a thin adapter to that.
The accelerator has a reset that the host gives, as packets' lengths are known to the host alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.protocol.registers import ADDRESS_BITS, REGISTER_BITS, Access, constants
from rbdgen.protocol.task_registers import (
    INTERRUPTS,
    PATIENCE,
    Command,
    Status,
    TaskRegister,
    check_words,
    task_register_map,
)
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.shells.axi import LITE, OKAY, SLVERR
from rbdgen_hw.shells.link import accelerator_streams
from rbdgen_hw.top import Hardware

WORD_BITS = ADDRESS_BITS - 2
"""Of the number of a register."""
PLAIN = Signature(
    {
        "valid": Out(1),
        "write": Out(1),
        "address": Out(WORD_BITS),
        "data": Out(REGISTER_BITS),
        "done": In(1),
        "error": In(1),
        "read": In(REGISTER_BITS),
    }
)
"""The shell's own bus, from its master: an access is held until ``done``, and is another one in the next cycle.
``error`` and what was ``read`` stand beside ``done``."""
WISHBONE = Signature(
    {
        "adr": Out(WORD_BITS),
        "dat_w": Out(REGISTER_BITS),
        "dat_r": In(REGISTER_BITS),
        "sel": Out(REGISTER_BITS // 8),
        "cyc": Out(1),
        "stb": Out(1),
        "we": Out(1),
        "ack": In(1),
        "err": In(1),
    }
)
"""Wishbone B4, classic cycles, with the address in words, from its master."""
CSR = Signature(
    {
        "adr": Out(WORD_BITS),
        "we": Out(1),
        "re": Out(1),
        "dat_w": Out(REGISTER_BITS),
        "dat_r": In(REGISTER_BITS),
    }
)
"""CSRs of LiteX, from their bank, by the number of a register: an access is a cycle of ``we`` or ``re``, and what is
read stands in the same cycle, as the bank has a register for it."""
WRITABLE = [e.address for e in task_register_map() if e.access != Access.READ]
"""Registers that are written."""


class RegisterBlock(SharedComponent):
    """Registers behind ``bus``, words of tasks to ``o``, words of results from ``i``; ``forget`` resets whatever is
    there. ``fixed`` are the values of registers that never change, by address; an access waits for ``patience``
    cycles."""

    module_name = "block"

    def __init__(
        self, fixed: Mapping[int, int], task_bits: int, result_bits: int, patience: int
    ) -> None:
        self.fixed = fixed
        self.patience = patience
        super().__init__(
            {
                "bus": In(PLAIN),
                "o": Out(stream.Signature(task_bits)),
                "i": In(stream.Signature(result_bits)),
                "forget": Out(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        # a word in each direction waits in a register: nothing of the bus is far away
        full, there = Signal(), Signal()
        word = Signal(len(self.i.payload), reset_less=True)
        waited, waits, acts = Signal(range(self.patience + 1)), Signal(), Signal()
        tasks, results = self._for(TaskRegister.TASK), self._for(TaskRegister.RESULT)
        last = bus.address[0]
        for_task, for_result = Signal(), Signal()
        m.d.comb += [
            for_task.eq(tasks & bus.write),
            for_result.eq(results & ~bus.write),
            waits.eq((for_task & full) | (for_result & ~there)),
            acts.eq(bus.valid & (~waits | (waited == self.patience))),
            bus.done.eq(acts),
            self.o.valid.eq(full),
            self.i.ready.eq(~there),
        ]
        m.d.sync += waited.eq(Mux(bus.valid & waits & ~acts, waited + 1, 0))
        refused, enters, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            refused.eq(acts & waits),
            enters.eq(acts & for_task & ~full),
            leaves.eq(acts & for_result & there),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += full.eq(0)
        with m.If(enters):
            m.d.sync += [full.eq(1), self.o.payload.eq(bus.data)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [there.eq(1), word.eq(self.i.payload)]
        with m.If(leaves):
            m.d.sync += there.eq(0)

        enabled = Signal(int(INTERRUPTS).bit_length())
        status = Signal(len(Status))
        epoch = Signal(REGISTER_BITS)
        command = Signal(len(Command))
        sticky = Signal()
        room = ~full & self.o.ready
        for bit, value in ((Status.RESULT, there), (Status.REFUSED, sticky), (Status.ROOM, room)):
            m.d.comb += status[int(bit).bit_length() - 1].eq(value)
        writes = acts & bus.write
        with m.If(writes & self._is(TaskRegister.CONTROL)):
            m.d.comb += command.eq(bus.data)
        with m.If(writes & self._is(TaskRegister.INTERRUPTS)):
            m.d.sync += enabled.eq(bus.data)
        with m.If(writes & self._is(TaskRegister.EPOCH)):
            m.d.sync += epoch.eq(bus.data)
        clears = (command & Command.CLEAR).any()
        resets = (command & Command.RESET).any()
        m.d.sync += [
            sticky.eq(refused | (sticky & ~clears)),
            self.forget.eq(resets),
            self.irq.eq((status & enabled).any()),
        ]
        values = {TaskRegister.STATUS: status, TaskRegister.INTERRUPTS: enabled}
        for register, event in (
            (TaskRegister.TASKS, enters & last),
            (TaskRegister.RESULTS, leaves & last),
            (TaskRegister.REFUSED, refused),
        ):
            counter = Signal(REGISTER_BITS, name=register.name.lower())
            m.d.sync += counter.eq(Mux(clears, 0, counter + event))
            values[register] = counter
        with m.If(self.forget):
            m.d.sync += [full.eq(0), there.eq(0), epoch.eq(0)]
        self._answer(m, values | {TaskRegister.EPOCH: epoch}, Mux(there, word, 0))
        return m

    def _is(self, register: TaskRegister) -> Value:
        """The access is to this register."""
        return self.bus.address == register >> 2

    def _for(self, register: TaskRegister) -> Value:
        """The access is to this register or that of the last word, which follows it."""
        return self.bus.address[1:] == register >> 3

    def _answer(self, m: Module, values: Mapping[TaskRegister, Value], word: Value) -> None:
        """What is read, and whether there is a register that can be."""
        bus = self.bus
        writable, readable = Signal(), Signal()
        with m.Switch(bus.address):
            for register, value in values.items():
                with m.Case(register >> 2):
                    m.d.comb += [bus.read.eq(value), readable.eq(1)]
            for address, value in self.fixed.items():
                with m.Case(address >> 2):
                    m.d.comb += [bus.read.eq(value), readable.eq(1)]
            with m.Case(TaskRegister.RESULT >> 2, TaskRegister.RESULT_LAST >> 2):
                m.d.comb += [bus.read.eq(word), readable.eq(1)]
            with m.Case(TaskRegister.CONTROL >> 2):
                m.d.comb += readable.eq(1)
        with m.Switch(bus.address), m.Case(*(register >> 2 for register in WRITABLE)):
            m.d.comb += writable.eq(1)
        m.d.comb += bus.error.eq(~Mux(bus.write, writable, readable))


def _answered(
    m: Module, plain: wiring.PureInterface, asked: Value
) -> tuple[Signal, Signal, Signal]:
    """Have the access that is ``asked`` for, and what came of it a cycle later, so that nothing of the bus is far from
    a register: that it is done, for a cycle; an error; and what was read, until the next access."""
    done, error, read = Signal(), Signal(), Signal(REGISTER_BITS)
    m.d.comb += plain.valid.eq(asked & ~done)
    m.d.sync += done.eq(plain.done)
    with m.If(plain.done):
        m.d.sync += [error.eq(plain.error), read.eq(plain.read)]
    return done, error, read


class AxiLiteAdapter(SharedComponent):
    """An AXI4-Lite bus: an access at a time, in turn where both sides ask for one."""

    module_name = "axi_lite"

    def __init__(self) -> None:
        super().__init__({"bus": In(LITE), "plain": Out(PLAIN)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, plain = self.bus, self.plain
        writing, under_way = Signal(), Signal()
        done, error, given = _answered(m, plain, under_way)
        write, read = bus.awvalid & bus.wvalid, bus.arvalid
        answered = bus.bvalid | bus.rvalid
        with m.If(~under_way):
            # what was not served last is first
            m.d.sync += [
                writing.eq(Mux(writing, write & ~read, write)),
                under_way.eq((write | read) & ~answered),
            ]
        with m.Elif(done):
            m.d.sync += [under_way.eq(0), bus.bvalid.eq(writing), bus.rvalid.eq(~writing)]
        address = Mux(writing, bus.awaddr, bus.araddr)
        m.d.comb += [
            plain.write.eq(writing),
            plain.address.eq(address[2:]),
            plain.data.eq(bus.wdata),
            bus.awready.eq(done & writing),
            bus.wready.eq(done & writing),
            bus.arready.eq(done & ~writing),
            bus.rdata.eq(given),
            bus.rresp.eq(Mux(error, SLVERR, OKAY)),
            bus.bresp.eq(Mux(error, SLVERR, OKAY)),
        ]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m


class WishboneAdapter(SharedComponent):
    """A Wishbone bus with classic cycles."""

    module_name = "wishbone"

    def __init__(self) -> None:
        super().__init__({"bus": In(WISHBONE), "plain": Out(PLAIN)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, plain = self.bus, self.plain
        asked = bus.cyc & bus.stb
        done, error, given = _answered(m, plain, asked)
        m.d.comb += [
            plain.write.eq(bus.we),
            plain.address.eq(bus.adr),
            plain.data.eq(bus.dat_w),
            bus.dat_r.eq(given),
            bus.ack.eq(asked & done & ~error),
            bus.err.eq(asked & done & error),
        ]
        return m


class CsrAdapter(SharedComponent):
    """The CSRs of a bank of LiteX's, whose accesses take a cycle each, whatever comes of them."""

    module_name = "csr"

    def __init__(self) -> None:
        super().__init__({"bus": In(CSR), "plain": Out(PLAIN)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, plain = self.bus, self.plain
        m.d.comb += [
            plain.valid.eq(bus.we | bus.re),
            plain.write.eq(bus.we),
            plain.address.eq(bus.adr),
            plain.data.eq(bus.dat_w),
            bus.dat_r.eq(plain.read),
        ]
        return m


BUSES = {
    "axi-lite": (AxiLiteAdapter, LITE, "s_axi"),
    "wishbone": (WishboneAdapter, WISHBONE, "wb"),
    "csr": (CsrAdapter, CSR, "csr"),
}
"""The buses of processors by name: the adapter, what the bus is, and what its ports begin with."""


def register_name(name: str, bus: str) -> str:
    """The top module of the shell of registers around the module ``name``."""
    return f"{name}_{bus.replace('-', '_')}"


class RegisterShell(SharedComponent):
    """Port ``s_axi``, ``wb`` or ``csr`` of a processor's ``bus``, and ``irq``, high while an interrupt is asked for.

    ConfigError for an accelerator whose packets do not go word by word."""

    module_name = "registers"

    def __init__(self, design: Hardware, identity: bytes, bus: str) -> None:
        check_words(design.name, design.tasks)
        self.design = design
        self.identity = identity
        self.bus = bus
        self.adapter, self.outside, self.port = BUSES[bus]
        super().__init__({self.port: In(self.outside), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.design.tasks
        entries = task_register_map(tasks, self.identity, self.bus)
        fixed = {entry.address: value for entry, value in constants(entries)}
        block = RegisterBlock(fixed, tasks.task.row_bits, tasks.result.row_bits, PATIENCE[self.bus])
        adapter = self.adapter()
        instantiate(m, platform, "block", block)
        instantiate(m, platform, "adapter", adapter)
        to_core, from_core, _ = accelerator_streams(m, platform, self.design, block.forget)
        ours = getattr(self, self.port)
        for name, member in self.outside.members.items():
            outer, inner = getattr(ours, name), getattr(adapter.bus, name)
            m.d.comb += inner.eq(outer) if member.flow == Out else outer.eq(inner)
        for name, member in PLAIN.members.items():
            outer, inner = getattr(adapter.plain, name), getattr(block.bus, name)
            m.d.comb += inner.eq(outer) if member.flow == Out else outer.eq(inner)
        m.d.comb += [
            to_core.valid.eq(block.o.valid),
            to_core.payload.eq(block.o.payload),
            block.o.ready.eq(to_core.ready),
            block.i.valid.eq(from_core.valid),
            block.i.payload.eq(from_core.payload),
            from_core.ready.eq(block.i.ready),
            self.irq.eq(block.irq),
        ]
        return m
