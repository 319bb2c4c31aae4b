"""What a design is called in C and C++: the identifiers of its functions and vectors, before any text is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.host.manifest import Manifest
from rbdgen.protocol.identifiers import LONGEST, Scope, c_comment, plain_name

ARGUMENTS = ("device", "count", "operands", "results", "flags")
"""What the arguments of typed calls are called besides a function's vectors."""
MEMBERS = (
    "Device",
    "call",
    "calibrate",
    "close",
    "counters",
    "get",
    "note",
    "serial",
    "software",
    "states",
    "tcp",
    "udp",
)
"""What the C++ class of a design has besides its functions."""


@dataclass(frozen=True)
class Vector:
    """A vector of the manifest's: its own ``name``, its ``argument``, ``shape``, and the ``size`` that it has of a
    state."""

    name: str
    argument: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Numbers of a state."""
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """For a comment: what it is called, and its shape."""
        dimensions = "".join(f"[{n:d}]" for n in self.shape)
        return f"{self.argument}{dimensions}"


@dataclass(frozen=True)
class Function:
    """A function of the manifest's: its own ``name``, its ``summary`` for a comment, its typed ``call`` in C, its
    ``number`` there, its ``method`` in C++ with the type of what that returns, and its vectors."""

    name: str
    summary: str
    call: str
    number: str
    method: str
    method_results: str
    operands: tuple[Vector, ...]
    results: tuple[Vector, ...]


@dataclass(frozen=True)
class Names:
    """A design: the ``prefix`` of what is public, that in capitals, its tables' name, and its functions."""

    prefix: str
    capitals: str
    tables: str
    functions: tuple[Function, ...]


def names_of(manifest: Manifest, library: set[str]) -> Names:
    """The identifiers for ``manifest``, none of which the ``library`` has."""
    prefix = _prefix(manifest.name, library)
    capitals = prefix.upper()
    scope, members = Scope(library), Scope(MEMBERS)
    tables = scope.take(prefix, "design")
    for fixed in ("WORKSPACE_BYTES", "PARAMETERS"):
        scope.take(capitals, fixed)
    functions = []
    for name in manifest.tasks.functions:
        arguments = Scope(ARGUMENTS)
        operands = _vectors(manifest, manifest.operand_vectors[name], arguments)
        results = _vectors(manifest, manifest.result_vectors[name], arguments)
        function = Function(
            name,
            c_comment(manifest.summaries[name]),
            scope.take(prefix, name),
            scope.take(capitals, "FUNCTION", plain_name(name, LONGEST).upper()),
            members.take(name),
            members.take(name, "results"),
            operands,
            results,
        )
        functions.append(function)
    return Names(prefix, capitals, tables, tuple(functions))


def _prefix(name: str, library: set[str]) -> str:
    """What all public names of a design begin with, and none of the library's."""
    scope = Scope()
    prefix = scope.take(name)
    while any(f"{known}_".lower().startswith(f"{prefix}_".lower()) for known in library):
        prefix = scope.take(name)
    return prefix


def _vectors(manifest: Manifest, vectors: Sequence[str], scope: Scope) -> tuple[Vector, ...]:
    found = []
    for name in vectors:
        found.append(Vector(name, scope.take(name), manifest.shapes[name].size))
    return tuple(found)
