"""Measures the host's side of Ethernet: tasks through a network with faults, and how fast the host is over loopback.

Faults: of mixed tasks of all functions none may be answered wrong, and none lost without being told so, where one
datagram in a hundred is lost, comes twice or late, in either direction. The device is the bit-true model behind a
socket.

Speed: the device answers zeros at once in a process of its own. What counts is the host's own time, system calls
included, of a call and of its link alone; tasks a second over loopback are those of the slower of the two processes.
Minutes. ``make bench-ethernet-host``.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from figures import Part, Targets, arguments, measure, parse, section
from host_side import DEVICE_BYTES, operands

from rbdgen import Design, Options, compile_robot, load_robot, native
from rbdgen.emulation import bit_true_datagrams, manifest_of
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver, Tasks
from rbdgen.host.library import library_files
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.datagrams import BODY_BYTES, padded
from rbdgen.shells.datagram_shell import DatagramShell, UdpServer
from rbdgen_sim.comparison import differences
from rbdgen_sim.faults import Faults, UdpRelay

SHARE = 0.01
"""Of datagrams that are lost, come twice, and come late."""
COUNT = 100_000
"""Tasks through faults."""
BATCH = 20_000
"""Of them in a call."""
CALL_TASKS = 10_000
"""In a call whose time is measured."""
CALLS = 7
"""Of which the fastest counts."""
ASKED = 100.0
"""µs of the host's own time that the link may take for a datagram, of tasks or of results."""

Maker = Callable[[], DatagramShell]


class Zeros:
    """Makes a device of a manifest that answers zeros."""

    def __init__(self, known: Manifest) -> None:
        self.known = known

    def __call__(self) -> DatagramShell:
        return DatagramShell(self.known.identity, self.known.tasks, self._compute)

    def _compute(
        self, function: str, raw: Sequence[np.ndarray]
    ) -> tuple[Sequence[np.ndarray], np.ndarray]:
        count = len(raw[0])
        zeros = np.zeros(count, np.int64)
        return [zeros for _ in self.known.tasks.functions[function].results], np.zeros(count, bool)


class BitTrue:
    """Makes a device that answers by a design's bit-true model."""

    def __init__(self, design: Design) -> None:
        self.design = design

    def __call__(self) -> DatagramShell:
        return bit_true_datagrams(self.design)


def serve(maker: Maker, pipe: Connection) -> None:
    """Serve a device until the other end of the pipe says so."""
    with UdpServer(maker(), "127.0.0.1:0") as server:
        pipe.send(server.name)
        pipe.recv()


@contextmanager
def beside(maker: Maker) -> Iterator[str]:
    """The address of a device in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(maker, theirs), daemon=True)
    process.start()
    yield ours.recv()
    ours.send(None)
    process.join()


def mixed(known: Manifest, seed: int) -> tuple[list[Tasks], np.ndarray]:
    """Tasks of random functions at random states inside the declared ranges, and the order in which they are sent."""
    names = [*known.tasks.functions]
    order = np.random.default_rng(seed).integers(0, len(names), BATCH)
    counts = np.bincount(order, minlength=len(names))
    requests = []
    for name, count in zip(names, counts.tolist(), strict=True):
        requests.append(Tasks(name, operands(known, name, count, seed)))
    return requests, order


def through_faults(design: Design, address: str, targets: Targets) -> list[Any]:
    """A row of tasks on a path to ``address`` with faults."""
    known = manifest_of(design)
    ways = [Faults(SHARE, SHARE, SHARE, seed=seed) for seed in (1, 2)]
    wrong = lost = 0
    begin = time.monotonic()
    with UdpRelay(address, *ways) as relay, Driver.udp(known, relay.name, flags="ignore") as device:
        for seed in range(COUNT // BATCH):
            requests, order = mixed(known, seed)
            answers = device.solve(requests, order)
            for request, answer in zip(requests, answers, strict=True):
                lost += int(np.count_nonzero(answer.lost))
                bad = differences(design, known, request, answer).any & ~answer.lost
                wrong += int(np.count_nonzero(bad))
        counters = device.link.counters
    seconds = time.monotonic() - begin
    datagrams = [
        f"{way.counts['lost']}, {way.counts['doubled']}, {way.counts['late']}" for way in ways
    ]
    verdicts = targets.equal(wrong, 0), targets.equal(lost, 0)
    again = counters.sent - COUNT
    return [COUNT, *datagrams, again, wrong, verdicts[0], lost, verdicts[1], f"{seconds:.0f}"]


def faults(targets: Targets) -> None:
    """Tasks through a network with faults."""
    robot = load_robot("iiwa14")
    design = compile_robot(robot, Options(common(), ii=12, word=18))
    with beside(BitTrue(design)) as address:
        row = through_faults(design, address, targets)
    head = [
        "tasks",
        "to the device: lost, twice, late",
        "to the host",
        "tasks sent again",
        "wrong",
        "",
        "lost",
        "",
        "s",
    ]
    section("Mixed tasks of iiwa14 through a network with faults", head, [row])


class InC:
    """A design's device in C, at a UDP address."""

    def __init__(self, known: Manifest, address: str) -> None:
        found = library_files(known)
        texts = {}
        for name, text in found.items():
            if name.endswith((".c", ".h")):
                texts[name] = text
        self.known = known
        self.library = native.library("host", texts, ("-std=c99", "-O2"), ("-lm",))
        own = next(n for n in found if n.endswith("_device.hpp") and "rbdgen" not in n)
        self.prefix = own.removesuffix("_device.hpp")
        host, service = address.split(":")
        self.port, self.transport, self.state = (
            ctypes.create_string_buffer(DEVICE_BYTES) for _ in range(3)
        )
        self.tables = ctypes.c_char.in_dll(self.library, f"{self.prefix}_design")
        tables = ctypes.byref(self.tables)
        self.library.rbd_workspace_bytes.restype = ctypes.c_size_t
        size = self.library.rbd_workspace_bytes(tables)
        self.workspace = ctypes.create_string_buffer(size)
        status = self.library.rbd_open_udp(
            self.port, self.transport, host.encode(), service.encode()
        )
        assert status == 0
        status = self.library.rbd_open(
            self.state, tables, self.transport, self.workspace, ctypes.c_size_t(size), None
        )
        assert status == 0

    def call(self, function: str, given: Mapping[str, np.ndarray], count: int) -> None:
        """One call of a function."""
        results = []
        for vector in self.known.result_vectors[function]:
            results.append(np.zeros((count, *self.known.shapes[vector].size)))
        arrays: Sequence[np.ndarray] = [*given.values(), *results, np.zeros(count, np.uint8)]
        places = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
        typed = getattr(self.library, f"{self.prefix}_{function}")
        status = typed(self.state, ctypes.c_size_t(count), *places)
        assert status == 0


def fastest(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the fastest call: on the clock, and of this thread's own."""
    spans, own = [], []
    for _ in range(CALLS):
        begin, own_begin = time.perf_counter(), time.thread_time()
        call()
        own.append(time.thread_time() - own_begin)
        spans.append(time.perf_counter() - begin)
    return min(spans), min(own)


def speed(targets: Targets) -> None:
    """The host's own time over loopback, and its rate."""
    functions = ("id", "dfd")
    robot = load_robot("iiwa14")
    known = manifest_of(compile_robot(robot, Options(functions, ii=12, word=18)))
    rows = []
    for name in functions:
        given = operands(known, name, CALL_TASKS)
        tasks = BODY_BYTES // padded(known.tasks.task_bytes(name))
        answers = BODY_BYTES // padded(known.tasks.result_bytes(name))
        datagrams = CALL_TASKS * (1 / tasks + 1 / answers)
        with beside(Zeros(known)) as address, Driver.udp(known, address, flags="ignore") as device:
            arrays = device.arrays.setdefault(name, device._arrays(name))
            packets = arrays.packets(arrays.raw(given)[1])
            ways = {
                "Python": fastest(lambda f=name, g=given: device.call(f, **g)),
                "Python, link alone": fastest(lambda p=packets: device.link.exchange(p)),
            }
        with beside(Zeros(known)) as address:
            in_c = InC(known, address)
            ways["C"] = fastest(lambda c=in_c, f=name, g=given: c.call(f, g, CALL_TASKS))
        for way, (span, own) in ways.items():
            each = 1e6 * own / datagrams
            verdict = "" if way == "Python" else targets.at_most(each, ASKED)
            task = f"{1e6 * own / CALL_TASKS:.2f}"
            rate = round(CALL_TASKS / span)
            full = f"{tasks}, {answers}"
            rows.append([name, full, way, task, f"{each:.0f}", verdict, rate])
    head = [
        "function",
        "tasks, results in a datagram",
        "host",
        "own µs per task",
        "own µs per datagram",
        "",
        "tasks a second over loopback",
    ]
    title = f"The host's own time over UDP for iiwa14, at most {ASKED:.0f} µs for a datagram"
    section(title, head, rows)


PARTS: dict[str, Part] = {
    "faults": lambda targets, _: faults(targets),
    "speed": lambda targets, _: speed(targets),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    return measure(parse(arguments(__doc__, PARTS)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
