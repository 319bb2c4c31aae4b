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
from rbdgen.protocol.tasks import TAG_BITS
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import Library, SharedComponent, forward, instantiate
from rbdgen_hw.logic import registered
from rbdgen_hw.shells.dispatcher import Dispatcher
from rbdgen_hw.shells.frame_receiver import AT_ONCE, Receiver
from rbdgen_hw.shells.frame_sender import Sender
from rbdgen_hw.shells.status import Answer
from rbdgen_hw.top import Hardware, top_level

IN_FLIGHT_BITS = 16
"""Of the counter of tasks in the accelerator, which never holds that many."""
TAGGED_BITS = TAG_BITS + 2
"""The same behind a link of bytes, whose hosts have a tag for each task."""
SHELL_CYCLES = 2
"""By which a latency is longer in a shell: the registers that both streams pass."""


def instantiate_accelerator(
    m: Module, platform: object, design: Hardware, listeners: Sequence[Any] = (), near: bool = False
) -> tuple[stream.Interface, stream.Interface]:
    """Put the accelerator of ``design`` into ``m``; its two streams, as seen from outside: tasks to it, results. Both
    pass registers, unless all is ``near``: what is on either side of them can be far away. What is loaded, if programs
    are, ``listeners`` are told."""
    tasks, results, load = accelerator_streams(m, platform, design)
    outside = tasks, results
    if not near:
        entry = StreamRegister(design.tasks.task.row_bits)
        leave = StreamRegister(design.tasks.result.row_bits)
        instantiate(m, platform, "entry", entry)
        instantiate(m, platform, "leave", leave)
        forward(m, entry.o, tasks)
        forward(m, results, leave.i)
        outside = entry.i, leave.o
    if design.tasks.resident:
        # whoever looks lengths up can be far away
        told = load.as_value() if near else registered(m, load.as_value(), "told")
        m.d.comb += [listener.load.eq(LOAD(told)) for listener in listeners]
    return outside


def accelerator_streams(
    m: Module, platform: object, design: Hardware, forget: Value | None = None
) -> tuple[stream.Interface, stream.Interface, data.View[data.StructLayout]]:
    """Put the accelerator of ``design`` into ``m``; its streams of tasks and results as they are, and what is loaded
    into it, if programs are. ``forget``: what else resets it."""
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
    """Ports ``i`` and ``o``: streams of bytes; ``idle``: nothing received is unanswered. ``at_once`` bits of a byte go
    into check sums in a cycle, so that a byte takes 8 / ``at_once`` cycles, and three more on its way out. ConfigError
    on elaboration for several accelerators, which bytes one after another never keep at work."""

    module_name = "link"

    def __init__(self, design: Hardware, identity: bytes, at_once: int = AT_ONCE[-1]) -> None:
        self.design = design
        self.identity = identity
        self.at_once = at_once
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
        receiver = Receiver(tasks, self.at_once)
        dispatcher = Dispatcher(tasks)
        answer = Answer(tasks, self.identity)
        sender = Sender(tasks, self.at_once)
        instantiate(m, platform, "receiver", receiver)
        instantiate(m, platform, "dispatcher", dispatcher)
        instantiate(m, platform, "answer", answer)
        instantiate(m, platform, "sender", sender)
        # a word at a time is shifted in, and chosen from: no register is needed between
        near = tasks.task.words_per_beat == 1
        to_core, from_core = instantiate_accelerator(
            m, platform, self.design, (receiver, sender), near
        )
        forward(m, self.i, receiver.i)
        forward(m, receiver.o, dispatcher.i)
        forward(m, dispatcher.beats, to_core)
        forward(m, from_core, sender.beats)
        forward(m, sender.o, self.o)
        in_flight = Signal(TAGGED_BITS)
        enters = dispatcher.beats.valid & dispatcher.beats.ready & dispatcher.last
        with m.If(enters ^ sender.left):
            # one more, or less: all bits above the lowest say which
            change = Cat(1, sender.left.replicate(TAGGED_BITS - 1))
            m.d.sync += in_flight.eq(in_flight + change)
        drained = registered(m, (in_flight == 0) & ~sender.busy, "drained")
        quiet = drained & receiver.quiet & ~dispatcher.busy
        m.d.comb += [
            answer.greeting.eq(dispatcher.greeting),
            answer.place.eq(sender.place),
            sender.answer.eq(answer.byte),
            # no task enters while it is asked
            sender.send.eq(dispatcher.ask & drained),
            dispatcher.answered.eq(sender.sent),
        ]
        m.d.sync += self.idle.eq(quiet)
        return m
