"""The driver for firmware, in C99 for bare metal: a runtime that is the same for all designs, and a design's tables and
typed calls.

Not here: the library for hosts, with sessions, repetition and parameters (:mod:`rbdgen.host.library`). What both have
of a manifest is of :mod:`rbdgen.host.library.calls`.
"""

from __future__ import annotations

from importlib.resources import files

from rbdgen.host.embedded.tables import c_header, c_program, c_source, program_header
from rbdgen.host.library.calls import names_of
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.protocol.frames import (
    CRC_BYTES,
    EPOCH_OFFSET,
    ESCAPE,
    ESCAPE_BIT,
    FLAG,
    HEAD_BYTES,
    IDENTITY_BYTES,
    IDENTITY_OFFSET,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    Kind,
)
from rbdgen.protocol.identifiers import identifiers
from rbdgen.protocol.loading import ADDRESS_BITS, ROUTINE, TARGET_BITS
from rbdgen.protocol.registers import c_macros
from rbdgen.protocol.task_registers import check_words, task_register_map
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, LOAD, LOAD_WORDS, TAG_BITS

__all__ = ["SOURCES", "embedded_files"]

TEMPLATES = (
    "rbdgen_embedded.h",
    "rbdgen_embedded.c",
    "rbdgen_registers.h",
    "rbdgen_registers.c",
    "rbdgen_spi.h",
    "rbdgen_spi.c",
)
"""The runtime, of which files are kept with gaps where numbers of the protocol stand."""
SOURCES = tuple(name for name in TEMPLATES if name.endswith(".c"))
REGISTERS = "RBD_REGISTERS"
"""The prefix of the registers' macros."""
FIELDS = {
    "identity_words": f"{IDENTITY_BYTES // 4}",
    "code_bits": f"{FUNCTION_BITS}",
    "tag_bits": f"{TAG_BITS}",
    "flag_bits": f"{FLAG_BITS}",
    "block_words": f"{LOAD_WORDS}",
    "load_code": f"{LOAD}",
    "address_bits": f"{ADDRESS_BITS}",
    "target_bits": f"{TARGET_BITS}",
    "routine": f"{ROUTINE}",
    "flag": f"{FLAG:#04x}",
    "escape": f"{ESCAPE:#04x}",
    "escape_bit": f"{ESCAPE_BIT:#04x}",
    "task": f"{Kind.TASK:d}",
    "hello": f"{Kind.HELLO:d}",
    "version": f"{PROTOCOL_VERSION}",
    "head_bytes": f"{HEAD_BYTES}",
    "crc_bytes": f"{CRC_BYTES}",
    "nonce_bytes": f"{NONCE_BYTES}",
    "identity_offset": f"{IDENTITY_OFFSET}",
    "epoch_offset": f"{EPOCH_OFFSET}",
    "status_bytes": f"{EPOCH_OFFSET + NONCE_BYTES}",
    "registers": "\n".join(c_macros(task_register_map(), REGISTERS)),
}
"""What stands in the gaps."""


def embedded_files(source: Manifest | Program) -> dict[str, str]:
    """The text of each file of the driver for a manifest's hardware, or for a program, by file name; the same source
    gives the same bytes.

    ``<name>_embedded.h`` and ``.c`` are the design's, where ``<name>`` is the manifest's as an identifier. Of a
    program ``<name>_program.h`` and ``.c`` have the blocks that load it.
    ConfigError for packets of other words than registers take, one in each beat.
    """
    program = source if isinstance(source, Program) else None
    manifest = source.manifest if isinstance(source, Program) else source
    check_words(manifest.name, manifest.tasks)
    runtime = {name: _runtime(name) for name in TEMPLATES}
    # whatever the runtime calls anything, a design's own names keep clear of it
    library = set().union(*map(identifiers, runtime.values()))
    names = names_of(manifest, library)
    own = f"{names.prefix}_embedded"
    found = {
        **runtime,
        f"{own}.h": c_header(manifest, names),
        f"{own}.c": c_source(manifest, names),
    }
    if program is not None:
        found[f"{names.prefix}_program.h"] = program_header(names)
        found[f"{names.prefix}_program.c"] = c_program(names, program)
    return found


def _runtime(name: str) -> str:
    """A file of the runtime with its gaps filled."""
    text = files("rbdgen.host.embedded").joinpath(f"{name}.in").read_text(encoding="utf-8")
    for field, value in FIELDS.items():
        text = text.replace(f"%{field}%", value)
    return text
