"""Operations of graphs: a record for each with all that the representation knows of it, found by this folder's files.

A file that has ``OPERATIONS`` adds to :data:`OPERATIONS`. What a back end makes of an operation stands in that back
end's own table, which a test holds complete.
"""

from __future__ import annotations

import importlib
import pkgutil

from rbdgen.ir.ops.operation import Operation


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
