"""A GPU by CUDA's driver: memory of both sides, streams, events, and kernels of a cubin, by ctypes.

Only the driver's library is needed, which comes with the driver itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LIBRARY = "libcuda.so.1"
STREAMS = 4
"""Streams that overlap copies and kernels."""
REPEATS = 20
"""Runs, of which the fastest counts."""
MAJOR, MINOR, SHARED_OPT_IN = 75, 76, 97
"""Attributes of a device: its compute capability, and bytes of shared memory that a block may ask for."""
MAX_DYNAMIC_SHARED = 8
"""Attribute of a kernel."""


class NoGpuError(Exception):
    """There is no GPU here, and why."""


class Gpu:
    """The first GPU. NoGpuError where there is none."""

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise NoGpuError(f"{LIBRARY}: not found") from None
        if self.library.cuInit(0):
            raise NoGpuError("the driver finds no device")
        self.device = ctypes.c_int()
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if not count.value:
            raise NoGpuError("the driver finds no device")
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.streams = [self._made("cuStreamCreate", 1) for _ in range(STREAMS)]
        self.events = [self._made("cuEventCreate", 0) for _ in range(2 + STREAMS)]

    def call(self, name: str, *arguments: object) -> None:
        """A function of the driver. RuntimeError where it fails."""
        code = getattr(self.library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown').decode()}")

    def _made(self, name: str, flags: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), flags)
        return made

    @property
    def name(self) -> str:
        """The device's name."""
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self.device)
        return text.value.decode()

    def attribute(self, number: int) -> int:
        """An attribute of the device."""
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    @property
    def architecture(self) -> str:
        """Architecture that it executes, as NVRTC calls it."""
        return f"sm_{self.attribute(MAJOR)}{self.attribute(MINOR)}"

    def module(self, cubin: bytes) -> ctypes.c_void_p:
        """Loaded kernels."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def kernel(self, module: ctypes.c_void_p, name: str, shared: int) -> ctypes.c_void_p:
        """One of them, with so much shared memory."""
        kernel = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
        self.call("cuFuncSetAttribute", kernel, MAX_DYNAMIC_SHARED, shared)
        return kernel

    def best(self, work: Callable[[], None]) -> float:
        """Seconds of the fastest of some runs, by events: from one that all streams wait for to one that waits for
        all."""
        begin, end, *done = self.events
        first = self.streams[0]
        least = float("inf")
        for _ in range(REPEATS):
            self.call("cuEventRecord", begin, first)
            for stream in self.streams[1:]:
                self.call("cuStreamWaitEvent", stream, begin, 0)
            work()
            for stream, event in zip(self.streams[1:], done, strict=False):
                self.call("cuEventRecord", event, stream)
                self.call("cuStreamWaitEvent", first, event, 0)
            self.call("cuEventRecord", end, first)
            self.call("cuEventSynchronize", end)
            milliseconds = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
            least = min(least, milliseconds.value * 1e-3)
        return least


@dataclass(frozen=True)
class Launch:
    """A kernel and how it is launched: ``threads`` by x and y, ``states`` of a block, bytes of ``shared`` memory."""

    kernel: ctypes.c_void_p
    threads: tuple[int, int]
    states: int
    shared: int


class Arrays:
    """Arrays on the device with pinned twins on the host: ``operands`` with their values, ``results`` by shape and
    type. To be released."""

    def __init__(
        self,
        gpu: Gpu,
        count: int,
        operands: Sequence[np.ndarray],
        results: Sequence[tuple[tuple[int, ...], np.dtype]],
    ) -> None:
        self.gpu = gpu
        self.count = count
        self.device: list[ctypes.c_uint64] = []
        self.host: list[np.ndarray] = []
        self.taken = len(operands)
        for x in operands:
            self._add(x.shape, x.dtype)[...] = x
        for shape, dtype in results:
            self._add(shape, dtype)
        self._add((1,), np.dtype(np.uint64))[...] = 0
        self.singular = len(self.host) - 1
        for k in (*range(self.taken), self.singular):
            self._copy("cuMemcpyHtoDAsync_v2", k, gpu.streams[0])
        gpu.call("cuStreamSynchronize", gpu.streams[0])

    def _add(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        size = int(np.prod(shape)) * dtype.itemsize
        device, host = ctypes.c_uint64(), ctypes.c_void_p()
        self.gpu.call("cuMemAlloc_v2", ctypes.byref(device), ctypes.c_size_t(size))
        self.gpu.call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(size), 0)
        assert host.value is not None
        memory = (ctypes.c_char * size).from_address(host.value)
        self.device.append(device)
        self.host.append(np.frombuffer(memory, dtype).reshape(shape))
        return self.host[-1]

    def _copy(self, name: str, k: int, stream: ctypes.c_void_p) -> None:
        device, host = self.device[k], ctypes.c_void_p(self.host[k].ctypes.data)
        ends = (device, host) if "HtoD" in name else (host, device)
        self.gpu.call(name, *ends, ctypes.c_size_t(self.host[k].nbytes), stream)

    def launch(self, launch: Launch, stream: ctypes.c_void_p) -> None:
        """The kernel alone."""
        values = [ctypes.c_size_t(self.count), *self.device]
        pointers = (ctypes.c_void_p * len(values))()
        for k, value in enumerate(values):
            pointers[k] = ctypes.addressof(value)
        blocks = -(-self.count // launch.states)
        columns, rows = launch.threads
        sizes = (blocks, 1, 1, columns, rows, 1, launch.shared)
        self.gpu.call("cuLaunchKernel", launch.kernel, *sizes, stream, pointers, None)

    def with_copies(self, launch: Launch, stream: ctypes.c_void_p) -> None:
        """The kernel between copies of operands and results."""
        for k in range(self.taken):
            self._copy("cuMemcpyHtoDAsync_v2", k, stream)
        self.launch(launch, stream)
        self.fetch(stream)

    def fetch(self, stream: ctypes.c_void_p) -> list[np.ndarray]:
        """Copy the results; they are there when the stream has done it."""
        for k in range(self.taken, self.singular):
            self._copy("cuMemcpyDtoHAsync_v2", k, stream)
        return self.host[self.taken : self.singular]

    def release(self) -> None:
        """Give the memory back."""
        for device, host in zip(self.device, self.host, strict=True):
            self.gpu.call("cuMemFree_v2", device)
            self.gpu.call("cuMemFreeHost", ctypes.c_void_p(host.ctypes.data))
        self.device, self.host = [], []
