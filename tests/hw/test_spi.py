"""The SPI port under cocotb, with clocks in many ratios: whatever comes is answered as by the model of the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rbdgen.emulation import bit_true_shell
from rbdgen.protocol.frames import FILLER, STATUS_BYTES, Deframer, Frame, Kind, Status, frame_bytes
from rbdgen.shells.shell import ShellModel
from rbdgen_hw.emit import spi_verilog, write_shelled
from rbdgen_sim.spi import Round, play
from tests.conftest import design

TASKS = 40
RATIOS = ((4.0, 0.0, 0.0), (4.37, 0.04, 0.0), (5.9, 0.15, 0.01), (17.3, 0.35, 0.01))
"""Cycles of the board's clock in one of the bus's, its jitter, and the share of bytes that come damaged. The clock is
high and low for two of the board's cycles at least."""


def frames_of(shell: ShellModel, seed: int) -> bytes:
    """Tasks of all functions with random operands, and hellos between them."""
    rnd = np.random.default_rng(seed)
    codes = list(shell.tasks.task_words)
    frames = [frame_bytes(Kind.HELLO, bytes(range(4)))]
    for tag in range(TASKS):
        code = int(rnd.choice(codes))
        packet = bytearray(rnd.bytes(shell.lengths[code]))
        packet[:2] = (code | tag << 5).to_bytes(2, "little")
        frames.append(frame_bytes(Kind.TASK, bytes(packet)))
    return b"".join([*frames, frame_bytes(Kind.HELLO, rnd.bytes(4))])


def transactions(data: bytes, damage: float, seed: int) -> Iterator[bytes]:
    """The bytes in pieces of any length, some of them damaged; then as many flags as answers take."""
    rnd = np.random.default_rng(seed)
    wrong = rnd.random(len(data)) < damage
    flips = np.where(wrong, rnd.integers(1, 256, len(data)), 0).astype(np.uint8)
    damaged = (np.frombuffer(data, np.uint8) ^ flips).tobytes()
    while damaged:
        size = int(rnd.integers(1, 90))
        yield damaged[:size]
        damaged = damaged[size:]
    for _ in range(40):
        yield bytes([FILLER]) * 64


def told(data: bytes) -> list[Frame]:
    """Answers in the order of their bytes, as functions come in any; of hellos only what hardware says."""
    deframer = Deframer(1000)
    found = deframer.feed(bytes([FILLER]) + data)
    assert deframer.damaged == 0
    plain = []
    for kind, payload in found:
        if kind == Kind.HELLO:
            assert len(payload) == STATUS_BYTES
            status = Status.unpack(payload)
            assert status is not None
            kept = (status.nonce, status.version, status.identity, status.epoch, status.capacity)
            plain.append(Frame(kind, Status(*kept, 0, 0, 0, 0).pack()))
        else:
            plain.append(Frame(kind, payload))
    return sorted(plain)


@pytest.mark.slow
def test_it_answers_as_the_model_whatever_the_clocks(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "m"), ii=9, word=22)
    rounds = []
    for seed, (ratio, jitter, damage) in enumerate(RATIOS):
        sent = tuple(transactions(frames_of(bit_true_shell(d), seed), damage, seed))
        rounds.append(Round(sent, ratio, jitter, seed))
    written = write_shelled(d, "spi", spi_verilog, tmp_path)
    for own, came in zip(
        rounds, play(written.sources, written.top, rounds, tmp_path / "sim"), strict=True
    ):
        shell = bit_true_shell(d)
        # as the flags that the master sends first
        shell.write(b"".join(own.transactions))
        expected = told(shell.read())
        found = told(b"".join(came))
        assert found == expected
        assert len(found) > TASKS // 3
