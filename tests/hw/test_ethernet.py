"""A board's Ethernet under cocotbext-eth: frames of any kind, whole and damaged, and what it makes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether

from rbdgen import Design
from rbdgen.emulation import bit_true_datagrams, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.protocol.datagrams import (
    Kind,
    datagram_bytes,
    join_packets,
    request_bytes,
)
from rbdgen.protocol.links import (
    Addresses,
    Station,
    own_mac,
    read_address,
    read_mac,
)
from rbdgen_hw.emit import write_station
from rbdgen_sim.gmii import Frame, play
from tests.conftest import design
from tests.hw.test_datagrams import FUNCTIONS, Sent, tasks_of, told

HOST, HOST_MAC, PORT = "192.168.1.2", "02:00:00:00:00:02", 40000
OTHER, OTHER_MAC = "192.168.1.3", "02:00:00:00:00:03"
CLOCK = 100e6
SESSION = 77


def robot() -> Design:
    return design("pendulum2", functions=FUNCTIONS, ii=4)


def to(station: Station, host: str = HOST, mac: str = HOST_MAC) -> Ether:
    """Of a frame to the station what is behind no other."""
    return Ether(dst=station.mac_text, src=mac) / IP(src=host, dst=station.address_text)


def udp(station: Station, data: bytes, sound: bool = True, **fields: object) -> Frame:
    """A datagram to the station."""
    of_other = fields.pop("other", False)
    head = to(station, OTHER, OTHER_MAC) if of_other else to(station)
    frame = head / UDP(**{"sport": PORT, "dport": station.port, **fields}) / data
    return Frame(bytes(frame), sound)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> tuple[Station, list[list[Frame]], list[Sent]]:
    """What the board sent in each round; and what the model makes of the last one."""
    d, work = robot(), tmp_path_factory.mktemp("ethernet")
    addresses = Addresses("192.168.1.50", "02:11:22:33:44:55")
    written, station = write_station(d, CLOCK, addresses, work)
    broadcast = Ether(dst="ff:ff:ff:ff:ff:ff", src=HOST_MAC)
    asked = {"psrc": HOST, "hwsrc": HOST_MAC}
    hello = request_bytes(Kind.HELLO, 0, 1)
    rounds = [
        [
            Frame(bytes(broadcast / ARP(pdst=OTHER, **asked))),
            Frame(bytes(broadcast / ARP(pdst=station.address_text, **asked))),
        ],
        [
            Frame(
                bytes(Ether(dst=station.mac_text, src=HOST_MAC) / IP(src=HOST, dst=OTHER) / ICMP())
            ),
            Frame(bytes(to(station) / ICMP(id=5, seq=9) / bytes(range(56)))),
        ],
        [
            udp(station, hello, sound=False),
            udp(station, hello, dport=station.port + 1),
            Frame(
                bytes(
                    Ether(dst=station.mac_text, src=HOST_MAC)
                    / IP(src=HOST, dst=OTHER)
                    / UDP(sport=PORT, dport=station.port)
                    / hello
                )
            ),
            udp(station, hello + bytes(1460)),
            udp(station, request_bytes(Kind.OPEN, SESSION, 2)),
        ],
        [],
    ]
    model = bit_true_datagrams(d)
    model.receive(hello + bytes(1460), (HOST, PORT))
    # a frame with a wrong check sum is a damaged datagram where it can still be told to be one
    model.receive(b"", (HOST, PORT))
    model.receive(request_bytes(Kind.OPEN, SESSION, 2), (HOST, PORT))
    model.outgoing()

    def give(data: bytes, sound: bool = True, other: bool = False) -> None:
        rounds[-1].append(udp(station, data, sound, other=other))
        model.receive(data if sound else b"", (OTHER if other else HOST, PORT))

    bodies = join_packets(tasks_of(written.manifest.tasks, 300, np.random.default_rng(3)))
    datagrams = [
        datagram_bytes(Kind.TASKS, SESSION, number, body, marks)
        for number, (body, marks) in enumerate(bodies)
    ]
    for number, data in enumerate(datagrams):
        if number % 4 == 1:
            give(data, sound=False)
            give(data, other=True)
        if number == 2:
            # the one behind it overtakes it
            give(datagrams[3])
        give(data)
        if number % 4 == 0:
            give(data)
    give(datagram_bytes(Kind.TASKS, SESSION + 1, len(datagrams), bodies[0][0], bodies[0][1]))
    give(request_bytes(Kind.HELLO, SESSION, 3), other=True)
    stations = {read_address(HOST): read_mac(HOST_MAC), read_address(OTHER): read_mac(OTHER_MAC)}
    came = play(written.sources, written.top, rounds, stations, CLOCK, work / "sim")
    assert all(frame.sound for frames in came for frame in frames)
    return station, came, model.outgoing()


def payloads(station: Station, frames: list[Frame]) -> list[tuple[bytes, tuple[str, int]]]:
    """The datagrams in frames, with whom they are to; what stands around them is as it must be."""
    found = []
    macs = {HOST: HOST_MAC, OTHER: OTHER_MAC}
    for frame in frames:
        packet = Ether(frame.data)
        if UDP not in packet:
            continue
        ip = packet[IP]
        checked = IP(bytes(ip))
        del checked.chksum
        assert IP(bytes(checked)).chksum == ip.chksum
        assert (ip.src, ip[UDP].sport) == (station.address_text, station.port)
        assert (packet.src, packet.dst) == (station.mac_text, macs[ip.dst])
        data = bytes(ip[UDP].payload)[: ip[UDP].len - 8]
        found.append((data, (ip.dst, ip[UDP].dport)))
    return found


@pytest.mark.thorough
@pytest.mark.slow
def test_it_says_who_has_its_address(wire: tuple) -> None:
    station, came, _ = wire
    (frame,) = came[0]
    answer = Ether(frame.data)
    assert (answer.dst, answer[ARP].op) == (HOST_MAC, 2)
    assert (answer[ARP].psrc, answer[ARP].hwsrc) == (station.address_text, station.mac_text)
    assert (answer[ARP].pdst, answer[ARP].hwdst) == (HOST, HOST_MAC)


@pytest.mark.thorough
@pytest.mark.slow
def test_it_answers_a_ping(wire: tuple) -> None:
    station, came, _ = wire
    # it asks for the MAC address of the one who pings first
    request, frame = came[1]
    assert Ether(request.data)[ARP].pdst == HOST
    answer = Ether(frame.data)
    assert (answer[IP].src, answer[IP].dst, answer.dst) == (station.address_text, HOST, HOST_MAC)
    assert (answer[ICMP].type, answer[ICMP].id, answer[ICMP].seq) == (0, 5, 9)
    assert bytes(answer[ICMP].payload)[:56] == bytes(range(56))
    checked = answer[ICMP].copy()
    del checked.chksum
    assert ICMP(bytes(checked)).chksum == answer[ICMP].chksum


@pytest.mark.thorough
@pytest.mark.slow
def test_it_hears_only_what_is_for_it_and_whole(wire: tuple) -> None:
    station, came, _ = wire
    ((data, receiver),) = payloads(station, came[2])
    assert receiver == (HOST, PORT)
    assert (data[0], data[4:12]) == (Kind.HELLO, SESSION.to_bytes(4, "little") + b"\2\0\0\0")


@pytest.mark.thorough
@pytest.mark.slow
def test_tasks_are_answered_bit_for_bit(wire: tuple) -> None:
    station, came, expected = wire
    tasks = manifest_of(robot()).tasks
    ours, theirs = told(payloads(station, came[3]), tasks), told(expected, tasks)
    assert ours == theirs
    assert 150 < len(ours[0]) < 300


@pytest.mark.slow
def test_the_text_of_the_core_is_the_same_every_time(tmp_path: Path) -> None:
    program = (
        "import hashlib\n"
        "from rbdgen.protocol.links import Station\n"
        "from rbdgen_hw.shells.ethernet import GMII, RGMII\n"
        "from rbdgen_hw.shells.ethernet_core import core_verilog\n"
        "text = ''.join(core_verilog('core', Station(1, 2), 1e8, phy) for phy in (RGMII, GMII, RGMII))\n"
        "assert text.isascii() and '/' not in text.replace('//', '').replace('/*', '').replace('*/', '')\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    found = set()
    for seed in "12":
        paths = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_a_design_has_a_mac_address_of_its_own() -> None:
    first, second = own_mac(b"\xff" * 16), own_mac(bytes(16))
    assert first != second
    for mac in (first, second):
        assert mac >> 40 & 3 == 2
        assert read_mac(Station(0, mac).mac_text) == mac


@pytest.mark.parametrize(
    ("address", "mac", "message"),
    [
        ("192.168.1", None, r"^ip: '192.168.1' is no IPv4 address; give four numbers such as"),
        ("224.0.0.1", None, r"^ip: 224.0.0.1 is no address of a single station; give one"),
        ("192.168.1.255", None, r"^ip: 192.168.1.255 is no address of a single station; give"),
        ("0.0.0.0", None, r"^ip: 0.0.0.0 is no address of a single station"),
        ("10.0.0.1", "02:11:22:33:44", r"^mac: '02:11:22:33:44' is no MAC address; give six"),
        ("10.0.0.1", "01:11:22:33:44:55", r"^mac: 01:11:22:33:44:55 is no address of a single"),
    ],
)
def test_what_is_no_address_is_one_line(address: str, mac: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Addresses(address, mac)
