"""What a task costs on a link: counted out by hand, and beside the bytes that are really sent."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.host.driver import Driver
from rbdgen.protocol.frames import FRAME_BYTES, Kind, frame_bytes
from rbdgen.protocol.links import LINKS, USUAL, Streams, Ways, get_link, serial_line
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import Packing
from rbdgen_sim.comparison import random_operands
from tests.conftest import design

LINE = serial_line(3_000_000)
ETHERNET = get_link("gigabit-ethernet")


def test_a_serial_line_takes_what_its_frames_take() -> None:
    """Random packets in frames: bytes with their start and stop bits, escapes on average."""
    packing, values, count = Packing((16,) * 4), 63, 400
    length = packing.packet_bytes(values)
    assert length == 128
    rng = np.random.default_rng(3)
    sent = [len(frame_bytes(Kind.TASK, rng.bytes(length))) for _ in range(count)]
    assert LINE.packet_bits(packing, values) == pytest.approx(10 * np.mean(sent), rel=0.002)
    assert LINE.packet_bits(packing, values) == 10 * ((length + FRAME_BYTES) * 258 / 256 + 2)


def test_a_driver_sends_and_receives_what_the_line_is_said_to_carry() -> None:
    d = design("pendulum2", functions=("id",), ii=4)
    shell, moved = bit_true_shell(d), Counter[str]()
    write, read = shell.write, shell.read

    def written(data: bytes) -> None:
        moved["in"] += len(data)
        write(data)

    def was_read() -> bytes:
        data = read()
        moved["out"] += len(data)
        return data

    device = Driver.open(manifest_of(d), shell)
    shell.write, shell.read = written, was_read  # type: ignore[method-assign]
    count = 2000
    q, v, a, _ = random_operands(d, count)
    device.rnea(q, v, a)
    bits = LINE.task_bits(d.tasks, "id")
    assert 10 * moved["in"] / count == pytest.approx(bits.into, rel=0.02)
    assert 10 * moved["out"] / count == pytest.approx(bits.out, rel=0.02)


def test_streams_take_whole_beats() -> None:
    d = design("pendulum2", ii=4, replicas=1)
    streams = Streams("streams", "", cycle=64)
    task, result = (stream_bits(packing) for packing in (d.tasks.task, d.tasks.result))
    assert streams.task_bits(d.tasks, "id") == Ways(4 * task, 3 * result)
    assert streams.interval(d.tasks, "id", 100.0) == max(4 * task, 3 * result) / 64
    rates = streams.rates(d.tasks, "id", 100.0)
    assert rates.into == pytest.approx(1e8 * 64 / (4 * task))
    several = design("pendulum2", replicas=2).tasks
    assert streams.task_bits(several, "id").into == stream_bits(several.task) / 2


@pytest.mark.parametrize(
    ("words", "bytes_on_the_wire"),
    [
        # 10 bytes are 12; 121 of them are in 1,456 bytes, and 82 bytes are around those
        (4, 12 + 82 / 121),
        (363, 728 + 82 / 2),
        (364, 732 + 82),
        (727, 1456 + 82),
        # longer than a datagram
        (728, 1460 + 2 * 82),
        (3000, 6004 + 5 * 82),
    ],
)
def test_ethernet_carries_as_many_packets_as_a_datagram_has_room_for(
    words: int, bytes_on_the_wire: float
) -> None:
    bits = ETHERNET.packet_bits(Packing((16,)), words)
    assert bits == pytest.approx(8 * bytes_on_the_wire)


def test_the_slower_way_sets_the_interval() -> None:
    d = design("pendulum2", functions=("id", "did"), ii=4)
    for link in LINKS.values():
        for name in d.tasks.functions:
            bits, rates = link.task_bits(d.tasks, name), link.rates(d.tasks, name, 80.0)
            slower = min(rates.into, rates.out)
            assert link.interval(d.tasks, name, 80.0) == pytest.approx(80e6 / slower)
            assert bits.longer == ("in" if rates.into <= rates.out else "out")


def test_links_say_what_they_leave_out() -> None:
    assert set(USUAL) <= LINKS.keys()
    for link in LINKS.values():
        assert link.left_out
        assert link.gigabits or link.cycle
    with pytest.raises(ConfigError, match=r"^link 'usb': unknown; known links: serial, gigabit-"):
        get_link("usb")
    with pytest.raises(ConfigError, match=r"^link 3: unknown; known links: "):
        get_link(3)
