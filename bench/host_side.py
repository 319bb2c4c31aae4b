"""Measures the host's side of a call: from arrays to bytes and back, without the time that a device takes.

The device is the bit-true model in this process, and its time is taken away. It computes what it is asked once and
knows it from then on: no board's work would push the host's data out of the caches. The driver in Python goes over
both links, the library in C over the stream of bytes, by a transport that calls back into Python; that is taken away
as well, but for a microsecond a call. A minute. ``make bench-host``.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from figures import Targets, arguments, parse, section

from rbdgen import Design, Options, compile_robot, load_robot, native
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.host.driver import Driver
from rbdgen.host.library import library_files
from rbdgen.host.manifest import Manifest
from rbdgen.host.stream_link import StreamLink
from rbdgen.shells.shell import ShellModel
from rbdgen_sim.axi import DmaModel

ROBOTS = {"iiwa14": "fixed", "hyq": "floating"}
"""Robots by name, with their bases."""
OPTIONS = Options(("fd", "dfd"), ii=12, word=18)
COUNTS = (1, 50)
"""Tasks of a call."""
CALLS = 1000
"""Of each kind, of which the fastest counts."""
MODEL_CALLS = 5
"""In which the model computes, the fastest of which counts."""
ASKED = 1000.0
"""µs that 50 tasks may take."""
DEVICE_BYTES = 1 << 16
"""Memory for a device's state in C, more than it takes."""

Call = Callable[[], object]


class Stopwatch:
    """Adds up the seconds that are spent in what is ``inside``."""

    def __init__(self) -> None:
        self.spent = 0.0

    def inside(self, call: Callable[..., object]) -> Callable[..., object]:
        """``call``, whose time is added."""

        def timed(*given: object) -> object:
            begin = time.perf_counter()
            try:
                return call(*given)
            finally:
                self.spent += time.perf_counter() - begin

        return timed

    def watch(self, device: object, *methods: str) -> None:
        """Add the time of these methods of a ``device``."""
        for name in methods:
            setattr(device, name, self.inside(getattr(device, name)))

    def measure(self, call: Call, forget: Call) -> tuple[float, float, float]:
        """µs of a call outside: least and median; and inside, where the model has to ``forget`` what it knows."""
        outside = []
        call()
        for _ in range(CALLS):
            self.spent = 0.0
            begin = time.perf_counter()
            call()
            outside.append(time.perf_counter() - begin - self.spent)
        inside = []
        for _ in range(MODEL_CALLS):
            forget()
            self.spent = 0.0
            call()
            inside.append(self.spent)
        return min(outside) * 1e6, statistics.median(outside) * 1e6, min(inside) * 1e6


def operands(known: Manifest, function: str, count: int, seed: int = 1) -> dict[str, np.ndarray]:
    """States inside the declared limits of each operand."""
    random = np.random.default_rng(seed)
    found = {}
    for vector in known.operand_vectors[function]:
        found[vector] = np.zeros((count, *known.shapes[vector].size))
    words = known.tasks.functions[function].operands
    for entry, word in zip(known.operands[function], words, strict=True):
        low, high = (word.format.real(np.array(code)) for code in word.codes)
        found[entry.vector][(slice(None), *entry.index)] = random.uniform(low, high, count)
    return found


class Model:
    """Shells whose accelerators know what they were asked before."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.known: dict[tuple[str, bytes], Any] = {}

    def shell(self) -> ShellModel:
        """Another shell."""
        shell = bit_true_shell(self.design)
        compute = shell.compute

        def remembered(function: str, raw: Sequence[np.ndarray]) -> Any:
            key = function, np.array(raw).tobytes()
            if key not in self.known:
                self.known[key] = compute(function, raw)
            return self.known[key]

        shell.compute = remembered
        return shell


def byte_driver(model: Model, watch: Stopwatch) -> Driver:
    """The driver over a stream of bytes."""
    device = model.shell()
    watch.watch(device, "read", "write")
    return Driver.open(manifest_of(model.design), device)


def stream_driver(model: Model, watch: Stopwatch) -> Driver:
    """The driver over transfers of beats."""
    device = DmaModel(model.shell())
    watch.watch(device, "transfer")
    known = manifest_of(model.design)
    return Driver(known, StreamLink(known, device))


Read = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
)
Write = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
)
Close = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Clock = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)


class Transport(ctypes.Structure):
    """``rbd_transport`` of the library in C."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("read", Read),
        ("write", Write),
        ("close", Close),
        ("milliseconds", Clock),
        ("random", ctypes.c_void_p),
        ("datagrams", ctypes.c_int),
    )


class CDevice:
    """A design's device in C, in front of the bit-true model."""

    def __init__(self, model: Model, watch: Stopwatch) -> None:
        self.known, self.shell = manifest_of(model.design), model.shell()
        self.unread = b""
        found = library_files(self.known)
        texts = {}
        for name, text in found.items():
            if name.endswith((".c", ".h")):
                texts[name] = text
        self.library = native.library("host", texts, ("-std=c99", "-O2"), ("-lm",))
        self.prefix = next(n for n in found if n.endswith("_device.hpp") and "rbdgen" not in n)
        self.prefix = self.prefix.removesuffix("_device.hpp")
        self.transport = Transport(
            None,
            b"model",
            Read(watch.inside(self._read)),
            Write(watch.inside(self._write)),
            Close(lambda _: None),
            Clock(watch.inside(lambda _: int(time.monotonic() * 1000))),
            None,
            0,
        )
        self.state = ctypes.create_string_buffer(DEVICE_BYTES)
        self.tables = ctypes.c_char.in_dll(self.library, f"{self.prefix}_design")
        self.library.rbd_workspace_bytes.restype = ctypes.c_size_t
        size = self.library.rbd_workspace_bytes(ctypes.byref(self.tables))
        self.workspace = ctypes.create_string_buffer(size)
        given = (self.tables, self.transport, self.workspace)
        places = [ctypes.byref(x) for x in given]
        status = self.library.rbd_open(self.state, *places, ctypes.c_size_t(size), None)
        assert status == 0

    def _read(self, _: object, data: int, size: int, __: int) -> int:
        if not self.unread:
            self.unread = self.shell.read()
        part, self.unread = self.unread[:size], self.unread[size:]
        ctypes.memmove(data, part, len(part))
        return len(part)

    def _write(self, _: object, data: int, size: int, __: int) -> int:
        self.shell.write(ctypes.string_at(data, size))
        return 0

    def call(self, function: str, given: Mapping[str, np.ndarray], count: int) -> Call:
        """A call of a function at these states."""
        results = []
        for vector in self.known.result_vectors[function]:
            results.append(np.zeros((count, *self.known.shapes[vector].size)))
        flags = np.zeros(count, np.uint8)
        arrays: Sequence[np.ndarray] = [*given.values(), *results, flags]
        places = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
        typed = getattr(self.library, f"{self.prefix}_{function}")

        def call() -> Sequence[np.ndarray]:
            status = typed(self.state, ctypes.c_size_t(count), *places)
            assert status == 0
            return arrays

        return call


def rows(name: str, base: str, targets: Targets) -> list[list[object]]:
    """A row for each function and number of tasks, and way to the device."""
    model = Model(compile_robot(load_robot(name, base), OPTIONS))
    watch = Stopwatch()
    drivers = {
        "Python, bytes": byte_driver(model, watch),
        "Python, beats": stream_driver(model, watch),
    }
    in_c = CDevice(model, watch)
    found: list[list[object]] = []
    for function in OPTIONS.functions:
        for count in COUNTS:
            given = operands(in_c.known, function, count)
            calls: dict[str, Call] = {}
            for way, driver in drivers.items():
                calls[way] = lambda d=driver, f=function, g=given: d.call(f, **g)
            calls["C, bytes"] = in_c.call(function, given, count)
            for way, call in calls.items():
                least, median, inside = watch.measure(call, model.known.clear)
                verdict = targets.at_most(least, ASKED) if count > 1 else ""
                times = f"{least:.0f}", f"{median:.0f}", verdict, f"{inside:.0f}"
                found.append([name, base, function, count, way, *times])
    return found


def main() -> int:
    """Measure all; 1 if the host takes longer than it may."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--robot", choices=ROBOTS, action="append", help="only this; may be repeated"
    )
    args = parse(parser)
    targets = Targets()
    found: list[list[object]] = []
    for name in args.robot or ROBOTS:
        found += rows(name, ROBOTS[name], targets)
    head = [
        "robot",
        "base",
        "function",
        "tasks",
        "host",
        "host µs",
        "median",
        "",
        "device's model µs",
    ]
    section(f"A call's time on the host, at most {ASKED:.0f} µs for 50 tasks", head, found)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
