"""Operations of graphs: a record for each with all that the representation knows of it, found by this folder's files.

A file that has ``OPERATIONS`` adds to :data:`OPERATIONS`. What a back end makes of an operation stands in that back
end's own table, which a test holds complete.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterable

from rbdgen.errors import ConfigError
from rbdgen.ir.ops.operation import Operation


def require(names: Iterable[str], table: Collection[str], backend: str) -> None:
    """ConfigError naming the first of some operations that a back end's ``table`` lacks."""
    for name in names:
        if name not in table:
            raise ConfigError(
                f"{backend}: there is no operation {name!r}; choose functions and algorithms that do without it, "
                "or add it to the back end's table"
            )


def _found() -> dict[str, Operation]:
    """All operations by name, those of a file after those of an earlier one."""
    found: dict[str, Operation] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        loaded = importlib.import_module(module.name)
        for operation in getattr(loaded, "OPERATIONS", ()):
            found[operation.name] = operation
    return found


OPERATIONS = _found()
"""All operations by name."""
LOWERED = tuple(name for name, operation in OPERATIONS.items() if operation.lowered)
"""Names of those that fixed-point graphs have."""
TRACED = tuple(name for name, operation in OPERATIONS.items() if operation.traced)
"""Names of those that algorithms' texts make."""
