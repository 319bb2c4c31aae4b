"""An engine that is on a board once and for all, whose programs come over its link; its shape is its identity."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from rbdgen.errors import LinkError
from rbdgen.machines.engine.core import LANES, WIDTHS, Core
from rbdgen.machines.engine.program import Layout
from rbdgen.machines.engine.sizes import MOST_WORDS
from rbdgen.protocol.tasks import Room, TaskFormat, resident_format

MAGIC = b"RBDe"
"""The first bytes of such an engine's identity, where a design has those of a digest."""
VERSION = 2
"""Of what words of a program mean, as far as their places do not say it: one more whenever hardware does something else
by the same word."""
GRAIN = 16
"""Words by which memories are counted in an identity."""
_IDENTITY = struct.Struct("<4sBBBBBBHHH")
"""The magic, the version, lanes, bits of a word, cores, words of banks and of limits, words of programs, of results, a
check of all that a program's words look like. Of words of banks, which are a power of two, there is the power."""
LEAN = 0x80
"""Added to the lanes of lean cores."""


@dataclass(frozen=True)
class Resident:
    """``cores`` of one shape behind one program memory, which get tasks in turn."""

    core: Core
    cores: int = 1

    multiplied_by = "cores"

    def __post_init__(self) -> None:
        core = self.core
        powers = core.words == 1 << core.address_bits
        if (
            core.width != WIDTHS[0]
            or core.kept
            or not powers
            or any(n % GRAIN for n in self._sizes)
        ):
            raise ValueError(f"resident engine: there is none of this shape: {core}")

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.core.depth, self.core.results, self.core.limits

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
        core = self.core
        if core.lean:
            # numbers of words have no bit more than they need, in routines' entries as in the shells that read these
            return Room(min(core.waiting - 1, core.limits), core.results - 1)
        return Room(min(core.waiting, core.limits), core.results)

    @property
    def identity(self) -> bytes:
        """What it says of itself to a host, 16 bytes, from which its shape can be read."""
        core = self.core
        lanes = core.lanes | (LEAN if core.lean else 0)
        limits = core.limits // GRAIN
        sizes = core.depth // GRAIN, core.results // GRAIN
        shape = core.width, self.cores, core.address_bits, limits, *sizes
        return _IDENTITY.pack(MAGIC, VERSION, lanes, *shape, self._check)

    @property
    def _check(self) -> int:
        """Sixteen bits that follow from the places of a program word's fields, and from all of the shape."""
        said = repr((sorted(Layout(self.core).fields.items()), self.core))
        return zlib.crc32(said.encode()) & 0xFFFF


def read_identity(identity: bytes) -> Resident:
    """The engine that has this identity. LinkError where it is none, or one of another version."""
    magic, version, lanes, width, cores, bits, limits, depth, results, check = _IDENTITY.unpack(
        identity
    )
    if magic != MAGIC:
        raise LinkError(
            f"device: holds design {identity.hex()}, to which no program can be loaded; flash the board's engine"
        )
    lean = lanes >= LEAN
    lanes &= ~LEAN
    known = version == VERSION and lanes in LANES and width == WIDTHS[0]
    if known and bits <= MOST_WORDS.bit_length():
        sizes = 1 << bits, depth * GRAIN, results * GRAIN, limits * GRAIN
        found = Resident(Core(lanes, LANES[lanes], width, *sizes, lean=lean), cores)
        if found.identity == identity:
            return found
    raise LinkError(
        f"device: its engine is of another version ({version}, check {check:04x}) than this host's; flash the board's "
        "engine again"
    )
