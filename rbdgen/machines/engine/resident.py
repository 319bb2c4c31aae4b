"""An engine that is on a board once and for all, whose programs come over its link; its shape is its identity."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from rbdgen.errors import LinkError
from rbdgen.machines.engine.core import LANES, WIDTHS, Core
from rbdgen.machines.engine.program import Layout
from rbdgen.protocol.tasks import Room, TaskFormat, resident_format

MAGIC = b"RBDe"
"""The first bytes of such an engine's identity, where a design has those of a digest."""
VERSION = 1
"""Of what words of a program mean, as far as their places do not say it: one more whenever hardware does something else
by the same word."""
GRAIN = 16
"""Words by which memories are counted in an identity."""
_IDENTITY = struct.Struct("<4sBBBBHHHH")
"""The magic, the version, lanes, bits of a word, cores, words of banks, of programs, of results, a check of all that a
program's words look like."""


@dataclass(frozen=True)
class Resident:
    """``cores`` of one shape behind one program memory, which get tasks in turn."""

    core: Core
    cores: int = 1

    multiplied_by = "cores"

    def __post_init__(self) -> None:
        core = self.core
        if core.width != WIDTHS[0] or core.kept or any(n % GRAIN for n in self._sizes):
            raise ValueError(f"resident engine: there is none of this shape: {core}")

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.core.words, self.core.depth, self.core.results

    @property
    def name(self) -> str:
        """The name of its Verilog's top module."""
        core = self.core
        return f"rbd_engine_{core.lanes}x{self.cores}_{core.words}_{core.depth}"

    @property
    def tasks(self) -> TaskFormat:
        """The layout of its streams; functions are those of programs."""
        return resident_format(self.core.width, self.room)

    @property
    def room(self) -> Room:
        """The longest packets that there may be."""
        # every operand has limits
        return Room(min(self.core.words, self.core.limits), self.core.results)

    @property
    def identity(self) -> bytes:
        """What it says of itself to a host, 16 bytes, from which its shape can be read."""
        core = self.core
        sizes = [n // GRAIN for n in self._sizes]
        return _IDENTITY.pack(
            MAGIC, VERSION, core.lanes, core.width, self.cores, *sizes, self._check
        )

    @property
    def _check(self) -> int:
        """Sixteen bits that follow from the places of a program word's fields, and from all of the shape."""
        said = repr((sorted(Layout(self.core).fields.items()), self.core))
        return zlib.crc32(said.encode()) & 0xFFFF


def read_identity(identity: bytes) -> Resident:
    """The engine that has this identity. LinkError where it is none, or one of another version."""
    magic, version, lanes, width, cores, words, depth, results, check = _IDENTITY.unpack(identity)
    if magic != MAGIC:
        raise LinkError(
            f"device: holds design {identity.hex()}, to which no program can be loaded; flash the board's engine"
        )
    known = version == VERSION and lanes in LANES and width == WIDTHS[0]
    if known:
        core = Core(lanes, LANES[lanes], width, words * GRAIN, depth * GRAIN, results * GRAIN)
        found = Resident(core, cores)
        if found.identity == identity:
            return found
    raise LinkError(
        f"device: its engine is of another version ({version}, check {check:04x}) than this host's; flash the board's "
        "engine again"
    )
