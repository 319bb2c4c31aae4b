# amaranth: UnusedElaboratable=no
"""The shell of a byte link: everything between bytes in both directions and an accelerator.

The accelerator's Verilog is a file of its own, instantiated by its module's name, as its hash is part of the identity
that the shell tells; in Amaranth's simulator it is the component itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockSignal,
    Const,
    Instance,
    Module,
    ResetInserter,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from rbdgen.errors import ConfigError
from rbdgen.protocol.frames import NONCE_BYTES, PROTOCOL_VERSION, capacity
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import Library, SharedComponent, forward, instantiate
from rbdgen_hw.logic import registered
from rbdgen_hw.shells.frame_receiver import COUNTERS, Dispatcher, Receiver
from rbdgen_hw.shells.frame_sender import Sender
from rbdgen_hw.top import Hardware, top_level

IN_FLIGHT_BITS = 16
"""Of the counter of tasks in the accelerator, which never holds that many."""
SHELL_CYCLES = 2
"""By which a latency is longer in a shell: the registers that both streams pass."""


def instantiate_accelerator(
    m: Module, platform: object, design: Hardware, listeners: Sequence[Any] = ()
) -> tuple[stream.Interface, stream.Interface]:
    """Put the accelerator of ``design`` into ``m``; its two streams, as seen from outside: tasks to it, results. Both
    pass registers: what is on either side of them can be far away. What is loaded, if programs are, ``listeners`` are
    told."""
    entry = StreamRegister(design.tasks.task.row_bits)
    leave = StreamRegister(design.tasks.result.row_bits)
    instantiate(m, platform, "entry", entry)
    instantiate(m, platform, "leave", leave)
    tasks, results, load = accelerator_streams(m, platform, design)
    forward(m, entry.o, tasks)
    forward(m, results, leave.i)
    if design.tasks.resident:
        # whoever looks lengths up can be far away
        told = registered(m, load.as_value(), "told")
        m.d.comb += [listener.load.eq(LOAD(told)) for listener in listeners]
    return entry.i, leave.o


def accelerator_streams(
    m: Module, platform: object, design: Hardware, forget: Value | None = None
) -> tuple[stream.Interface, stream.Interface, data.View[data.StructLayout]]:
    """Put the accelerator of ``design`` into ``m``; its streams of tasks and results as they are, and what is loaded into
    it, if programs are. ``forget``: what else resets it."""
    tasks = stream.Signature(design.tasks.task.row_bits).create(path=("tasks",))
    results = stream.Signature(design.tasks.result.row_bits).create(path=("results",))
    load = Signal(LOAD)
    if isinstance(platform, Library):
        m.submodules.accelerator = Instance(
            design.name,
            i_clk=ClockSignal(),
            i_rst=ResetSignal() if forget is None else ResetSignal() | forget,
            i_in_valid=tasks.valid,
            o_in_ready=tasks.ready,
            i_in_payload=tasks.payload,
            o_out_valid=results.valid,
            i_out_ready=results.ready,
            o_out_payload=results.payload,
            **({"o_load": load.as_value()} if design.tasks.resident else {}),
        )
        return tasks, results, load
    core = top_level(design)
    m.submodules.accelerator = core if forget is None else ResetInserter(forget)(core)
    if design.tasks.resident:
        m.d.comb += load.eq(core.load)
    m.d.comb += [
        core.i.valid.eq(tasks.valid),
        core.i.payload.eq(tasks.payload),
        tasks.ready.eq(core.i.ready),
        results.valid.eq(core.o.valid),
        results.payload.eq(core.o.payload),
        core.o.ready.eq(results.ready),
    ]
    return tasks, results, load


class LinkShell(SharedComponent):
    """Ports ``i`` and ``o``: streams of bytes; ``idle``: nothing received is unanswered. ConfigError on
    elaboration for several accelerators, which bytes one after another never keep at work."""

    module_name = "link"

    def __init__(self, design: Hardware, identity: bytes) -> None:
        self.design = design
        self.identity = identity
        super().__init__(
            {"i": In(stream.Signature(8)), "o": Out(stream.Signature(8)), "idle": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks, option = self.design.tasks, self.design.multiplied_by
        if tasks.replicas > 1:
            raise ConfigError(
                f"{option}: a link of bytes feeds one accelerator, not {tasks.replicas}; leave {option} out, or use "
                "the AXI shell"
            )
        receiver = Receiver(tasks)
        dispatcher = Dispatcher(tasks)
        sender = Sender(tasks)
        instantiate(m, platform, "receiver", receiver)
        instantiate(m, platform, "dispatcher", dispatcher)
        instantiate(m, platform, "sender", sender)
        to_core, from_core = instantiate_accelerator(
            m, platform, self.design, (receiver, dispatcher, sender)
        )
        forward(m, self.i, receiver.i)
        forward(m, receiver.o, dispatcher.i)
        forward(m, dispatcher.beats, to_core)
        forward(m, from_core, sender.beats)
        forward(m, sender.o, self.o)
        in_flight, drained, entered, left = Signal(IN_FLIGHT_BITS), Signal(), Signal(), Signal()
        enters = dispatcher.beats.valid & dispatcher.beats.ready & dispatcher.last
        m.d.sync += [
            entered.eq(enters),
            left.eq(sender.left),
        ]
        with m.If(entered & ~left):
            m.d.sync += in_flight.eq(in_flight + 1)
        with m.Elif(~entered & left):
            m.d.sync += in_flight.eq(in_flight - 1)
        # the first hello since the reset names what follows it
        epoch, named = Signal(8 * NONCE_BYTES), Signal()
        with m.If(dispatcher.ask & ~named):
            m.d.sync += [
                epoch.eq(dispatcher.nonce),
                named.eq(1),
            ]
        identity = int.from_bytes(self.identity, "little")
        counters = [getattr(receiver, name) for name in COUNTERS]
        status = Cat(
            dispatcher.nonce,
            Const(PROTOCOL_VERSION, 8),
            Const(identity, 8 * len(self.identity)),
            epoch,
            Const(capacity(tasks), 32),
            *counters,
        )
        quiet = drained & ~self.i.valid & ~receiver.pending & ~dispatcher.busy & ~sender.busy
        m.d.comb += [
            sender.status.eq(status),
            sender.send.eq(dispatcher.ask & named & drained),
            dispatcher.answered.eq(sender.sent),
        ]
        m.d.sync += [
            # no task enters while it is asked
            drained.eq((in_flight == 0) & ~enters & ~entered),
            self.idle.eq(quiet),
        ]
        return m
