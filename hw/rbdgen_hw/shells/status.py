# amaranth: UnusedElaboratable=no
"""The answer to a hello: its bytes in a block memory, of which a hello changes few."""

from __future__ import annotations

from amaranth.hdl import Module, Mux
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import (
    EPOCH_OFFSET,
    HEAD_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    STATUS_BYTES,
    Kind,
    Status,
    capacity,
    head_bytes,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.library import SharedComponent

ANSWER_BYTES = HEAD_BYTES + STATUS_BYTES
"""Of the frame, without its check sum."""
NONCE_AT, EPOCH_AT = HEAD_BYTES, HEAD_BYTES + EPOCH_OFFSET
GREETING = data.StructLayout(
    {"on": 1, "naming": 1, "number": range(NONCE_BYTES), "byte": 8},
)
"""A byte of a hello's nonce in the cycles in which it is ``on``: it goes back in the answer, or, ``naming``, is the
epoch's from now on."""


class Answer(SharedComponent):
    """``byte``: the one at ``place`` two cycles before. ``greeting``: what a hello says."""

    module_name = "answer"

    def __init__(self, tasks: TaskFormat, identity: bytes) -> None:
        status = Status(0, PROTOCOL_VERSION, identity, 0, capacity(tasks), 0, 0, 0, 0)
        self.init = head_bytes(Kind.HELLO, STATUS_BYTES) + status.pack()
        super().__init__(
            {"place": In(range(ANSWER_BYTES)), "byte": Out(8), "greeting": In(GREETING)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        attributes = {"ram_style": "block", "no_rw_check": 1}
        m.submodules.memory = memory = Memory(
            shape=8, depth=ANSWER_BYTES, init=self.init, attrs=attributes
        )
        writing, reading = memory.write_port(), memory.read_port()
        greeting = self.greeting
        m.d.comb += [
            writing.en.eq(greeting.on),
            writing.addr.eq(Mux(greeting.naming, EPOCH_AT, NONCE_AT) + greeting.number),
            writing.data.eq(greeting.byte),
            reading.addr.eq(self.place),
        ]
        # a block memory is slow to give what it read
        m.d.sync += self.byte.eq(reading.data)
        return m
