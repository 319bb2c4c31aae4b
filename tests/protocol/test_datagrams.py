"""Datagrams: what is sent arrives, what is damaged does not; packets of any length go into bodies and come out."""

from __future__ import annotations

import re
import zlib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    DATAGRAM_VERSION,
    DEFAULT_PORT,
    HEAD_BYTES,
    MAGIC,
    MOST_BYTES,
    OVERHEAD_BYTES,
    STATUS_BYTES,
    WHOLE,
    Datagram,
    Kind,
    Mark,
    Status,
    ahead,
    datagram_bytes,
    following,
    join_packets,
    packet_starts,
    padded,
    read_datagram,
    request_bytes,
    result_lengths,
    split_packets,
    task_lengths,
)
from rbdgen.protocol.tasks import CALIBRATE
from tests.conftest import design

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
LENGTHS = (2, 5, 52, 1456, 1457, 3000, 4400, *[3] * 25)
"""Bytes of packets by function codes."""


def packets(count: int, seed: int, codes: int = len(LENGTHS)) -> list[bytes]:
    """Any packets of functions below ``codes``."""
    random = np.random.default_rng(seed)
    found = []
    for code in random.integers(codes, size=count).tolist():
        first = code | int(random.integers(8)) << 5
        found.append(bytes([first]) + random.bytes(LENGTHS[code] - 1))
    return found


def test_the_words_of_a_datagram_are_these() -> None:
    data = datagram_bytes(Kind.TASKS, 0x04030201, 0x08070605, b"body", WHOLE)
    assert data[:-4] == bytes([1, DATAGRAM_VERSION, 3, 0x52, 1, 2, 3, 4, 5, 6, 7, 8]) + b"body"
    assert data[-4:] == zlib.crc32(data[:-4]).to_bytes(4, "little")
    assert (HEAD_BYTES, OVERHEAD_BYTES, MOST_BYTES) == (12, 16, 1472)


def test_datagrams_come_back() -> None:
    for size in (0, 4, BODY_BYTES):
        data = datagram_bytes(Kind.OPEN, 7, 9, bytes(size), Mark.ENDS)
        assert read_datagram(data) == Datagram(
            Kind.OPEN, DATAGRAM_VERSION, Mark.ENDS, 7, 9, bytes(size)
        )


def test_any_single_fault_is_noticed() -> None:
    data = datagram_bytes(Kind.TASKS, 1, 2, bytes(range(40)), WHOLE)
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert read_datagram(bytes(damaged)) is None


@pytest.mark.parametrize("change", [-4, -1, 1, 4, -len(datagram_bytes(1, 2, 3))])
def test_other_lengths_are_noticed(change: int) -> None:
    data = datagram_bytes(Kind.HELLO, 1, 2)
    assert read_datagram(data[: len(data) + change].ljust(len(data) + change, b"\0")) is None


def test_what_is_longer_than_a_datagram_may_be_is_none() -> None:
    assert read_datagram(datagram_bytes(Kind.TASKS, 1, 2, bytes(BODY_BYTES + 4))) is None


def test_a_status_comes_back() -> None:
    status = Status(bytes(range(16)), *range(1, 10))
    assert Status.unpack(status.pack()) == status
    assert Status.unpack(status.pack() + bytes(4)) is None
    assert status.pack()[16:24] == bytes([1, 0, 0, 0, 2, 0, 0, 0])


def test_the_page_has_the_words_of_a_status() -> None:
    _, table = PAGE.read_text(encoding="utf-8").split("| word | of a status |")
    rows = re.findall(r"^\| ([\d to]+) \| `(\w+)`", table, re.M)
    words, names = zip(*rows, strict=True)
    assert list(names) == [f.name for f in fields(Status)]
    assert list(words) == ["0 to 3", *map(str, range(4, STATUS_BYTES // 4))]


def test_the_page_has_the_kinds_and_the_port() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"kind ({', '.join(f'{k:d} `{k.name}`' for k in Kind)})" in text
    assert f"marks ({', '.join(f'{m:d} `{m.name}`' for m in Mark)}), and 0x{MAGIC:x}" in text
    assert f"at port {DEFAULT_PORT} " in text
    assert f"{MOST_BYTES:,} bytes at most" in text


def test_numbers_start_again() -> None:
    last = (1 << 32) - 1
    assert following(last) == 0
    assert (ahead(3, 1), ahead(1, 3), ahead(0, last), ahead(last, 0)) == (2, -2, 1, -1)
    assert (ahead((1 << 31) - 1, 0), ahead(1 << 31, 0)) == ((1 << 31) - 1, -(1 << 31))


@pytest.mark.parametrize("codes", [1, 3, 5, len(LENGTHS)])
def test_packets_go_into_bodies_and_come_out(codes: int) -> None:
    sent = packets(300, seed=codes, codes=codes)
    rest, found = b"", []
    for body, marks in join_packets(sent):
        assert 0 < len(body) <= BODY_BYTES
        assert bool(marks & Mark.BEGINS) == (not rest)
        done, rest = split_packets(rest + bytes(body), LENGTHS)
        assert bool(marks & Mark.ENDS) == (not rest)
        found += done
    assert (found, rest) == (sent, b"")


def test_bodies_are_as_full_as_they_can_be_and_only_long_packets_are_cut() -> None:
    sent = packets(300, seed=1)
    sizes = [padded(len(packet)) for packet in sent]
    room, first = 0, []
    for number, size in enumerate(sizes):
        if size > room:
            first.append(number)
            room = BODY_BYTES
        room = 0 if size > BODY_BYTES else room - size
    bodies = join_packets(sent)
    begin = [body for body, marks in bodies if marks & Mark.BEGINS]
    assert [bytes(body[:2]) for body in begin] == [sent[k][:2] for k in first]
    cuts = sum(-(-size // BODY_BYTES) - 1 for size in sizes)
    assert len(bodies) == len(first) + cuts


def test_packets_of_one_function_are_found_like_those_of_several() -> None:
    one = b"".join(packet.ljust(8, b"\0") for packet in packets(20, 3, codes=2) if packet[0] & 1)
    starts, rest = packet_starts(one + b"\1abc", LENGTHS)
    assert (starts.tolist(), rest) == (list(range(0, len(one), 8)), len(one))
    assert packet_starts(b"", LENGTHS)[1] == 0
    found, left = split_packets(one + b"\0\0\0\0\1abc", LENGTHS)
    assert (len(found), found[-1], left) == (len(one) // 8 + 1, b"\0\0", b"\1abc")


def test_lengths_are_those_of_the_functions() -> None:
    tasks = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True).tasks
    longest, answers = task_lengths(tasks), result_lengths(tasks)
    for name, f in tasks.functions.items():
        assert longest[f.code] == tasks.task_bytes(name)
        assert answers[f.code] == tasks.result_bytes(name)
    assert longest[CALIBRATE] == tasks.task.packet_bytes(2)
    assert (longest[31], answers[31]) == (tasks.task.packet_bytes(0), tasks.result.packet_bytes(0))
    assert answers[CALIBRATE] == answers[31]


def test_who_asks_for_a_status_sends_as_much_as_it_gets() -> None:
    status = Status(bytes(16), *range(9))
    answer = datagram_bytes(Kind.HELLO, 1, 2, status.pack())
    for kind in (Kind.HELLO, Kind.OPEN):
        assert len(request_bytes(kind, 1, 2)) >= len(answer)
