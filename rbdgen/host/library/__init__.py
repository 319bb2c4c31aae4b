"""The host's library in C and C++: a runtime that is the same for all designs, and a design's tables and typed calls.

The runtime is what :mod:`rbdgen.host.byte_link`, ``sessions``, ``datagram_link``, ``parameters`` and ``driver`` are in
Python; tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from rbdgen.host.driver import own_limit
from rbdgen.host.library.calls import c_header, c_source, cpp_header, names_of
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.protocol.identifiers import identifiers

__all__ = ["library_files"]

HEADERS = ("rbdgen_device.h", "rbdgen_device.hpp", "rbdgen_transport_posix.h")
"""Headers that programs include, besides a design's own."""
SOURCES = (
    "rbdgen_calibration.c",
    "rbdgen_checks.c",
    "rbdgen_datagrams.c",
    "rbdgen_device.c",
    "rbdgen_exchange.c",
    "rbdgen_frames.c",
    "rbdgen_hello.c",
    "rbdgen_link.c",
    "rbdgen_opening.c",
    "rbdgen_packets.c",
    "rbdgen_program.c",
    "rbdgen_requests.c",
    "rbdgen_session.c",
    "rbdgen_software.c",
)
"""The runtime in portable C99."""
PORTS = "rbdgen_transport_posix.c"
"""Of the runtime what POSIX is needed for."""
INTERNAL = "rbdgen_internal.h"
VERSION = "1.0"
"""Of the library's calls, for those who look for the package."""


def library_files(source: Manifest | Program) -> dict[str, str]:
    """The text of each file of the library for a manifest's hardware, or for a program and the engine that it is loaded
    into, by file name; the same source gives the same bytes.

    ``<name>_device.h``, ``.c`` and ``.hpp`` are the design's, where ``<name>`` is the manifest's as an identifier.
    ``CMakeLists.txt`` builds and installs a package ``<name>_device`` for CMake and pkg-config.
    """
    program = source if isinstance(source, Program) else None
    manifest = source.manifest if isinstance(source, Program) else source
    runtime = {name: _read(name) for name in sorted((*HEADERS, *SOURCES, PORTS, INTERNAL))}
    # whatever the runtime calls anything, a design's own names keep clear of it
    library = set().union(*map(identifiers, runtime.values()))
    names = names_of(manifest, library)
    own = f"{names.prefix}_device"
    answer = own_limit(manifest)
    fields = {
        "name": names.prefix,
        "version": VERSION,
        "headers": _listed((*HEADERS, f"{own}.h", f"{own}.hpp")),
        "sources": _listed((*SOURCES, f"{own}.c")),
    }
    return {
        **runtime,
        f"{own}.h": c_header(manifest, names, answer),
        f"{own}.c": c_source(manifest, names, answer, program),
        f"{own}.hpp": cpp_header(names),
        "CMakeLists.txt": _filled("CMakeLists.txt.in", fields),
        f"{own}.pc.in": _filled("device.pc.in", fields),
    }


def _read(name: str) -> str:
    return files("rbdgen.host.library").joinpath(name).read_text(encoding="utf-8")


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"  {name}" for name in names)


def _filled(name: str, fields: dict[str, str]) -> str:
    """A template with its fields filled in."""
    text = _read(name)
    for field, value in fields.items():
        text = text.replace(f"%{field}%", value)
    return text
