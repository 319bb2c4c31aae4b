"""A program for an environment with rbdgen-host only: it drives a device through PYNQ and through AMD's files.

Neither is there: in their place stand an overlay and files that give the answers recorded in ``record.json``, whose
design is in ``manifest.json``. It prints what came back, by driver.
"""

import json
import pathlib
import sys
import types

import numpy as np

from rbdgen.host.driver import Driver
from rbdgen.host.pynq import open_pynq
from rbdgen.host.xdma import xdma_link

RECORD = json.loads(pathlib.Path("record.json").read_text(encoding="utf-8"))
REGISTERS = {int(address): value for address, value in RECORD["registers"].items()}
TASKS, RESULTS = (bytes.fromhex(RECORD[key]) for key in ("tasks", "results"))
NODES = ("user", "h2c_0", "c2h_0")


class Buffer(np.ndarray):
    """What ``pynq.allocate`` returns."""

    def freebuffer(self):
        pass


class Channel:
    """One direction of the DMA."""

    running, error, idle = True, 0, True

    def transfer(self, buffer):
        self.buffer = buffer

    def wait(self):
        if len(self.buffer) == len(RESULTS) and self is OVERLAY.dma.recvchannel:
            self.buffer[:] = np.frombuffer(RESULTS, np.uint8)
        else:
            assert self.buffer.tobytes() == TASKS


OVERLAY = types.SimpleNamespace(
    dma=types.SimpleNamespace(recvchannel=Channel(), sendchannel=Channel()),
    accelerator=types.SimpleNamespace(read=REGISTERS.get, write=REGISTERS.__setitem__),
)


class Files:
    """The files of a board behind PCI Express."""

    def open(self, path, flags):
        return NODES.index(path.split("_", 1)[1])

    def close(self, handle):
        pass

    def pread(self, handle, length, offset):
        return REGISTERS[offset].to_bytes(length, sys.byteorder)

    def pwrite(self, handle, data, offset):
        if NODES[handle] == "user":
            REGISTERS[offset] = int.from_bytes(data, sys.byteorder)
        else:
            assert bytes(data) == TASKS
        return len(data)

    def preadv(self, handle, buffers, offset):
        buffers[0][: len(RESULTS)] = RESULTS
        return len(RESULTS)


def main():
    """Drive both."""
    pynq = types.ModuleType("pynq")
    pynq.Overlay = lambda path: OVERLAY
    pynq.allocate = lambda shape, dtype: np.zeros(shape, dtype).view(Buffer)
    sys.modules["pynq"] = pynq
    operands = np.full((3, 5, 2), 0.25)
    found = {}
    with open_pynq("manifest.json", "design.bit") as device:
        found["pynq"] = device.rnea(*operands).tolist()
    link = xdma_link(device.manifest, files=Files())
    with Driver(device.manifest, link) as device:
        found["xdma"] = device.rnea(*operands).tolist()
    sys.stdout.write(json.dumps(found))


main()
