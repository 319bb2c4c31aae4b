"""Frames: what is sent arrives, what is damaged does not, and what follows garbage does."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.protocol.frames import ESCAPE, FLAG, Deframer, Frame, Kind, Status, frame_bytes

PAYLOADS = [
    b"",
    b"\x00",
    bytes([FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20]),
    bytes(range(256)),
    bytes([FLAG]) * 300,
]


@pytest.mark.parametrize("chunk", [1, 3, 10_000])
def test_frames_come_back_however_they_are_cut(chunk: int) -> None:
    wire = b"".join(frame_bytes(Kind.TASK, p) for p in PAYLOADS)
    deframer = Deframer(300)
    frames = [f for k in range(0, len(wire), chunk) for f in deframer.feed(wire[k : k + chunk])]
    assert frames == [Frame(Kind.TASK, p) for p in PAYLOADS]
    assert deframer.damaged == 0


def test_flags_stand_only_between_frames() -> None:
    for payload in PAYLOADS:
        wire = frame_bytes(Kind.HELLO, payload)
        assert (wire[0], wire[-1]) == (FLAG, FLAG)
        assert FLAG not in wire[1:-1]


def test_any_single_fault_is_noticed() -> None:
    wire = frame_bytes(Kind.TASK, bytes([1, FLAG, 3, ESCAPE, 5]))
    for place in range(1, len(wire) - 1):
        for fault in (b"", bytes([wire[place] ^ 0x20]), bytes([wire[place], 0x55]), bytes([FLAG])):
            if fault == wire[place : place + 1]:
                continue
            assert (
                Deframer(300).feed(wire[:place] + fault + wire[place + 1 :] + bytes([FLAG])) == []
            )


def test_a_whole_frame_is_found_behind_any_garbage() -> None:
    random = np.random.default_rng(1)
    deframer = Deframer(300)
    for k in range(300):
        garbage = random.bytes(int(random.integers(0, 40))) + bytes(
            [ESCAPE] * int(random.integers(0, 3))
        )
        frame = Frame(Kind.TASK, random.bytes(k))
        assert deframer.feed(garbage + frame_bytes(frame.kind, frame.payload))[-1] == frame


def test_a_payload_beyond_the_limit_is_damage_and_does_not_pile_up() -> None:
    deframer = Deframer(100)
    assert deframer.feed(frame_bytes(Kind.TASK, bytes(101))) == []
    for _ in range(50):
        assert deframer.feed(bytes(1000)) == []
    assert len(deframer._rest) < 300
    assert deframer.feed(frame_bytes(Kind.TASK, bytes(100))) == [Frame(Kind.TASK, bytes(100))]
    assert deframer.damaged == 2


def test_status_comes_back() -> None:
    status = Status(1, 2, bytes(range(16)), 3, 4, 5, 6, 7, 8)
    assert Status.unpack(status.pack()) == status
    assert Status.unpack(status.pack()[:-1]) is None
